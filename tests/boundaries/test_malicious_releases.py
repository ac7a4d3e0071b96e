"""More than two hundred releases as an enemy would make them: none reads, writes, hangs, or claims more than its law."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foreign import changed
from samples import SCHEMA, people
from sfumato import METHODS, load_release, publish, read_table
from sfumato.cli.app import app
from sfumato.errors import SfumatoError
from sfumato.methods.generalization.design import Generalization
from sfumato.release.loading import refuse_stronger_promises

TOUCHED: list[str] = []
"""Every path that this process has opened, made, moved or removed, and everything it has run, since it was last cleared."""
WATCHED = {
    "open",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "subprocess.Popen",
}
WATCHED |= {"os.system", "os.exec", "os.posix_spawn", "socket.connect", "exec_of_text", "ctypes.dlopen"}
sys.addaudithook(
    lambda event, details: TOUCHED.append(str(details[0])) if event in WATCHED and details else None
)

SECRET = "WORDS-OF-ANOTHER-FILE"
SECONDS = 20

PATHS = (
    "{secret}",
    "../{secret}",
    "/dev/zero",
    "{pipe}",
    "{link}",
    "file://{secret}",
    "~/.ssh/id_rsa",
    "/proc/self/environ",
)
SQL = (
    "'; copy (select 1) to '{written}'; --",
    "') union select * from read_text('{secret}') --",
    "\"; attach '{written}' as x; --",
    "x\") from read_csv('{secret}') --",
    "$1",
)
HTML = (
    "<script>document.title='run'</script>",
    "</script><img src=x onerror=alert(1)>",
    "<iframe src='file://{secret}'></iframe>",
    "javascript:alert(1)",
    "{{{{ ''.__class__.__mro__ }}}}",
    "{{% include '{secret}' %}}",
)
TERMINAL = ("\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31m", "\u202ereversed\u202c", "a\rb", "\x08\x08\x08")
SIZES = (6_000_000_000, 10**18, 2**63, 2**64, 10**400, -1, 0, 5e-324, 1e300)
TYPES = (None, True, [], {}, "", 7, [[[[]]]], {"a": {"b": {"c": 1}}}, [None], ["x"] * 50)


def texts(folder):
    """Texts that would do something, by what they are."""
    named = {each: str(folder / each) for each in ("secret", "pipe", "link", "written")}
    groups = {"path": PATHS, "sql": SQL, "html": HTML, "terminal": TERMINAL}
    return {kind: [each.format(**named) for each in group] for kind, group in groups.items()}


def places(value, place=()):
    """Every place in a block, whatever it holds."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*place, key)
        yield from places(value[key], (*place, key))


def at(place, new):
    """A change of one place."""

    def change(block):
        inner = block
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = new

    return change


def renamed(old, new):
    """A change of a category or an attribute, wherever it stands, so that everything still fits together."""

    def change(block):
        text = json.dumps(block).replace(json.dumps(old), json.dumps(new))
        block.clear()
        block.update(json.loads(text))

    return change


def words_as_conditions(block):
    """Every promise takes as known what no program of ours would say; where there is none, one that tables decide."""
    block["guarantees"] = block["guarantees"] or [
        {"guarantee": "k-anonymity", "k": 1, "quasi_identifiers": ["sex"]}
    ]
    for each in block["guarantees"]:
        each["given"] = [*each.get("given", ()), CERTIFIED]


def words_as_a_parameter(block):
    """The same, dressed as a parameter that the release declares."""
    words_as_conditions(block)
    block["chosen_from_private_data"][CERTIFIED] = CERTIFIED
    for each in block["guarantees"]:
        each["given"][-1] = f"the parameter {CERTIFIED}, chosen from the private rows"


def words_as_an_attribute(block):
    """The same, dressed as an attribute whose list was learned."""
    words_as_conditions(block)
    block["chosen_from_private_data"][f"categories of {CERTIFIED}"] = CERTIFIED
    for each in block["guarantees"]:
        each["given"][-1] = f"the list of categories of {CERTIFIED}, which was read off the private rows"


CERTIFIED = "the certificate of an independent body that nobody can be identified"
WORDS = {
    "conditions": words_as_conditions,
    "a parameter": words_as_a_parameter,
    "an attribute": words_as_an_attribute,
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Releases of every method, and their manifests."""
    folder = tmp_path_factory.mktemp("malicious")
    table = read_table(people(300), SCHEMA)
    designs = {name: method.example(SCHEMA) for name, method in METHODS.members.items()}
    designs["generalization"] = Generalization(k=2, hierarchies={"sex": {"fanout": 2}})
    for name, design in designs.items():
        publish(table, design, folder / name, seed=1, format="csv")
    return folder


def cases(originals, folder):
    """Name of the release, what is done, the changed manifest: a fixed choice over all fields, kinds and methods."""
    evil = texts(folder)
    for order, name in enumerate(METHODS.members):
        manifest = json.loads((originals / name / "datapackage.json").read_text(encoding="utf-8"))
        block = manifest["sfumato"]
        everywhere = list(places(block))
        values = [(kind, each) for kind, group in evil.items() for each in group]
        values += [("size", each) for each in SIZES] + [("type", each) for each in TYPES]
        # Steps that share no divisor with the lengths, so that fields and kinds meet in many pairs.
        for number in range(20):
            place = everywhere[(number * 37 + order * 5) % len(everywhere)]
            kind, value = values[(number * 17 + order * 3) % len(values)]
            yield name, f"{kind} at {'.'.join(map(str, place))}", changed(manifest, at(place, value))
        for kind in ("html", "terminal", "sql"):
            for number, value in enumerate(evil[kind][:2]):
                old = ("Sales", "job")[number]
                yield name, f"{kind} for every {old}", changed(manifest, renamed(old, value))
        for what, change in WORDS.items():
            yield name, f"words as {what}", changed(manifest, change)


class Page(HTMLParser):
    """What a browser would load or run of a page."""

    def __init__(self):
        super().__init__()
        self.loaded = []
        self.handlers = []

    def handle_starttag(self, tag, attributes):
        """Keep what loads and what runs."""
        for name, value in attributes:
            if name in ("src", "href", "data", "action") and not (value or "").startswith("#"):
                self.loaded.append((tag, value))
            if name.startswith("on"):
                self.handlers.append((tag, name))


def shown_of(release: Path, out: Path):
    """What every verb for analysts and auditors says of a release, with exit codes."""
    for arguments in (
        ("show", str(release)),
        ("query", str(release), "--", "job = 'Sales' AND sex = 'Male'"),
        ("counts", str(release), "--by", "job"),
        ("verify", str(release)),
        ("report", str(release), "--out", str(out)),
    ):
        result = CliRunner().invoke(app, list(arguments), prog_name="sfumato")
        yield arguments[0], result.exit_code, result.stdout + result.stderr


@pytest.fixture
def nobody_waits():
    """Starts the clock anew at every call; what hangs fails."""

    def stop(*_):
        raise AssertionError("a release made a verb hang")

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda: signal.alarm(SECONDS)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def assert_harmless(shown, page):
    """Nothing of another file, nothing that commands a terminal, nothing that runs in a browser."""
    for verb, exit_code, text in shown:
        assert exit_code in (0, 1, 2, 3), (verb, text)
        assert SECRET not in text
        assert not {letter for letter in text if ord(letter) < 32} - {"\n", "\t"}, verb
        assert "\x9b" not in text
        assert "\u202e" not in text
    if page is not None:
        assert SECRET not in page
        found = Page()
        found.feed(page)
        assert not found.handlers
        assert not [each for each in found.loaded if each[1] and not each[1].startswith("https://doi.org")], (
            found.loaded
        )
        assert (
            "document.title='run'" not in page.replace("\\u003c", "").replace("&#39;", "'")
            or "<script>document" not in page
        )


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", list(METHODS.members))
def test_no_mutation_does_harm(name, half, originals, tmp_path, nobody_waits):
    """Each is opened, asked, counted, verified and reported; whatever comes of it, by a stated exit."""
    (tmp_path / "secret").write_text(f"{SECRET};{SECRET}\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    release, out = tmp_path / "release", tmp_path / "report.html"
    shutil.copytree(originals / name, release)
    chosen = [(what, manifest) for method, what, manifest in cases(originals, tmp_path) if method == name]
    assert len(chosen) == 26 + len(WORDS)
    for what, manifest in chosen[half::2]:
        (release / "datapackage.json").write_text(json.dumps(manifest), encoding="utf-8")
        before = sorted(each.name for each in tmp_path.iterdir())
        TOUCHED.clear()
        nobody_waits()
        shown = list(shown_of(release, out))
        page = out.read_text(encoding="utf-8") if out.exists() else None
        out.unlink(missing_ok=True)
        try:
            assert_harmless(shown, page)
            assert not [
                each for each in TOUCHED if each.startswith(str(tmp_path / "secret")) or "written" in each
            ]
            assert sorted(each.name for each in tmp_path.iterdir()) == before
            assert_claims_no_more(release)
            if what.startswith("words"):
                # Words of a stranger beside a promise: nothing of the release is shown; where they are a promise's own, it is refuted.
                assert {code for _, code, _ in shown} in ({1}, {3})
                assert not [text for *_, text in shown if CERTIFIED in text]
                assert page is None
        except AssertionError as error:
            raise AssertionError(f"{name}: {what}: {error}") from error


@pytest.mark.parametrize("longer", [True, False], ids=["one more", "one less"])
@pytest.mark.parametrize("name", list(METHODS.members))
def test_lists_that_the_law_is_not_made_for_are_refused_or_answered(name, longer, originals, tmp_path):
    """A category more or less in an attribute: where the law has a number for each, the release is refused on opening."""
    release, out = tmp_path / "release", tmp_path / "report.html"
    shutil.copytree(originals / name, release)
    manifest = json.loads((release / "datapackage.json").read_text(encoding="utf-8"))
    lists = [
        place
        for place in places(manifest["sfumato"]["tables"])
        if place[-1] == "categories" and len(place) == 4
    ]
    assert lists
    for place in lists:

        def change(block, place=place):
            inner = block["tables"]
            for key in place[:-1]:
                inner = inner[key]
            inner["categories"] = [*inner["categories"], "'"] if longer else inner["categories"][:-1]

        (release / "datapackage.json").write_text(json.dumps(changed(manifest, change)), encoding="utf-8")
        for verb, exit_code, text in shown_of(release, out):
            assert exit_code in (0, 1, 3), (place, verb, text)
        out.unlink(missing_ok=True)


def assert_claims_no_more(folder):
    """What opens at all has promises that follow from its law."""
    try:
        release = load_release(folder)
    except SfumatoError:
        return
    refuse_stronger_promises(release)


def test_there_are_more_than_two_hundred(originals, tmp_path):
    """Of every kind, for every method, no two alike."""
    made = list(cases(originals, tmp_path))
    assert len(made) >= 200
    assert len({json.dumps(manifest, sort_keys=True) for *_, manifest in made}) > 0.95 * len(made)
    for kind in ("path", "sql", "html", "terminal", "size", "type"):
        assert sum(what.startswith(kind) for _, what, _ in made) >= 15


def test_harm_is_seen(tmp_path):
    """The test's own eyes: a page that runs something, a terminal that is commanded, a file that is opened."""
    for shown, page in (
        ([("show", 0, "\x1b[2J")], None),
        ([("show", 0, SECRET)], None),
        ([("show", 70, "")], None),
        ([], "<img src=x onerror=alert(1)>"),
        ([], f"<p>{SECRET}</p>"),
    ):
        with pytest.raises(AssertionError):
            assert_harmless(shown, page)
    TOUCHED.clear()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    assert str(tmp_path / "secret") in TOUCHED
