"""Ordinary tables at which a tool could stop: each as a command, with its limit.

``python benchmarks/cliffs.py [NAME ...]`` measures those whose name begins so. Limits in seconds are of processor time and
stand for the reference machine (two cores); limits in megabytes hold anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from growth import METHODS, schema_of
from measuring import WORK, Measurement, census, finish, publish, run_for_output, sfumato, table

QUASI, SENSITIVE, OTHER = "quasi-identifier", "sensitive", "other"
PERTURB = ("--method", "randomized-response", "--set", "retention=0.5")


def long_lists() -> Iterator[Measurement]:
    """A release whose perturbed attribute has very many categories can be asked."""
    for size, limit in ((10_000, 300), (100_000, 800)):
        data = table(f"list-{size}", 200_000, f"sex:2:{OTHER}", f"city:{size}:{SENSITIVE}:0.5")
        release, published = publish(data, f"list-{size}", *PERTURB)
        asked = sfumato("query", release, "city = 'city-7' AND sex = 'sex-1'")
        yield Measurement(f"query among {size:,} categories, MB", asked.megabytes, limit, str(asked))
        if size == 100_000:
            few = publish(
                table("list-100", 200_000, f"sex:2:{OTHER}", f"city:100:{SENSITIVE}:0.5"),
                "list-100",
                *PERTURB,
            )[1]
            yield Measurement(
                "publish 100,000 categories, CPU s more than 100",
                published.cpu - few.cpu,
                2.0,
                f"{published}; with 100: {few}",
            )


def local_recoding() -> Iterator[Measurement]:
    """Generalization without hierarchies: many categories, many attributes."""
    method = ("--method", "generalization", "--set", "k=10")
    for name, skew in (("skewed", "0.8"), ("even", "0")):
        data = table(
            f"cities-{name}",
            1_000_000,
            f"city:30000:{QUASI}:{skew}",
            f"sex:2:{QUASI}",
            f"age:50:{QUASI}",
            f"job:20:{SENSITIVE}",
        )
        release, run = publish(data, f"cities-{name}", *method)
        yield Measurement(f"Mondrian, 30,000 {name} categories, 1 M rows, MB", run.megabytes, 1_536, str(run))
    asked = sfumato("query", release, "city = 'city-7' AND job = 'job-3'")
    yield Measurement("query of that release, MB", asked.megabytes, 800, str(asked))
    for number, size, limit in ((19, 10, 10), (55, 14, 30)):
        data = table(f"wide-{number}", 100_000, f"a*{number}:{size}:{QUASI}:1", f"job:20:{SENSITIVE}")
        run = publish(data, f"wide-{number}", *method)[1]
        yield Measurement(f"Mondrian, {number} attributes, 100,000 rows, CPU s", run.cpu, limit, str(run))


def marginals() -> Iterator[Measurement]:
    """Noisy two-way tables of many attributes, at a million rows."""
    for number, limit in ((10, 3), (20, 4), (40, 8), (56, 15)):
        data = table(f"marginals-{number}", 1_000_000, f"a*{number}:8:{OTHER}:0.5")
        run = publish(data, f"marginals-{number}", "--method", "noisy-marginals", "--set", "epsilon=1")[1]
        tables = number * (number - 1) // 2
        yield Measurement(
            f"{tables:,} two-way tables of {number} attributes, CPU s", run.cpu, limit, str(run)
        )


def columns() -> Iterator[Measurement]:
    """Columnized counts of 55 attributes: the table whole, and cut into columns that are learned."""
    data = table("columns-55", 1_000_000, f"a*55:4:{OTHER}:1")
    common = ("--method", "columnized-counts", "--set", "epsilon=2", "--set", "k=10", "--set", "delta=1e-6")
    for name, more, limit in (("uncut", (), 10), ("in 11 columns", ("--set", "columns=[11]"), 20)):
        run = publish(data, f"columns-{name[-10:].strip()}", *common, *more)[1]
        yield Measurement(
            f"columnized counts of 55 attributes {name}, 1 M rows, CPU s", run.cpu, limit, str(run)
        )
        yield Measurement(f"columnized counts of 55 attributes {name}, MB", run.megabytes, 1_024)


def linking() -> Iterator[Measurement]:
    """The linking attack on the census with its own quasi-identifiers."""
    release, _ = publish(census(100_000), "linked", *PERTURB)
    run = sfumato("attack", release, "--attack", "linking", "--set", "sensitive=occupation", "--json")
    yield Measurement("linking attack on 100,000 rows of the census, CPU s", run.cpu, 60, str(run))
    yield Measurement("linking attack on 100,000 rows of the census, MB", run.megabytes, 1_536)


def anatomy_attack() -> Iterator[Measurement]:
    """The attack on Anatomy at l = 10."""
    for rows, limit in ((30_162, 20), (1_000_000, 120)):
        data = table(
            "bucketed",
            rows,
            f"a:7:{QUASI}:1",
            f"b:6:{QUASI}:0.5",
            f"c:2:{QUASI}",
            f"d:2:{QUASI}",
            f"job:14:{SENSITIVE}",
        )
        release, _ = publish(data, f"bucketed-{rows}", "--method", "anatomy", "--set", "l_value=10")
        run = sfumato("attack", release, "--attack", "anatomy-naive-bayes", "--json")
        yield Measurement(f"attack on Anatomy, l = 10, {rows:,} rows, CPU s", run.cpu, limit, str(run))


def decoys() -> Iterator[Measurement]:
    """SPLU-Gen with ten thousand values, beside fifty."""
    runs = {}
    for size in (50, 10_000):
        data = table(
            f"decoys-{size}", 1_000_000, f"sex:2:{QUASI}", f"age:50:{QUASI}", f"city:{size}:{SENSITIVE}:0.3"
        )
        runs[size] = publish(data, f"decoys-{size}", "--method", "splu-gen", "--set", "gamma=5")[1]
    yield Measurement(
        "SPLU-Gen, 10,000 values, 1 M rows, CPU s",
        runs[10_000].cpu,
        6,
        f"{runs[10_000]}; 50 values: {runs[50]}",
    )


def many_values() -> Iterator[Measurement]:
    """Anatomy and SPLU-Gen with a hundred thousand values: published, and asked."""
    data = table("values", 1_000_000, f"sex:2:{QUASI}", f"city:100000:{SENSITIVE}:0.3")
    for name, setting in (("anatomy", "l_value=5"), ("splu-gen", "gamma=5")):
        release, run = publish(data, f"values-{name}", "--method", name, "--set", setting)
        yield Measurement(f"{name}, 100,000 values, 1 M rows, CPU s", run.cpu, 40, str(run))
        asked = sfumato("query", release, "city = 'city-7'")
        yield Measurement(f"query of that release, {name}, MB", asked.megabytes, 800, str(asked))


def hierarchies() -> Iterator[Measurement]:
    """A hierarchy file of a hundred thousand lines."""
    size = 100_000
    data = table("tree", 300_000, f"city:{size}:{QUASI}:0.5", f"sex:2:{QUASI}", f"job:5:{SENSITIVE}")
    tree = data.with_suffix(".tree.csv")
    lines = (f"city-{place};county-{place // 100};state-{place // 10_000};*\n" for place in range(size))
    tree.write_text("".join(lines), encoding="utf-8")
    settings = ("--set", "k=5", "--set", f"hierarchies.city={tree}")
    _, run = publish(data, "tree", "--method", "generalization", *settings)
    yield Measurement("a hierarchy file of 100,000 lines, 300,000 rows, CPU s", run.cpu, 15, str(run))


def bins() -> Iterator[Measurement]:
    """Numbers in a thousand bins, beside ten."""
    runs = {}
    for number in (10, 1_000):
        data = table(f"bins-{number}", 1_000_000, f"income:bins {number}:{OTHER}", f"job:20:{SENSITIVE}")
        runs[number] = publish(data, f"bins-{number}", *PERTURB, times=3)[1]
    yield Measurement(
        "1,000 bins, 1 M rows, CPU s more than 10 bins",
        runs[1_000].cpu - runs[10].cpu,
        0.8,
        f"{runs[1_000]}; 10 bins: {runs[10]}",
    )


def threads() -> Iterator[Measurement]:
    """A seeded release is the same bytes whatever the number of threads, by every method."""
    data = census(1_000_000)
    for method, parameters in METHODS.items():
        settings = [text for each in parameters for text in ("--set", each)]
        digests = set()
        for number in ("1", "2", "4"):
            release, _ = publish(
                data,
                f"threads-{number}",
                *("--method", method, *settings, "--seed", "7", "--threads", number),
                schema=schema_of(data),
            )
            digests.add(run_for_output(DIGEST, release))
        yield Measurement(
            f"{method}: further releases of one seed by 1, 2 and 4 threads", len(digests) - 1, 0
        )


DIGEST = """
import hashlib, pathlib, sys
print(hashlib.sha256(b"".join(path.read_bytes() for path in sorted(pathlib.Path(sys.argv[1]).iterdir()))).hexdigest())
"""

CLIFFS: tuple[Callable[[], Iterator[Measurement]], ...] = (
    long_lists,
    local_recoding,
    marginals,
    columns,
    linking,
    anatomy_attack,
    decoys,
    many_values,
    hierarchies,
    bins,
    threads,
)


def chosen(names: list[str]) -> Iterator[Measurement]:
    """The figures of the cliffs named, or of all."""
    WORK.mkdir(exist_ok=True)
    for each in CLIFFS:
        if not names or any(each.__name__.startswith(name) for name in names):
            yield from each()


if __name__ == "__main__":
    Path(WORK).mkdir(exist_ok=True)
    finish(chosen(sys.argv[1:]))
