"""The project folder: plain files, undo, and attributes edited by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.atomic_files import PARTIAL, remove_abandoned
from sfumato.errors import ParameterError, SchemaError
from sfumato.schema import Attribute, Schema

# --------------------------------------------------------------------------------------------------
# An attribute edited by hand: what a form says becomes the keys of its table in the schema file.


MOST_EDITED = 1000
"""Categories that a page lists one by one; longer lists are edited in the schema file."""


def source_values(attribute: Attribute) -> tuple[tuple[str, str], ...]:
    """Values of the data and the category that each becomes, in the order of the categories.

    Examples
    --------
    >>> from sfumato.schema import Role
    >>> job = Attribute(name="job", role=Role.OTHER, categories=("a", "b"), recode={"a": ("1", "2")})
    >>> source_values(job)
    (('1', 'a'), ('2', 'a'), ('b', 'b'))
    """
    recode = attribute.recode or {}
    return tuple(
        (value, label) for label in attribute.categories or () for value in recode.get(label, (label,))
    )


def edited(attribute: Attribute, sent: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The keys of the attribute's table that a form states.

    Raises
    ------
    SchemaError
        When edges are no numbers. What contradicts itself is found when a schema is made of them.
    """
    fields = attribute.to_fields()
    if "role" in sent:
        fields["role"] = sent["role"][0]
    _take_draw(fields, sent)
    if "bins" in sent:
        _take_bins(fields, sent)
    if "dates-shown" in sent:
        fields["dates"] = _dates(sent)
    if "becomes" in sent:
        known, typed = source_values(attribute), sent["becomes"]
        if len(known) != len(typed):
            raise SchemaError(
                "becomes: the form names another number of values than the schema has. Draw it anew."
            )
        becomes = [
            # Browsers take line breaks out of what they show: what nobody changed is what it was.
            label if _one_line(text) == _one_line(label) else text.strip() or value
            for (value, label), text in zip(known, typed, strict=True)
        ]
        fields |= categories_of([value for value, _ in known], becomes, sent.get("place", ()))
    _take_words(fields, sent)
    return {name: value for name, value in fields.items() if value not in (None, False, {})}


def _take_draw(fields: dict[str, Any], sent: Mapping[str, Sequence[str]]) -> None:
    """Whether one row of each unit is drawn; what is about units goes when the role does."""
    is_drawn = fields.get("rows_per_unit") == 1 and fields.get("excess_rows") == "sample"
    if fields["role"] != "unit" or ("one-row-shown" in sent and is_drawn):
        fields |= {"rows_per_unit": None, "excess_rows": None}
    if fields["role"] == "unit" and "one-row" in sent:
        fields |= {"rows_per_unit": 1, "excess_rows": "sample"}


def _take_words(fields: dict[str, Any], sent: Mapping[str, Sequence[str]]) -> None:
    """Categories that are added, switches, and texts for readers."""
    added = [line.strip() for line in "\n".join(sent.get("added", ())).splitlines() if line.strip()]
    if added:
        fields["categories"] = [*fields.get("categories", ()), *added]
    for switch in ("ordered", "learned"):
        if f"{switch}-shown" in sent:
            fields[switch] = switch in sent
    for name in ("missing", "description", "measured_in"):
        if name in sent:
            fields[name] = sent[name][0].strip() or None


def _take_bins(fields: dict[str, Any], sent: Mapping[str, Sequence[str]]) -> None:
    texts = sent["bins"][0].replace(";", ",").split(",")
    fields["bins"] = [_number(text, "bins") for text in texts if text.strip()]
    for name in ("top_code", "bottom_code"):
        text = (sent.get(name) or [""])[0].strip()
        fields[name] = _number(text, name) if text else None


def _dates(sent: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Periods or edges of a column of dates, whichever was chosen."""
    told = {
        name: (sent.get(f"dates.{name}") or [""])[0].strip() for name in ("by", "first", "last", "format")
    }
    edges = [text.strip() for text in (sent.get("dates.edges") or [""])[0].replace(";", ",").split(",")]
    if told["by"]:
        return {name: text for name, text in told.items() if text}
    stated: dict[str, Any] = {"edges": [text for text in edges if text]}
    return {**stated, "format": told["format"]} if told["format"] else stated


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SchemaError(
            f"{name}: edges are numbers separated by commas, such as 17, 25, 35. Correct them."
        ) from None


def categories_of(values: Sequence[str], becomes: Sequence[str], places: Sequence[str]) -> dict[str, Any]:
    """Categories and mapping from a list of values, what each becomes, and its place in the order.

    Examples
    --------
    >>> categories_of(["a", "b", "c"], ["a", "other", "other"], ["2", "1", "1"])
    {'categories': ['other', 'a'], 'recode': {'other': ['b', 'c']}}
    """
    rows = [(_place(places, number), value, becomes[number]) for number, value in enumerate(values)]
    groups: dict[str, list[str]] = {}
    for _, value, label in sorted(rows, key=lambda row: row[0]):
        groups.setdefault(label, []).append(value)
    recode = {label: members for label, members in groups.items() if members != [label]}
    return {"categories": list(groups), "recode": recode}


def _one_line(text: str) -> str:
    return text.replace("\r", "").replace("\n", "")


def _place(places: Sequence[str], number: int) -> float:
    try:
        return float(places[number])
    except (ValueError, IndexError):
        return float(number)


def with_attribute(schema: Schema, name: str, fields: Mapping[str, Any]) -> Schema:
    """The schema with another table for one attribute.

    Raises
    ------
    SchemaError
        When it contradicts itself.
    """
    content = schema.to_dict()
    content["attributes"] = {**content["attributes"], name: dict(fields)}
    return Schema.from_dict(content)


# --------------------------------------------------------------------------------------------------
# The project folder: the plain files that the command line uses, and what was before each change.
#
# =====================
# ======================================================================================
# ``schema.toml``        the schema, as every verb takes it
# ``design.toml``        the design that was kept, as ``publish --design`` takes it
# ``hierarchies.toml``   trees of categories, by attribute, as the parameter of generalization takes them
# ``data/``              what was uploaded
# ``releases/``          what was published
# ``reports/``           pages about it
# ``comparison/``        what ``compare`` found
# ``results/``           what the verbs printed: inference, inspection, audits
# ``studio.json``        which data, which release, how many rows
# ``history/``           the files that a change replaced, for undo
# =====================
# ======================================================================================


KEPT = ("schema.toml", "design.toml", "hierarchies.toml", "studio.json")
"""Files that undo brings back."""

UPLOADED = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".xlsx",
    ".sav",
    ".dta",
    ".xpt",
    ".por",
    ".sas7bdat",
    ".gz",
    ".zst",
)
"""Endings of files that may be uploaded."""

OWNER_FOLDER = 0o700

MOST_KEPT = 200
"""Changes that can be undone; the oldest are forgotten."""


@dataclass(frozen=True)
class State:
    """What the plain files do not say.

    Parameters
    ----------
    data
        The private rows, as the command line takes them: a path, seen from the project folder, or an address.
    options
        What was said about reading them, such as ``{"delimiter": ";"}``.
    rows
        How many there are, when known.
    release
        Folder of the release that is analysed.
    """

    data: str = ""
    options: dict[str, str] = field(default_factory=dict)
    rows: int | None = None
    release: str = ""

    @property
    def is_plain(self) -> bool:
        """Everything is of its kind; a file can say anything."""
        texts = [self.data, self.release]
        if isinstance(self.options, dict):
            texts += [*self.options, *self.options.values()]
        is_number = self.rows is None or (type(self.rows) is int and self.rows >= 0)
        return is_number and isinstance(self.options, dict) and all(isinstance(each, str) for each in texts)


def _write_private(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(content)


class Change(NamedTuple):
    """A change that can be undone."""

    number: int
    what: str


class Project:
    """A folder, and what is in it.

    Parameters
    ----------
    root
        The folder; made when it is not there. It and its files are for their owner alone.
    """

    def __init__(self, root: Path) -> None:
        if root.exists() and not root.is_dir():
            raise ParameterError(
                f"project: {str(root)!r} is a file; a project is a folder. Choose another name.",
                parameter="project",
            )
        root.mkdir(mode=OWNER_FOLDER, parents=True, exist_ok=True)
        self.root = root.resolve()
        try:
            self.root.chmod(OWNER_FOLDER)
        except OSError:
            raise ParameterError(
                f"project: {str(root)!r} belongs to another user, and a project holds private rows. Choose a folder of your own.",
                parameter="project",
            ) from None
        for name in ("data", "releases", "reports", "results"):
            (self.root / name).mkdir(mode=OWNER_FOLDER, exist_ok=True)
            remove_abandoned(self.root / name, PARTIAL)
        remove_abandoned(self.root, PARTIAL)
        for each in (self.root / "data").glob(".partial-*"):
            each.unlink(missing_ok=True)

    @property
    def place(self) -> str:
        """Where the folder is, from the home of whoever uses it."""
        home = Path.home()
        return f"~/{self.root.relative_to(home)}" if self.root.is_relative_to(home) else str(self.root)

    def path(self, name: str) -> Path:
        """A path in the folder, where it leads nowhere else; links that lead out are refused.

        Raises
        ------
        ParameterError
            When it leads out of the folder.
        """
        found = (self.root / name).resolve() if "\0" not in name else self.root.parent
        if found == self.root or not found.is_relative_to(self.root):
            raise ParameterError("that file is not in the project folder.", parameter="path")
        return found

    @property
    def state(self) -> State:
        """What was said so far; a file that was edited by hand into something else counts as nothing."""
        try:
            stored = State(**json.loads((self.root / "studio.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return State()
        return stored if stored.is_plain else State()

    def change_state(self, **changes: Any) -> State:
        """Remember something else."""
        changed = replace(self.state, **changes)
        self.write("studio.json", json.dumps(asdict(changed), indent=2))
        return changed

    def has(self, name: str) -> bool:
        """Whether a file or folder is there."""
        return (self.root / name).exists()

    def write(self, name: str, text: str) -> None:
        """Write a file whole; what was there is replaced."""
        self._replace(name, text.encode())

    def _replace(self, name: str, content: bytes) -> None:
        temporary = self.root / f".{name.replace('/', '-')}.new"
        _write_private(temporary, content)
        temporary.replace(self.root / name)

    def result(self, name: str) -> Any:
        """What a verb printed, or None; it says of which schema it was computed."""
        try:
            return json.loads((self.root / "results" / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def keep_result(self, name: str, content: Any) -> None:
        """Keep what a verb printed."""
        self.write(f"results/{name}.json", json.dumps(content, indent=2))

    def releases(self) -> list[str]:
        """Folders of releases in the project, the newest first."""
        found = [each for each in (self.root / "releases").iterdir() if (each / "datapackage.json").is_file()]
        found.sort(key=lambda each: (each / "datapackage.json").stat().st_mtime, reverse=True)
        return [f"releases/{each.name}" for each in found]

    def remember(self, what: str) -> None:
        """Keep the files as they are, before a change, so that it can be undone."""
        history = self.root / "history"
        history.mkdir(mode=OWNER_FOLDER, exist_ok=True)
        numbers = sorted(int(each.name) for each in history.iterdir() if each.name.isdigit())
        place = history / f"{(numbers[-1] if numbers else 0) + 1:06d}"
        place.mkdir(mode=OWNER_FOLDER)
        for name in KEPT:
            if self.has(name):
                _write_private(place / name, (self.root / name).read_bytes())
        _write_private(place / "what.txt", what.encode())
        for number in numbers[: -MOST_KEPT + 1]:
            shutil.rmtree(history / f"{number:06d}", ignore_errors=True)

    def last_change(self) -> Change | None:
        """What undo would undo; None when there is nothing."""
        place = self._last()
        return (
            None
            if place is None
            else Change(int(place.name), (place / "what.txt").read_text(encoding="utf-8"))
        )

    def undo(self, number: int) -> bool:
        """Bring back the files as they were before a change, if that is still the last one; whether it was."""
        place = self._last()
        if place is None or int(place.name) != number:
            return False
        for name in KEPT:
            if (place / name).is_file():
                self._replace(name, (place / name).read_bytes())
            else:
                (self.root / name).unlink(missing_ok=True)
        shutil.rmtree(place)
        return True

    def _last(self) -> Path | None:
        history = self.root / "history"
        found = sorted(each for each in history.iterdir() if each.name.isdigit()) if history.is_dir() else []
        return found[-1] if found else None

    def name_for_upload(self, name: str) -> Path:
        """Where an upload goes: a name of its own in the folder, never one that is there.

        Raises
        ------
        ParameterError
            When the name is no plain file name, or its ending is none that is read.
        """
        plain = (
            name.isprintable() and name == Path(name).name and "\\" not in name and not name.startswith(".")
        )
        if not plain or len(name.encode()) > 200:
            raise ParameterError("an upload needs a plain file name, without folders.", parameter="name")
        if Path(name).suffix.lower() not in UPLOADED:
            raise ParameterError(
                f"files that end in {Path(name).suffix or 'nothing'!r} are not read. Use one of {', '.join(UPLOADED)}.",
                parameter="name",
            )
        stem, dot, ending = name.partition(".")
        place, number = self.root / "data" / name, 1
        while place.exists():
            number += 1
            place = self.root / "data" / f"{stem}-{number}{dot}{ending}"
        return place

    def keep_upload(self, partial: Path, name: str) -> Path:
        """Give a file that came in its name; another may have taken it meanwhile, and stays."""
        while True:
            place = self.name_for_upload(name)
            try:
                # Unlike a move, a link is refused where something is.
                place.hardlink_to(partial)
            except FileExistsError:
                continue
            partial.unlink()
            return place

    def free_name(self, folder: str, stem: str, ending: str = "") -> str:
        """A name in a folder that is not taken: the stem, or the stem with a number."""
        name, number = f"{stem}{ending}", 1
        while (self.root / folder / name).exists():
            number += 1
            name = f"{stem}-{number}{ending}"
        return name
