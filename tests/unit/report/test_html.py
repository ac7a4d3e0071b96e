"""The page: self-contained, harmless, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib

import pytest
import vl_convert

from sfumato.errors import ReleaseError
from sfumato.report.document import (
    Banner,
    Bullets,
    Document,
    Facts,
    Figure,
    Folded,
    Grid,
    Listing,
    Paragraph,
    Promise,
    Section,
    Subheading,
    as_script_data,
    render,
    write_page,
)
from sfumato.report.figures import interval_chart
from web_pages import Page

HOSTILE = "</script><b onclick=x>\u2028' \" & {{ 7 * 7 }}"


def every_block(text):
    """One block of each kind, every text of it the same."""
    point = {"category": text, "estimate": 5.0, "low": 1.0, "high": 9.0}
    chart = interval_chart([point], attribute=text, estimated=text, reference=None, description=text)
    return (
        Paragraph(text),
        Promise(text, text, ((text, text),)),
        Bullets((text,)),
        Facts(((text, text),)),
        Grid(text, (text, text), ((text, text),), shares=(0.5,)),
        Figure(chart, text, text),
        Listing(text, text),
        Subheading(text),
        Folded(text, (Figure(chart, text, text),)),
    )


def document(text="plain"):
    """A document with one block of each kind."""
    section = Section(text, every_block(text), is_private=True)
    banner = Banner("not-private", text, text)
    return Document(text, text, text, (banner,), (section,), text)


@pytest.fixture(scope="module")
def hostile_page():
    """A page all of whose texts try to become code."""
    return Page(render(document(HOSTILE)))


def test_no_text_becomes_a_tag(hostile_page):
    """The hostile text stands on the page as text, everywhere."""
    assert "b" not in {tag for tag, _ in hostile_page.tags}
    assert "onclick" not in {name for _, attributes in hostile_page.tags for name in attributes}
    # The JavaScript of the page: the charts' data, the library, and what draws them.
    assert len(hostile_page.scripts) == 3


def test_no_text_becomes_a_template(hostile_page):
    """Double braces are printed, not evaluated."""
    assert "{{ 7 * 7 }}" in hostile_page.visible
    assert "49" not in hostile_page.visible


def test_texts_in_charts_come_back_as_they_were(hostile_page):
    """Escaping within the script loses nothing."""
    assert [chart["data"]["values"][0]["category"] for chart in hostile_page.charts] == [HOSTILE, HOSTILE]


def test_script_data_holds_no_character_that_ends_a_script():
    """Neither angle brackets nor the line separators that JavaScript minds."""
    assert not set("<>&\u2028\u2029") & set(as_script_data({HOSTILE: [HOSTILE]}))


def test_nothing_is_loaded_from_outside(hostile_page):
    """Links stay within the page; there is no source, no stylesheet, no frame."""
    assert all(address.startswith("#") for address in hostile_page.values_of("href"))
    assert hostile_page.values_of("src") == []
    assert not {"link", "img", "iframe", "object", "base"} & {tag for tag, _ in hostile_page.tags}
    assert "@import" not in render(document()).split("</style>")[0]


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(hostile_page):
    """Digests by hand: each script that runs is named, and connections are forbidden by default."""
    policy = next(attributes["content"] for _, attributes in hostile_page.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none';")
    running = [text for attributes, text in hostile_page.scripts if attributes["type"] == "module"]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    script_sources = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert script_sources == "script-src " + " ".join(f"'sha256-{digest}'" for digest in digests)


def test_every_chart_has_a_place_and_a_description(hostile_page):
    """Those who cannot see a chart are told what it shows."""
    places = [attributes for _, attributes in hostile_page.tags if attributes.get("class") == "chart"]
    assert [place["id"] for place in places] == ["chart-0", "chart-1"]
    assert all(place["role"] == "img" and place["aria-label"] == HOSTILE for place in places)


def test_a_page_without_charts_does_without_the_library():
    """Fifty kilobytes are plenty for text."""
    page = render(Document("a", "b", "c", (), (Section("d", (Paragraph("e"),)),), "f"))
    assert len(page) < 50_000


def test_private_pages_ask_not_to_be_indexed():
    """Should one lie about on a server, search engines are told to leave it."""
    assert "noindex" in render(document())
    assert "noindex" not in render(Document("a", "b", "c", (), (), "f"))


def test_an_existing_file_is_not_overwritten(tmp_path):
    """The sentence names the file, and the file stays."""
    out = tmp_path / "report.html"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"report\.html.*already exists"):
        write_page(document(), out)
    assert out.read_text(encoding="utf-8") == "mine"


def test_a_missing_folder_is_said(tmp_path):
    """No folder is made on the way to a report."""
    with pytest.raises(ReleaseError, match="does not exist"):
        write_page(document(), tmp_path / "nowhere" / "report.html")


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    """A disk that fills up in the middle leaves neither the page nor a part of it."""

    def fail(path, text, **_):
        path.write_bytes(text[:10].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", fail)
    with pytest.raises(ReleaseError, match="No space left"):
        write_page(document(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_the_page_carries_the_drawing_library():
    """From the package where it was built, from vl-convert in a bare source tree: the same text."""
    assert vl_convert.javascript_bundle() in render(document())


def test_sentences_beside_numbers_wrap_and_tables_of_many_columns_are_dense():
    """A sentence set like a number ran out of the page, and took the first column's room; so did a dozen columns."""
    checked = Grid(
        "Checks",
        ("about", "p", "numbers"),
        (("margin", "0.5", "Counts lie up to 25 rows from what is expected."),),
    )
    wide = Grid("Wide", tuple(f"column {place}" for place in range(10)), (("1",) * 10,))
    page = render(Document("", "Title", "Lead", (), (Section("One", (checked, wide)),), ""))
    assert '<td class="number">0.5</td>' in page
    assert '<td class="sentence">Counts lie' in page
    assert page.count('class="wide many dense"') == 1


def test_a_row_that_only_says_why_has_the_whole_width_for_it():
    """In the last of a dozen columns it was a word wide, and a page long in print."""
    why = "refused: no grouping of these values exists, because one of them is too frequent."
    rows = (("one", *["0.5"] * 10, "frontier"), ("other", *[""] * 10, why))
    wide = Grid("Wide", tuple(f"column {place}" for place in range(12)), rows)
    page = render(Document("", "Title", "Lead", (), (Section("One", (wide,)),), ""))
    assert f'<td class="sentence" colspan="11" role="cell" data-label="column 11">{why}</td>' in page
