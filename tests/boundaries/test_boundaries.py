"""Lines that no module may cross."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pyarrow import parquet

import sfumato
from samples import SCHEMA, people
from sfumato.methods.base import METHODS

SOURCE = Path(sfumato.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = (
    "duckdb",
    "kmedoids",
    "opendp",
    "pyarrow",
    "pyreadstat",
    "pyspark",
    "scipy.stats",
    "sklearn",
    "starlette",
    "uvicorn",
    "vl_convert",
)


def modules_after(code: str) -> set[str]:
    """Names in ``sys.modules`` after running some code in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_sfumato_loads_nothing_heavy():
    """Names are loaded when they are used."""
    loaded = modules_after("import sfumato")
    assert not loaded & {*HEAVY, "numpy", "pydantic"}


def test_listing_the_members_of_all_families_loads_nothing_heavy():
    """The command line lists them on every start."""
    loaded = modules_after(
        "from sfumato.methods.base import METHODS; METHODS.members\n"
        "from sfumato.attacks import ATTACKS; ATTACKS.members"
    )
    assert not loaded & set(HEAVY)


def test_a_question_loads_the_law_it_needs_and_no_table_library(tmp_path):
    """Below some million rows the start is what users feel."""
    release = tmp_path / "release"
    table = sfumato.read_table(people(50), SCHEMA)
    sfumato.publish(table, sfumato.RandomizedResponse(retention=0.5), release)
    loaded = modules_after(f"import sfumato; sfumato.load_release({str(release)!r}).query(\"job = 'Sales'\")")
    assert "sfumato.methods.randomized_response.law" in loaded
    assert "sfumato.methods.anatomy.law" not in loaded
    assert not loaded & {"pandas", "pyarrow", "scipy", "sfumato.methods.randomized_response.design"}


@pytest.mark.parametrize("name", METHODS.members)
def test_naming_a_method_loads_its_folder_alone(name):
    """Whoever publishes by one method does not wait for the others."""
    loaded = modules_after(f"from sfumato.methods.base import METHODS; METHODS.get({name!r})")
    own = f"sfumato.methods.{name.replace('-', '_')}"
    assert f"{own}.design" in loaded
    designs = {each for each in loaded if re.fullmatch(r"sfumato\.methods\.\w+\.design", each)}
    assert designs == {f"{own}.design"}


def test_publishing_does_not_load_pandas(tmp_path):
    """It is no dependency; where it is installed, pyarrow's conversions would load it."""
    parquet.write_table(people(50), tmp_path / "people.parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    loaded = modules_after(
        f"import sfumato; table = sfumato.read_table({str(tmp_path / 'people.parquet')!r}, {str(tmp_path / 'schema.toml')!r})\n"
        f"sfumato.publish(table, sfumato.RandomizedResponse(retention=0.5), {str(tmp_path / 'release')!r})"
    )
    assert not loaded & {"pandas", "scipy.stats"}


def test_every_public_name_is_there():
    """The lazy table and the list of public names are one."""
    assert set(sfumato.__all__) == {*sfumato._HOMES, "__version__"}
    assert len(sfumato.__all__) < 40
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    with pytest.raises(AttributeError):
        _ = sfumato.nonsense


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_randomness_has_one_home(path):
    """SQL's random() and numpy's or Python's generators are not used where rows are private."""
    if path.is_relative_to(SOURCE / "datasets"):
        pytest.skip("synthetic data carry no privacy; their generator is numpy's")
    text = path.read_text(encoding="utf-8")
    # Session tokens and nonces of encryption are secrets, and no noise.
    if path not in [
        SOURCE / each for each in ("randomness/streams.py", "data/encryption.py", "studio/server.py")
    ]:
        assert not re.search(r"os\.urandom|^\s*(import|from) (secrets|random)\b", text, re.MULTILINE)
    assert not re.search(r"\b(np|numpy)\.random\.(seed|rand|randint|choice|shuffle|normal)\b", text)
    assert not re.search(r"(?i)select[^\"']*\brandom\(\)|using sample|tablesample", text)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_small(path):
    """A file is as long as its subject; past a thousand lines it holds two."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 1000


def test_nothing_listens_and_nothing_reaches_out():
    """Sockets are opened by the data sets' downloads, and by the studio, which listens to this machine alone."""
    reaching = {
        path.relative_to(SOURCE).parts[0]
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or node.names[0].name]
        if name.split(".")[0] in ("socket", "urllib", "http", "requests", "httpx")
    }
    assert reaching <= {"datasets", "studio"}
    serving = (SOURCE / "studio/server.py").read_text(encoding="utf-8")
    assert "127.0.0.1" in serving
    assert "0.0.0.0" not in serving


def imported_packages() -> set[str]:
    """Top-level names of everything that some module imports, anywhere in it."""
    return {
        name.split(".")[0]
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        )
    }


def test_every_dependency_is_imported_and_every_import_declared():
    """The default install carries nothing for nobody; what an extra brings is named by that extra."""
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def modules(requirements: list[str]) -> set[str]:
        names = (re.match(r"[\w-]+", each)[0] for each in requirements)
        return {{"scikit-learn": "sklearn"}.get(name, name.replace("-", "_")) for name in names}

    default = modules(project["dependencies"])
    extras = {name: modules(each) for name, each in project["optional-dependencies"].items() if name != "dev"}
    imported = imported_packages() - set(sys.stdlib_module_names) - {"sfumato"}
    assert default <= imported
    # A source tree that was never installed asks vl-convert for what the build puts into the package.
    assert imported - default - {"vl_convert"} <= set().union(*extras.values())
    assert not default & set().union(*extras.values())
