"""The row phase: which rows of every cell are kept, how often each stands, and its redrawn value.

Quotas are drawn from the counts of whole cells and shared out to the portions of the table; given its
share, a portion chooses uniformly among its own rows. Every subset of a cell's rows is then as likely as if
it had been drawn from all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.chance.chosen_positions import ChosenPositions, PositionReader
from sfumato.chance.quotas import split
from sfumato.chance.randomness import NoiseSource, UniformReplacement
from sfumato.data.personal_groups import CellParts, PersonalGroups
from sfumato.data.portions import Portion, refuse_changed_table
from sfumato.values.arrays import Booleans, Integers
from sfumato.values.batches import CodedBatch

Codes = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SampleShare:
    """What a portion keeps of its rows.

    Parameters
    ----------
    cells, counts, quotas
        ``(cells here,)``: cells that occur, increasing; their rows, and how many of them are kept.
    groups, kept, one_more
        ``(groups here,)``: groups of which rows are kept, increasing; how many, and how many of those stand
        once more than the others.
    """

    cells: Integers
    counts: Integers
    quotas: Integers
    groups: Integers
    kept: Integers
    one_more: Integers


@dataclass(frozen=True, eq=False)
class Copies:
    """How often the kept rows of every group stand in the release: N = n floor(N/n) + r.

    Parameters
    ----------
    kept
        ``(groups,)``: the n rows that are kept.
    whole
        ``(groups,)``: the copies that all of them get.
    remainder
        ``(groups,)``: how many get one more.
    is_exact
        Exactly so many get one more; otherwise every row is rounded by itself, as in the thesis, and so many
        do on average only.
    """

    kept: Integers
    whole: Integers
    remainder: Integers
    is_exact: bool

    @classmethod
    def of(cls, groups: PersonalGroups, quotas: Integers, *, is_exact: bool) -> Copies:
        """Copies that scale the samples of some quotas back to their groups."""
        kept = np.asarray(np.add.reduceat(quotas, groups.starts))
        return cls(kept, *np.divmod(groups.sizes, kept), is_exact)


def share_out(
    groups: PersonalGroups,
    parts: CellParts,
    quotas: Integers,
    copies: Copies,
    noise: NoiseSource,
) -> tuple[SampleShare, ...]:
    """The share of every portion in the quotas of cells and in the further copies of groups."""
    number = int(parts.portions.max()) + 1
    shares = split(parts.counts, parts.starts, quotas, noise.named("quotas").stream(0))
    is_kept = shares > 0
    of_group = CellParts.of(
        groups.group_of_cell[parts.cells[is_kept]], parts.portions[is_kept], shares[is_kept]
    )
    one_more = np.zeros_like(of_group.counts)
    if copies.is_exact:
        one_more = split(
            of_group.counts, of_group.starts, copies.remainder, noise.named("one more copy").stream(0)
        )
    return tuple(
        SampleShare(
            parts.cells[cells],
            parts.counts[cells],
            shares[cells],
            of_group.cells[kept],
            of_group.counts[kept],
            one_more[kept],
        )
        for cells, kept in zip(parts.by_portion(number), of_group.by_portion(number), strict=True)
    )


class PortionSampler:
    """Says of each row of a portion whether it is kept, and how many copies of it are published.

    Parameters
    ----------
    groups
        The counted cells.
    copies
        How often kept rows stand.
    portion
        With its share.
    noise
        Where the draws come from.
    """

    def __init__(
        self, groups: PersonalGroups, copies: Copies, portion: Portion[SampleShare], noise: NoiseSource
    ) -> None:
        share = portion.share
        self.copies = copies
        self.noise = noise.named("copies")
        self.group_of_cell = groups.group_of_cell
        self._place_of_cell = _places(share.cells, groups.counts.size)
        self._place_of_group = _places(share.groups, groups.starts.size)
        self._rows = PositionReader(
            ChosenPositions.draw(share.counts, share.quotas, noise.named("which rows").stream(portion.number))
        )
        self._one_more = PositionReader(
            ChosenPositions.draw(
                share.kept, share.one_more, noise.named("which once more").stream(portion.number)
            )
        )

    def take(self, ascending: Integers, stream_number: int) -> tuple[Booleans, Integers]:
        """Which rows of a batch are kept, and the number of copies of each that is.

        Parameters
        ----------
        ascending
            ``(rows,)``, the cells of the batch's rows in ascending order.
        stream_number
            Of the batch.

        Returns
        -------
        tuple
            Whether each row is kept, ``(rows,)``, and the copies of those kept, in the same order.
        """
        places = self._place_of_cell[ascending]
        if places.min(initial=0) < 0:
            refuse_changed_table()
        is_kept = self._rows.mark(places)
        group = self.group_of_cell[ascending[is_kept]]
        if self.copies.is_exact:
            more = self._one_more.mark(self._place_of_group[group])
        else:
            stream = self.noise.stream(stream_number)
            remainder = self.copies.remainder[group].astype(np.uint64)
            more = stream.integers_below(self.copies.kept[group]) < remainder
        return is_kept, self.copies.whole[group] + more

    def finish(self) -> None:
        """Refuse a portion of which fewer rows came than were counted, or more; nothing is published then."""
        if not self._rows.is_finished:
            refuse_changed_table()


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Keeps some rows of every group, redraws their sensitive value, and repeats or weights them.

    Parameters
    ----------
    groups, copies
        The counted cells, and how often kept rows stand.
    names, recoding
        Attributes to publish, and the new code of each old one for those of which values were merged.
    sensitive, kernel
        The attribute that is redrawn, and by which probabilities.
    weight
        Column that says how many rows a row stands for; rows are repeated when None.
    """

    groups: PersonalGroups
    copies: Copies
    names: tuple[str, ...]
    recoding: dict[str, npt.NDArray[Any]]
    sensitive: str
    kernel: UniformReplacement
    weight: str | None

    def __call__(
        self, batches: Iterator[CodedBatch], portion: Portion[SampleShare], noise: NoiseSource
    ) -> Iterator[CodedBatch]:
        """Sampled, perturbed and scaled rows."""
        sampler = PortionSampler(self.groups, self.copies, portion, noise.named("sample"))
        perturbing = noise.named(f"perturb {self.sensitive}")
        for place, batch in enumerate(batches):
            number = portion.stream_number(place)
            codes = recode(batch.codes, self.names, self.recoding)
            order, cells = self.groups.sort_rows(codes)
            is_kept, copies = sampler.take(cells, number)
            rows = order[is_kept]
            # Perturbed before it is repeated: all copies of a row are the same draw.
            redrawn = perturbing.stream(number).perturb_uniformly(codes[self.sensitive][rows], self.kernel)
            if self.weight is not None:
                kept = {name: column[rows] for name, column in codes.items()}
                yield CodedBatch({**kept, self.sensitive: redrawn, self.weight: copies}, rows.size)
            else:
                repeated = np.repeat(rows, copies)
                kept = {name: column[repeated] for name, column in codes.items()}
                kept[self.sensitive] = np.repeat(redrawn, copies)
                yield CodedBatch(kept, repeated.size)
        sampler.finish()


def recode(
    codes: Codes, names: tuple[str, ...], recoding: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Columns of some attributes, with new codes where a recoding says so."""
    return {name: recoding[name][codes[name]] if name in recoding else codes[name] for name in names}


def _places(known: Integers, size: int) -> npt.NDArray[np.int64]:
    """For each number below ``size`` its place among those known, -1 where it is not."""
    places = np.full(size, -1, np.int64)
    places[known] = np.arange(known.size)
    return places
