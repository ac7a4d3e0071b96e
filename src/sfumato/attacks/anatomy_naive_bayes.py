"""The attack on Anatomy: naive Bayes learned from the release alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.arrays import Booleans, Floats
from sfumato.attacks.base import Attack, AttackResult, Knowledge, PeopleGuesses
from sfumato.attacks.bucket_models import (
    PARTS,
    Expectation,
    Fit,
    Guesses,
    HeldOut,
    NaiveBayes,
    Trust,
    fit,
    guess,
    guess_in_buckets,
    learn_from_others,
    require_possible,
    sample,
    sorted_beliefs,
)
from sfumato.errors import DataError, ParameterError
from sfumato.methods.anatomy.law import BucketedRows, read_people
from sfumato.methods.anatomy.permutations import LARGEST_EXACT, BucketedPeople
from sfumato.release import Release
from sfumato.results import ResultTable
from sfumato.schema import Attribute
from sfumato.text import Cell

# --------------------------------------------------------------------------------------------------
# What an attack on buckets shows: headline tables and the sentences a reader must know.


FITTED = ("exact", "balanced", "restricted", "approximate")
"""Variants that fit a model."""

THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Probabilities for which the number of people known with at least that probability is reported."""


def exposure(probabilities: Floats) -> ResultTable:
    """How many people are known how surely."""
    numbers = [int(np.count_nonzero(probabilities >= threshold)) for threshold in THRESHOLDS]
    return ResultTable(
        "People whose value is guessed with at least this probability (in the attacker's own reckoning)",
        ("probability", "people", "share"),
        tuple(
            (threshold, number, number / len(probabilities))
            for threshold, number in zip(THRESHOLDS, numbers, strict=True)
        ),
    )


def elimination(guesses: Guesses) -> ResultTable:
    """What ruling out other values of the target's bucket does, by how many, in the smallest buckets.

    Given that a person does not hold some values, the probabilities of the others grow in proportion; so
    the best guess p becomes ``p / (1 - ruled out)``. Ruled out are the strongest rivals of the guess.
    """
    place = int(np.argmin([block.size for block in guesses.people.blocks]))
    block = guesses.people.blocks[place]
    beliefs = sorted_beliefs(block, guesses.marginals[place])
    rows: list[tuple[Cell, ...]] = []
    for number in range(block.size):
        left = 1 - beliefs[:, 1 : number + 1].sum(axis=1)
        sure = beliefs[:, 0] / np.maximum(left, np.finfo(float).tiny)
        rows.append((number, 1 / (block.size - number), float(sure.mean()), float((sure >= 0.9).mean())))
    return ResultTable(
        f"When an attacker can rule out values of the target's bucket (buckets of {block.size})",
        ("values ruled out", "one bucket alone", "mean probability of the guess", "share at 0.9 or more"),
        tuple(rows),
    )


def starts_table(fits: tuple[tuple[Fit, ...], ...]) -> tuple[ResultTable, ...]:
    """Every fit: by the part of the buckets that it is applied to, and by start."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (part, start, each.objective, len(each.objectives) - 1, "yes" if each.has_converged else "no")
        for part, of_part in enumerate(fits, start=1)
        for start, each in enumerate(of_part, start=1)
    )
    if not rows:
        return ()
    return (
        ResultTable(
            "Starts (in each part of the buckets the best objective is used)",
            ("part", "start", "objective", "cycles", "settled"),
            rows,
        ),
    )


def caveats(people: BucketedPeople, variant: str, beliefs: str, *, has_knowledge: bool) -> tuple[str, ...]:
    """Sentences about the variant that ran and what its probabilities mean."""
    sentences = [
        "Probabilities are the attacker's own; an audit against the truth says how often they are right."
    ]
    if beliefs == "in-sample" and variant in FITTED:
        sentences.append(
            "Each bucket's beliefs come from a model that was fitted to it as well: where there is little to learn they "
            "are far too sure. beliefs=held-out is not."
        )
    if people.number_of_value_sets == 1:
        sentences.append(
            "All buckets hold the same set of values: the values are interchangeable, and there is nothing to learn."
        )
    if variant != "exact" and people.largest_bucket > LARGEST_EXACT:
        sentences.append(
            f"Buckets of up to {people.largest_bucket} are too large for the exact variant (at most {LARGEST_EXACT}); "
            f"the variant {variant} ran, and the probabilities are approximate."
        )
    if variant == "approximate":
        sentences.append(
            "This variant ignores buckets while learning, so which cluster is called which value is arbitrary: it is "
            "a baseline, not a threat."
        )
    if has_knowledge:
        sentences.append("Combinations that the knowledge lists were taken as impossible.")
    return tuple(sentences)


# --------------------------------------------------------------------------------------------------
# The attack that breaks Anatomy: naive Bayes learned from the release alone.


Ran = Literal["exact", "balanced", "restricted", "approximate", "gibbs", "random"]
Variant = Literal["auto", "exact", "balanced", "restricted", "approximate", "gibbs", "random"]
Beliefs = Literal["held-out", "in-sample"]

SHORT_RUN = 10
"""Cycles of every start of a held-out model; the best of them goes on until it settles."""

TYPICAL_CYCLES = 20
"""Cycles that a start is reckoned to take."""

AFFORDABLE_STEPS = 2e9
"""Steps of sums over permutations that all fits may take together: some ten seconds of processor time."""


@dataclass(frozen=True, eq=False)
class Inference:
    """What an attack came to believe, and how.

    Parameters
    ----------
    variant
        The variant that ran.
    guesses
        Beliefs and guesses about everybody.
    fits
        For each part of the buckets one for each start, in order; none for variants without a model to fit.
    held_out
        How beliefs from other buckets came about; None where they did not.
    """

    variant: Ran
    guesses: Guesses
    fits: tuple[tuple[Fit, ...], ...] = ()
    held_out: HeldOut | None = None

    @property
    def trust(self) -> Trust | None:
        """How far held-out buckets bear the models out."""
        return None if self.held_out is None else self.held_out.trust


class AnatomyNaiveBayes(Attack):
    """Learn across buckets what public values say about the sensitive one, and guess everybody's.

    A naive Bayes model with the people's values unknown is fitted by expectation-maximization. The
    expectation is over all permutations of each bucket's values; starts are compared by the objective,
    never by the truth. What is believed of a bucket comes from models of other buckets, trusted as far as
    buckets held out bear them out.

    Against whom
        Releases by Anatomy: public values exact, sensitive values exact, joined by bucket.
    Weaknesses
        With equal sets of values in all buckets there is nothing to learn. The variants gibbs and random, and beliefs
        in-sample, state their probabilities as the model gives them.

    References
    ----------
    Mothali (2011), chapters 3-5; Kifer (2009) for the variant ``gibbs``.
    """

    attack: Literal["anatomy-naive-bayes"] = "anatomy-naive-bayes"
    variant: Variant = Field(
        default="auto",
        description=(
            "exact (over permutations), balanced (close to it, any bucket size), restricted (each person alone over "
            "the bucket's values), approximate (buckets ignored until the end), gibbs, random; auto is exact where "
            "that takes seconds, else balanced"
        ),
    )
    beliefs: Beliefs = Field(
        default="held-out",
        description=(
            "held-out (from models of other buckets, trusted as far as these tell buckets they have not seen) or "
            "in-sample (from one model of all buckets, which is too sure)"
        ),
    )
    learn_from: Annotated[int, Field(ge=100, le=100_000_000)] = Field(
        default=20_000,
        description="people that a held-out model is fitted to at most: buckets are drawn at random from larger releases",
    )
    starts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="models to start from: a uniform one and random ones"
    )
    cycles: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=100, description="steps of a start at most"
    )
    tolerance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1e-5, description="relative change of the objective at which a start stops"
    )
    value_pseudo_count: Annotated[float, Field(ge=0, le=1e9)] = Field(
        default=1.0, description="added to the number of people with each value (alpha)"
    )
    category_pseudo_count: Annotated[float, Field(ge=0, le=1e9)] = Field(
        default=1.0, description="added to each category's number of people of each value (beta)"
    )
    sweeps: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=100, description="draws that gibbs averages"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(
        default=0, description="for random starts, draws and ties"
    )

    title: ClassVar[str] = "naive Bayes on Anatomy"
    summary: ClassVar[str] = (
        "Fits, on the release alone, how public values go with sensitive ones, by weighing all ways of giving each "
        "bucket's values to its people. Then gives each person the value of the bucket's most probable assignment."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "The attacker has the release and nothing else, unless knowledge is given.",
        "The attacker knows the target's public values, and so the target's bucket.",
        "Knowledge, when given, lists combinations of public and sensitive values that nobody has.",
    )
    citations: ClassVar[tuple[str, ...]] = (
        "Mothali, C. (2011). Attacking anonymization and constructing improved differentially private classifiers.",
        "Kifer, D. (2009). Attacks on privacy and de Finetti's theorem. SIGMOD.",
    )
    laws: ClassVar[tuple[str, ...]] = ("bucketed-rows",)

    def run(self, release: Release, knowledge: Knowledge | None = None) -> AttackResult:
        """Attack a release; what outside records list is taken as ruled out.

        Parameters
        ----------
        release
            A release by Anatomy.
        knowledge
            Records of public attributes and the sensitive one: nobody with these public values has this
            sensitive value. The attributes that a record does not mention may be anything.
        """
        law = release.law
        if not isinstance(law, BucketedRows):
            raise ParameterError(
                f"the attack anatomy-naive-bayes reads buckets, and this release is by {release.method}. "
                "Choose an attack for its law.",
                parameter="attack",
            )
        public = tuple(each for each in release.schema.attributes if each.name != law.sensitive)
        names = [each.name for each in public]
        people = read_people(release, law.composition(release), names, seed=self.seed)
        sensitive = release.schema[law.sensitive]
        allowed = None if knowledge is None else allowed_pairs(people, public, sensitive, knowledge)
        inference = self.infer(people, allowed=allowed)
        result = self._result(inference, law, has_knowledge=knowledge is not None)
        told = () if knowledge is None else knowledge.sentences(knowledge.schema.names)
        guesses = guesses_of_people(inference.guesses, public, sensitive)
        return replace(result, caveats=(*result.caveats, *told), people=guesses)

    def infer(self, people: BucketedPeople, *, allowed: Booleans | None = None) -> Inference:
        """Beliefs about everybody, from arranged arrays; what audits call as well.

        Parameters
        ----------
        people
            The release.
        allowed
            ``(combinations, values)``: False where outside knowledge rules a pair out.
        """
        variant = self._variant_for(people)
        if allowed is not None:
            require_possible(people, allowed)
        generator = np.random.default_rng(self.seed)
        if variant == "random":
            return Inference(variant, guess(people, _even(people, allowed)))
        if variant == "gibbs":
            beta = self.category_pseudo_count
            drawn = sample(
                people, generator, beta=beta, burn_in=self.sweeps // 2, sweeps=self.sweeps, allowed=allowed
            )
            return Inference(variant, drawn)
        expectation: Expectation = variant

        def fits_to(some: BucketedPeople, cycles: int = self.cycles) -> tuple[Fit, ...]:
            starts = self._starts(some, expectation, generator)
            return tuple(self._fit(some, expectation, start, cycles, allowed) for start in starts)

        def best_of_short_runs(some: BucketedPeople) -> tuple[Fit, ...]:
            fits = fits_to(some, min(self.cycles, SHORT_RUN))
            best = max(range(len(fits)), key=lambda place: fits[place].objective)
            rest = self._fit(some, expectation, fits[best].model, self.cycles, allowed)
            whole = replace(rest, objectives=(*fits[best].objectives, *rest.objectives[1:]))
            return (*fits[:best], whole, *fits[best + 1 :])

        if self.beliefs == "held-out":
            found = learn_from_others(
                people, best_of_short_runs, generator, learn_from=self.learn_from, allowed=allowed
            )
            return Inference(variant, guess_in_buckets(people, found.likelihoods), found.fits, found)
        fits = fits_to(people)
        logs = max(fits, key=lambda each: each.objective).model.log_likelihoods(people)
        if allowed is not None:
            logs = np.where(allowed, logs, -np.inf)
        return Inference(variant, guess(people, np.exp(logs - logs.max(axis=1, keepdims=True))), (fits,))

    def _variant_for(self, people: BucketedPeople) -> Ran:
        is_small = people.largest_bucket <= LARGEST_EXACT
        if self.variant == "auto":
            return "exact" if is_small and self._exact_steps(people) <= AFFORDABLE_STEPS else "balanced"
        if self.variant in ("exact", "gibbs") and not is_small:
            raise ParameterError(
                f"the variant {self.variant} takes buckets of at most {LARGEST_EXACT}, and one has "
                f"{people.largest_bucket}. Use variant=auto or balanced, which approximates it.",
                parameter="variant",
            )
        return self.variant

    def _exact_steps(self, people: BucketedPeople) -> float:
        """Steps that exact fits would take: ``2^g`` for each person of a bucket of g, every cycle."""
        of_a_cycle = sum(float(block.rows.size) * 2**block.size for block in people.blocks)
        rows = people.number_of_rows
        learned = min(self.learn_from * PARTS, rows * (PARTS - 1)) if self.beliefs == "held-out" else rows
        return float(of_a_cycle * learned / rows * self.starts * min(self.cycles, TYPICAL_CYCLES))

    def _starts(
        self, people: BucketedPeople, expectation: Expectation, generator: np.random.Generator
    ) -> Iterator[NaiveBayes]:
        for number in range(self.starts):
            # Without buckets a uniform model stays uniform for ever, so that variant has random starts only.
            is_uniform = number == 0 and expectation != "approximate"
            alpha, beta = self.value_pseudo_count, self.category_pseudo_count
            yield (
                NaiveBayes.uniform(people)
                if is_uniform
                else NaiveBayes.random(people, generator, alpha, beta)
            )

    def _fit(
        self,
        people: BucketedPeople,
        expectation: Expectation,
        start: NaiveBayes,
        cycles: int,
        allowed: Booleans | None,
    ) -> Fit:
        return fit(
            people,
            start,
            expectation=expectation,
            alpha=self.value_pseudo_count,
            beta=self.category_pseudo_count,
            cycles=cycles,
            tolerance=self.tolerance,
            allowed=allowed,
        )

    def _result(self, inference: Inference, law: BucketedRows, *, has_knowledge: bool) -> AttackResult:
        people = inference.guesses.people
        sure = inference.guesses.probabilities
        findings: dict[str, Cell] = {
            "variant": inference.variant,
            "people": people.number_of_rows,
            "buckets": people.number_of_buckets,
            "promised chance of a guess": 1 / law.l_value,
            "chance of a random guess": people.chance_of_random_guess,
            "mean probability of the guesses": float(sure.mean()),
            "different sets of values in buckets": people.number_of_value_sets,
        }
        if inference.held_out is not None:
            findings["learned about a person, bits"] = inference.held_out.gain / float(np.log(2))
            findings["people a model was fitted to, at most"] = min(self.learn_from, people.number_of_rows)
        return AttackResult(
            self.attack,
            findings,
            (exposure(sure), elimination(inference.guesses), *starts_table(inference.fits)),
            caveats(people, inference.variant, self.beliefs, has_knowledge=has_knowledge),
        )


def guesses_of_people(guesses: Guesses, public: tuple[Attribute, ...], sensitive: Attribute) -> PeopleGuesses:
    """Everybody's public values, the value guessed and how probable it is, in the order of the release's rows."""
    combinations = guesses.people.combinations[guesses.people.combination_of_row]
    columns: dict[str, list[Cell]] = {
        each.name: [each.labels[code] for code in combinations[:, place]] for place, each in enumerate(public)
    }
    columns[f"guessed {sensitive.name}"] = [sensitive.labels[code] for code in guesses.values]
    columns["probability"] = guesses.probabilities.tolist()
    return PeopleGuesses(columns)


def allowed_pairs(
    people: BucketedPeople, public: tuple[Attribute, ...], sensitive: Attribute, knowledge: Knowledge
) -> Booleans:
    """Pairs of public combination and value that outside records do not rule out, ``(combinations, values)``."""
    unknown = [name for name in knowledge.source.columns() if name not in knowledge.schema.names]
    if unknown:
        raise DataError(
            f"the knowledge has a column {unknown[0]!r}, which the release has not, so its lines would rule out more "
            "than they say. Leave out such lines, or the column where it does not matter.",
            attribute=unknown[0],
        )
    table = knowledge.counts()
    if sensitive.name not in table.names:
        raise DataError(
            f"the knowledge has no column {sensitive.name!r}. It lists combinations that nobody has: give it the "
            "sensitive attribute, and the public ones that matter.",
            attribute=sensitive.name,
        )
    known = [name for name in table.names if name != sensitive.name]
    counts = table.project([*known, sensitive.name]).counts
    places = [next(i for i, each in enumerate(public) if each.name == name) for name in known]
    index = tuple(people.combinations[:, place] for place in places)
    found = counts[index] if index else np.tile(counts, (len(people.combinations), 1))
    return np.asarray(found == 0)


def _even(people: BucketedPeople, allowed: Booleans | None) -> Floats:
    shape = (len(people.combinations), people.number_of_values)
    return np.ones(shape) if allowed is None else allowed.astype(np.float64)
