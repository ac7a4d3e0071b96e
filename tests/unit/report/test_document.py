"""Documents as data."""

from __future__ import annotations

import pytest

from sfumato.report.document import Document, Grid, Section
from sfumato.results import ResultTable


def test_a_row_of_another_length_is_refused():
    """Three headings and two cells do not make a table."""
    with pytest.raises(ValueError, match="one cell for each column"):
        Grid("", ("a", "b", "c"), (("1", "2"),))


def test_bars_without_a_row_are_refused():
    """Two bars for one row."""
    with pytest.raises(ValueError, match="one share for each row"):
        Grid("", ("a",), (("1",),), shares=(0.1, 0.2))


def test_columns_of_numbers_begin_where_the_first_one_stands():
    """Two columns of words, then numbers."""
    table = ResultTable("", ("release", "kind", "error"), (("a", "b", 1.5), ("c", "d", 2)))
    assert Grid.of(table).text_columns == 2


def test_a_table_of_words_has_no_columns_of_numbers():
    """Every column is words."""
    assert Grid.of(ResultTable("", ("question", "why"), (("a", "b"),))).text_columns == 2


def test_an_empty_table_is_all_words():
    """No row, so nothing that could be a number."""
    assert Grid.of(ResultTable("", ("question", "why"), ())).text_columns == 2
    # A row without numbers, as a refused design has, makes no words of the others.
    refused = (("a", 0.5, "-", "good"), ("b", "", "", "refused: why"), ("c", 0.1, 0.2, "good"))
    assert Grid.of(ResultTable("", ("design", "risk", "proved", "standing"), refused)).text_columns == 1


def test_one_private_section_makes_the_document_private():
    """A page is as private as its most private part."""
    public, private = Section("a", ()), Section("b", (), is_private=True)
    assert not Document("", "", "", (), (public,), "").is_private
    assert Document("", "", "", (), (public, private), "").is_private


def test_anchors_hold_letters_digits_and_hyphens_only():
    """A title with marks becomes an address without them."""
    assert Section('"Exact" & <estimated>: 95 %', ()).anchor == "exact-estimated-95"
