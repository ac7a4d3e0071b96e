"""Attack every promise and write the results into ``docs/promises.md``.

``python docs/attack_promises.py`` takes a minute or two. Simulations are seeded, so that the page can be made again, and each is
run once however often its numbers are asked for; exhaustive checks are those of ``tests/exact``.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from exact.brute_force import pointwise_delta, rows_not_anonymous  # noqa: E402
from exact.enumeration import ALLOWANCE, largest_ratio  # noqa: E402 - the path comes first
from exact.holding import factor, mechanism, neighbours  # noqa: E402
from exact.tiny_tables import (  # noqa: E402
    COLUMNS,
    COUNTS,
    RESPONSES,
    pairs_by,
    promise_of,
    schema_of,
    tables_of,
)
from samples import SCHEMA, people  # noqa: E402
from sfumato import read_table  # noqa: E402
from sfumato.guarantees import GUARANTEES  # noqa: E402
from sfumato.guarantees.differential_privacy import DifferentialPrivacy  # noqa: E402
from sfumato.guarantees.reconstruction_privacy import ReconstructionPrivacy  # noqa: E402
from sfumato.guarantees.reconstruction_risk import ReconstructionRisk  # noqa: E402
from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy, homogeneous_error_probability  # noqa: E402
from sfumato.methods.generalization.design import Generalization  # noqa: E402
from sfumato.methods.splu_gen.kernels import draw_decoys  # noqa: E402
from sfumato.randomness.partitions import partition_rows  # noqa: E402
from sfumato.randomness.streams import NoiseSource  # noqa: E402
from sfumato.schema import Role  # noqa: E402
from sfumato.testing import in_memory, release_in_memory  # noqa: E402

MARKS = re.compile(r"(<!-- attacked: begin -->\n).*?(<!-- attacked: end -->)", re.DOTALL)
RELEASES = 60


@dataclass(frozen=True)
class Attacked:
    """What the page says of one promise."""

    assumes: str
    attack: str
    result: str


def responses() -> tuple[float, float]:
    """Stated and true factor of randomized response: two people, three categories, all outputs."""
    schema = schema_of(people=2)
    design = RESPONSES["a retention"]
    outputs = mechanism(design, schema)
    pairs = neighbours(tables_of(schema, 2), places=(1,))
    true = max(largest_ratio(outputs(one), outputs(other)) for one, other in pairs)
    return float(factor(design.guarantees(schema)[0].epsilon)), float(true)


def noisy_counts() -> tuple[float, float]:
    """Stated and true factor of noisy marginals."""
    schema = schema_of(jobs=2, people=2)
    design = COUNTS["replacing"]
    outputs = mechanism(design, schema)
    pairs = pairs_by("replace-one", schema, 2)
    true = max(largest_ratio(outputs(one), outputs(other)) for one, other in pairs)
    return float(factor(promise_of(design, schema, DifferentialPrivacy).epsilon)), float(true)


def columnized() -> tuple[float, float]:
    """Stated and true delta of columnized counts in crowds of two, for one row more or less, of none to three."""
    schema = schema_of(jobs=2, people=2)
    design = COLUMNS["crowds of two"]
    outputs = mechanism(design, schema)
    private = design.guarantees(schema)[1]
    growth = factor(private.epsilon) * (1 + ALLOWANCE)
    true = Fraction(0)
    for size in range(1, 4):
        for jobs in itertools.combinations_with_replacement(range(2), size):
            rows = tuple((0, job) for job in jobs)
            true = max(true, pointwise_delta(outputs(rows), outputs(rows[1:]), growth))
    return private.delta, float(true)


def searched_recodings() -> tuple[int, int]:
    """Tables on which a searched recoding, which promises no such thing, breaks semantic 2-anonymity, of all tried."""
    found = mechanism(Generalization(k=2), schema_of(jobs=2, people=2))
    values = list(itertools.product(range(2), repeat=2))
    tables = [t for size in (2, 3, 4) for t in itertools.combinations_with_replacement(values, size)]
    return sum(bool(rows_not_anonymous(found, rows, 2, 1)) for rows in tables), len(tables)


@functools.cache
def wards() -> tuple[int, int, float]:
    """Of the ward's rows that show its disease how many are true, of how many; and how many rows show their own value."""
    disease = np.arange(4_000) * 7 % 20
    disease[:8] = 20
    true = shown = own = 0
    for seed in range(RELEASES):
        drawn = draw_decoys(disease, 21, 10, NoiseSource.seeded(seed))
        in_ward = np.flatnonzero(drawn[:10] == 20)
        true, shown = true + int((in_ward < 8).sum()), shown + in_ward.size
        own += int((drawn == disease).sum())
    return true, shown, own / (RELEASES * disease.size)


@functools.cache
def tied_attributes() -> tuple[int, int]:
    """Of the rows in which two tied attributes agree on a value that 30 of 4,000 hold, how many are true."""
    disease = np.arange(4_000) * 7 % 20
    disease[:30] = 20
    true = agreed = 0
    for seed in range(10 * RELEASES):
        noise = NoiseSource.seeded(seed)
        drawn = [draw_decoys(disease, 21, 10, noise.named(name)) for name in ("drug", "disease")]
        both = np.flatnonzero((drawn[0] == 20) & (drawn[1] == 20))
        true, agreed = true + int((both < 30).sum()), agreed + both.size
    return true, agreed


@functools.cache
def buckets_twice(l_value: int, releases: int) -> tuple[float, float]:
    """Share of people who are certain after so many releases of buckets, and the mean chance to name their value."""
    values = np.random.default_rng(1).choice(
        14, 14_000, p=np.linspace(2, 1, 14) / np.linspace(2, 1, 14).sum()
    )
    possible = np.ones((values.size, 14), bool)
    for seed in range(releases):
        stream = NoiseSource.seeded(seed).stream(0)
        groups = partition_rows(values, 14, l_value, stream)
        held = np.zeros((groups.max() + 1, 14), bool)
        held[groups, values] = True
        possible &= held[groups]
    left = possible.sum(axis=1)
    return float((left == 1).mean()), float((1 / left).mean())


def classes() -> tuple[dict[str, str], str]:
    """What the published tables of one recoding with every promise about classes show, and how sure the surest class is."""
    design = Generalization(k=20, l_value=1.3, diversity="fraction", t=0.5, beta=1.5, disclosure_bound=1.5)
    release = release_in_memory(in_memory(read_table(people(2_000), SCHEMA)), design, seed=5)
    judged = {each.model_dump()["guarantee"]: each.judge(release).sentence for each in release.guarantees}
    found = release.count_occupied(release.published_schema.names)
    public = [each.name for each in release.published_schema.with_role(Role.QUASI_IDENTIFIER)]
    groups, jobs = found.numbered(public), found.codes_of("job")
    counts = np.zeros((groups.max() + 1, jobs.max() + 1))
    np.add.at(counts, (groups, jobs), found.counts)
    overall = counts.sum(axis=0).max() / counts.sum()
    share = (counts / counts.sum(axis=1, keepdims=True)).max()
    return (
        judged,
        f"the surest class names its most frequent value with {share:.2f}, the whole table with {overall:.2f}",
    )


def attacked() -> dict[str, Attacked]:
    """Every promise with the strongest attack that was tried."""
    stated, true = responses()
    exhaustive = "every table of two people and three categories, every output of the publishing code"
    ratio = f"largest likelihood ratio {true:.4f}, stated {stated:.4f}"
    counts_stated, counts_true = noisy_counts()
    delta_stated, delta_true = columnized()
    broken, tried = searched_recodings()
    right, shown, own = wards()
    agreed_right, agreed = tied_attributes()
    small = SmallSumPrivacy(gamma_by_attribute={"a": 10, "b": 10}, relative_error=0.3, largest_small_count=10)
    alone = small.model_copy(update={"independent": ("a", "b")})
    known = small.model_copy(update={"gamma_by_attribute": {"a": 10}, "smallest_count": 10})
    cap = ReconstructionPrivacy(
        sensitive="job", groups=("who",), retention=0.5, size=10, relative_error=0.3, error_probability=0.3
    )
    judged, surest = classes()
    fixed = "categories and parameters fixed beforehand, or taken as known"
    certain = buckets_twice(2, 2)[0]
    guesses = [f"{buckets_twice(4, number)[1]:.2f}" for number in (1, 2, 3)]
    by_class = "the attacker learns nothing from other classes, from a second release, or from how classes were chosen"
    return {
        "local-differential-privacy": Attacked(
            fixed,
            exhaustive,
            f"{ratio}; infinite for learned lists and chosen parameters, which a promise must take as known",
        ),
        "item-differential-privacy": Attacked(
            "the unit has some item; the number of units is public",
            "every table of two baskets of up to two items",
            "largest ratio as stated; infinite where a unit's only item goes, which is not promised",
        ),
        "amplification": Attacked(fixed, exhaustive, ratio),
        "belief-bound": Attacked(
            f"{fixed}; the prior is the belief given all else, the person's group included",
            "200 priors, exact posterior at the drawn probabilities",
            "never above the stated posterior",
        ),
        "belief-growth": Attacked(fixed, "200 priors, exact", "never above; 95 % of it is exceeded"),
        "differential-privacy": Attacked(
            "one person has one row, or as many as the promise says; published once",
            "every table of up to two rows with all noise up to 3 (noisy tables); up to three rows, every output, "
            "the empty release included (columnized counts); up to two rows with columns learned from noisy similarities",
            f"ratio {counts_true:.4f}, stated {counts_stated:.4f}; mass of unsafe outputs {delta_true:.4g}, stated delta {delta_stated:.4g}",
        ),
        "semantic-k-anonymity": Attacked(
            "the recoding or the columns do not depend on the rows",
            "every table of two to four rows, every row removed or replaced",
            f"no table breaks a fixed recoding; a searched one, which does not promise it, breaks on {broken} of {tried}",
        ),
        "odds-factor": Attacked(
            "the values that a person may have instead are as frequent as in the table; attributes declared independent are",
            "4,000 rows, gamma 10, a value that 8 people of one ward of 10 hold; two tied attributes that agree on a value of 30",
            f"the factor is exact over all partitions of seven tiny tables; as a probability: {right} of {shown} of the ward's rows "
            f"that show it are true ({own:.1%} of all rows), and {agreed_right / agreed:.0%} of rows on which tied attributes agree",
        ),
        "small-sum-privacy": Attacked(
            "counts of a value alone; published once",
            "mean over tied attributes; answers raised to a known threshold; a public group that all share the value",
            f"counts up to 10 at gamma 10 wrong with {alone.error_probability('a'):.3f} alone, {small.error_probability('a'):.3f} with two tied "
            f"attributes, {known.error_probability('a'):.3f} with threshold 10 (all stated so); a homogeneous group of 3 at gamma 5 with "
            f"{homogeneous_error_probability(3, 5, 0.3):.3f}, not promised",
        ),
        "large-sum-utility": Attacked(
            "none: made to analysts",
            "exact binomial, 25 counts from the threshold on",
            "kept; broken one below",
        ),
        "reconstruction-privacy": Attacked(
            "nothing is known of how public and sensitive attributes go together",
            f"reconstruction of a group of {cap.uniform_cap} rows that all share a value, exact",
            f"within 30 % with probability {cap.true_tails(cap.uniform_cap, 1.0).within:.3f}: Chernoff's bound, which is what is "
            "promised, says little; a person alone keeps the value with 0.55",
        ),
        "reconstruction-risk": Attacked(
            "the attacker redraws values and does nothing else",
            "reads the distribution of the person's group instead",
            f"right with the share of the value, up to 1, where {ReconstructionRisk(sensitive='a', quasi_identifiers=('b',), bound=0.7).bound} is promised of the other",
        ),
        "k-anonymity": Attacked(
            by_class,
            "reads the class of a person",
            f"{judged['k-anonymity']}; {surest}; what a class shares is known of all",
        ),
        "l-diversity": Attacked(
            by_class,
            "two and three releases of the same rows, buckets intersected (14,000 rows, 14 values)",
            f"l = 2: {certain:.1%} certain after two; l = 4: mean chance to name the value {', '.join(guesses)} after 1, 2, 3",
        ),
        "t-closeness": Attacked(by_class, "reads the class", f"{judged['t-closeness']}; {surest}"),
        "beta-likeness": Attacked(by_class, "reads the class", f"{judged['beta-likeness']}; {surest}"),
        "delta-disclosure": Attacked(by_class, "reads the class", f"{judged['delta-disclosure']}; {surest}"),
    }


def table() -> str:
    """The page's table."""
    rows = ["| promise | attacker | assumes | strongest attack tried | result |", "|---|---|---|---|---|"]
    found = attacked()
    for name, guarantee in GUARANTEES.members.items():
        each = found[name]
        rows.append(f"| `{name}` | {guarantee.attacker} | {each.assumes} | {each.attack} | {each.result} |")
    return "\n".join(rows)


def main() -> None:
    """Rewrite what stands between the marks."""
    page = ROOT / "docs" / "promises.md"
    text = page.read_text(encoding="utf-8")
    assert MARKS.search(text), "the page has no marks"
    page.write_text(MARKS.sub(lambda found: f"{found[1]}{table()}\n{found[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
