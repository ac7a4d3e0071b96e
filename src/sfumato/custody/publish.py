"""Publishing: from private rows and a design to a release folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

from sfumato.chance.randomness import NoiseSource
from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.methods.base import Design
from sfumato.release.manifest import Format
from sfumato.release.release import Release, load_release
from sfumato.release.storage import Progress, refuse_existing_folder, write_release

LEARNED = "categories were read off the private rows"
"""What a manifest says of an attribute whose domain was not public beforehand."""


def publish(
    table: PrivateTable,
    design: Design,
    out: str | Path,
    *,
    format: Format = "parquet",
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    r"""Publish private rows by a design, into a new folder.

    Parameters
    ----------
    table
        The private rows.
    design
        A method with its parameters.
    out
        The folder to make; it must not exist. It appears whole or not at all.
    format
        ``"parquet"`` or ``"csv"``.
    seed
        For tests and demonstrations only: makes the noise reproducible, and the manifest says that the
        release is not private.
    progress
        Called with the number of rows read since the last call.

    Returns
    -------
    Release
        The new release, opened.

    Examples
    --------
    >>> import tempfile, pyarrow as pa
    >>> from sfumato import RandomizedResponse, Schema, read_table
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> table = read_table(pa.table({"job": ["a", "b"] * 500}), schema)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = publish(table, RandomizedResponse(retention=0.5), f"{folder}/release")
    ...     release
    Release(randomized-response: job; 1,000 rows)
    """
    if format not in get_args(Format):
        raise ParameterError(
            f"format must be one of {', '.join(get_args(Format))}, got {format!r}.",
            parameter="format",
        )
    folder = Path(out)
    # Looked at again when writing; here, so that nobody waits for a pass over the data first.
    refuse_existing_folder(folder)
    if table.schema.long is not None and not design.reads_units:
        raise ParameterError(
            f"method {design.to_dict()['method']!r} protects single rows, and in unit-item-value data a person has many. "
            "Publish them by columnized-counts, or pivot to one row for each unit and take [long] out of the schema.",
            parameter="method",
        )
    noise = NoiseSource.from_operating_system() if seed is None else NoiseSource.seeded(seed)
    publication = design.publish(table, noise)
    learned = {f"categories of {name}": LEARNED for name in table.schema.publishable.learned}
    publication = dataclasses.replace(
        publication,
        chosen_from_private_data={**learned, **publication.chosen_from_private_data},
        is_reproducible=noise.is_reproducible,
    )
    write_release(publication, folder, noise=noise, format=format, progress=progress)
    return load_release(folder)
