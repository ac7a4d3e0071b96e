"""What the shell offers when a word is half typed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sfumato.cli.options import complete_attacks, complete_datasets, complete_methods, complete_settings
from sfumato.methods.base import METHODS


def test_methods_come_with_their_titles():
    """Names that begin so, and no other."""
    assert complete_methods("randomized-r") == [("randomized-response", "randomized response")]
    assert complete_methods("zzz") == []


def test_attacks_and_data_sets_complete():
    """Names that begin so."""
    assert [name for name, _ in complete_datasets("cen")] == ["census"]
    assert all(name.startswith("l") for name, _ in complete_attacks("l"))


@pytest.mark.parametrize(
    ("parameters", "offered"),
    [
        ({"method": "randomized-response"}, {"retention="}),
        ({"method": None}, {"retention="}),
        ({"method": "anatomy"}, set()),
        ({"attack": None}, set()),
    ],
)
def test_settings_are_those_of_the_method_on_the_line(parameters, offered):
    """Of all methods while none is chosen; of attacks when attacking."""
    found = complete_settings(SimpleNamespace(params=parameters), "reten")
    assert {name for name, _ in found} == offered


def test_the_tag_itself_is_no_setting():
    """The method is chosen by --method."""
    found = complete_settings(SimpleNamespace(params={"method": "randomized-response"}), "")
    names = {name for name, _ in found}
    assert "method=" not in names
    assert len(names) == len(METHODS.get("randomized-response").model_fields) - 1
