"""All designs on the same splits of one table; a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from sfumato.chance.randomness import NoiseSource
from sfumato.compare.designs import Candidate, default_candidates
from sfumato.compare.frontier import Comparison
from sfumato.compare.task import Outcome, Task, run_task
from sfumato.compare.workload import Question, make_workload
from sfumato.custody.in_memory import in_memory
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.values.schema import Role
from sfumato.watching import steps
from sfumato.writing import write_whole

FEWEST_REPEATS = 3
RUN_FILE = "run.json"
"""What a run was started with; a later one must be the same to go on."""


def compare_designs(
    table: PrivateTable,
    out: str | Path,
    *,
    candidates: Sequence[Candidate] | None = None,
    sensitive: str | None = None,
    queries: int = 300,
    repeats: int = 5,
    seed: int | None = None,
    workers: int | None = None,
) -> Comparison:
    """Publish every design on the same splits of a table, attack it, ask it, and say which are beaten by none.

    Parameters
    ----------
    table
        The private rows. Nothing of what is found is publishable.
    out
        Folder for the results of single designs and splits. Where it holds some of the same run, they are not made anew.
    candidates
        The designs; a grid of every method when not given.
    sensitive
        The attribute that is attacked; the only sensitive one when not given.
    queries
        Questions of the workload.
    repeats
        Splits and releases of every design, at least 3.
    seed
        Repeats everything; drawn and kept in the folder when not given.
    workers
        Processes; as many as there are cores when not given.
    """
    if repeats < FEWEST_REPEATS:
        raise ParameterError(
            f"repeats must be {FEWEST_REPEATS} or more, got {repeats}: fewer give no interval.",
            parameter="repeats",
        )
    chosen = tuple(default_candidates() if candidates is None else candidates)
    attribute = table.schema.sensitive(
        sensitive, parameter="sensitive", advice="Name the one to attack in sensitive."
    ).name
    if not table.schema.with_role(Role.QUASI_IDENTIFIER):
        raise ParameterError(
            "the table has no public attribute to know people by. Give some the role quasi-identifier.",
            parameter="table",
        )
    held = in_memory(table)
    folder = Path(out)
    started = _settled(folder, held, attribute, queries, seed)
    questions = make_workload(held.schema, queries, started["seed"])
    tasks = [Task(each, repeat, started["seed"]) for repeat in range(repeats) for each in chosen]
    results = folder / "results"
    results.mkdir(exist_ok=True)
    left = [each for each in tasks if not (results / _name(each)).is_file()]
    for outcome, task in _made(left, held, attribute, questions, workers):
        _write(results / _name(task), outcome)
    outcomes = [_read(results / _name(each)) for each in tasks]
    return Comparison(chosen, tuple(outcomes), attribute, repeats, started["seed"])


def _settled(
    folder: Path, table: PrivateTable, sensitive: str, queries: int, seed: int | None
) -> dict[str, Any]:
    """What the run was started with, written down; another table or workload in the same folder is refused."""
    digest = hashlib.sha256(sensitive.encode())
    codes = table.source.codes  # type: ignore[attr-defined]
    for name in table.schema.publishable.names:
        digest.update(name.encode())
        digest.update(codes[name].tobytes())
    asked = {"rows": digest.hexdigest(), "queries": queries}
    path = folder / RUN_FILE
    if path.is_file():
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if {name: known.get(name) for name in asked} != asked or seed not in (None, known["seed"]):
            raise ParameterError(
                f"{folder} holds a comparison of other rows, questions or seed. Choose another folder, or go on with the same.",
                parameter="out",
            )
        return known
    # Its owner's alone: who knows all rows but one can tell the last from a digest, and from figures about few people much.
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise ParameterError(
            f"{folder} is not empty and holds no comparison. Choose a new folder.", parameter="out"
        )
    started = {**asked, "seed": _drawn_seed() if seed is None else seed}
    with write_whole(path, parameter="out") as (temporary,):
        temporary.touch(mode=0o600)
        temporary.write_text(json.dumps(started), encoding="utf-8")
    return started


def _drawn_seed() -> int:
    """A seed that nobody knows beforehand; splits protect nobody, and it is kept for going on."""
    stream = NoiseSource.from_operating_system().named("seed of a comparison").stream(0)
    return int(stream.integers_below([2**31])[0])


def _made(
    tasks: Sequence[Task],
    table: PrivateTable,
    sensitive: str,
    questions: tuple[Question, ...],
    workers: int | None,
) -> Iterator[tuple[Outcome, Task]]:
    number = workers or os.cpu_count() or 1
    if number == 1 or len(tasks) < 2:
        for task in steps("Publishing, attacking and asking designs", tasks):
            yield run_task(task, table, sensitive, questions), task
        return
    with ProcessPoolExecutor(number, initializer=_prepare, initargs=(table.source, table.schema)) as pool:
        waiting = {pool.submit(_in_worker, task, sensitive, questions): task for task in tasks}
        told = steps("Publishing, attacking and asking designs", range(len(waiting)))
        for _, done in zip(told, as_completed(waiting), strict=True):
            yield done.result(), waiting[done]


_held: dict[str, PrivateTable] = {}


def _prepare(source: Any, schema: Any) -> None:
    """In a worker: one thread, and the rows once."""
    os.environ["OMP_NUM_THREADS"] = "1"
    from sfumato.data.coded_rows import ArrayEngine

    _held["table"] = PrivateTable(source, schema, engine=ArrayEngine())


def _in_worker(task: Task, sensitive: str, questions: tuple[Question, ...]) -> Outcome:
    return run_task(task, _held["table"], sensitive, questions)


def _name(task: Task) -> str:
    """A file for each design and split; labels may hold anything."""
    return f"{hashlib.sha256(task.candidate.label.encode()).hexdigest()[:16]}-{task.repeat}.json"


def _write(path: Path, outcome: Outcome) -> None:
    with write_whole(path, parameter="out") as (temporary,):
        temporary.write_text(json.dumps(outcome.to_dict()), encoding="utf-8")


def _read(path: Path) -> Outcome:
    found = Outcome(**json.loads(path.read_text(encoding="utf-8")))
    assert found.refusal or math.isfinite(found.error)
    return found
