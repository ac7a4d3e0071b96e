"""Tables drawn from what a release says of its true rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.analysis.imputing.augmenting import draw_shares
from sfumato.analysis.imputing.parameters import Parameters
from sfumato.analysis.imputing.pooling import Pooled, pool
from sfumato.analysis.imputing.seen_rows import SeenRows
from sfumato.data.arrow_rows import ArrowRows, row_writer
from sfumato.release.release import Release
from sfumato.values.arrays import Floats
from sfumato.values.batches import CodedBatch
from sfumato.values.number_text import counted, listed
from sfumato.values.tabular import Tabular
from sfumato.watching import steps as told_steps
from sfumato.writing import write_whole

README_NAME = "README.md"


@dataclass(frozen=True, eq=False)
class Draw(Tabular):
    """One table of rows as they may have been: made of published rows, in their order.

    Parameters
    ----------
    of
        What it is a draw of.
    place
        Which one, from 0.
    """

    of: Imputations
    place: int

    def __repr__(self) -> str:
        return (
            f"Draw({self.place + 1} of {self.of.draws}: {listed(self.of.names)}; {counted(len(self), 'row')})"
        )

    def __str__(self) -> str:
        return self.summary()

    def __len__(self) -> int:
        return self.of.seen.number_of_rows

    def summary(self) -> str:
        """One line for people."""
        return (
            f"Draw {self.place + 1} of {self.of.draws}: {listed(self.of.names)}; {counted(len(self), 'row')}"
        )

    @cached_property
    def shares(self) -> Floats:
        """The parameters drawn: shares of true values within groups of exact ones, ``(groups, width)``."""
        return draw_shares(self.of.seen, self.of.parameters, self.of.steps, self._generator("parameters"))

    def batches(self) -> Iterator[CodedBatch]:
        """The rows as codes; memory does not grow with their number."""
        seen = self.of.seen
        chances = np.cumsum(seen.chances(self.shares), axis=1)
        generator = self._generator("rows")
        for batch in self.of.release.scan(self.of.release.tables[0].name, (*seen.exact, *seen.perturbed)):
            number = batch.number_of_rows
            below = chances[seen.places(batch.codes, number)]
            # The last one takes what rounding leaves of the sum.
            true = (generator.random(number)[:, None] >= below[:, :-1]).sum(axis=1)
            redrawn = {
                **batch.codes,
                **dict(zip(seen.perturbed, seen.perturbed_radix.decode(true), strict=True)),
            }
            yield CodedBatch({name: redrawn[name] for name in self.of.names}, number)

    def to_arrow(self) -> Any:
        """A pyarrow table with a row for each published one."""
        import pyarrow as pa

        rows = ArrowRows(self.of.release.schema.select(self.of.names))
        return pa.Table.from_batches([rows.convert(each) for each in self.batches()], schema=rows.schema)

    def _generator(self, use: str) -> np.random.Generator:
        # Nothing is protected by these numbers: they are drawn from what is public.
        return np.random.default_rng([self.of.seed, self.place, 0 if use == "parameters" else 1])


@dataclass(frozen=True, eq=False)
class Imputations:
    """Several tables of rows as they may have been, for tools that know multiple imputation.

    About the population: an analysis of every draw by itself, taken for true rows, is made one by :meth:`pool`. A single draw is no
    estimate of anything.

    Parameters
    ----------
    release
        What they were drawn from.
    names
        Columns, in order.
    seen, parameters, steps
        Evidence, model, and steps of each chain.
    model
        As it was declared; empty for none.
    draws
        How many tables.
    seed
        The same draws follow from the same seed.
    """

    release: Release
    names: tuple[str, ...]
    seen: SeenRows
    parameters: Parameters
    steps: int
    model: str
    draws: int
    seed: int

    def __repr__(self) -> str:
        return f"Imputations({self.draws} draws of {listed(self.names)}; {counted(self.seen.number_of_rows, 'row')})"

    def __str__(self) -> str:
        return self.summary()

    def __len__(self) -> int:
        return self.draws

    def __getitem__(self, place: int) -> Draw:
        if not -self.draws <= place < self.draws:
            raise IndexError(place)
        return Draw(self, place % self.draws)

    def __iter__(self) -> Iterator[Draw]:
        return (Draw(self, place) for place in range(self.draws))

    @property
    def congenial(self) -> str:
        """Which analyses the draws are for."""
        if not self.model:
            return f"any analysis of {' and '.join(self.names)} and of nothing else: no model of how they go together was assumed"
        return (
            f"analyses of {' and '.join(self.names)} that ask for nothing beyond {self.model}: whatever goes together otherwise, "
            "the draws show none of it"
        )

    def summary(self) -> str:
        """A few lines for people."""
        least, mean = self.seen.shares_told
        return "\n".join(
            [
                f"{self.draws} draws of {counted(self.seen.number_of_rows, 'row')}: {', '.join(self.names)}",
                f"Drawn anew: {', '.join(self.seen.perturbed)}; {', '.join(self.seen.exact) or 'nothing else'} as published",
                f"Congenial with {self.congenial}",
                f"Published rows tell {mean:.2g} of what true ones would on average, {least:.2g} where least; {self.steps:,} steps a draw",
                "About the population. Analyse every draw as if its rows were true ones, then pool: one draw estimates nothing",
                f"({self.release.method}, law {self.release.manifest.law['law']})",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``impute --json`` prints it."""
        return {
            "draws": self.draws,
            "rows": self.seen.number_of_rows,
            "attributes": list(self.names),
            "drawn_anew": list(self.seen.perturbed),
            "model": self.model or None,
            "congenial": self.congenial,
            "target": "population",
            "information_told": {"least": self.seen.shares_told[0], "mean": self.seen.shares_told[1]},
            "steps": self.steps,
            "seed": self.seed,
            "method": self.release.method,
            "law": str(self.release.manifest.law["law"]),
        }

    def pool(
        self,
        analyse: Callable[[Draw], tuple[npt.ArrayLike, npt.ArrayLike]],
        *,
        names: Sequence[str] | None = None,
        confidence_level: float = 0.95,
    ) -> Pooled:
        """Run an analysis on every draw, and make its results one.

        Parameters
        ----------
        analyse
            Gives estimates and their variances, as of true rows.
        names, confidence_level
            As for :func:`sfumato.analysis.imputing.pool`.
        """
        found = [analyse(each) for each in self]
        return pool(
            np.array([np.atleast_1d(each[0]) for each in found]),
            np.array([np.atleast_1d(each[1]) for each in found]),
            names=names,
            confidence_level=confidence_level,
        )

    def write(self, out: Path | str) -> Path:
        """Write every draw as a Parquet file of a new folder, whole or not at all; memory does not grow with rows.

        Raises
        ------
        ParameterError
            When the folder exists, or cannot be written.
        """
        out = Path(out)
        columns = ArrowRows(self.release.schema.select(self.names))
        with write_whole(out, parameter="out") as (folder,):
            folder.mkdir()
            for each in told_steps("Drawing", list(self)):
                with row_writer(folder / self.file_name(each.place), columns, "parquet") as write:
                    for batch in each.batches():
                        write(batch)
            (folder / README_NAME).write_text(self._readme(), encoding="utf-8")
        return out

    def file_name(self, place: int) -> str:
        """Of a draw, counted from one.

        All have as many digits, so that they sort.
        """
        return f"draw-{place + 1:0{len(str(self.draws))}d}.parquet"

    def _readme(self) -> str:
        return (
            f"# Draws from a release\n\n{self.summary()}.\n\n"
            "No row of these files is anybody's: values were drawn from what the release says of them. Results of all files together, "
            "pooled by Rubin's rules, are about the population behind the table; of one file alone they say nothing.\n"
        )
