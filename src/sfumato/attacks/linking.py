"""Record linkage: people found in a release by known attributes or outside records; re-identification probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from sfumato.arrays import Booleans, Floats, Integers, MixedRadix
from sfumato.attacks.base import Attack, AttackResult, Knowledge, PeopleGuesses, targets_by_belief
from sfumato.errors import DataError, ParameterError
from sfumato.estimates.counts import Feasibility, project_to_simplex
from sfumato.guarantees.reconstruction_risk import recovery_probabilities
from sfumato.laws.cross_validation import fit_groups
from sfumato.laws.posterior import places_among
from sfumato.laws.shrinkage import NOBODY, linked_counts, occupied_groups, pooled_counts, shares_with_overall
from sfumato.methods.anatomy.buckets import BUCKET, ROWS, SENSITIVE
from sfumato.methods.anatomy.law import BucketedRows
from sfumato.methods.generalization.law import GeneralizedRows
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.progress import steps
from sfumato.query.selection import Tabulation
from sfumato.randomness.distortion import AxisMatrix, TwoValued
from sfumato.randomness.streams import CategorySampler, NoiseSource
from sfumato.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Attribute, Role, Schema
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# Probabilities of picking the right row, as the literature and ARX define them.


Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Risk:
    """Risk of re-identification of published rows.

    Parameters
    ----------
    highest
        Largest probability of a row.
    success_rate
        Share of rows that are re-identified on average.
    records_at_risk
        Share of rows whose probability is above a threshold.
    """

    highest: float
    success_rate: float
    records_at_risk: float


def prosecutor_risk(sizes: Numbers, threshold: float, stays: Numbers | None = None) -> Risk:
    """The attacker knows that the target is in the table: 1/f in a class of f rows.

    Parameters
    ----------
    sizes
        ``(classes,)`` published rows f of every class.
    threshold
        Probability above which a row is at risk.
    stays
        ``(classes,)`` probability that a row of the class was published with its true quasi-identifiers;
        1 unless they were perturbed. The probability of the right pick is multiplied by it.

    References
    ----------
    El Emam (2013), measures pRa, pRb, pRc; as ARX computes them.

    Examples
    --------
    Classes of 1, 2 and 5 rows: three right picks among eight.

    >>> prosecutor_risk(np.array([1, 2, 5]), 0.3)
    Risk(highest=1.0, success_rate=0.375, records_at_risk=0.375)
    """
    probabilities = (np.ones(len(sizes)) if stays is None else stays) / sizes
    return Risk(
        float(probabilities.max()),
        float((probabilities * sizes).sum() / sizes.sum()),
        float(sizes[probabilities > threshold].sum() / sizes.sum()),
    )


def journalist_risk(sizes: Numbers, outside: Numbers, threshold: float) -> Risk:
    """The attacker does not know that the target is in the table: 1/F among F people outside who fit.

    Parameters
    ----------
    sizes
        ``(classes,)`` published rows f.
    outside
        ``(classes,)`` outside records F that fit each class, never 0.
    threshold
        Probability above which a row is at risk.

    Notes
    -----
    The success rate is the larger of two: of someone who picks a person outside and looks for the row
    (classes / sum F), and of someone who picks a row and looks for the person (the marketer's).

    References
    ----------
    El Emam (2013), measures jRa, jRb, jRc; as ARX computes them.

    Examples
    --------
    >>> journalist_risk(np.array([1, 2]), np.array([4, 2]), 0.3)
    Risk(highest=0.5, success_rate=0.4166666666666667, records_at_risk=0.6666666666666666)
    """
    forward = len(sizes) / outside.sum()
    return Risk(
        float(1 / outside.min()),
        float(max(forward, marketer_risk(sizes, outside))),
        float(sizes[1 / outside > threshold].sum() / sizes.sum()),
    )


def marketer_risk(sizes: Numbers, outside: Numbers) -> float:
    """Share of all published rows that are matched rightly when every one is matched at random: mean of f/F.

    References
    ----------
    El Emam (2013), measure mR; as ARX computes it.

    Examples
    --------
    >>> round(marketer_risk(np.array([1, 2]), np.array([4, 2])), 4)
    0.4167
    """
    return float((sizes / outside).sum() / sizes.sum())


# --------------------------------------------------------------------------------------------------
# Linking with outside records: who fits which published rows, and what the rows then say.


Covers = tuple[tuple[int, ...], ...]

PAIRS_AT_ONCE = 20_000_000
"""Pairs of class and outside record compared at a time."""

EDGES = (1, 2, 5, 10, 20, 50, 100, 1_000)
"""Where the table of class sizes begins a new line."""


class OutsideLinking(Attack):
    """Join outside records with published rows on quasi-identifiers.

    Attack
        Rows equal on the published quasi-identifiers are a class. A person whose quasi-identifiers fit a
        class is one of its rows: the attacker picks one at random, or reads what all of them say.
    Against whom
        Prosecutor: someone known to be in the table. Journalist: anyone of a list of people of whom some
        are in it. Marketer: as many people as possible.
    Weaknesses
        The outside records are taken to be right and, for journalist and marketer, to hold everybody in
        the table; where they do not, the risk is overstated.

    References
    ----------
    Sweeney (2002); El Emam (2013), Guide to the de-identification of personal health information, chapter 16.
    """

    attack: Literal["outside-linking"] = "outside-linking"
    quasi_identifiers: tuple[str, ...] | None = Field(
        default=None,
        description="attributes to join on; those of the outside records, or the release's quasi-identifiers",
    )
    sensitive: str | None = Field(
        default=None, description="attribute to read off; the first sensitive one when not given"
    )
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.2, description="probability above which a row counts as at risk"
    )

    title: ClassVar[str] = "linking with outside records"
    summary: ClassVar[str] = (
        "Joins people's known quasi-identifiers with the published rows and states how likely the right row is "
        "found (prosecutor, journalist, marketer) and how surely the rows that fit give a sensitive value away."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows people's true quasi-identifiers.",
        "Outside records, where given, hold everybody who is in the table.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Sweeney, L. (2002). k-anonymity: a model for protecting privacy. IJUFKS 10(5).",
        "El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.",
    )
    laws: ClassVar[tuple[str, ...]] = ("generalized-rows", "perturbed-rows", "bucketed-rows")

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Risks of re-identification and of attribute disclosure."""
        if release.manifest.law["law"] not in self.laws:
            raise ParameterError(
                f"outside-linking works on releases with the law {' or '.join(self.laws)}, this one has "
                f"{release.manifest.law['law']}. Choose another attack.",
                parameter="attack",
            )
        names = self._names(release, knowledge)
        classes = published_classes(release, names, self._sensitive(release, names))
        prosecutor = prosecutor_risk(classes.sizes, self.threshold, classes.stays)
        findings: dict[str, Cell] = {
            "published rows": int(classes.sizes.sum()),
            "classes": len(classes.sizes),
        }
        findings |= self._told("prosecutor", prosecutor)
        caveats = ["Risks are those of published rows; people whose rows were dropped are not counted."]
        if knowledge is not None and classes.stays is not None:
            caveats.append(
                "Quasi-identifiers were perturbed, so outside records do not fit the rows that are theirs: no "
                "journalist or marketer figures. The attack 'linking' weighs rows by the public matrices instead."
            )
        elif knowledge is not None:
            outside = outside_records(classes, knowledge)
            fitted = outside > 0
            sizes, people = classes.sizes[fitted], outside[fitted]
            is_partial = bool((outside < classes.sizes).any())
            if is_partial and fitted.any():
                # Of the smaller side everybody has a partner on the larger, each of which is as likely.
                listed = np.minimum(sizes, people) / np.maximum(sizes, people)
                findings["listed people that fit a class"] = int(people.sum())
                findings["a listed person: chance that a row is theirs"] = float(listed.sum() / people.sum())
            elif fitted.any():
                findings |= self._told("journalist", journalist_risk(sizes, people, self.threshold))
                findings["marketer: success rate"] = marketer_risk(sizes, people)
            findings["share of rows that fit no outside record"] = float(
                classes.sizes[~fitted].sum() / classes.sizes.sum()
            )
            if is_partial:
                caveats.append(
                    "Some classes have more rows than outside records that fit: the records do not hold everybody. "
                    "Journalist and marketer figures are about complete lists, so there are none; the chance stated is "
                    "that of the people listed, as far as these are in the table."
                )
            caveats += knowledge.sentences([name for name in classes.names if name in knowledge.schema])
        findings |= self._read_off(classes)
        return AttackResult(self.attack, findings, (_sizes_table(classes.sizes),), tuple(caveats))

    def _told(self, name: str, risk: Risk) -> dict[str, Cell]:
        return {
            f"{name}: highest risk": risk.highest,
            f"{name}: success rate": risk.success_rate,
            f"{name}: share of rows above {self.threshold:.4g}": risk.records_at_risk,
        }

    def _read_off(self, classes: PublishedClasses) -> dict[str, Cell]:
        if classes.shares is None:
            return {}
        rows = classes.sizes / classes.sizes.sum()
        likeliest = classes.shares.max(axis=1)
        overall = rows @ classes.shares
        return {
            f"{classes.sensitive}: expected right, names the likeliest value": float(rows @ likeliest),
            f"{classes.sensitive}: expected right without linking": float(overall.max()),
            f"{classes.sensitive}: share of rows whose class gives it away": float(
                rows[likeliest > 1 - 1e-9].sum()
            ),
        }

    def _names(self, release: Release, knowledge: Knowledge | None) -> tuple[str, ...]:
        if self.quasi_identifiers is not None:
            names = self.quasi_identifiers
        elif knowledge is not None:
            names = tuple(
                each.name for each in knowledge.schema.attributes if each.role is Role.QUASI_IDENTIFIER
            )
        else:
            names = tuple(each.name for each in release.schema.with_role(Role.QUASI_IDENTIFIER))
        known = [name for name in names if name in release.schema]
        if not known:
            raise ParameterError(
                "there is no quasi-identifier to link on. Name some in quasi_identifiers, or give outside "
                "records that hold one.",
                parameter="quasi_identifiers",
            )
        return tuple(release.schema[name].name for name in names)

    def _sensitive(self, release: Release, names: tuple[str, ...]) -> str | None:
        if self.sensitive is not None:
            return release.schema[self.sensitive].name
        found = [each.name for each in release.schema.with_role(Role.SENSITIVE) if each.name not in names]
        return found[0] if found else None


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Published rows grouped by quasi-identifiers.

    Parameters
    ----------
    names
        Quasi-identifiers that have a column.
    schema
        Original attributes.
    codes
        For each of them ``(classes,)``: the published code.
    covers
        For each of them, the original codes behind every published one; None where they are the same.
    sizes
        ``(classes,)`` rows.
    stays
        ``(classes,)`` probability that a row shows its true quasi-identifiers; None for 1.
    sensitive, shares
        The sensitive attribute, and ``(classes, values)`` what is to be believed of a row of each class.
    """

    names: tuple[str, ...]
    schema: Schema
    codes: tuple[Integers, ...]
    covers: tuple[Covers | None, ...]
    sizes: Integers
    stays: Floats | None
    sensitive: str | None
    shares: Floats | None


def published_classes(release: Release, names: Sequence[str], sensitive: str | None) -> PublishedClasses:
    """Group the published rows; an attribute generalized until it says nothing parts no classes."""
    law = release.law
    rows = release.manifest.tables[0].schema_of_attributes
    shown = tuple(name for name in names if name in rows)
    if not shown:
        raise ParameterError(
            "none of the quasi-identifiers is published, so there is nothing to link on. Choose others.",
            parameter="quasi_identifiers",
        )
    is_bucketed = isinstance(law, BucketedRows) and sensitive == law.sensitive
    watched = sensitive if sensitive is not None and sensitive in rows else None
    found = release.count_occupied([*shown, watched] if watched else shown)
    columns = np.stack([np.asarray(found.codes_of(name), dtype=np.int64) for name in shown])
    combinations, place = np.unique(columns, axis=1, return_inverse=True)
    sizes = np.bincount(place, weights=found.counts).astype(np.int64)
    shares = None
    if watched is not None:
        values = found.codes_of(watched)
        table = MixedRadix([len(sizes), rows[watched].size]).tabulate([place, values], found.counts)
        shares = _shares(release, watched, table)
    elif is_bucketed:
        shares = _bucket_shares(release, shown, combinations)
    covers = tuple(law.covers.get(name) if isinstance(law, GeneralizedRows) else None for name in shown)
    return PublishedClasses(
        shown,
        release.schema,
        tuple(combinations),
        covers,
        sizes,
        _stays(law, shown, combinations),
        sensitive if shares is not None else None,
        shares,
    )


def outside_records(classes: PublishedClasses, knowledge: Knowledge) -> Integers:
    """How many outside records fit each class, ``(classes,)``."""
    shared = [place for place, name in enumerate(classes.names) if name in knowledge.schema]
    attributes = knowledge.schema.select(classes.names[place] for place in shared)
    people = knowledge.occupied([each.name for each in attributes])
    tables = [_below(classes, place) for place in shared]
    if len(shared) == len(classes.names) and all((table.sum(axis=0) == 1).all() for table in tables):
        return _joined(
            classes,
            [table.argmax(axis=0)[codes] for table, codes in zip(tables, people.codes, strict=True)],
            people.counts,
        )
    # Where published values overlap, as those of local recoding do, every pair is compared.
    fits = np.zeros(len(classes.sizes), dtype=np.int64)
    turn = max(1, PAIRS_AT_ONCE // max(len(people.counts), 1))
    for start in steps("Comparing classes with people", range(0, len(fits), turn)):
        part = slice(start, start + turn)
        pairs = np.ones((len(fits[part]), len(people.counts)), dtype=np.bool_)
        for place, table, theirs in zip(shared, tables, people.codes, strict=True):
            pairs &= table[classes.codes[place][part]][:, theirs]
        fits[part] = pairs @ people.counts
    return fits


def _joined(classes: PublishedClasses, codes: Sequence[Integers], counts: Integers) -> Integers:
    """Outside records of each class, when a record fits one published combination at most."""
    own = np.stack(classes.codes)
    both = np.concatenate((own, np.stack(codes)), axis=1)
    _, place = np.unique(both, axis=1, return_inverse=True)
    number = own.shape[1]
    total = np.bincount(place[number:], weights=counts, minlength=int(place.max()) + 1)
    return np.asarray(total[place[:number]], dtype=np.int64)


def _below(classes: PublishedClasses, place: int) -> Booleans:
    """``(published, original)``: which categories stand behind a published value."""
    size = classes.schema[classes.names[place]].size
    covers = classes.covers[place]
    if covers is None:
        return np.eye(size, dtype=np.bool_)
    table = np.zeros((len(covers), size), dtype=np.bool_)
    for code, cover in enumerate(covers):
        table[code, list(cover)] = True
    return table


def _stays(law: Any, names: Sequence[str], combinations: Integers) -> Floats | None:
    """Probability that rows kept their true values in all perturbed quasi-identifiers."""
    if not isinstance(law, PerturbedRows) or not set(names) & set(law.distortions):
        return None
    stays = np.ones(combinations.shape[1])
    for name, codes in zip(names, combinations, strict=True):
        if name in law.distortions:
            matrix = law.distortions[name].on_axis
            stays *= matrix.diagonal if isinstance(matrix, TwoValued) else np.diagonal(matrix)[codes]
    return stays


def _shares(release: Release, name: str, table: Floats) -> Floats:
    """Distribution of a published sensitive attribute in every class, reconstructed where it was perturbed."""
    totals = table.sum(axis=1)
    law = release.law
    if isinstance(law, PerturbedRows) and name in law.distortions:
        table = project_to_simplex(table @ law.distortions[name].inverse(), totals)
    return np.asarray(table / totals[:, None])


def _bucket_shares(release: Release, names: tuple[str, ...], combinations: Integers) -> Floats:
    """Mean over the rows of a class of the sensitive distributions of their buckets."""
    law = release.law
    assert isinstance(law, BucketedRows)
    size = release.schema[law.sensitive].size
    values = [
        batch.codes[BUCKET] * size + batch.codes[law.sensitive]
        for batch in release.scan(SENSITIVE, [law.sensitive, BUCKET])
    ]
    buckets = np.bincount(np.concatenate(values))
    buckets = np.append(buckets, np.zeros(-len(buckets) % size, dtype=np.int64)).reshape(-1, size)
    shares = np.asarray(buckets / np.maximum(buckets.sum(axis=1, keepdims=True), 1))
    total = np.zeros((combinations.shape[1], size))
    sizes = np.zeros(combinations.shape[1])
    order = {tuple(column): place for place, column in enumerate(combinations.T.tolist())}
    for batch in release.scan(ROWS, [*names, BUCKET]):
        columns = np.stack([np.asarray(batch.codes[name], dtype=np.int64) for name in names])
        different, place = np.unique(columns, axis=1, return_inverse=True)
        to_class = np.array([order[tuple(column)] for column in different.T.tolist()])[place]
        np.add.at(total, to_class, shares[batch.codes[BUCKET]])
        np.add.at(sizes, to_class, 1)
    return np.asarray(total / sizes[:, None])


def _sizes_table(sizes: Integers) -> ResultTable:
    lines = []
    for low, high in zip(EDGES, (*EDGES[1:], None), strict=True):
        inside = sizes[(sizes >= low) & ((sizes < high) if high is not None else True)]
        text = f"{low}" if high == low + 1 else f"{low} to {high - 1}" if high else f"{low} or more"
        lines.append((text, len(inside), int(inside.sum()), float(inside.sum() / sizes.sum())))
    return ResultTable("Rows by the size of their class", ("size", "classes", "rows", "share"), tuple(lines))


# --------------------------------------------------------------------------------------------------
# Linking: find people in a release by what is known of them, and read off what is not.


EXPECTATIONS = (
    "These are the attacker's own expectations; an audit against the private rows says how often the guesses "
    "were right."
)

LARGEST_READ = 2_000_000
"""Cells up to which the law itself reconstructs the joint distribution; beyond, the most likely one is fitted here."""


class Linking(Attack):
    """Link people to published rows by perturbed quasi-identifiers, and infer their sensitive value.

    Attack
        The attacker fits the joint distribution to the release, small groups leaning on others as
        far as the published rows support, weighs every published row by Bayes with the public matrices (how
        likely it is that it truly has the target's quasi-identifiers, and then each sensitive value), and
        adds the weights up. One attacker then names the likeliest value, one draws from the beliefs, and one
        only reads the reconstructed distribution.
    Against whom
        Anyone whose quasi-identifiers are known and who is known to be in the table.
    Weaknesses
        Beliefs lean on the overall distribution, on what groups with one frequent value have, on what each known
        category says of the sensitive value by itself, or, where some quasi-identifiers were perturbed, on all that a
        person may be one of: whichever published rows that were held out bear out. None of these knows a value that goes
        with two categories together and with neither alone; such groups have their own rows only. What is reported is what
        the attacker expects; only an audit against the truth says how often the guesses were right.

    References
    ----------
    Guo (2010), section 5.2; his attacker picks one row and redraws it, which finds less than adding up.
    """

    attack: Literal["linking"] = "linking"
    sensitive: str | None = Field(
        default=None, description="attribute to infer; the only sensitive one when not given"
    )
    quasi_identifiers: tuple[str, ...] | None = Field(
        default=None,
        description="attributes the attacker knows; those of the outside records, or the release's quasi-identifiers",
    )
    feasibility: Feasibility = Field(
        default="em",
        description="how the attacker who only reads it reconstructs the joint distribution: em, projection or clip",
    )
    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.5, description="belief from which a target counts as exposed"
    )
    smoothing: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        default=None,
        description="overall rows that each group leans on; chosen by published rows held out when not given",
    )

    title: ClassVar[str] = "posterior linkage"
    summary: ClassVar[str] = (
        "Fits the joint distribution, weighs every published row by Bayes with the public matrices, and infers the "
        "sensitive value of people whose quasi-identifiers are known."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker knows the true quasi-identifiers of the targets and that they are in the table.",
        "The attacker has the release and its matrices, and nothing else about the sensitive attribute.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Guo, L. (2010). Randomization based privacy preserving categorical data analysis. UNC Charlotte.",
    )
    laws: ClassVar[tuple[str, ...]] = ("perturbed-rows",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """What the attackers expect to find out about the people behind a release."""
        posterior = self.posterior(release, knowledge)
        weights = posterior.targets(knowledge)
        number = float(weights.sum())
        if number <= 0:
            raise ParameterError("there is nobody to link: the outside records are empty. Give some.")

        def mean(by_group: Floats) -> float:
            return float((by_group * weights).sum() / number)

        beliefs = posterior.beliefs
        likeliest = beliefs.max(axis=-1)
        # The one who reads names another value at times; what that is worth, the better beliefs say.
        named = posterior.read.argmax(axis=-1)[..., np.newaxis]
        reading = np.take_along_axis(beliefs, named, axis=-1)[..., 0]
        marginal = posterior.linked.reshape(-1, posterior.sensitive.size).sum(axis=0)
        findings = {
            "targets": round(number),
            "expected right, names the likeliest value": mean(likeliest),
            "expected right, draws from the beliefs": mean((beliefs**2).sum(axis=-1)),
            "expected right, reads the reconstructed distribution": mean(reading),
            "expected right, knows only the overall distribution": float(marginal.max() / marginal.sum()),
            f"share of targets with a belief of {self.threshold:.4g} or more": mean(
                (likeliest >= self.threshold).astype(np.float64)
            ),
            "expected right, picks the target's own row": mean(posterior.link_probabilities),
        }
        told: tuple[str, ...] = ()
        if knowledge is not None:
            names = [each.name for each in posterior.attributes[:-1]]
            told = knowledge.sentences(names)
            elsewhere = int(knowledge.occupied(names).counts.sum()) - round(number)
            if elsewhere:
                told = (
                    *told,
                    f"{elsewhere:,} people have values that no published row has, and were left out.",
                )
        return AttackResult(
            self.attack,
            dict(findings),
            (targets_by_belief(posterior.sensitive.name, weights, likeliest),),
            (EXPECTATIONS, *told),
            None if knowledge is None else posterior.guesses(knowledge),
        )

    def posterior(self, release: Release, knowledge: Knowledge | None = None) -> LinkingPosterior:
        """What the attacker believes about every combination of quasi-identifiers."""
        law = release.law
        if not isinstance(law, PerturbedRows):
            raise ParameterError(
                f"linking works on releases with the law {' or '.join(self.laws)}, this one has "
                f"{release.manifest.law['law']}. Choose another attack.",
                parameter="attack",
            )
        sensitive = release.schema.sensitive(
            self.sensitive, parameter="sensitive", advice="Name the one to infer in sensitive."
        ).name
        names = self._known(release, knowledge, sensitive)
        # Quasi-identifiers that are published as they are come first: of these only what occurs is kept.
        names = tuple(sorted(names, key=lambda name: name in law.distortions))
        number_of_exact = sum(name not in law.distortions for name in names)
        joint = (*names, sensitive)
        attributes = release.schema.select(joint)
        matrices = [law.distortions[name].on_axis if name in law.distortions else None for name in joint]
        exact, published = occupied_groups(release.count_occupied(joint), number_of_exact)
        axes = [None, *matrices[number_of_exact:]] if number_of_exact else matrices
        # Which published rows are held out must not change from run to run; it protects nobody.
        generator = np.random.default_rng(0)
        if self.smoothing is None:
            prior = fit_groups(published, axes, generator, codes=exact)
        else:
            prior = pooled_counts(published, axes, self.smoothing)
        if math.prod(each.size for each in attributes) <= LARGEST_READ:
            whole = law.consistent(release, Tabulation(by=joint), feasibility=self.feasibility)
            whole = whole.reshape([each.size for each in attributes])
            read = whole if exact is None else whole[tuple(exact.T)]
        else:
            read = pooled_counts(published, axes, NOBODY)
        return LinkingPosterior(attributes, axes, published, prior, read, exact)

    def _known(self, release: Release, knowledge: Knowledge | None, sensitive: str) -> tuple[str, ...]:
        if self.quasi_identifiers is not None:
            names = self.quasi_identifiers
        elif knowledge is not None:
            names = knowledge.schema.names
        else:
            names = tuple(each.name for each in release.schema.with_role(Role.QUASI_IDENTIFIER))
        names = tuple(name for name in names if name != sensitive)
        if not names:
            raise ParameterError(
                "the attacker knows no attribute to link by. Name some in quasi_identifiers, or give outside "
                "records that share attributes with the release.",
                parameter="quasi_identifiers",
            )
        return names


@dataclass(frozen=True, eq=False)
class LinkingPosterior:
    """Beliefs about the sensitive value of people with each combination of quasi-identifiers.

    Parameters
    ----------
    attributes
        The quasi-identifiers, then the sensitive attribute: one for each axis.
    matrices
        What each axis was perturbed by.
    published
        Counts of published rows.
    prior
        Counts in proportion to which rows are believed to have been drawn.
    reconstructed
        Feasible estimates of the true counts.
    exact
        ``(groups, attributes)``: codes of the combinations of the first attributes that occur, which were not
        perturbed and share the first axis; None where every attribute has an axis of its own.
    """

    attributes: tuple[Attribute, ...]
    matrices: list[AxisMatrix]
    published: Floats
    prior: Floats
    reconstructed: Floats
    exact: Integers | None = None

    @property
    def sensitive(self) -> Attribute:
        """The attribute that is inferred."""
        return self.attributes[-1]

    @cached_property
    def linked(self) -> Floats:
        """Expected number of published rows that truly belong to each cell, by Bayes row by row."""
        return linked_counts(self.published, self.matrices, self.prior)

    @cached_property
    def beliefs(self) -> Floats:
        """Probability of each sensitive value given the quasi-identifiers, by linking rows.

        The target is a row of this very table, so the beliefs are shares of its expected rows: where nothing was
        perturbed they are the group's shares, and the prior has no say.
        """
        return shares_with_overall(self.linked, NOBODY)

    @cached_property
    def read(self) -> Floats:
        """The same, read off the reconstructed distribution."""
        return shares_with_overall(self.reconstructed, NOBODY)

    @property
    def link_probabilities(self) -> Floats:
        """Probability that a row picked by its posterior weight is the target's own, by group.

        The target's row, published as b, is picked with probability ``P[a, b] / lambda_b`` over the sum of
        these weights, which is 1 for each of the N rows over pi_a; on average ``rec(a) / (N pi_a)``.
        """
        groups = self.prior.sum(axis=-1)
        recovered = recovery_probabilities(groups, self.matrices[:-1])
        # A group estimated below one row still has the target in it.
        return np.asarray(recovered / np.maximum(groups, 1))

    def targets(self, knowledge: Knowledge | None) -> Floats:
        """How many targets each group has: outside records, or everybody as far as estimated."""
        names = [each.name for each in self.attributes[:-1]]
        if knowledge is None:
            return np.asarray(self.prior.sum(axis=-1))
        missing = [name for name in names if name not in knowledge.schema]
        if missing:
            raise ParameterError(
                f"the outside records have no {missing[0]!r}, which targets are to be linked by. "
                "Leave it out of quasi_identifiers.",
                parameter="quasi_identifiers",
            )
        occupied = knowledge.occupied(names)
        groups, is_published = self._places(occupied.codes)
        weights = np.zeros(self.prior.shape[:-1])
        np.add.at(weights, tuple(each[is_published] for each in groups), occupied.counts[is_published])
        return weights

    def guesses(self, knowledge: Knowledge) -> PeopleGuesses:
        """For the people of each combination in the outside records the likeliest value, and the belief in it."""
        occupied = knowledge.occupied([each.name for each in self.attributes[:-1]])
        groups, is_published = self._places(occupied.codes)
        beliefs = self.beliefs[groups]
        columns: dict[str, Sequence[Cell]] = {
            each.name: [each.labels[code] for code in codes]
            for each, codes in zip(occupied.attributes, occupied.codes, strict=True)
        }
        labels = self.sensitive.labels
        columns["records"] = occupied.counts.tolist()
        columns[f"guessed {self.sensitive.name}"] = [
            labels[code] if found else ""
            for code, found in zip(beliefs.argmax(axis=-1), is_published, strict=True)
        ]
        columns["probability"] = [
            float(belief) if found else ""
            for belief, found in zip(beliefs.max(axis=-1), is_published, strict=True)
        ]
        return PeopleGuesses(columns)

    def likeliest(self, codes: Mapping[str, npt.NDArray[Any]]) -> Integers:
        """For each target the likeliest sensitive code; ``codes`` holds its quasi-identifiers."""
        return np.asarray(self.beliefs[self._groups(codes)].argmax(axis=-1))

    def drawn(self, codes: Mapping[str, npt.NDArray[Any]], noise: NoiseSource) -> npt.NDArray[Any]:
        """For each target a sensitive code drawn from the beliefs."""
        groups = np.ravel_multi_index(self._groups(codes), self.published.shape[:-1])
        present, given = np.unique(groups, return_inverse=True)
        rows = self.beliefs.reshape(-1, self.sensitive.size)[present]
        sampler = CategorySampler.from_probabilities(rows)
        return noise.named("draw from beliefs").stream(0).categories(sampler, given)

    def _groups(self, codes: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], ...]:
        groups, is_published = self._places([np.asarray(codes[each.name]) for each in self.attributes[:-1]])
        if not is_published.all():
            raise DataError(
                f"{np.count_nonzero(~is_published):,} targets have quasi-identifiers that no published row has, so they "
                "are not in this table. Leave them out."
            )
        return groups

    def _places(self, codes: Sequence[npt.NDArray[Any]]) -> tuple[tuple[Integers, ...], Booleans]:
        """Place of each combination of quasi-identifiers on the axes, and whether it can be in the table."""
        every = [np.asarray(each, dtype=np.int64) for each in codes]
        if self.exact is None:
            return tuple(every), np.ones(every[0].shape, dtype=bool)
        number = self.exact.shape[1]
        places = places_among(np.stack(every[:number], axis=1), self.exact)
        return (np.maximum(places, 0), *every[number:]), np.asarray(places >= 0)
