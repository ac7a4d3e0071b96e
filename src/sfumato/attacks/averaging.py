"""Averaging over repeated releases: fresh draws of the same rows give the small counts away."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.attacks.base import Attack, AttackResult
from sfumato.data.knowledge import Knowledge
from sfumato.errors import ParameterError
from sfumato.guarantees.small_sum_privacy import error_probabilities, smallest_error_probability
from sfumato.methods.splu_gen.law.decoy_rows import DecoyRows
from sfumato.release import Release, load_release
from sfumato.values.number_text import Cell
from sfumato.values.result_tables import ResultTable


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
