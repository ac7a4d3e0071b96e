"""Every probabilistic promise, on tiny tables tried exhaustively: none states less than is true, and sabotage is caught."""

from __future__ import annotations

import contextlib
import itertools
import math
from fractions import Fraction

import pytest

from exact.brute_force import pointwise_delta, rows_not_anonymous
from exact.enumeration import ALLOWANCE, REFUSED, exponential, largest_ratio, valid_groups
from exact.holding import (
    TooStrongError,
    channel_of_decoys,
    factor,
    hold,
    hold_ratio,
    mechanism,
    neighbours,
    published_counts,
    table_of,
    true_error_probability,
    true_odds_factor,
)
from sfumato.chance import distortion
from sfumato.chance.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.chance.randomness import UniformReplacement
from sfumato.custody.choose import choose
from sfumato.custody.plan import plan
from sfumato.errors import SfumatoError
from sfumato.guarantees.differential_privacy import DifferentialPrivacy
from sfumato.guarantees.odds_factor import OddsFactor
from sfumato.guarantees.semantic_k_anonymity import SemanticKAnonymity
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy
from sfumato.methods.columnized_counts.design import ColumnizedCounts
from sfumato.methods.columnized_counts.law import noisy_count_matrix
from sfumato.methods.generalization.design import Generalization
from sfumato.methods.noisy_marginals.design import NoisyMarginals
from sfumato.methods.randomized_response.design import RandomizedResponse
from sfumato.methods.splu_gen.design import SPLUGen
from sfumato.values.schema import Schema


def schema_of(*, jobs=3, pays=0, learned=False, people=4):
    """A public attribute that tells people apart, and sensitive ones."""
    attributes = {
        "who": {"role": "quasi-identifier", "categories": [str(each) for each in range(people)]},
        "job": {"role": "sensitive", "categories": list("abcdef"[:jobs])}
        | ({"learned": True} if learned else {}),
    }
    if pays:
        attributes["pay"] = {"role": "sensitive", "categories": list("xyz"[:pays])}
    return Schema.from_dict({"attributes": attributes})


def tables_of(schema, rows):
    """Every table of so many different people."""
    sizes = [range(schema[name].size) for name in schema.names[1:]]
    values = list(itertools.product(*sizes))
    return [
        tuple((who, *held) for who, held in enumerate(each))
        for each in itertools.product(values, repeat=rows)
    ]


def promise_of(design, schema, kind):
    """The one promise of a kind."""
    (found,) = [each for each in design.guarantees(schema) if isinstance(each, kind)]
    return found


# Randomized response ------------------------------------------------------------------------------------------------

RESPONSES = {
    "a retention": RandomizedResponse(retention=0.5),
    "a retention that no double is": RandomizedResponse(retention=0.3),
    "nearly nothing changed": RandomizedResponse(retention=0.99),
    "an epsilon": RandomizedResponse(epsilon=1.0),
    "a matrix": RandomizedResponse(matrix={"job": [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]]}),
    "a matrix that rules out": RandomizedResponse(
        matrix={"job": [[0.5, 0.5, 0], [0.1, 0.6, 0.3], [0, 0.5, 0.5]]}
    ),
}


@pytest.mark.parametrize("name", list(RESPONSES))
def test_local_privacy_and_amplification(name):
    """Two people, all tables, all outputs."""
    schema = schema_of(people=2)
    design = RESPONSES[name]
    outputs = mechanism(design, schema)
    pairs = list(neighbours(tables_of(schema, 2), places=(1,)))
    private, amplification = design.guarantees(schema)[:2]
    true = hold_ratio(private, factor(private.epsilon), outputs, pairs)
    hold_ratio(amplification, amplification.gamma_of_row, outputs, pairs)
    if "rules out" in name:
        assert true == math.inf
    else:
        # It is no empty promise either: the true factor is the stated one, to the digits of a double.
        assert float(true) == pytest.approx(float(factor(private.epsilon)), rel=1e-9)


def test_two_attributes_and_units_of_two_rows():
    """Epsilons of the attributes of a row, and of the rows of a person, add up."""
    design = RandomizedResponse(epsilon=1.0)
    schema = schema_of(jobs=2, pays=2, people=2)
    private = design.guarantees(schema)[0]
    pairs = neighbours(tables_of(schema, 1), places=(1, 2))
    hold_ratio(private, factor(private.epsilon), mechanism(design, schema), pairs)

    single = schema_of(jobs=2, people=2)
    private = design.guarantees(single)[0]
    pairs = list(neighbours(tables_of(single, 2), places=(1,), rows_per_unit=2))
    hold_ratio(private, factor(private.for_units(2).epsilon), mechanism(design, single), pairs)
    with pytest.raises(TooStrongError):
        hold_ratio(private, factor(private.epsilon), mechanism(design, single), pairs)


def test_a_retention_that_is_drawn_larger_than_stated_is_caught(monkeypatch):
    """Sabotage: the kernel keeps one in a thousand more."""
    schema = schema_of(people=2)
    design = RandomizedResponse(retention=0.5)
    private = design.guarantees(schema)[0]
    pairs = list(neighbours(tables_of(schema, 1), places=(1,)))
    monkeypatch.setattr(
        distortion.UniformDistortion,
        "drawn",
        property(lambda _: UniformReplacement.from_retention(0.501, 3)),
    )
    with pytest.raises(TooStrongError):
        hold_ratio(private, factor(private.epsilon), mechanism(design, schema), pairs)


# Learned lists and chosen parameters --------------------------------------------------------------------------------


def learned_mechanism(design, outputs_by_schema):
    """Tables whose list of categories is what occurs in them."""

    def outputs(rows):
        occurring = sorted({row[1] for row in rows})
        schema = Schema.from_dict(
            {
                "attributes": {
                    "who": {"role": "quasi-identifier", "categories": ["0", "1", "2"]},
                    "job": {
                        "role": "sensitive",
                        "categories": [f"job-{each}" for each in occurring],
                        "learned": True,
                    },
                }
            }
        )
        coded = tuple((who, occurring.index(job)) for who, job in rows)
        return outputs_by_schema.setdefault(tuple(occurring), mechanism(design, schema))(coded)

    return outputs


def test_learned_lists_are_part_of_what_is_seen():
    """A list read off the rows tells who is in them for certain: a promise that does not say so is too strong."""
    design = RandomizedResponse(retention=0.5)
    outputs = learned_mechanism(design, {})
    tables = [each for each in tables_of(schema_of(people=3), 3) if len({job for _, job in each}) > 1]
    pairs = list(neighbours(tables, places=(1,)))
    promised = plan_of(design, schema_of(people=3, learned=True))
    assert all(each.given for each in promised)
    hold_ratio(promised[0], factor(promised[0].epsilon), outputs, pairs)
    unconditional = promised[0].model_copy(update={"given": ()})
    with pytest.raises(TooStrongError):
        hold_ratio(unconditional, factor(unconditional.epsilon), outputs, pairs)


def plan_of(design, schema):
    """The promises as a custodian reads them, with their conditions."""
    return plan(design, schema, 10).guarantees


def test_chosen_parameters_are_part_of_what_is_seen():
    """Retentions chosen from three rows differ between neighbours; held against what it takes as known a promise stands.

    Where a goal cannot be met, that nothing is published is seen too.
    """
    schema = schema_of(jobs=2, people=2)

    def chosen(table):
        return choose("randomized-response", {"max-risk": 0.8}, schema, table=table).design

    outputs = mechanism(chosen, schema)
    tables = list(itertools.product(itertools.product(range(2), repeat=2), repeat=3))
    # Of the chosen designs every one perturbs the public attribute, which is what the promise is then about.
    pairs = list(neighbours(tables, places=(0,)))
    retentions = {}
    for table in tables:
        with contextlib.suppress(SfumatoError):
            retentions[table] = chosen(table_of(schema, table))
    assert len({each.to_toml() for each in retentions.values()}) > 1, "nothing was chosen"
    published = [pair for pair in pairs if pair[0] in retentions and pair[1] in retentions]
    unlike = [pair for pair in published if retentions[pair[0]] != retentions[pair[1]]]
    assert unlike
    for one, other in published:
        local = plan_of(retentions[one], schema)[0]
        assert any("chosen from the private rows" in each for each in local.given)
        if (one, other) not in unlike:
            hold_ratio(local, factor(local.epsilon), outputs, [(one, other)])
    one, other = unlike[0]
    assert largest_ratio(outputs(one), outputs(other)) == math.inf
    unconditional = plan_of(retentions[one], schema)[0].model_copy(update={"given": ()})
    with pytest.raises(TooStrongError):
        hold_ratio(unconditional, factor(unconditional.epsilon), outputs, [(one, other)])


# Noisy counts -------------------------------------------------------------------------------------------------------

COUNTS = {
    "replacing": NoisyMarginals(epsilon=1.0, marginals=(("job",),)),
    "adding": NoisyMarginals(epsilon=0.7, marginals=(("job",),), neighbours="add-remove"),
    "two tables": NoisyMarginals(epsilon=1.3, marginals=(("job",), ("who",))),
    "a query": NoisyMarginals(epsilon=1.0, marginals=(), queries=("job = 'a'", "who = '0'")),
}


def pairs_by(relation, schema, rows):
    """Tables that differ by one row, as the relation says; of none too."""
    if relation == "replace-one":
        return list(neighbours(tables_of(schema, rows), places=range(len(schema.names))))
    tables = [table for size in range(1, rows + 1) for table in tables_of(schema, size)]
    return [(table, table[:-1]) for table in tables]


@pytest.mark.parametrize("name", list(COUNTS))
def test_noisy_counts(name):
    """Two categories, up to two people; ratios are those of the noise, whose scale is the number that is drawn with."""
    schema = schema_of(jobs=2, people=2)
    design = COUNTS[name]
    private = promise_of(design, schema, DifferentialPrivacy)
    # Of two tables all noise is enumerated together: one person is enough.
    pairs = pairs_by(private.relation, schema, 1 if name == "two tables" else 2)
    true = hold_ratio(private, factor(private.epsilon), mechanism(design, schema), pairs)
    assert float(true) >= float(factor(private.epsilon)) * 0.5


def test_noise_of_another_scale_is_caught(monkeypatch):
    """Sabotage: one part in a million less noise."""
    schema = schema_of(jobs=2, people=2)
    design = COUNTS["replacing"]
    private = promise_of(design, schema, DifferentialPrivacy)
    noises = NoisyMarginals.noises

    def less(self, known):
        return tuple(DiscreteLaplace(scale=each.scale * (1 - 1e-6)) for each in noises(self, known))

    monkeypatch.setattr(NoisyMarginals, "noises", less)
    with pytest.raises(TooStrongError):
        hold_ratio(
            private, factor(private.epsilon), mechanism(design, schema), pairs_by("replace-one", schema, 1)
        )


def gaussian(scale, reach=60):
    """Probabilities of discrete Gaussian noise to sixty digits; what lies beyond the reach is below 1e-100."""
    weights = {
        k: exponential(-Fraction(k * k) / (2 * Fraction(scale) ** 2)) for k in range(-reach, reach + 1)
    }
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def gaussian_delta(design, schema):
    """Smallest delta at the stated epsilon for one row replaced: two cells of one table change by one each."""
    (noise,) = design.noises(schema)
    assert isinstance(noise, DiscreteGaussian)
    law = gaussian(noise.scale, reach=math.ceil(14 * noise.scale))
    growth = exponential(Fraction(design.epsilon))
    excess = Fraction(0)
    for first, p in law.items():
        for second, q in law.items():
            there = law.get(first + 1, Fraction(0)) * law.get(second - 1, Fraction(0))
            excess += max(p * q - growth * there, Fraction(0))
    return excess


def test_gaussian_noise_keeps_its_delta():
    """By all outputs of two cells; the noise is more than it needs to be, since rho gives delta by a bound."""
    schema = schema_of(jobs=2, people=2)
    design = NoisyMarginals(epsilon=2.0, delta=1e-2, mechanism="discrete-gaussian", marginals=(("job",),))
    private = promise_of(design, schema, DifferentialPrivacy)
    true = gaussian_delta(design, schema)
    hold(Fraction(private.delta), true, "delta")
    assert true > Fraction(private.delta) / 100
    with pytest.raises(TooStrongError):
        hold(true * Fraction(99, 100), true, "delta")


# Columnized counts --------------------------------------------------------------------------------------------------

COLUMNS = {
    "crowds of one": ColumnizedCounts(k=1, epsilon=2.0, delta=0.1, column_sets=(("job",),)),
    "crowds of two": ColumnizedCounts(k=2, epsilon=1.5, delta=0.05, column_sets=(("job",),)),
    "two columns": ColumnizedCounts(k=1, epsilon=2.0, delta=0.1, column_sets=(("job",), ("who",))),
}


@pytest.mark.parametrize("name", list(COLUMNS))
def test_columnized_counts_whatever_the_number_of_rows(name):
    """Tables of none to three rows: a release exists for each, and one row more changes no output by more than stated."""
    schema = schema_of(jobs=2, people=2)
    design = COLUMNS[name]
    outputs = mechanism(design, schema)
    semantic, private, _ = design.guarantees(schema)
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    largest = Fraction(0)
    sizes = range(1, 4 if name != "two columns" else 2)
    for size in sizes:
        for jobs in itertools.combinations_with_replacement(range(2), size):
            rows = tuple((0, job) for job in jobs)
            for gone in range(size):
                fewer = rows[:gone] + rows[gone + 1 :]
                here, there = outputs(rows), outputs(fewer)
                assert REFUSED not in here
                assert REFUSED not in there
                largest = max(largest, pointwise_delta(here, there, growth))
            if not design.is_cut:
                crowd = factor(semantic.epsilon) * (1 + ALLOWANCE)
                assert rows_not_anonymous(outputs, rows, semantic.k, crowd) == ()
    hold(Fraction(private.delta), largest, "delta")
    assert largest > Fraction(private.delta) / 10


def test_release_words_that_grow_too_fast_and_refusals_are_caught(monkeypatch):
    """Sabotage: a row appears twice as often; and no release for tables of fewer rows than the threshold."""
    schema = schema_of(jobs=2, people=2)
    design = COLUMNS["crowds of two"]
    _, private, _ = design.guarantees(schema)
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    two, one = ((0, 0), (0, 0)), ((0, 0),)
    words = noisy_count_matrix.NoisyCountMatrix.words
    with monkeypatch.context() as patch:
        patch.setattr(
            noisy_count_matrix.NoisyCountMatrix,
            "words",
            lambda self: tuple(2 * each for each in words(self)[:3]),
        )
        outputs = mechanism(design, schema)
        with pytest.raises(TooStrongError):
            hold(Fraction(private.delta), pointwise_delta(outputs(two), outputs(one), growth), "delta")
    refusing = mechanism(lambda table: design if table.number_of_rows >= 2 else unpublishable(), schema)
    with pytest.raises(TooStrongError):
        hold(Fraction(private.delta), pointwise_delta(refusing(two), refusing(one), growth), "delta")


def unpublishable():
    """A design that refuses every small table."""
    return SPLUGen(gamma=5)


# Recoding by a fixed rule -------------------------------------------------------------------------------------------


def test_a_fixed_recoding_is_semantically_anonymous_and_a_searched_one_is_not():
    """Every table of up to three rows; the searched recoding promises no such thing, and would be caught."""
    schema = schema_of(jobs=2, people=2)
    fixed = Generalization(k=2, search="fixed", levels={"who": 0})
    semantic = promise_of(fixed, schema, SemanticKAnonymity)
    outputs = mechanism(fixed, schema)
    searched = Generalization(k=2)
    assert not [each for each in searched.guarantees(schema) if isinstance(each, SemanticKAnonymity)]
    found = mechanism(searched, schema)
    growth = factor(semantic.epsilon) * (1 + ALLOWANCE)
    values = list(itertools.product(range(2), repeat=2))
    broken = 0
    for size in (2, 3, 4):
        for rows in itertools.combinations_with_replacement(values, size):
            assert rows_not_anonymous(outputs, rows, semantic.k, growth) == ()
            broken += bool(rows_not_anonymous(found, rows, 2, growth))
    assert broken


# Decoys -------------------------------------------------------------------------------------------------------------

VALUES = [
    ((0, 0, 1, 2), 2),
    ((0, 0, 1, 1, 2, 2), 2),
    ((0, 0, 0, 1, 1, 2), 2),
    ((0, 0, 1, 1, 2, 3), 3),
    ((0, 0, 1, 2, 3, 4), 3),
    ((0, 0, 0, 1, 1, 1, 2, 3), 2),
    ((0, 0, 1, 1, 2, 2, 3, 4, 5), 3),
]


def stated_odds(values, gamma, y, **fields):
    """What the promise says of one value."""
    promise = OddsFactor(gamma_by_attribute={"job": gamma}, **fields)
    return Fraction(len(values) - values.count(y), values.count(y) * (promise.gamma_by_attribute["job"] - 1))


@pytest.mark.parametrize(("values", "gamma"), VALUES)
def test_the_odds_factor_is_exact_for_every_value(values, gamma):
    """Over all valid partitions: stated and true are the same fraction, and the largest is that of the smallest count."""
    for y in set(values):
        true = true_odds_factor(values, gamma, y)
        assert stated_odds(values, gamma, y) == true
        promise = OddsFactor(gamma_by_attribute={"job": gamma})
        assert promise.factor_on_average("job", values.count(y), len(values)) == pytest.approx(float(true))
        hold(Fraction(promise.largest("job", len(values))), true, "odds factor")
    rarest = min(set(values), key=values.count)
    with pytest.raises(TooStrongError):
        hold(stated_odds(values, gamma + 1, rarest), true_odds_factor(values, gamma, rarest), "odds factor")


def test_the_odds_factor_of_attributes_drawn_together():
    """Over all groups whose members differ in both: each value's average channel is what it is alone, and its count too."""
    pairs = ((0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 3))
    gamma = 2
    partitions = [
        groups
        for groups in valid_groups(tuple(a for a, _ in pairs), gamma)
        if all(len({pairs[row][1] for row in group}) == gamma for group in groups)
    ]
    assert len(partitions) >= 3
    for place, values in enumerate(zip(*pairs, strict=True)):
        for y in set(values):
            shown = [
                [
                    Fraction(sum(pairs[other][place] == y for other in group), gamma)
                    for group in groups
                    for _ in group
                ]
                for groups in partitions
            ]
            rows = [[row for group in groups for row in group] for groups in partitions]
            others = [
                chance
                for chances, of_rows in zip(shown, rows, strict=True)
                for chance, row in zip(chances, of_rows, strict=True)
                if values[row] != y
            ]
            true = Fraction(1, gamma) / (sum(others) / len(others))
            assert true == stated_odds(values, gamma, y)
            # As many places can show the value as alone: gamma for each row that holds it.
            assert {sum(chances) for chances in shown} == {values.count(y)}


def test_the_factor_is_that_of_the_code_that_publishes():
    """The channel of one row by running the publication itself over all its decisions; the others are as in the table."""
    schema = schema_of(jobs=3, people=4)
    values = (0, 0, 1, 2)
    outputs = mechanism(SPLUGen(gamma=2), schema)(tuple(enumerate(values)))
    shows = channel_of_decoys(values, 2)
    for who, held in enumerate(values):
        for shown in range(3):
            chance = sum(p for (_, (rows,)), p in outputs.items() if (who, shown) in rows)
            assert chance == shows.get((held, shown), 0)


def test_against_one_known_other_value_there_is_no_bound():
    """What the promise does not claim, and says so: a row of b never shows c where a is in every group."""
    shows = channel_of_decoys((0, 0, 1, 2), 2)
    assert (1, 2) not in shows
    assert shows[2, 2] == Fraction(1, 2)


def test_nor_against_someone_who_knows_everybody_else():
    """Whole releases of two tables that differ in who holds a value: some output comes from one of them alone."""
    schema = schema_of(jobs=3, people=4)
    outputs = mechanism(SPLUGen(gamma=2), schema)
    one, other = (tuple(enumerate(values)) for values in ((0, 0, 1, 2), (0, 0, 2, 1)))
    assert largest_ratio(outputs(one), outputs(other)) == math.inf
    assert "knows" in OddsFactor.__doc__


@pytest.mark.parametrize(("values", "gamma"), [each for each in VALUES if len(each[0]) <= 8])
@pytest.mark.parametrize("tied", [1, 2])
@pytest.mark.parametrize("smallest", [1, 2])
def test_small_sums_are_wrong_as_often_as_stated(values, gamma, tied, smallest):
    """By all partitions and all draws; the best of what one or two tied attributes give, raised to a known smallest count."""
    names = [f"attribute{each}" for each in range(tied)]
    for y in set(values):
        count = values.count(y)
        if count < smallest:
            continue
        drawn = published_counts(values, gamma, y)
        true = min(
            true_error_probability([drawn] * used, count, 0.3, smallest) for used in range(1, tied + 1)
        )
        promise = SmallSumPrivacy(
            gamma_by_attribute=dict.fromkeys(names, gamma),
            relative_error=0.3,
            largest_small_count=count,
            smallest_count=smallest,
        )
        # A stated probability of being wrong must not exceed the true one.
        stated = Fraction(promise.error_probability(names[0]))
        assert float(stated) <= float(true) * (1 + 1e-12)


def test_statements_that_forget_ties_or_the_threshold_are_caught():
    """Sabotage: two tied attributes stated as one, and a count known to be two or more stated as if it were not."""
    values, gamma, count = (0, 0, 1, 1, 2, 2), 2, 2
    drawn = published_counts(values, gamma, 0)
    alone = Fraction(
        SmallSumPrivacy(
            gamma_by_attribute={"job": gamma}, relative_error=0.3, largest_small_count=count
        ).error_probability("job")
    )
    tied = min(true_error_probability([drawn] * used, count, 0.3, 1) for used in (1, 2))
    raised = true_error_probability([drawn], count, 0.3, 2)
    assert float(tied) < float(alone)
    assert float(raised) < float(alone)
