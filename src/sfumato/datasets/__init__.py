"""Data sets to learn and test with: synthetic ones, and real ones fetched with checksums.

A data set is one module of this package that holds a ``CARD`` and either ``make`` (generated) or
``fetch`` (fetched), with a schema of the same name in ``schemas/``. There is no list to edit.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType, ModuleType

from sfumato.datasets.catalog import Card, DatasetFiles
from sfumato.errors import ParameterError, nearest

__all__ = ["Card", "DatasetFiles", "fetch_dataset", "get_card", "list_datasets", "make_dataset"]


def list_datasets() -> tuple[Card, ...]:
    """Cards of all data sets, sorted by name.

    Examples
    --------
    >>> [card.name for card in list_datasets()]
    ['adult', 'census', ...]
    """
    return tuple(module.CARD for module in _find_modules().values())


def get_card(name: str) -> Card:
    """Card of one data set.

    Raises
    ------
    ParameterError
        When there is no such data set; the message suggests the nearest name.

    Examples
    --------
    >>> get_card("adult").rows
    48842
    """
    card: Card = _get_module(name).CARD
    return card


def make_dataset(
    name: str,
    rows: int,
    seed: int,
    out: str | Path,
    *,
    progress: Callable[[int], None] | None = None,
) -> DatasetFiles:
    """Draw a generated data set and write it, with its schema beside it.

    Memory does not grow with ``rows``. The files appear whole or not at all.

    Parameters
    ----------
    name
        A data set of kind ``generated``.
    rows
        How many rows.
    seed
        The same seed gives the same rows; fewer rows of the same seed are the first rows of more.
    out
        The data file; its suffix, ``.parquet`` or ``.csv``, says the format.
    progress
        Called now and then with the number of rows written so far.

    Returns
    -------
    DatasetFiles
        The data, the schema (``<stem>.schema.toml``), the number of rows.

    Raises
    ------
    ParameterError
        When the set cannot be made, a number is out of bounds, or the output is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = make_dataset("census", 100, 7, Path(folder) / "people.csv")
    ...     made.schema.name, made.rows
    ('people.schema.toml', 100)
    """
    module = _get_module(name)
    if module.CARD.kind != "generated":
        raise ParameterError(
            f"{name!r} is a real data set and is fetched, not made. Generated sets can be made; "
            f"fetch this one with: sfumato datasets fetch {name} --to DIR",
            parameter="name",
        )
    made: DatasetFiles = module.make(rows, seed, Path(out), progress=progress)
    return made


def fetch_dataset(name: str, to: str | Path) -> DatasetFiles:
    """Download a real data set, check it, and write it with its schema.

    Parameters
    ----------
    name
        A data set of kind ``fetched``.
    to
        The folder to write to; made if it is not there.

    Returns
    -------
    DatasetFiles
        The data, the schema (``<stem>.schema.toml``), the number of rows.

    Raises
    ------
    DownloadError
        When no source gives the expected files.
    ParameterError
        When the set is not one to fetch, or the output is refused.

    Examples
    --------
    >>> fetch_dataset("census", "somewhere")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: 'census' is generated, so there is nothing to fetch...
    """
    module = _get_module(name)
    if module.CARD.kind != "fetched":
        raise ParameterError(
            f"{name!r} is generated, so there is nothing to fetch. Real sets can be fetched; "
            f"make this one with: sfumato datasets make {name} --rows N --seed S --out FILE",
            parameter="name",
        )
    fetched: DatasetFiles = module.fetch(Path(to))
    return fetched


@functools.cache
def _find_modules() -> MappingProxyType[str, ModuleType]:
    names = sorted(each.name for each in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    # Modules without a card serve the data sets and are none themselves.
    return MappingProxyType({each.CARD.name: each for each in modules if hasattr(each, "CARD")})


def _get_module(name: str) -> ModuleType:
    modules = _find_modules()
    if name not in modules:
        raise ParameterError(f"there is no data set {name!r}; {nearest(name, modules)}", parameter="name")
    return modules[name]
