"""The list of data sets and their cards."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

import sfumato.datasets
from sfumato.datasets import fetch_dataset, get_card, list_datasets, make_dataset
from sfumato.errors import ParameterError
from sfumato.schema import Schema


@pytest.fixture(params=list_datasets(), ids=lambda card: card.name)
def card(request):
    """Each card in turn."""
    return request.param


def test_a_data_set_is_found_by_its_module():
    """The list is what the package's modules say, sorted by name."""
    names = [card.name for card in list_datasets()]
    assert names == sorted(names)
    assert {"adult", "census", "nursery"} <= set(names)


def test_a_card_leaves_nothing_unsaid(card):
    """Title, attributes, source, licence, citation and notes are all there."""
    texts = {name: value for name, value in card.to_dict().items() if name != "rows"}
    assert all(isinstance(text, str) and text for text in texts.values())


def test_a_card_has_a_schema_that_sfumato_reads(card):
    """The schema ships with the package and parses."""
    assert Schema.from_toml(card.read_schema()).names


def test_a_card_names_every_attribute_of_its_schema(card):
    """The summary of attributes does not forget one."""
    named = {each.split()[0] for each in card.attributes.split(", ")}
    assert set(Schema.from_toml(card.read_schema()).names) <= named


def test_a_module_offers_what_its_kind_promises(card):
    """Generated sets have make, fetched ones have fetch."""
    module = sfumato.datasets._get_module(card.name)
    assert hasattr(module, {"generated": "make", "fetched": "fetch"}[card.kind])


def test_a_card_cannot_be_changed(card):
    """Cards are frozen."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        card.licence = "mine"


def test_adult_is_cited_as_its_donors_ask():
    """Licence, authors and identifier are those of the repository's page."""
    card = get_card("adult")
    assert card.licence == "CC BY 4.0"
    assert "Becker" in card.citation
    assert "Kohavi" in card.citation
    assert "10.24432/C5XW20" in card.citation


def test_an_unknown_name_gets_the_nearest_one():
    """A slip of the finger is answered with a suggestion."""
    with pytest.raises(ParameterError, match="did you mean 'census'"):
        get_card("cencus")


def test_a_real_set_cannot_be_made(tmp_path):
    """The refusal says the command that does work."""
    with pytest.raises(ParameterError, match="sfumato datasets fetch adult --to DIR"):
        make_dataset("adult", 10, 1, tmp_path / "a.csv")


def test_a_generated_set_cannot_be_fetched(tmp_path):
    """The refusal says the command that does work."""
    with pytest.raises(ParameterError, match="sfumato datasets make census"):
        fetch_dataset("census", tmp_path)


def test_listing_imports_nothing_heavy():
    """Cards are shown without loading numpy or pyarrow, so that help stays quick."""
    code = (
        "import sys; from sfumato.datasets.catalog import Card; loaded = set(sys.modules);"
        "import sfumato.datasets.census, sfumato.datasets.adult;"
        "print(*sorted({'numpy', 'pyarrow'} & (set(sys.modules) - loaded)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
