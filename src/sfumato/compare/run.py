"""All designs on the same splits of one table; an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato._version import __version__
from sfumato.atomic_files import write_whole
from sfumato.compare.frontier import Comparison
from sfumato.compare.grid import Candidate, default_candidates
from sfumato.compare.trial import Asked, Outcome, Task, asked_tables, choose_tables, run_task
from sfumato.compare.workload import Workload, WorkloadName, make_workload, own_workload
from sfumato.custody.audit.attackers import require_classifier
from sfumato.custody.audit.people import split_caveats
from sfumato.custody.audit.scores import FEWEST_TARGETS
from sfumato.custody.privacy_unit import design_for_units, promises_for_units
from sfumato.custody.publish import in_memory
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.errors import DataError, ParameterError, SfumatoError
from sfumato.guarantees import Guarantee
from sfumato.progress import steps
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Role
from sfumato.text import counted

FEWEST_REPEATS = 3

FEWEST_ROWS = 5 * FEWEST_TARGETS
"""Rows of which a fifth is enough people for an interval."""

RUN_FILE = "run.json"
"""What a run was started with; a later one must be the same to go on."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What numerical libraries read when they are loaded: a worker is one thread."""


def compare_designs(
    table: PrivateTable,
    out: str | Path,
    *,
    candidates: Sequence[Candidate] | None = None,
    sensitive: str | None = None,
    workload: WorkloadName = "strata",
    questions: Sequence[str] | None = None,
    queries: int = 300,
    tables: Sequence[Sequence[str]] | None = None,
    repeats: int = 5,
    classifier_repeats: int = 0,
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
        The designs; a grid of every method, cut to what the table allows, when not given.
    sensitive
        The attribute that is attacked; the only sensitive one when not given.
    workload
        Which questions are asked, see :func:`~sfumato.compare.workload.make_workload`.
    questions
        Conditions of one's own in place of a workload.
    queries
        Questions of the workload.
    tables
        Sets of attributes whose tables are held against the true ones, each by itself; some of one to three when not given.
    repeats
        Splits and releases of every design, at least 3.
    classifier_repeats
        On so many of them a classifier attacks as well, which needs scikit-learn.
    seed
        Repeats everything; drawn and kept in the folder when not given.
    workers
        Processes of one thread each; as many as there are cores when not given. 0 works in this very process, whose numerical
        libraries have been loaded with as many threads as they like. They begin by loading the program that called: in a
        script the call stands under ``if __name__ == "__main__":``, or it is made again by each of them.

    Raises
    ------
    MissingExtraError
        When a classifier is asked for without scikit-learn.
    ParameterError
        When no row satisfies any question, or the folder holds another comparison.
    """
    if repeats < FEWEST_REPEATS:
        raise ParameterError(
            f"repeats must be {FEWEST_REPEATS} or more, got {repeats}: fewer give no interval.",
            parameter="repeats",
        )
    if workers is not None and workers < 0:
        raise ParameterError(f"workers must be 0 or more, got {workers}.", parameter="workers")
    if queries < 1:
        raise ParameterError(f"queries must be 1 or more, got {queries}.", parameter="queries")
    if classifier_repeats:
        require_classifier()
    attribute = table.schema.sensitive(
        sensitive, parameter="sensitive", advice="Name the one to attack in sensitive."
    ).name
    if not table.schema.with_role(Role.QUASI_IDENTIFIER):
        raise ParameterError(
            "the table has no public attribute to know people by. Give some the role quasi-identifier.",
            parameter="table",
        )
    folder = Path(out)
    # A run that is gone on with draws the same rows of units.
    settled = _seed_of(folder) if seed is None else seed
    held = in_memory(table.drawn_by(NoiseSource.seeded(settled)))
    rows = held.source
    assert isinstance(rows, CodedRows)
    if rows.number_of_rows < FEWEST_ROWS:
        raise DataError(
            f"the table has {counted(rows.number_of_rows, 'row')}: a fifth of them is held out, and fewer than {FEWEST_TARGETS} people "
            f"give no interval. Compare designs on {FEWEST_ROWS} rows or more.",
            number_of_rows=rows.number_of_rows,
        )
    chosen = tuple(default_candidates(held) if candidates is None else candidates)
    named = None if tables is None else asked_tables(held.schema, tables)
    asked_for = {
        "workload": workload,
        "queries": queries,
        "questions": questions and list(questions),
        "tables": named and list(map(list, named)),
    }
    started = _settled(folder, held, attribute, asked_for, settled)
    # What is refused here leaves nothing behind.
    asked = Asked(
        attribute,
        _workload(held, rows, attribute, workload, questions, queries, started["seed"]),
        choose_tables(held.schema, started["seed"]) if named is None else named,
        is_each_told=named is not None,
    )
    _write_down(folder, started)
    tasks = [
        Task(each, repeat, started["seed"], repeat < classifier_repeats)
        for repeat in range(repeats)
        for each in chosen
    ]
    results = folder / "results"
    results.mkdir(mode=0o700, exist_ok=True)
    left = [each for each in tasks if not (results / _name(each)).is_file()]
    for outcome, task in _made(left, held, asked, workers):
        _write(results / _name(task), outcome)
    outcomes = [_read(results / _name(each)) for each in tasks]
    return Comparison(
        chosen,
        tuple(outcomes),
        attribute,
        repeats,
        started["seed"],
        asked.workload.name,
        tuple(_promises(each, held) for each in chosen),
        split_caveats(table.schema),
    )


def _promises(candidate: Candidate, table: PrivateTable) -> tuple[Guarantee, ...]:
    """What is proved of a design; nothing where it does not fit the schema, or is the table itself."""
    if not candidate.method:
        return ()
    try:
        design = design_for_units(candidate.design(), table.schema)
        return promises_for_units(design.guarantees(table.schema), design, table.schema)
    except SfumatoError:
        return ()


def _workload(
    table: PrivateTable,
    rows: CodedRows,
    sensitive: str,
    workload: WorkloadName,
    questions: Sequence[str] | None,
    queries: int,
    seed: int,
) -> Workload:
    if questions is not None:
        return own_workload(questions, table.schema, rows)
    return make_workload(workload, table.schema, rows, queries, seed, sensitive=sensitive)


def _settled(
    folder: Path, table: PrivateTable, sensitive: str, asked_for: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """What the run was or is to be started with; another table or workload in the same folder is refused."""
    digest = hashlib.sha256(sensitive.encode())
    codes = table.source.codes  # type: ignore[attr-defined]
    for name in table.schema.publishable.names:
        digest.update(name.encode())
        digest.update(codes[name].tobytes())
    asked = {"software": __version__, "rows": digest.hexdigest(), **asked_for}
    path = folder / RUN_FILE
    if path.is_file():
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if {name: known.get(name) for name in asked} != asked or seed != known["seed"]:
            raise ParameterError(
                f"{folder} holds a comparison of other rows, questions or seed, or by another version. Choose another folder, or go "
                "on with the same.",
                parameter="out",
            )
        return known
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(
            f"{folder} is not empty and holds no comparison. Choose a new folder.", parameter="out"
        )
    return {**asked, "seed": seed}


def _write_down(folder: Path, started: Mapping[str, Any]) -> None:
    """Keep what a run was started with in its folder, unless it is there."""
    path = folder / RUN_FILE
    if path.is_file():
        return
    # Its owner's alone: who knows all rows but one can tell the last from a digest, and from figures about few people much.
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with write_whole(path, parameter="out", is_private=True) as (temporary,):
        temporary.write_text(json.dumps(started), encoding="utf-8")


def _seed_of(folder: Path) -> int:
    """That of the run in a folder, or one that nobody knows beforehand; splits protect nobody, and it is kept for going on."""
    path = folder / RUN_FILE
    if path.is_file():
        return int(json.loads(path.read_text(encoding="utf-8"))["seed"])
    stream = NoiseSource.from_operating_system().named("seed of a comparison").stream(0)
    return int(stream.integers_below([2**31])[0])


def _made(
    tasks: Sequence[Task], table: PrivateTable, asked: Asked, workers: int | None
) -> Iterator[tuple[Outcome, Task]]:
    number = min(workers if workers is not None else os.cpu_count() or 1, len(tasks))
    told = steps("Publishing, attacking and asking designs", tasks)
    if number == 0:
        for task in told:
            yield run_task(task, table, asked), task
        return
    from multiprocessing import get_context

    with _one_thread_each():
        pool = ProcessPoolExecutor(
            number,
            mp_context=get_context("spawn"),
            initializer=_prepare,
            initargs=(table.source, table.schema, asked),
        )
        try:
            waiting = {pool.submit(_in_worker, task): task for task in tasks}
            for _ in told:
                done = next(iter(wait(waiting, return_when=FIRST_COMPLETED).done))
                yield done.result(), waiting.pop(done)
        finally:
            # What was not begun is left for the next time.
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that are started inside the block use one thread each, numerical libraries included."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_held: dict[str, Any] = {}


def _prepare(source: Any, schema: Any, asked: Asked) -> None:
    """In a worker: the rows once, and an end when whoever started it is gone."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    _held["table"], _held["asked"] = PrivateTable(source, schema, engine=ArrayEngine()), asked


def _in_worker(task: Task) -> Outcome:
    return run_task(task, _held["table"], _held["asked"])


def _name(task: Task) -> str:
    """A file for each design and split, with and without a classifier; labels may hold anything."""
    told = f"{task.candidate.label}{' and a classifier' if task.has_classifier else ''}"
    return f"{hashlib.sha256(told.encode()).hexdigest()[:16]}-{task.repeat}.json"


def _write(path: Path, outcome: Outcome) -> None:
    with write_whole(path, parameter="out", is_private=True) as (temporary,):
        temporary.write_text(json.dumps(outcome.to_dict()), encoding="utf-8")


def _read(path: Path) -> Outcome:
    found = Outcome(**json.loads(path.read_text(encoding="utf-8")))
    assert found.refusal or math.isfinite(found.numbers["error"])
    return found
