"""Attacks on SPLU-Gen: small sums that are right after all, and averages over repeated releases."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.attacks.base import Attack, AttackResult, Knowledge
from sfumato.data.engine import CodedRows
from sfumato.errors import ParameterError
from sfumato.guarantees.small_sum_privacy import error_probabilities, exact, smallest_error_probability
from sfumato.methods.splu_gen.decoy_model import DecoyModel
from sfumato.methods.splu_gen.kernels import draw_decoys
from sfumato.methods.splu_gen.law import DecoyRows, PublicGroups, groupings, rarest_factors
from sfumato.progress import steps
from sfumato.query.selection import Selection
from sfumato.query.text import write_condition
from sfumato.randomness.partitions import largest_group_size
from sfumato.randomness.streams import NoiseSource
from sfumato.release import Release, load_release
from sfumato.results import ResultTable
from sfumato.schema import Schema
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# Small sums: how often the answer about few people is right after all.


Columns = dict[str, npt.NDArray[Any]]

STANDARD_ERRORS = 4
"""How far below the promise a measured probability must lie to refute it: a chance of 3 in 100,000."""

CAVEATS = (
    (
        f"A row says 'refuted' when the measured error probability is below the promised one by more than {STANDARD_ERRORS} "
        "standard errors. Concepts of one table are not independent of each other; trials are."
    ),
    "Counts and groups are those of the rows that the drawing was repeated on.",
)


TOGETHER = "{} were drawn together; here the drawing of each is repeated by itself, which the counts of its values cannot tell apart."

ABOUT_ROWS = (
    "The posterior of a row that shows a value: believed of the others of its public group from what they show, the own row "
    "left out, then multiplied by the value's odds factor. Groups are those of one or two public attributes, and of all."
)

GROUPS_SHOWN = 10
"""Worst public groups that are shown."""


class SmallSum(Attack):
    """Measure, for every small concept, the probability that the reconstructed answer is accurate.

    Knowledge
        Records that are like the private rows, with the drawn attribute among them: an older table, a similar one.
        Without any, the published rows stand in for the private ones, in which groups that all share a value are
        fewer. How values are drawn is public, so the attacker can repeat the drawing on such rows and ask the
        questions there, where the answers are known. A concept is a value of the sensitive attribute together with
        values of up to ``largest_number_of_attributes`` public ones.
    Result
        By count, and apart for groups that all share the value, the measured probability that an answer, cut to what
        the group's public size allows, is within the relative error; and whether it exceeds what the paper's Theorem 4
        allows. Before that, the public groups in which a published value is most likely the person's own.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014), Theorem 4, whose proof looks at the published count of the
    value and not at the reconstruction.
    """

    attack: Literal["small-sum"] = "small-sum"
    largest_number_of_attributes: Annotated[int, Field(ge=0, le=3)] = Field(
        default=3, description="public attributes of a concept, at most"
    )
    trials: Annotated[int, Field(ge=10, le=10_000)] = Field(
        default=200, description="releases that are simulated"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        default=None, description="makes the simulation repeatable"
    )

    title: ClassVar[str] = "small sums answered accurately"
    summary: ClassVar[str] = (
        "The drawing is repeated many times on rows like the private ones, and every concept of few rows is asked about "
        "each time. Small-sum privacy says that the answers are wrong with a stated probability; here it is measured."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows the public attributes of everybody, hence the size of every public group.",
        "The attacker has records like the private rows; without any the published rows stand in for them.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Fu, A. W.-C., Wang, K., Wong, R. C.-W., Wang, J., Jiang, M. (2014). Small sum privacy and large sum utility.",
    )
    laws: ClassVar[tuple[str, ...]] = ("decoy-rows",)

    @classmethod
    def example(cls) -> Self:
        """Fewer trials than for a verdict."""
        return cls(trials=50)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Simulate on the records known, or on the published rows."""
        law = release.law
        if not isinstance(law, DecoyRows):
            raise ParameterError(
                "the small-sum attack is about releases with decoys, and this one has none. Publish by splu-gen, or "
                "choose another attack.",
                parameter="attack",
            )
        told = _what_rows_tell(law, release)
        if knowledge is None:
            rows = CodedRows.gathered(
                release.schema, release.scan(release.manifest.tables[0].name, release.schema.names)
            )
        else:
            known = knowledge.schema
            rows = CodedRows.gathered(known, knowledge.engine.scan(knowledge.source, known.attributes))
        result = self.simulate(law, rows)
        tables = (*result.tables, _factors(law, release), told)
        return replace(result, tables=tables, caveats=(*result.caveats, ABOUT_ROWS))

    def simulate(self, law: DecoyRows, rows: CodedRows) -> AttackResult:
        """Repeat the drawing on some rows, ask, and compare with what is in them.

        Raises
        ------
        ParameterError
            When the rows lack a drawn attribute, or form no groups.
        """
        absent = [name for name in law.gamma_by_attribute if name not in rows.schema.names]
        if absent:
            raise ParameterError(
                f"the records have no column {absent[0]!r}, whose small sums are to be measured. "
                "Give records that have it, or none.",
                parameter="knowledge",
            )
        findings: dict[str, Cell] = {"trials": self.trials}
        tables = []
        for name in law.gamma_by_attribute:
            found = self._measure(law, name, rows)
            tables.append(found)
            violated = [row for row in found.rows if row[-1] == "refuted"]
            findings[f"Theorem 4 for {name}"] = (
                "refuted" if violated else f"not refuted in {self.trials} trials"
            )
        together = (TOGETHER.format(" and ".join(law.together)),) if law.together else ()
        return AttackResult(self.attack, findings, tuple(tables), (*CAVEATS, *together))

    def _measure(self, law: DecoyRows, name: str, rows: CodedRows) -> ResultTable:
        gamma = law.gamma_by_attribute[name]
        values = rows.codes[name]
        usable = len(values) - len(values) % gamma
        size = rows.schema[name].size
        if usable == 0 or largest_group_size(np.bincount(values[:usable], minlength=size)) < gamma:
            raise ParameterError(
                f"the records are not like those published: they form no groups of {gamma} different values of "
                f"{name!r}. Give others, or none.",
                parameter="knowledge",
            )
        public = {key: each[:usable] for key, each in rows.codes.items() if key not in law.gamma_by_attribute}
        concepts = list(
            _concepts(public, values[:usable], law, self.largest_number_of_attributes, rows.schema, name)
        )
        accurate = [np.zeros((self.trials, len(each.codes)), dtype=np.bool_) for each in concepts]
        noise = NoiseSource.from_operating_system() if self.seed is None else NoiseSource.seeded(self.seed)
        for trial in steps(f"Simulating releases of {name}", range(self.trials)):
            fresh = noise.named(f"trial {trial} of {name}")
            drawn = draw_decoys(values[:usable], size, gamma, fresh, partition=law.partition)
            model = DecoyModel(np.bincount(drawn, minlength=size).astype(np.float64), gamma)
            for place, each in enumerate(concepts):
                accurate[place][trial] = each.is_accurate(drawn, model, law.relative_error)
        return _summary(law, name, concepts, accurate)


@dataclass(frozen=True, eq=False)
class _Concepts:
    """Small concepts over one set of public attributes.

    ``group`` is the public group of each row; ``groups``, ``codes`` and ``counts`` are, for each concept,
    its group, its sensitive value and its count; ``sizes`` the public sizes of their groups.
    """

    group: Integers
    groups: Integers
    codes: Integers
    counts: Integers
    sizes: Integers

    def is_accurate(self, drawn: npt.NDArray[Any], model: DecoyModel, relative_error: float) -> Booleans:
        """Whether the answer about each concept is within the relative error."""
        number = len(model.counts)
        cells = MixedRadix([int(self.group.max()) + 1, number]).tabulate([self.group, drawn])
        shown = cells[self.groups].astype(np.float64)
        answers = self._answers(shown, model)
        # Exact at the edges: |answer - count| <= error count, with the error as the fraction it was written as.
        share = exact(relative_error)
        limits = np.array([float(share * int(each)) for each in self.counts])
        return np.asarray(np.abs(answers - self.counts) <= limits + 1e-9)

    def _answers(self, shown: Floats, model: DecoyModel) -> Floats:
        """The reconstruction, cut to what is possible: none, the whole group, all holders of the value."""
        if model.is_saturated or len(np.unique(self.group)) == 1:
            answers = shown[np.arange(len(shown)), self.codes]
        else:
            answers = np.einsum("cv,vc->c", shown, model.inverse[:, self.codes])
        return np.asarray(np.clip(answers, 0, np.minimum(self.sizes, model.counts[self.codes])))


def _factors(law: DecoyRows, release: Release) -> ResultTable:
    """By what a row multiplies the odds, from the published counts, which estimate the true ones."""
    rows: list[tuple[Cell, ...]] = []
    for name, gamma in law.gamma_by_attribute.items():
        rarest, factor, worst = rarest_factors(release.count_by((name,), Selection()).counts, gamma)
        is_modelled = law.partition == "mixed" and name not in law.together
        rows.append((name, rarest, factor, worst if is_modelled else "not known"))
    return ResultTable(
        "By what a row multiplies the odds of the rarest value, from published counts",
        ("attribute", "rows that show it", "odds factor", "against the one other value that shows it least"),
        tuple(rows),
    )


def _what_rows_tell(law: DecoyRows, release: Release) -> ResultTable:
    """The public groups whose rows are most likely to show a true value, worst first."""
    public = [name for name in release.schema.names if name not in law.gamma_by_attribute]
    found: list[tuple[Cell, ...]] = []
    for name, gamma in law.gamma_by_attribute.items():
        for names in groupings(public):
            groups = PublicGroups(release.count_occupied((*names, name)))
            before, after = groups.told_by_shown(gamma)
            found += [
                (
                    groups.label(int(cell)),
                    name,
                    write_condition(release.schema[name], (int(groups.values[cell]),)),
                    int(groups.sizes[cell]),
                    int(groups.counts.counts[cell]),
                    float(before[cell]),
                    float(after[cell]),
                )
                for cell in np.argsort(-after, kind="stable")[:GROUPS_SHOWN]
            ]
    found.sort(key=lambda row: -float(row[6]))
    return ResultTable(
        "What a row tells of its person, by public group; the worst groups",
        ("public group", "attribute", "shown", "rows", "rows that show it", "believed before", "posterior"),
        tuple(found[:GROUPS_SHOWN]),
    )


def _concepts(
    public: Columns, values: npt.NDArray[Any], law: DecoyRows, most: int, schema: Schema, name: str
) -> Iterator[_Concepts]:
    """Every concept of a count from 1 to the largest small one, by set of public attributes."""
    size = schema[name].size
    for number in range(most + 1):
        for chosen in itertools.combinations(public, number):
            # A first digit that says nothing: of no public attribute there is one group, of everybody.
            radix = MixedRadix([1, *(schema[each].size for each in chosen)])
            keys = radix.encode([np.zeros(len(values)), *(public[each] for each in chosen)])
            found, group = np.unique(keys, return_inverse=True)
            cells = MixedRadix([len(found), size]).tabulate([group, values])
            groups, codes = np.nonzero((cells >= 1) & (cells <= law.largest_small_count))
            if len(groups):
                sizes = cells.sum(axis=1)[groups]
                yield _Concepts(group, groups, codes, cells[groups, codes], sizes)


def _summary(law: DecoyRows, name: str, concepts: list[_Concepts], accurate: list[Booleans]) -> ResultTable:
    """Measured error probability by count and by whether the public group all shares the value."""
    gamma = law.gamma_by_attribute[name]
    rows: list[tuple[Cell, ...]] = []
    for count, same in itertools.product(range(1, law.largest_small_count + 1), (False, True)):
        chosen = [(each.counts == count) & ((each.sizes == count) == same) for each in concepts]
        number = int(sum(mask.sum() for mask in chosen))
        if not number:
            continue
        wrong = (
            sum((~each[:, mask]).sum(axis=1) for each, mask in zip(accurate, chosen, strict=True)) / number
        )
        measured, error = float(np.mean(wrong)), float(np.std(wrong, ddof=1) / np.sqrt(len(wrong)))
        promised = smallest_error_probability(count, gamma, law.relative_error)
        verdict = "refuted" if measured + STANDARD_ERRORS * error < promised else "not refuted"
        kind = "all share the value" if same else "mixed"
        rows.append((count, kind, number, measured, error, promised, verdict))
    return ResultTable(
        f"Probability that the answer about a concept with {name} is wrong",
        (
            "count",
            "public group",
            "concepts",
            "measured",
            "std. error",
            "promised by Theorem 4",
            "verdict",
        ),
        tuple(rows),
    )


# --------------------------------------------------------------------------------------------------
# Averaging over repeated releases: fresh draws of the same rows give the small counts away.


class Averaging(Attack):
    """Average the published counts of every sensitive value over several releases of the same rows.

    Knowledge
        Two or more releases made from the same rows with fresh draws.
    Result
        For each value its averaged count, and with which probability an average over so many releases is
        wrong by more than the promised relative error, beside the probability that was promised.

    References
    ----------
    Fu, Wang, Wong, Wang and Jiang (2014) leave repeated releases open; the sum over releases is again
    binomial, so the probabilities are exact.
    """

    attack: Literal["averaging"] = "averaging"
    other_releases: tuple[str, ...] = Field(
        default=(), description="folders of the other releases of the same rows"
    )

    title: ClassVar[str] = "averaging over repeated releases"
    summary: ClassVar[str] = (
        "Counts of the same rows, drawn anew for each release, are averaged. The error shrinks with the square root "
        "of the number of releases, and with it the protection of small sums."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The same private rows were published several times, each with fresh draws.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Fu, A. W.-C., Wang, K., Wong, R. C.-W., Wang, J., Jiang, M. (2014). Small sum privacy and large sum utility.",
    )
    laws: ClassVar[tuple[str, ...]] = ("decoy-rows",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Average over the release and the others; with no other it says what a second would give."""
        told = () if knowledge is None else knowledge.sentences(())
        # Read as the release itself is, with the same limits; one in memory has an engine that reads no files.
        engine = None if release.folder is None else release.engine
        releases = [release, *(load_release(folder, engine=engine) for folder in self.other_releases)]
        law = release.law
        if not isinstance(law, DecoyRows) or any(each.law != law for each in releases):
            raise ParameterError(
                "averaging needs releases of the same rows by the same decoy method with the same parameters. "
                "Name such releases in other_releases.",
                parameter="other_releases",
            )
        number = len(releases)
        findings: dict[str, Cell] = {"releases": number}
        tables = []
        for name, gamma in law.gamma_by_attribute.items():
            counts = np.array([each.count_by([name]).counts for each in releases], dtype=np.float64)
            tables.append(_averages(release, law, name, counts))
            promised = smallest_error_probability(law.largest_small_count, gamma, law.relative_error)
            findings |= {
                f"promised probability that a small count of {name} is wrong": promised,
                f"probability left after {number} releases": averaged_error_probability(
                    law.largest_small_count, gamma, law.relative_error, number
                ),
                f"share of a row's decoys of {name} shown at least once": exposed_share(gamma, number),
            }
        return AttackResult(
            self.attack,
            findings,
            tuple(tables),
            (
                "The probabilities are exact for releases with fresh draws, whether or not the groups were the same.",
                *told,
            ),
        )


def averaged_error_probability(
    largest_small_count: int, gamma: int, relative_error: float, releases: int
) -> float:
    """The smallest probability, over small counts, that an average over releases is wrong.

    Examples
    --------
    >>> round(averaged_error_probability(3, 10, 0.3, 1), 4)
    0.6126
    """
    counts = range(1, largest_small_count + 1)
    return float(error_probabilities(counts, gamma, relative_error, releases=releases).min())


def exposed_share(gamma: int, releases: int) -> float:
    """Share of a row's decoys that at least one release shows: ``1 - (1 - 1/gamma)^R``.

    Examples
    --------
    >>> round(exposed_share(10, 10), 2)
    0.65
    """
    return float(1 - (1 - 1 / gamma) ** releases)


def _averages(
    release: Release, law: DecoyRows, name: str, counts: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> ResultTable:
    number, gamma = len(counts), law.gamma_by_attribute[name]
    means = counts.mean(axis=0)
    small = np.flatnonzero(means <= law.largest_small_count)
    return ResultTable(
        f"Small counts of {name}, averaged over {number} releases",
        ("category", "averaged count", "std. error"),
        tuple(
            (
                release.schema[name].labels[code],
                float(means[code]),
                # Each release has variance f (1 - 1/gamma), and their draws are independent.
                float(np.sqrt(means[code] * (1 - 1 / gamma) / number)),
            )
            for code in small
        ),
    )
