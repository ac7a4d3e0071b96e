"""An analyst's first look at a release, of every method."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from samples import SCHEMA, people
from sfumato import METHODS, RandomizedResponse, publish, read_table
from sfumato.analysis.overview import _argument
from sfumato.cli import run

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=list(METHODS.members))
def release(request, tmp_path_factory):
    """One release of each method's own example."""
    folder = tmp_path_factory.mktemp("overview") / "the release"
    return publish(
        read_table(people(800), SCHEMA), METHODS.get(request.param).example(SCHEMA), folder, seed=4
    )


def test_every_method_is_shown_with_what_can_be_asked(release):
    """Every attribute and every promise; errors are those that counts state; what is refused says why."""
    shown = release.overview()
    text = shown.summary()
    assert text.startswith(f"Release by {release.method}")
    for each in release.guarantees:
        assert each.plain_statement in text
    assert [row[0] for row in shown.attributes.rows] == list(release.schema.names)
    answered = {row[0]: row for row in shown.errors.rows}
    for name in release.schema.names:
        _, cells, certainty, median, largest = answered[name]
        assert cells == release.schema[name].size
        if not certainty.startswith("refused"):
            errors = release.counts(name).std_errors
            assert (median, largest) == (np.median(errors), errors.max())
    assert json.loads(json.dumps(shown.to_dict()))["title"] == shown.title


def test_the_commands_it_gives_can_be_run(release, monkeypatch, tmp_path, capsys):
    """Copied into a shell that stands beside the release."""
    monkeypatch.chdir(release.folder.parent)
    for command in release.overview().examples:
        words = shlex.split(command)
        assert words[0] == "sfumato"
        if words[1] == "report":
            words[-1] = str(tmp_path / "report.html")
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code in (0, None), capsys.readouterr().err


def test_what_was_changed_is_told_from_what_was_not(tmp_path):
    """By attribute; and many categories are counted rather than listed."""
    shown = publish(
        read_table(people(800), SCHEMA), RandomizedResponse(retention=0.6), tmp_path / "out", seed=4
    ).overview()
    assert {row[0]: row[2] for row in shown.attributes.rows} == {
        "sex": "as it is",
        "age": "as it is",
        "region": "as it is",
        "job": "changed",
    }
    assert repr(shown) == "Overview(Release by randomized-response, 800 published rows)"


@pytest.mark.parametrize(
    "text", ["job = 'a b'", "job", "x = '$HOME'", "x = '`ls`'", "x = 'a\"b'", "x = 'a\\b'", "x = 'a!b'"]
)
def test_a_condition_stays_one_word_of_a_shell(text):
    """Whatever a label holds."""
    assert shlex.split(_argument(text)) == [text]
