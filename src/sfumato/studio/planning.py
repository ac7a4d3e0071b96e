"""Two processes behind each planner: one that says promises at once, one that computes what takes longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.studio.jobs import NO_ANSWER
from sfumato.studio.processes import PLANNER, ProcessEndedError, Worker

PATIENCE = 1.0
"""Seconds after which a plan that somebody has asked past is given up."""


class Planner:
    """Plans and counts in processes that stay warm.

    Parameters
    ----------
    folder
        Where they run.
    """

    def __init__(self, folder: Path) -> None:
        self._quick = Worker(PLANNER, folder)
        self._thorough = Worker(PLANNER, folder)
        self._since = 0.0

    async def promise(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """What a design promises; never waits behind a computation."""
        return await _ask(self._quick, {**order, "do": "promise"})

    async def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """An answer, in its turn; asked for again where somebody's newer plan ended the process."""
        told = await _ask(self._thorough, order)
        return await _ask(self._thorough, order) if told.get("said") == NO_ANSWER else told

    async def newest(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """An answer that matters only as long as nobody asks again: what takes long is given up for the next one."""
        if self._thorough.is_busy and time.monotonic() - self._since > PATIENCE:
            self._thorough.kill()
        if not self._thorough.is_busy:
            self._since = time.monotonic()
        return await _ask(self._thorough, order)

    async def close(self) -> None:
        """End both processes."""
        await asyncio.gather(self._quick.close(), self._thorough.close())


async def _ask(worker: Worker, order: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await worker.carry_out(dict(order))
    except ProcessEndedError:
        return {"exit": 1, "said": NO_ANSWER}
