"""Brute force against the definitions: what keeps its promise, and what must be caught."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from exact.brute_force import (
    additive_delta,
    audit_mechanism,
    pointwise_delta,
    refute_pure_privacy,
    rows_not_anonymous,
)
from exact.count_matrices import geometric_matrix
from exact.toy_mechanisms import (
    columnized,
    duplicating,
    fixed_recoding,
    midpoint_mondrian,
    noisy_count_rows,
    publishing,
    sampling,
    tight_box_mondrian,
)
from sfumato.errors import ParameterError
from sfumato.methods.columnized_counts.noisy_counts import matrix_row

F = Fraction

MATRIX = noisy_count_rows(F(4), F(1, 2), F(1, 10), 2, 9)
TWO_COLUMNS = [(0,), (1,)]
SALARIES = (20_000, 80_000, 150_000, 20_000_000)


def test_duplication_is_not_semantically_anonymous():
    """All three rows fail, though every row occurs twice in the output."""
    assert rows_not_anonymous(duplicating(2), "abc", 2) == ("a", "b", "c")


def test_a_fixed_recoding_with_suppression_is():
    """k-DGS by tens: nobody fails, the dropped 25 included."""
    assert rows_not_anonymous(fixed_recoding(lambda each: each // 10, 2), (1, 2, 11, 12, 13, 25), 2) == ()


def test_sampling_gives_a_unique_row_away():
    """The published singleton is impossible without it."""
    assert rows_not_anonymous(sampling(F(1, 5)), "abb", 2) == ("a",)


def test_noisy_counts_keep_the_crowd():
    """No row of {a,a,a,b,c,c} fails."""
    assert rows_not_anonymous(publishing(MATRIX), "aaabcc", 2) == ()


def test_noisy_counts_keep_every_promise_on_all_small_tables():
    """All tables of two values up to five rows: semantic 2-anonymity and both forms of (ln 4, 1/10)."""
    verdict = audit_mechanism(
        publishing(MATRIX), "ab", 5, k=2, growth=F(4), pointwise=F(1, 10), additive=F(1, 10)
    )
    assert not verdict.is_refuted
    assert verdict.tables_tried == 20
    assert str(verdict) == "not refuted on 20 tables"


def test_the_bound_on_the_unsafe_mass_is_tight():
    """One part in a thousand less than delta is refuted."""
    assert audit_mechanism(publishing(MATRIX), "ab", 3, growth=F(4), pointwise=F(99, 1000)).is_refuted


def test_replacing_a_row_needs_twice_epsilon():
    """At plain epsilon the worst unsafe mass is 0.267; at twice epsilon it is delta."""
    publish = publishing(MATRIX)
    tables = [("a",) * i + ("b",) * (size - i) for size in range(1, 6) for i in range(1, size + 1)]
    pairs = [(publish(rows), publish(("b", *rows[1:]))) for rows in tables]
    plain, twice = (
        max(pointwise_delta(one, other, growth) for one, other in pairs) for growth in (F(4), F(16))
    )
    assert float(plain) == pytest.approx(0.267, abs=5e-4)
    assert twice == F(1, 10)


def test_columns_together_are_not_semantically_anonymous():
    """Four rows, two columns: all fail, at every epsilon; the unsafe mass is 1 - .9^2."""
    rows = (("a", "b"), ("a", "c"), ("d", "b"), ("d", "c"))
    cut = columnized(MATRIX, TWO_COLUMNS)
    assert rows_not_anonymous(cut, rows, 2) == rows
    assert rows_not_anonymous(cut, rows, 2, F(10**12)) == rows
    assert pointwise_delta(cut(rows), cut(rows[1:]), F(4)) == F(19, 100)


@pytest.mark.parametrize(("drops_nulls", "unsafe"), [(True, F(1, 10)), (False, F(19, 100))])
def test_fragments_without_values_must_not_be_counted(drops_nulls, unsafe):
    """Counted as a fragment like others they break theorem 7: 0.19 where the budget allows 0.1."""
    rows = ((1, None), (1, None), (None, 2), (None, 2))
    cut = columnized(MATRIX, TWO_COLUMNS, drops_nulls=drops_nulls)
    assert pointwise_delta(cut(rows), cut(rows[1:]), F(4)) == unsafe


def test_random_truncation_breaks_the_pointwise_form_only():
    """Unsafe mass .13177 above 0.1, additive slack .00135 far below."""
    rows = (("a", "b"), ("c", "b"), ("c", "b"), (None, "b"), (None, "b"))
    cut = columnized(MATRIX, TWO_COLUMNS, budget=1)
    larger, smaller = cut(rows), cut(rows[:-1])
    assert float(pointwise_delta(larger, smaller, F(4))) == pytest.approx(0.13177, abs=5e-6)
    assert float(additive_delta(larger, smaller, F(4))) == pytest.approx(0.00135, abs=5e-6)


def test_tight_boxes_show_the_extremes():
    """Replacing the largest salary changes the box, whoever is put in its place."""
    boxes = tight_box_mondrian([(0, 100_000), (100_000, 100_000_000)])
    assert list(boxes(SALARIES)) == [((20_000, 80_000, 2), (150_000, 20_000_000, 2))]
    assert list(boxes((*SALARIES[:3], 150_000))) == [((20_000, 80_000, 2), (150_000, 150_000, 2))]
    assert 20_000_000 in rows_not_anonymous(boxes, SALARIES, 2)


def test_boundary_labels_with_fixed_cuts_do_not():
    """The same salaries under the regions' own labels: a fixed recoding."""
    recoding = fixed_recoding(lambda salary: "low" if salary < 100_000 else "high", 2)
    assert rows_not_anonymous(recoding, SALARIES, 2) == ()


def test_a_stopping_rule_that_counts_rows_leaks():
    """Fixed midpoints and boundary labels, but cuts only where three rows remain on both sides."""
    rows = ((1, 5), (1.5, 6), (5, 1), (6, 1.5), (5, 5), (6, 6))
    mondrian = midpoint_mondrian((0, 0), (8, 8), 3)
    assert list(mondrian(rows)) == [((((0, 0), (8, 8)), 6),)]
    assert rows_not_anonymous(mondrian, rows, 3) == ((5, 5), (6, 6))


@pytest.mark.parametrize("growth", [2.0, 1e12])
def test_a_degenerate_row_zero_refutes_any_pure_epsilon(growth):
    """Theorem 3: the first row that publishes something is impossible one row earlier."""
    appears = [0, 0, F(1, 10), F(1, 5)]
    rows = [matrix_row(count, 5, 2, F(1, 2), each, 1 - each) for count, each in enumerate(appears)]
    assert refute_pure_privacy(rows, growth) == 2


def test_the_private_matrix_keeps_its_epsilon():
    """Matrix (3) at ratio 1/2 is within a factor of two everywhere, and no closer."""
    rows = [geometric_matrix(F(1, 2), count, 20) for count in range(6)]
    assert refute_pure_privacy(rows, F(2)) is None
    assert refute_pure_privacy(rows, F(19, 10)) == 1


def test_a_deterministic_mechanism_that_is_not_trivial_has_no_delta_below_one():
    """Theorem 1: the recoding keeps its crowds, and is not differentially private at all."""
    recoding = fixed_recoding(lambda each: each, 2)
    verdict = audit_mechanism(recoding, "ab", 3, k=2, growth=F(100), additive=F(999, 1000))
    assert [each.promise for each in verdict.refutations] == ["additive differential privacy"]


def test_rare_sampling_is_private_additively_and_not_pointwise_at_zero():
    """Rate 1e-5: (0, 1e-5) in the additive form; pointwise every output without the row has another probability."""
    mechanism = sampling(F(1, 100_000))
    one, none = mechanism(("a",)), mechanism(())
    assert additive_delta(one, none, F(1)) == F(1, 100_000)
    assert pointwise_delta(one, none, F(1)) == 1
    needed = math.exp(1.000005e-5)
    assert pointwise_delta(one, none, F(needed) * (1 + F(1, 10**9))) == F(1, 100_000)


def test_too_many_tables_are_refused():
    """Brute force is for tiny domains."""
    with pytest.raises(ParameterError, match="too many for brute force"):
        audit_mechanism(duplicating(1), range(60), 5)
