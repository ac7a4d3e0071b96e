"""The table itself as if it were a release: what risk and use are held against. In memory only."""

from __future__ import annotations

from sfumato._version import __version__
from sfumato.custody.in_memory import in_memory
from sfumato.data.coded_rows import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.methods.randomized_response.law.perturbed_rows import PerturbedRows
from sfumato.release import Release
from sfumato.release.manifest import Manifest, TableEntry


def raw_release(table: PrivateTable) -> Release:
    """Every row as it is, under a law by which nothing was distorted. It has no folder and no promise.

    Examples
    --------
    >>> from sfumato.testing import sample_table
    >>> raw = raw_release(sample_table(100))
    >>> raw, raw.guarantees
    (Release(nothing done: sex, age, region, job; 100 rows), ())
    """
    schema = table.schema.publishable
    rows = in_memory(table).source
    assert isinstance(rows, CodedRows)
    entry = TableEntry(
        name="rows",
        path="rows.parquet",
        format="parquet",
        sha256="0" * 64,
        number_of_rows=rows.number_of_rows,
        attributes=schema.to_dict()["attributes"],
    )
    manifest = Manifest(
        software=f"sfumato {__version__}",
        method={"method": "nothing done"},
        guarantees=(),
        law=PerturbedRows(distortions={}).model_dump(mode="json"),
        tables=(entry,),
        privacy="not private: the rows themselves",
    )
    shown = CodedRows(schema, {name: rows.codes[name] for name in schema.names})
    return Release(None, manifest, {"rows": shown}, ArrayEngine())
