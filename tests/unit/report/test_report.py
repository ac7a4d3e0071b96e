"""The report of a release, from private rows to the page."""

from __future__ import annotations

import shlex

import pyarrow as pa
import pytest

from samples import SCHEMA, people
from sfumato import METHODS, RandomizedResponse, publish, read_table
from sfumato.cli.parameters import member_from
from sfumato.errors import DataError, NotIdentifiableError, ReleaseError
from sfumato.methods.randomized_response.law import PerturbedRows
from sfumato.release import Release
from sfumato.report import write_report
from sfumato.report.document import Listing
from sfumato.report.margins import compare_with_truth, read_margins
from sfumato.report.release_page import (
    _show_categories,
    describe_release,
    publish_command,
    query_command,
    repetition_section,
    settings,
)
from sfumato.schema import Attribute, Role, Schema
from web_pages import Page

MARKER = "XYZZY-PRIVATE-MARKER"


def marked_people():
    """The sample with a marker in every cell of the identifier."""
    rows = people()
    return rows.set_column(0, "person", pa.array([MARKER] * rows.num_rows))


@pytest.fixture(scope="module")
def table():
    """Private rows."""
    return read_table(marked_people(), SCHEMA)


@pytest.fixture(scope="module")
def release(table, tmp_path_factory):
    """A release made as it should be, without a seed."""
    return publish(table, RandomizedResponse(retention=0.5), tmp_path_factory.mktemp("made") / "people-2026")


@pytest.fixture(scope="module")
def public_page(release, tmp_path_factory):
    """The page for everybody."""
    out = tmp_path_factory.mktemp("public") / "report.html"
    return Page(write_report(release, out, command="sfumato report here").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def private_page(release, table, tmp_path_factory):
    """The page for the custodian."""
    out = tmp_path_factory.mktemp("private") / "report.html"
    return Page(write_report(release, out, against=table).read_text(encoding="utf-8"))


def test_a_private_page_is_its_owners_alone(release, table, tmp_path):
    """One that may be published is not."""
    private = write_report(release, tmp_path / "private.html", against=table)
    public = write_report(release, tmp_path / "public.html")
    assert private.stat().st_mode & 0o777 == 0o600
    assert public.stat().st_mode & 0o044


def changed(release, **manifest):
    """The same release with another manifest."""
    return Release(
        release.folder, release.manifest.model_copy(update=manifest), release.sources, release.engine
    )


def describe(release):
    """The document of a release."""
    return describe_release(release, read_margins(release))


def section_of(document, title):
    """A section by its title."""
    return next(each for each in document.sections if each.title == title)


@pytest.mark.parametrize(
    "text",
    [
        "1,000 rows of 4 attributes, published by randomized response",
        "randomized-response",
        "0.5 (probability of keeping a value",
        "rows.parquet (1,000 rows)",
        "Sales, Tech, Care, Other",
        "quasi-identifier",
        "Each person's job was randomly changed before publication.",
        "1.609-local differential privacy",
        "the true values of one row's perturbed attributes",
        "sees the release and all public parameters, and may know every other row",
        "sex: published as it is",
        "a person who is unique on them can be found",
        "Every person has one row.",
        "Nothing: every parameter and every list of categories was fixed beforehand.",
        "Expected standard error of a category's count",
        "--set retention=0.5",
        "sfumato counts people-2026 --by job",
        "Warner, S. L. (1965)",
        "sfumato report here",
    ],
)
def test_the_page_says(public_page, text):
    """What was published, the promise (ln(1 + 0.5*4/0.5) = ln 5 = 1.609), what is not promised, how to repeat it."""
    assert text in public_page.visible


def test_the_public_page_has_one_chart_for_each_perturbed_attribute(public_page):
    """Only the job was perturbed; the other three are exact and have tables."""
    assert len(public_page.charts) == 1
    assert [point["category"] for point in public_page.charts[0]["data"]["values"]] == [
        "Sales",
        "Tech",
        "Care",
        "Other",
    ]


def test_estimates_on_the_page_undo_the_distortion_of_published_counts(public_page):
    """By hand: (published - 1000 * 0.5/4) / 0.5 for retention 0.5 and four categories."""
    for point in public_page.charts[0]["data"]["values"]:
        assert point["estimate"] == pytest.approx((point["reference"] - 125) / 0.5, abs=1e-6)


def test_an_unseeded_release_has_no_banner(public_page):
    """Nothing to warn of."""
    assert public_page.values_of("class").count("banner not-private") == 0
    assert "not private" not in public_page.visible


def test_a_seeded_release_says_that_it_is_not_private(table, tmp_path):
    """Banner on top of the page."""
    seeded = publish(table, RandomizedResponse(retention=0.5), tmp_path / "release", seed=1)
    page = Page(write_report(seeded, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "banner not-private" in page.values_of("class")
    assert "This release is not private" in page.visible


def test_the_public_page_holds_no_truth(public_page):
    """No private section and no warning about one."""
    assert "for the custodian only" not in public_page.visible
    assert "private" not in public_page.values_of("class")


def test_the_private_page_says_at_its_top_that_it_must_not_be_published(private_page):
    """Before the first section, and again in the section itself."""
    before = private_page.visible.split("What was published")[0]
    assert "Private: for the custodian only" in before
    assert "must not be published" in before
    assert "private" in private_page.values_of("class")


def test_the_private_page_holds_the_truth(private_page, table):
    """True counts stand in the second chart."""
    truth = table.count_by(["job"]).counts.tolist()
    assert [point["reference"] for point in private_page.charts[1]["data"]["values"]] == truth


def test_a_marker_in_private_cells_is_on_neither_page(public_page, private_page):
    """Identifiers never leave the table, not even toward the custodian's page."""
    for page in (public_page, private_page):
        assert MARKER not in page.visible + str(page.tags) + str(page.charts)


def test_a_marker_in_a_wrong_category_is_not_in_the_error(release, tmp_path):
    """Rows that do not fit the schema are refused by column and number, never by value."""
    rows = people()
    wrong = rows.set_column(rows.column_names.index("job"), "job", pa.array([MARKER] * rows.num_rows))
    with pytest.raises(DataError) as caught:
        write_report(release, tmp_path / "report.html", against=read_table(wrong, SCHEMA))
    assert MARKER not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_a_table_of_another_schema_is_refused(release, tmp_path):
    """The sentence names the attribute and says what to do."""
    other = Schema(
        attributes=tuple(
            Attribute(name="job", role=Role.SENSITIVE, categories=("Sales", "Tech"))
            if each.name == "job"
            else each
            for each in SCHEMA.attributes
        )
    )
    with pytest.raises(DataError, match="does not declare 'job' as the release does"):
        compare_with_truth(read_margins(release), read_table(people(), other))


def test_an_existing_report_is_not_overwritten(release, tmp_path):
    """Refused before anything is counted."""
    out = tmp_path / "report.html"
    out.touch()
    with pytest.raises(ReleaseError, match="already exists"):
        write_report(release, out)


class SilentLaw(PerturbedRows):
    """A law that leaves everything open."""

    def estimate(self, *_, **__):
        """Refuse."""
        raise NotIdentifiableError("this release says nothing about it.")


def test_what_the_law_leaves_open_is_said_with_its_reason(release):
    """No chart, no query to try, and the reason for each attribute."""
    silent = changed(release)
    silent.__dict__["law"] = SilentLaw(distortions=release.law.distortions)
    document = describe(silent)
    section = section_of(document, "Published and reconstructed counts")
    reasons = [
        block.text for block in section.blocks if "says nothing about it" in getattr(block, "text", "")
    ]
    assert len(reasons) == 4
    listings = [block for block in section_of(document, "Repeat it").blocks if isinstance(block, Listing)]
    assert [block.title for block in listings] == ["Publish", "The same in Python"]


def test_a_method_that_is_not_known_here_is_named_without_a_plan(release):
    """The law is enough to read a release; its method's own words are then missing."""
    document = describe(changed(release, method={"method": "of-the-future", "depth": 3}))
    facts = dict(section_of(document, "What was published").blocks[0].pairs)
    assert facts["method"] == "of-the-future"
    assert facts["depth"] == "3"
    assert "Expected accuracy" not in [section.title for section in document.sections]


def test_a_design_that_cannot_be_planned_any_more_has_no_expected_accuracy(release):
    """It names an attribute that the published schema lacks."""
    method = {"method": "randomized-response", "retention": 0.5, "attributes": ["gone"]}
    document = describe(changed(release, method=method))
    assert "Expected accuracy" not in [section.title for section in document.sections]


def test_parameters_by_attribute_are_written_out(release):
    """Attribute and number, and none where a list is empty."""
    document = describe(
        changed(release, method={"method": "other", "retention": {"job": 0.5}, "queries": []})
    )
    facts = dict(section_of(document, "What was published").blocks[0].pairs)
    assert (facts["retention"], facts["queries"]) == ("job 0.5", "none")


@pytest.mark.parametrize(
    ("published", "said"),
    [
        (("a", "b", "c"), "3"),
        (("a", "b or c"), "3, published in 2"),
        (None, "3, not published"),
    ],
)
def test_categories_say_how_they_were_published(published, said):
    """As they are, coarser, or not at all."""
    asked = Attribute(name="job", role=Role.OTHER, categories=("a", "b", "c"))
    other = Attribute(name="sex", role=Role.OTHER, categories=("F", "M"))
    coarse = () if published is None else (Attribute(name="job", role=Role.OTHER, categories=published),)
    assert _show_categories(asked, Schema(attributes=(other, *coarse))) == said


def test_what_was_learned_from_the_rows_is_said(tmp_path):
    """Categories read off the private data are named as such."""
    learned = Schema(
        attributes=(Attribute(name="job", role=Role.SENSITIVE, categories=("a", "b"), learned=True),)
    )
    table = read_table(pa.table({"job": ["a", "b"] * 50}), learned)
    made = publish(table, RandomizedResponse(retention=0.5), tmp_path / "release")
    section = section_of(describe(made), "Chosen by looking at the private data")
    assert [name for name, _ in section.blocks[1].pairs] == ["categories of job"]


@pytest.mark.parametrize("name", METHODS.members)
def test_every_method_can_be_reported(name, table, tmp_path):
    """Nothing in a report is about one method: each registered one gets its page, for both readers."""
    made = publish(table, METHODS.get(name).example(SCHEMA), tmp_path / "release")
    page = Page(write_report(made, tmp_path / "report.html", against=table).read_text(encoding="utf-8"))
    assert name in page.visible
    assert all(promise.plain_words in page.visible for promise in made.guarantees)
    assert MARKER not in page.visible + str(page.tags) + str(page.charts)


def test_a_release_without_promises_says_so(release):
    """Silence could be read as a promise."""
    section = section_of(describe(changed(release, guarantees=())), "The promise")
    assert section.blocks[0].text == "The release makes no promise: nothing is proved to be protected."


def test_categories_with_tags_are_harmless(tmp_path):
    """A category named like the end of a script stays a name, on the page and in its chart."""
    hostile = "</script><b>"
    schema = Schema(
        attributes=(
            Attribute(name=hostile, role=Role.OTHER, categories=(hostile, "x")),
            Attribute(name="job", role=Role.SENSITIVE, categories=(hostile, "x")),
        )
    )
    table = read_table(pa.table({hostile: [hostile, "x"] * 50, "job": [hostile, "x"] * 50}), schema)
    made = publish(table, RandomizedResponse(retention=0.5), tmp_path / "release")
    page = Page(write_report(made, tmp_path / "report.html", against=table).read_text(encoding="utf-8"))
    assert "b" not in {tag for tag, _ in page.tags}
    assert page.charts[0]["data"]["values"][0]["category"] == hostile
    assert hostile in page.visible


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "randomized-response", "retention": 0.5},
        {
            "method": "randomized-response",
            "retention": {"job": 0.5, "a.b c": 0.25},
            "attributes": ["job", "a.b c"],
        },
        {"method": "randomized-response", "epsilon": {"p=q": 1.5, "it's": 2.0}},
    ],
)
def test_the_publish_command_reads_back_as_the_same_design(parameters):
    """A shell splits it, the command line's own reader reads it."""
    words = shlex.split(publish_command(parameters, "release").replace("\\\n", " "))
    given = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    design = member_from(METHODS, words[words.index("--method") + 1], given)
    assert design.to_dict() == METHODS.read(parameters).to_dict()


def test_texts_that_look_like_numbers_are_quoted():
    """Otherwise the command line would read them as numbers."""
    assert dict(settings({"search": "5", "sampler": "opendp", "flag": True})) == {
        "search": '"5"',
        "sampler": "opendp",
        "flag": "true",
    }


@pytest.mark.parametrize("question", ["job = 'Sales'", "\"marital $tatus\" = 'it''s'", "a = '`x`!\\'"])
def test_the_query_command_gives_the_shell_the_very_question(question):
    """Whatever it holds."""
    assert shlex.split(query_command("re lease", question)) == ["sfumato", "query", "re lease", question]


def test_the_python_lines_run(release, tmp_path, monkeypatch):
    """As they stand on the page, in a folder that holds the release."""
    monkeypatch.chdir(release.folder.parent)
    section = repetition_section(release, read_margins(release), None)
    lines = next(block.text for block in section.blocks if getattr(block, "title", "") == "Both in Python")
    said = []
    exec(lines, {"print": said.append})
    assert "job" in said[0].question
    assert said[1].attributes[0].name == "job"
