"""Who runs tasks: this process, one after the other; on Spark see :mod:`sfumato.data.distributed.spark_runner`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sfumato.data.distributed.exchange import DealStep, Meeting, exchange_here
from sfumato.data.distributed.splits import Split
from sfumato.data.distributed.tasks import SplitTask, attempt, batches_of
from sfumato.values.schema import Attribute


class Runner(Protocol):
    """Runs tasks on splits, and brings back what they find, in the order of the splits."""

    def map(self, task: SplitTask, splits: Sequence[Split]) -> list[Any]:
        """What a task finds in each split, or why it could not."""

    def exchange(
        self,
        splits: Sequence[Split],
        attributes: Sequence[Attribute],
        deal: DealStep,
        meetings: Sequence[Meeting],
    ) -> list[Any]:
        """What each pile of the last meeting found, or why a task could not."""

    def shared_folder(self) -> Any:
        """Within the block, a folder that every task can reach and nobody else may read."""

    def close(self) -> None:
        """Give back what is held."""


class LocalRunner:
    """Runs every task here; the measure that others are held against.

    Parameters
    ----------
    temporary_folder
        Where rows wait; the system's place unless said otherwise.
    """

    def __init__(self, temporary_folder: Path | None = None) -> None:
        self.temporary_folder = temporary_folder

    def map(self, task: SplitTask, splits: Sequence[Split]) -> list[Any]:
        """One split after the other."""
        return [attempt(partial(task, each, number)) for number, each in enumerate(splits)]

    def exchange(
        self,
        splits: Sequence[Split],
        attributes: Sequence[Attribute],
        deal: DealStep,
        meetings: Sequence[Meeting],
    ) -> list[Any]:
        """All in memory."""
        found = attempt(
            lambda: exchange_here((batches_of(each, attributes) for each in splits), deal, meetings)
        )
        return found if isinstance(found, list) else [found]

    @contextmanager
    def shared_folder(self) -> Iterator[Path]:
        """A temporary one."""
        with tempfile.TemporaryDirectory(prefix="sfumato-", dir=self.temporary_folder) as folder:
            yield Path(folder)

    def close(self) -> None:
        """There is nothing to give back."""
