"""What holds for every distortion matrix and every table, without randomness."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as array_strategies

from counted import Counted
from sfumato.estimates.counts import CountTable
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import DenseDistortion, UniformDistortion, contract
from sfumato.schema import Attribute, Role


@st.composite
def distortions(draw, size):
    """A uniform matrix, or one with a heavy diagonal and anything beside it."""
    if draw(st.booleans()):
        return UniformDistortion(retention=draw(st.floats(0.1, 0.95)), size=size)
    weights = draw(
        array_strategies.arrays(
            np.float64, (size, size), elements=st.integers(0, 100).map(lambda each: each / 100)
        )
    )
    # A diagonal heavier than the rest of its row keeps the matrix invertible.
    weights = weights + np.diag(weights.sum(axis=1) + draw(st.floats(0.1, 2)))
    rows = weights / weights.sum(axis=1, keepdims=True)
    return DenseDistortion(rows=tuple(tuple(row) for row in rows.tolist()))


@st.composite
def perturbed_tables(draw):
    """True counts over one to three attributes, some of them with a matrix."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    attributes = tuple(
        Attribute(name=f"a{place}", role=Role.OTHER, categories=tuple("abcd"[:size]))
        for place, size in enumerate(sizes)
    )
    counts = draw(array_strategies.arrays(np.int64, sizes, elements=st.integers(0, 1000)))
    matrices = {each.name: draw(distortions(each.size)) for each in attributes if draw(st.booleans())}
    return CountTable(attributes, counts), PerturbedRows(distortions=matrices)


def expected_release(table, law):
    """What would be published if every count came out as expected."""
    matrices = [law.distortions[name].on_axis if name in law.distortions else None for name in table.names]
    return Counted(table.attributes, contract(table.counts, matrices))


@given(st.integers(2, 6).flatmap(distortions))
def test_rows_of_a_matrix_sum_to_one_and_its_inverse_inverts(distortion):
    """For uniform and general matrices; a general one is conditioned no worse than a thousand here."""
    assert np.allclose(distortion.dense().sum(axis=1), 1, rtol=1e-12)
    assert np.allclose(distortion.dense() @ distortion.inverse(), np.eye(distortion.size), atol=1e-9)


@given(perturbed_tables())
def test_reconstruction_of_expected_counts_is_exact(case):
    """Unbiasedness, as a statement about expectations."""
    table, law = case
    found = law.estimate(expected_release(table, law), Tabulation(by=table.names)).values
    assert np.allclose(found, table.counts.ravel(), atol=1e-6 * max(table.total, 1))


@given(perturbed_tables())
def test_projection_and_reconstruction_commute(case):
    """A margin estimated directly is the sum of the estimated joint."""
    table, law = case
    release = expected_release(table, law)
    release = Counted(table.attributes, np.floor(release.table.counts))
    joint = law.estimate(release, Tabulation(by=table.names)).values.reshape(table.counts.shape)
    for place, name in enumerate(table.names):
        margin = law.estimate(release, Tabulation(by=(name,))).values
        others = tuple(axis for axis in range(joint.ndim) if axis != place)
        assert np.allclose(margin, joint.sum(axis=others), atol=1e-6 * max(table.total, 1))


@given(perturbed_tables())
def test_covariances_are_positive_semidefinite_at_the_expected_counts(case):
    """For both targets, up to rounding."""
    table, law = case
    release = expected_release(table, law)
    by = Tabulation(by=table.names)
    for target in ("table", "population"):
        covariance = law.estimate(release, by, target=target).covariance
        scale = max(float(np.abs(covariance).max()), 1.0)
        assert np.allclose(covariance, covariance.T, atol=1e-9 * scale)
        assert np.linalg.eigvalsh(covariance).min() >= -1e-8 * scale


@given(perturbed_tables())
def test_contraction_is_the_dense_kronecker_product(case):
    """Axis by axis gives what the product matrix gives, on tables small enough to form it."""
    table, law = case
    dense = np.eye(1)
    factors = []
    for attribute in table.attributes:
        distortion = law.distortions.get(attribute.name)
        matrix = np.eye(attribute.size) if distortion is None else distortion.dense()
        factors.append(None if distortion is None else distortion.on_axis)
        dense = np.kron(dense, matrix)
    whole = table.counts.ravel() @ dense
    assert np.allclose(contract(table.counts, factors).ravel(), whole, atol=1e-9 * max(table.total, 1))


@given(perturbed_tables(), st.sampled_from(["projection", "clip", "em"]))
def test_consistent_estimates_are_feasible(case, feasibility):
    """Not negative, and of the published total."""
    table, law = case
    release = Counted(table.attributes, np.floor(expected_release(table, law).table.counts))
    found = law.consistent(release, Tabulation(by=table.names), feasibility=feasibility)
    assert (found >= 0).all()
    assert math.isclose(found.sum(), release.table.total, rel_tol=1e-6, abs_tol=1e-6)
