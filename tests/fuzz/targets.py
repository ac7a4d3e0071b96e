"""What is fuzzed: query text, schemas, ``--set``, design files, manifests, hierarchies, CSV bytes, Parquet types."""

from __future__ import annotations

import copy
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from foreign import changed
from fuzz.mutations import NUMBERS, TEXTS, Chance, any_value, spoiled_bytes, spoiled_text, spoiled_tree
from fuzz.running import MARKER
from samples import SCHEMA, people
from sfumato import METHODS, publish, read_table
from sfumato.attacks import ATTACKS
from sfumato.methods.base import Design
from sfumato.methods.generalization.design import Generalization

ROWS = 120
Commands = Iterator[tuple[str, ...]]
Target = Callable[[Chance, Path], Commands]
"""Writes an input into the folder, and gives the commands to run on it."""

WORDS = (
    *("job", "sex", "age", "region", "person", "'Sales'", "'Male'", "'North'", "17", "35", "91", "54.5"),
    *("=", "!=", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "MISSING", "(", ")", ","),
)


def marked_people(rows: int = ROWS) -> pa.Table:
    """People whose names may not be shown."""
    table = people(rows)
    return table.set_column(0, "person", [[f"{MARKER}-{place}" for place in range(rows)]])


def prepare(folder: Path) -> None:
    """What inputs are made from: data, a schema, releases of every method."""
    csv.write_csv(marked_people(), folder / "people.csv")
    (folder / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    table = read_table(people(ROWS), SCHEMA)
    for name, design in designs().items():
        publish(
            table, design, folder / name, seed=1, format="csv", accept=("singled-out",), say=lambda _: None
        )


def designs() -> dict[str, Design]:
    """A design of every method that so few rows can be published by."""
    made: dict[str, Design] = {name: method.example(SCHEMA) for name, method in METHODS.members.items()}
    made["generalization"] = Generalization(k=2, hierarchies={"sex": {"fanout": 2}})
    return made


def question(chance: Chance) -> str:
    """Conditions that are nearly, or not at all, in the language."""
    if chance.random() < 0.5:
        valid = "job = 'Sales' AND (sex = 'Male' OR age < 35) AND NOT region IN ('North', 'East')"
        return spoiled_text(chance, valid, WORDS)
    extra = [str(each) for each in NUMBERS] + list(TEXTS)
    return " ".join(
        chance.choice(WORDS) if chance.random() < 0.9 else chance.choice(extra)
        for _ in range(chance.randrange(1, 14))
    )


def query_text(chance: Chance, folder: Path) -> Commands:
    """Questions, in every place where one can be asked."""
    release = str(folder / chance.choice(("randomized-response", "generalization", "noisy-marginals")))
    asked = question(chance)
    kind = chance.randrange(6)
    if kind == 0:
        yield ("query", release, "--given", asked, "--", question(chance))
    elif kind == 1:
        yield ("counts", release, "--by", chance.choice(("job", asked, "job,sex")), "--where", asked)
    elif kind == 2:
        yield ("query", release, "--confidence", str(chance.choice(NUMBERS)), "--", asked)
    elif kind == 3:
        (folder / "questions.txt").write_bytes(
            "\n".join(question(chance) for _ in range(4)).encode("utf-8", "replace")
        )
        yield ("query", release, "--file", str(folder / "questions.txt"), "--json")
    else:
        yield ("query", release, "--", asked)


SCHEMA_WORDS = (
    *("[attributes.", "]", "role", "=", '"sensitive"', '"other"', "categories", "bins", "[", "missing"),
    *("missing_values", "recode", "learned", "unit", "weight", "rows_per_unit", "1979-05-27", "true", "inf"),
    *("ordered", "dates", "prefix", "decimal", "[long]", "household", "'''", "\\u0000", "#"),
)


def schema(chance: Chance, folder: Path) -> Commands:
    """Schema files."""
    if chance.random() < 0.6:
        text = spoiled_text(chance, SCHEMA.to_toml(), SCHEMA_WORDS)
    else:
        content = spoiled_tree(chance, copy.deepcopy(_listed(SCHEMA.to_dict())))
        text = toml_of(content)
    (folder / "fuzzed.toml").write_bytes(text.encode("utf-8", "replace"))
    named = ("--schema", str(folder / "fuzzed.toml"))
    plan = ("--method", "randomized-response", "--set", "retention=0.5", "--rows", "1000")
    if chance.random() < 0.5:
        yield ("plan", *named, *plan)
    elif chance.random() < 0.7:
        yield ("schema", "check", str(folder / "people.csv"), str(folder / "fuzzed.toml"))
    else:
        yield ("inspect", str(folder / "people.csv"), *named)


def setting_text(chance: Chance, names: list[str]) -> str:
    """One ``name=value``."""
    name = chance.choice(names) if names and chance.random() < 0.9 else chance.choice(TEXTS)
    if chance.random() < 0.2:
        name += chance.choice((".job", ".sex", ".", ".unknown"))
    value = any_value(chance)
    kind = chance.randrange(4)
    text = str(value) if kind == 0 else json.dumps(value) if kind == 1 else toml_value_of(value)
    return f"{name}={spoiled_text(chance, text, WORDS) if kind == 3 else text}"


def settings(chance: Chance, folder: Path) -> Commands:
    """``--set`` of methods, in plans and publications, and of attacks."""
    given = designs()
    name = chance.choice(list(given))
    if chance.random() < 0.25:
        attack = chance.choice(list(ATTACKS.members))
        fields = [each for each in ATTACKS.get(attack).model_fields if each != "attack"]
        chosen = [setting_text(chance, fields or ["x"])]
        target = chance.choice(list(given))
        yield (
            *("attack", str(folder / target), "--attack", attack),
            *(part for each in chosen for part in ("--set", each)),
        )
        return
    fields = [each for each in METHODS.get(name).model_fields if each != "method"]
    stated = {
        key: f"{key}={toml_value_of(value)}"
        for key, value in given[name].to_dict().items()
        if key != "method"
    }
    for _ in range(chance.choice((1, 1, 2))):
        text = setting_text(chance, fields)
        stated[text.partition("=")[0]] = text
    chosen_settings = tuple(part for each in stated.values() for part in ("--set", each))
    yield from with_design(chance, folder, ("--method", name, *chosen_settings))


def with_design(chance: Chance, folder: Path, design: tuple[str, ...]) -> Commands:
    """A plan, or a publication that is taken away again."""
    named = ("--schema", str(folder / "schema.toml"))
    if chance.random() < 0.7:
        yield ("plan", *named, *design, "--rows", str(chance.choice((1, 50, 1_000, 10**6, 10**12))))
    else:
        out = folder / f"out-{chance.getrandbits(64)}"
        yield (
            *("publish", str(folder / "people.csv"), *named, *design, "--out", str(out)),
            *("--seed", "1", "--accept", "singled-out"),
        )


def design_file(chance: Chance, folder: Path) -> Commands:
    """Design files."""
    design = chance.choice(list(designs().values()))
    if chance.random() < 0.5:
        text = spoiled_text(chance, design.to_toml(), SCHEMA_WORDS)
    else:
        text = toml_of(spoiled_tree(chance, copy.deepcopy(_listed(design.to_dict()))))
    (folder / "design.toml").write_bytes(text.encode("utf-8", "replace"))
    yield from with_design(chance, folder, ("--design", str(folder / "design.toml")))


def manifest(chance: Chance, folder: Path) -> Commands:
    """Manifests with one or a few places changed, the checksum made anew; sometimes other bytes."""
    name = chance.choice(list(designs()))
    path = folder / name / "datapackage.json"
    kept = folder / f"{name}.json"
    if not kept.exists():
        kept.write_bytes(path.read_bytes())
    original = json.loads(kept.read_text(encoding="utf-8"))
    if chance.random() < 0.15:
        path.write_bytes(spoiled_bytes(chance, kept.read_bytes(), [b'"', b"{", b"[", b"1e999", b"null"]))
    else:
        path.write_text(
            json.dumps(changed(original, lambda block: spoiled_tree(chance, block))), encoding="utf-8"
        )
    verb = chance.choice(("query", "query", "show", "counts", "verify", "report"))
    rest = {
        "query": ("--", "job = 'Sales' AND sex = 'Male'"),
        "counts": ("--by", "job,sex"),
        "report": ("--out", str(folder / f"report-{chance.getrandbits(64)}.html")),
    }
    yield (verb, str(folder / name), *rest.get(verb, ()))


TREES = {
    "h.csv": "North;Cold;*\nSouth;Warm;*\nEast;Warm;*\n(missing);(missing);*\n",
    "h.json": json.dumps({"Cold": ["North"], "Warm": ["South", "East"]}),
    "h.toml": 'Cold = ["North"]\nWarm = ["South", "East"]\n',
}


def hierarchy(chance: Chance, folder: Path) -> Commands:
    """Hierarchy files of every form."""
    name = chance.choice(list(TREES))
    text = spoiled_text(
        chance, TREES[name], (";", ",", "*", '"', "[", "]", "{", "}", "North", "Warm", "(missing)")
    )
    (folder / name).write_bytes(text.encode("utf-8", "replace"))
    given = ("--method", "generalization", "--set", "k=2", "--set", f"hierarchies.region={folder / name}")
    quasi = ("--set", 'quasi_identifiers=["region","sex"]') if chance.random() < 0.5 else ()
    yield from with_design(chance, folder, (*given, *quasi))


def reading_verbs(chance: Chance, folder: Path, data: Path) -> Commands:
    """A verb that reads private rows."""
    named = ("--schema", str(folder / "schema.toml"))
    kind = chance.randrange(4)
    if kind == 0:
        yield (
            *("schema", "infer", str(data), "--out", str(folder / f"guess-{chance.getrandbits(64)}.toml")),
            *(("--header",) if chance.random() < 0.5 and _names_come_first(data) else ()),
        )
    elif kind == 1:
        yield ("schema", "check", str(data), str(folder / "schema.toml"))
    elif kind == 2:
        yield ("inspect", str(data), *named)
    else:
        method = chance.choice((("randomized-response", "retention=0.5"), ("anatomy", "l_value=2")))
        yield (
            *("publish", str(data), *named, "--method", method[0], "--set", method[1], "--seed", "1"),
            *("--out", str(folder / f"out-{chance.getrandbits(64)}"), "--accept", "singled-out"),
        )


def _names_come_first(data: Path) -> bool:
    """Whether the first line holds no cell, and ends there: who says that it names the columns is shown what it says."""
    first = (data.read_bytes().splitlines() or [b""])[0]
    return MARKER.encode() not in first and first.count(b'"') % 2 == 0


def csv_bytes(chance: Chance, folder: Path) -> Commands:
    """CSV files, byte by byte."""
    sink = io.BytesIO()
    csv.write_csv(marked_people(chance.choice((0, 1, 40))), sink)
    marks = [b",", b";", b"\t", b"|", b'"', b'""', b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf"]
    content = sink.getvalue()
    if chance.random() < 0.2:
        content = content.replace(b",", chance.choice(marks))
    data = folder / "fuzzed.csv"
    data.write_bytes(
        spoiled_bytes(chance, content, [*marks, MARKER.encode(), b"sep=;\n", b"1e400", b"9" * 5_000])
    )
    yield from reading_verbs(chance, folder, data)


def any_column(chance: Chance, rows: int) -> pa.Array:
    """A column of any type that Parquet has."""
    whole = [chance.choice((None, 0, 1, 17, 35, 90, 127)) for _ in range(rows)]
    real = [
        chance.choice((None, math.nan, math.inf, -math.inf, -0.0, 17.5, 1e300, 5e-324)) for _ in range(rows)
    ]
    words = [
        chance.choice((None, MARKER, "Male", "Female", "Sales", "", "\x1b[2J", "17")) for _ in range(rows)
    ]
    kinds: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array(whole, chance.choice((pa.int8(), pa.int64(), pa.uint8(), pa.uint64(), pa.int32()))),
        lambda: pa.array(real, chance.choice((pa.float32(), pa.float64()))),
        lambda: pa.array(whole, pa.decimal128(38, chance.choice((0, 10)))),
        lambda: pa.array(words, chance.choice((pa.string(), pa.large_string(), pa.binary()))),
        lambda: pa.array(words, pa.string()).dictionary_encode(),
        lambda: pa.array([None if each is None else bool(each % 2) for each in whole]),
        lambda: pa.array(whole, pa.date32()),
        lambda: pa.array(
            whole, pa.timestamp(chance.choice(("s", "ns")), chance.choice((None, "UTC", "Europe/Berlin")))
        ),
        lambda: pa.array(whole, pa.time64("us")),
        lambda: pa.array(whole, pa.duration("s")),
        lambda: pa.nulls(rows, chance.choice((pa.null(), pa.string()))),
        lambda: pa.array([None if each is None else [each] for each in words]),
        lambda: pa.array([None if each is None else {"a": each} for each in words]),
        lambda: pa.array(
            [None if each is None else [("k", each)] for each in words], pa.map_(pa.string(), pa.string())
        ),
    )
    return chance.choice(kinds)()


def parquet_types(chance: Chance, folder: Path) -> Commands:
    """Parquet files with columns of other types than declared, or bytes that are not right."""
    rows = chance.choice((0, 1, 5, 60))
    table = marked_people(rows)
    for name in chance.sample(table.column_names, chance.randrange(1, 4)):
        table = table.set_column(table.column_names.index(name), name, any_column(chance, rows))
    if chance.random() < 0.1:
        table = table.rename_columns(
            [chance.choice((each, "sex", MARKER, "")) for each in table.column_names]
        )
    data = folder / "fuzzed.parquet"
    parquet.write_table(table, data, compression=chance.choice(("none", "zstd", "snappy")))
    if chance.random() < 0.3:
        data.write_bytes(spoiled_bytes(chance, data.read_bytes(), [b"PAR1", b"\x00" * 8, b"\xff" * 4]))
    yield from reading_verbs(chance, folder, data)


def toml_value_of(value: Any) -> str:
    """A value as TOML, or as near to it as it comes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value_of(each) for each in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(str(key))} = {toml_value_of(each)}' for key, each in value.items())}}}"
    return json.dumps(value) if isinstance(value, str) else str(value)


def toml_of(content: Any) -> str:
    """A table as TOML, one line for each key."""
    if not isinstance(content, dict):
        return toml_value_of(content)
    return "".join(f"{json.dumps(str(key))} = {toml_value_of(value)}\n" for key, value in content.items())


def _listed(content: Any) -> Any:
    """The same with lists for tuples."""
    return json.loads(json.dumps(content, default=str))


TARGETS: dict[str, Target] = {
    "query-text": query_text,
    "schema": schema,
    "settings": settings,
    "design-file": design_file,
    "manifest": manifest,
    "hierarchy": hierarchy,
    "csv-bytes": csv_bytes,
    "parquet-types": parquet_types,
}
