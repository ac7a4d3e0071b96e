"""The attack that breaks Anatomy: naive Bayes learned from the release alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.attacks.anatomy_naive_bayes.gibbs import sample
from sfumato.attacks.anatomy_naive_bayes.guesses import Guesses, guess, require_possible, sorted_beliefs
from sfumato.attacks.anatomy_naive_bayes.naive_bayes import Expectation, Fit, NaiveBayes, fit
from sfumato.attacks.anatomy_naive_bayes.people import BucketedPeople
from sfumato.attacks.anatomy_naive_bayes.permutations import LARGEST_EXACT
from sfumato.attacks.base import Attack, AttackResult
from sfumato.data.knowledge import Knowledge
from sfumato.errors import DataError, ParameterError
from sfumato.methods.anatomy.law.bucketed_rows import BucketedRows
from sfumato.methods.anatomy.law.composition import BUCKET, ROWS
from sfumato.release import Release
from sfumato.values.arrays import Booleans, Floats
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable
from sfumato.values.schema import Attribute

Ran = Literal["exact", "balanced", "restricted", "approximate", "gibbs", "random"]
Variant = Literal["auto", "exact", "balanced", "restricted", "approximate", "gibbs", "random"]
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
"""Probabilities for which the number of people known with at least that probability is reported."""


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
        One for each start, in order; none for variants without a model to fit.
    """

    variant: Ran
    guesses: Guesses
    fits: tuple[Fit, ...] = ()


class AnatomyNaiveBayes(Attack):
    """Learn across buckets what public values say about the sensitive one, and guess everybody's.

    A naive Bayes model with the people's values unknown is fitted by expectation-maximization. The
    expectation is over all permutations of each bucket's values; starts are compared by the objective,
    never by the truth.

    Against whom
        Releases by Anatomy: public values exact, sensitive values exact, joined by bucket.
    Weaknesses
        With equal sets of values in all buckets there is nothing to learn. Probabilities are somewhat too
        sure of themselves for buckets of three and more, because the model leaves out what public
        attributes have to do with each other.

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
            "buckets are small enough, else balanced"
        ),
    )
    starts: Annotated[int, Field(ge=1)] = Field(
        default=3, description="models to start from: a uniform one and random ones"
    )
    cycles: Annotated[int, Field(ge=1)] = Field(default=500, description="steps of a start at most")
    tolerance: Annotated[float, Field(ge=0)] = Field(
        default=1e-8, description="relative change of the objective at which a start stops"
    )
    value_pseudo_count: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="added to the number of people with each value (alpha)"
    )
    category_pseudo_count: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="added to each category's number of people of each value (beta)"
    )
    sweeps: Annotated[int, Field(ge=1)] = Field(default=100, description="draws that gibbs averages")
    seed: int = Field(default=0, description="for random starts, draws and ties")

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
        "Mothali, R. (2011). Attacking anonymization and constructing improved differentially private classifiers.",
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
        people, public = read_people(release, law, seed=self.seed)
        sensitive = release.schema[law.sensitive]
        allowed = None if knowledge is None else allowed_pairs(people, public, sensitive, knowledge)
        inference = self.infer(people, allowed=allowed)
        return self._result(inference, law, has_knowledge=knowledge is not None)

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
        fits = tuple(
            self._fit(people, expectation, generator, number, allowed) for number in range(self.starts)
        )
        best = max(fits, key=lambda each: each.objective)
        logs = best.model.log_likelihoods(people)
        if allowed is not None:
            logs = np.where(allowed, logs, -np.inf)
        likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
        return Inference(variant, guess(people, likelihoods), fits)

    def _variant_for(self, people: BucketedPeople) -> Ran:
        is_small = people.largest_bucket <= LARGEST_EXACT
        if self.variant == "auto":
            return "exact" if is_small else "balanced"
        if self.variant in ("exact", "gibbs") and not is_small:
            raise ParameterError(
                f"the variant {self.variant} takes buckets of at most {LARGEST_EXACT}, and one has "
                f"{people.largest_bucket}. Use variant=auto or balanced, which approximates it.",
                parameter="variant",
            )
        return self.variant

    def _fit(
        self,
        people: BucketedPeople,
        expectation: Expectation,
        generator: np.random.Generator,
        number: int,
        allowed: Booleans | None,
    ) -> Fit:
        alpha, beta = self.value_pseudo_count, self.category_pseudo_count
        # Without buckets a uniform model stays uniform for ever, so that variant has random starts only.
        is_uniform = number == 0 and expectation != "approximate"
        start = (
            NaiveBayes.uniform(people) if is_uniform else NaiveBayes.random(people, generator, alpha, beta)
        )
        return fit(
            people,
            start,
            expectation=expectation,
            alpha=alpha,
            beta=beta,
            cycles=self.cycles,
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
        if inference.fits:
            best = max(inference.fits, key=lambda each: each.objective)
            findings["best objective"] = best.objective
        return AttackResult(
            self.attack,
            findings,
            (_exposure(sure), _elimination(inference.guesses), *_starts(inference.fits)),
            _caveats(inference, people, has_knowledge=has_knowledge),
        )


def read_people(
    release: Release, law: BucketedRows, *, seed: int
) -> tuple[BucketedPeople, tuple[Attribute, ...]]:
    """Everybody in a release, with the public attributes in order."""
    buckets = law.composition(release)
    public = tuple(each for each in release.schema.attributes if each.name != law.sensitive)
    batches = list(release.scan(ROWS, [*(each.name for each in public), BUCKET]))
    people = BucketedPeople.arrange(
        [np.concatenate([batch.codes[each.name] for batch in batches]) for each in public],
        [each.size for each in public],
        np.concatenate([batch.codes[BUCKET] for batch in batches]),
        buckets.places,
        buckets.number_of_values,
        seed=seed,
    )
    return people, public


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


def _exposure(probabilities: Floats) -> ResultTable:
    numbers = [int(np.count_nonzero(probabilities >= threshold)) for threshold in THRESHOLDS]
    return ResultTable(
        "People whose value is guessed with at least this probability (in the attacker's own reckoning)",
        ("probability", "people", "share"),
        tuple(
            (threshold, number, number / len(probabilities))
            for threshold, number in zip(THRESHOLDS, numbers, strict=True)
        ),
    )


def _elimination(guesses: Guesses) -> ResultTable:
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


def _starts(fits: tuple[Fit, ...]) -> tuple[ResultTable, ...]:
    if not fits:
        return ()
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (number, each.objective, len(each.objectives) - 1, "yes" if each.has_converged else "no")
        for number, each in enumerate(fits, start=1)
    )
    return (
        ResultTable("Starts (the best objective is used)", ("start", "objective", "cycles", "settled"), rows),
    )


def _caveats(inference: Inference, people: BucketedPeople, *, has_knowledge: bool) -> tuple[str, ...]:
    sentences = [
        "Probabilities are the attacker's own; an audit against the truth says how often they are right."
    ]
    if people.number_of_value_sets == 1:
        sentences.append(
            "All buckets hold the same set of values: the values are interchangeable, and there is nothing to learn."
        )
    if inference.variant != "exact" and people.largest_bucket > LARGEST_EXACT:
        sentences.append(
            f"Buckets of up to {people.largest_bucket} are too large for the exact variant (at most {LARGEST_EXACT}); "
            f"the variant {inference.variant} ran, and the probabilities are approximate."
        )
    if inference.variant == "approximate":
        sentences.append(
            "This variant ignores buckets while learning, so which cluster is called which value is arbitrary: it is "
            "a baseline, not a threat."
        )
    if has_knowledge:
        sentences.append("Combinations that the knowledge lists were taken as impossible.")
    return tuple(sentences)
