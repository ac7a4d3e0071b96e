"""Reports: one self-contained page about a release, for the public or for its custodian."""

from __future__ import annotations

from pathlib import Path

from sfumato.data.private_table import PrivateTable
from sfumato.errors import ParameterError
from sfumato.release import Release
from sfumato.report.document import refuse_overwriting, write_page
from sfumato.report.margins import compare_with_truth, read_margins
from sfumato.report.release_page import describe_release

__all__ = ["write_report"]


def write_report(
    release: Release,
    out: str | Path,
    *,
    against: PrivateTable | None = None,
    command: str | None = None,
) -> Path:
    r"""Write a report on a release: one HTML page that loads nothing from outside.

    The page says what was published, what is promised and what is not, how accurate the numbers are, and how
    to repeat it. It holds only what the release itself gives away, so it may be published with it, unless it
    is held against the private table.

    Parameters
    ----------
    release
        The release.
    out
        The file to write; it must not exist. It appears whole or not at all.
    against
        The private table that the release was made from. Adds the estimates' errors against the truth, and
        makes the page private: it says at its top that it must not be published.
    command
        The command line that asked for the report, to be repeated in it. Leave out paths that are nobody
        else's business.

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    ReleaseError
        When the file exists, its folder does not, or the disk refuses.
    ParameterError
        When rows of each person were drawn, so that no table is known to be the one it was made from.
    DataError
        When ``against`` cannot be the table that the release was made from.

    Examples
    --------
    >>> import tempfile, pyarrow as pa
    >>> from sfumato import RandomizedResponse, Schema, publish, read_table
    >>> schema = Schema.from_toml('[attributes.job]\nrole = "sensitive"\ncategories = ["a", "b"]')
    >>> table = read_table(pa.table({"job": ["a", "b"] * 500}), schema)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = publish(table, RandomizedResponse(retention=0.5), f"{folder}/release")
    ...     write_report(release, f"{folder}/report.html").name
    'report.html'
    """
    path = Path(out)
    refuse_overwriting(path)
    if against is not None and release.manifest.rows_drawn_per_unit:
        raise ParameterError(
            "the release describes rows that were drawn from each person's, and which is not known: counts of all rows are no "
            "truth about them. Leave out the private table.",
            parameter="against",
        )
    margins = read_margins(release)
    truth = None if against is None else compare_with_truth(margins, against)
    return write_page(describe_release(release, margins, truth, command=command), path)
