"""The report about one release: guarantees, hierarchies, commands that repeat it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.custody.plan import plan
from sfumato.errors import NotIdentifiableError, SfumatoError, TooLargeError
from sfumato.estimates.answers import Answer
from sfumato.estimates.estimates import Certainty
from sfumato.guarantees import Guarantee
from sfumato.guarantees.base import Judgement
from sfumato.laws import WITHHELD_PROMISE
from sfumato.methods.base import METHODS, Design
from sfumato.query.selection import Selection
from sfumato.release import Release
from sfumato.release.manifest import TableEntry
from sfumato.release.verification import judged
from sfumato.report.document import (
    Banner,
    Block,
    Bullets,
    Document,
    Facts,
    Folded,
    Grid,
    Listing,
    Paragraph,
    Promise,
    Section,
    Subheading,
)
from sfumato.report.margins import (
    MOST_MARGINS,
    Margin,
    OpenMargin,
    TrueMargin,
    compared_section,
    estimated_section,
    exact_section,
)
from sfumato.schema import Attribute, Schema
from sfumato.schema.hierarchies import Hierarchy
from sfumato.text import counted, show, toml_value

# --------------------------------------------------------------------------------------------------
# The part of a report that shows which categories stand behind the published values.


LONGEST_OPEN_TREE = 40
"""Lines up to which a tree stands open on the page."""

LONGEST_TREE = 400
"""Lines after which a tree is cut; the release itself has the rest."""


def tree_section(release: Release, design: Design | None = None) -> list[Section]:
    """Trees of the published values, where the law merged categories; nothing where it did not.

    Parameters
    ----------
    release
        The release.
    design
        Its method with its parameters, where known: the hierarchies it states are shown too.
    """
    trees = release.law.trees(release.published_schema)
    if not trees:
        return []
    reading = Paragraph(
        "Each published value stands for the categories that branch off from it, and the true one is among them. "
        "Questions are asked in the categories at the ends of the branches."
    )
    blocks = [_published(name, tree, release.published_schema) for name, tree in trees.items()]
    stated = design.trees(release.schema) if design else {}
    if stated:
        whole = tuple(
            Listing(f"{name}: levels 0 to {tree.height}", _drawn(tree)) for name, tree in stated.items()
        )
        blocks.append(Folded("The hierarchies as stated, with the levels that were not used", whole))
    return [Section("What stands behind the published values", (reading, *blocks))]


def _published(name: str, tree: Hierarchy | None, published: Schema) -> Block:
    if tree is None:
        return Paragraph(
            f"{name}: its {published[name].size:,} published values overlap, so they form no tree; each says itself "
            "what it stands for."
        )
    title = f"{name}: {published[name].size:,} published values over {tree.size:,} categories"
    listing = Listing(title, _drawn(tree))
    return listing if listing.text.count("\n") < LONGEST_OPEN_TREE else Folded(title, (listing,))


def _drawn(tree: Hierarchy) -> str:
    lines = tree.to_text_tree().splitlines()
    cut = len(lines) - LONGEST_TREE
    return "\n".join([*lines[:LONGEST_TREE], *([f"... and {cut:,} more lines"] if cut > 0 else [])])


# --------------------------------------------------------------------------------------------------
# The commands and the Python lines that repeat a release and ask questions of it.


CONTINUED = " \\\n    "
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TOML_WORDS = ("true", "false", "inf", "nan")


def repetition_section(
    release: Release, margins: Sequence[Margin | OpenMargin], command: str | None
) -> Section:
    """How to publish with the same parameters, and how to ask questions, by command and by Python.

    Parameters
    ----------
    release
        The release.
    margins
        What it says of each attribute; one that it determines serves as the example.
    command
        The command line that asked for the report, if there was one.
    """
    noise = (
        "Noise is drawn anew each time, so another release by the same design has other numbers, as good as these. "
        "data.csv and schema.toml stand for the custodian's own files."
    )
    name = release_name(release)
    blocks: list[Block] = [
        Paragraph(noise),
        *(
            [
                Paragraph(
                    "The parameters are withheld with the law: only the custodian can publish the same again."
                )
            ]
            if release.law.is_withheld
            else [
                Listing("Publish", publish_command(release.manifest.method, name)),
                Listing("The same in Python", _publish_python(release.manifest.method, name)),
            ]
        ),
    ]
    example = _example(release, margins)
    if example is not None:
        attribute, question = example
        blocks += [
            Listing("Ask a question", query_command(name, question)),
            Listing("Tabulate", f"sfumato counts {shlex.quote(name)} --by {shlex.quote(attribute)}"),
            Listing("Both in Python", _query_python(name, attribute, question)),
        ]
    if command is not None:
        blocks.append(Listing("This page", command))
    return Section("Repeat it", tuple(blocks))


def release_name(release: Release) -> str:
    """The name of the release's folder, without the folders around it: those are nobody else's business."""
    return (release.folder.resolve().name if release.folder is not None else "") or "release"


def query_command(name: str, question: str) -> str:
    """The command that asks a release a question.

    Examples
    --------
    >>> print(query_command("release", "job = 'Sales'"))
    sfumato query release "job = 'Sales'"
    """
    # Double quotes are easier to read around a query's own quotes, where a shell leaves the inside alone.
    is_plain = not set(question) & set('"$`\\!\n')
    quoted = f'"{question}"' if is_plain else shlex.quote(question)
    return f"sfumato query {shlex.quote(name)} {quoted}"


def _example(release: Release, margins: Sequence[Margin | OpenMargin]) -> tuple[str, str] | None:
    """An attribute that can be asked about, an estimated one if there is any, and a question about it."""
    known = [each for each in margins if isinstance(each, Margin)]
    if not known:
        return None
    chosen = min(known, key=lambda margin: margin.is_exact)
    code = chosen.largest(1)[0]
    name = chosen.attribute.name
    return name, Selection(((name, (code,)),)).describe(release.schema)


def settings(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and value of each ``--set``, as the command line reads them: values in TOML, plain words bare.

    Examples
    --------
    >>> list(settings({"method": "m", "retention": {"job": 0.5}, "attributes": ["job"], "search": "exact"}))
    [('retention.job', '0.5'), ('attributes', '["job"]'), ('search', 'exact')]
    """
    for name, value in parameters.items():
        if name == "method":
            continue
        # A dotted name ends at the first equals sign, so an attribute with one in its name needs the long form.
        if isinstance(value, Mapping) and not any("=" in key or key != key.strip() for key in value):
            for key, each in value.items():
                yield f"{name}.{key}", _bare_or_toml(each)
        else:
            yield name, _bare_or_toml(value)


def _bare_or_toml(value: Any) -> str:
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value not in _TOML_WORDS
    return str(value) if is_word else toml_value(value)


def publish_command(
    parameters: Mapping[str, Any],
    out: str,
    *,
    data: str = "data.csv",
    schema: str = "schema.toml",
    seed: int | None = None,
) -> str:
    r"""The command that publishes by a method with its parameters.

    Examples
    --------
    >>> print(publish_command({"method": "randomized-response", "retention": 0.5}, "release"))
    sfumato publish data.csv --schema schema.toml \
        --method randomized-response \
        --set retention=0.5 \
        --out release
    """
    parts = [
        f"sfumato publish {shlex.quote(data)} --schema {shlex.quote(schema)}",
        f"--method {shlex.quote(parameters['method'])}",
        *(f"--set {shlex.quote(f'{key}={value}')}" for key, value in settings(parameters)),
        *([] if seed is None else [f"--seed {seed}"]),
        f"--out {shlex.quote(out)}",
    ]
    return CONTINUED.join(parts)


def _publish_python(parameters: Mapping[str, Any], name: str) -> str:
    rest = {key: value for key, value in parameters.items() if key != "method"}
    return (
        "from sfumato import METHODS, publish, read_table\n\n"
        'table = read_table("data.csv", "schema.toml")\n'
        f"design = METHODS.make({parameters['method']!r}, {rest!r})\n"
        f"release = publish(table, design, {name!r})"
    )


def _query_python(name: str, attribute: str, question: str) -> str:
    return (
        "from sfumato import load_release\n\n"
        f"release = load_release({name!r})\n"
        f"print(release.query({question!r}))\n"
        f"print(release.counts([{attribute!r}]))"
    )


# --------------------------------------------------------------------------------------------------
# What a report says about one release.


LARGEST_LIST = 6
"""Files that are named one by one."""

NOT_PRIVATE = Banner(
    "not-private",
    "This release is not private",
    "It was made with a seed, so that it can be repeated. Anyone who knows or guesses the seed can undo the "
    "noise. The promise below would hold for noise from the operating system; it does not hold here. Use this "
    "release for tests and demonstrations only.",
)
BROKEN = Banner(
    "not-private",
    "A promise of this release is broken",
    "The published tables do not keep a promise that the release makes; below, the promise says which. Do not rely on "
    "it, and ask where the release comes from.",
)
CUSTODIAN_ONLY = Banner(
    "custodian-only",
    "Private: for the custodian only",
    "This page holds numbers computed from the original rows. It must not be published or passed on. A page that "
    "may be published is made without the private table.",
)

IN_ITS_WORDS = Paragraph(
    "These sentences are those of whoever made the release; no program can check them. They may take away from the promise "
    "above, which was checked, and cannot add to it."
)


def describe_release(
    release: Release,
    margins: Sequence[Margin | OpenMargin],
    truth: Sequence[TrueMargin] | None = None,
    *,
    command: str | None = None,
) -> Document:
    """The whole report of a release, as data.

    Parameters
    ----------
    release
        The release.
    margins
        What it says of each attribute.
    truth
        The same held against the private table; makes the document private.
    command
        The command line that asked for the report, to be repeated in it.
    """
    design = _design(release)
    judgements = tuple(judged(release))
    title = design.title if design else release.method
    size = _size(release)
    sections = [
        _what_was_published(release, margins, design),
        *tree_section(release, design),
        _promise(judgements, release),
        _not_protected(release),
        _chosen_from_private_data(release),
        *_expected_accuracy(release, design, size),
        *estimated_section(margins),
        *exact_section(margins),
        *([] if truth is None else [compared_section(truth)]),
        repetition_section(release, margins, command),
        *([Section("Sources", (Bullets(citations),))] if (citations := release.manifest.citations) else []),
    ]
    banners = [CUSTODIAN_ONLY] if truth is not None else []
    banners += [NOT_PRIVATE] if release.manifest.reproducible else []
    banners += [BROKEN] if any(found is not None and not found.holds for _, found in judgements) else []
    weakness = release.manifest.weakness
    banners += (
        [Banner("found-rows", "This release is weak", f"{weakness} No promise below changes that.")]
        if weakness
        else []
    )
    return Document(
        eyebrow="Report on a release",
        title=release_name(release),
        lead=(
            f"{_show_size(size)} of {len(release.schema.names)} attributes, published by {title}: "
            "what was published, what is promised to the people in it, and how far its numbers can be trusted."
        ),
        banners=tuple(banners),
        sections=tuple(sections),
        footer=f"The release was made by {release.manifest.software}. This page loads nothing from outside.",
    )


def _design(release: Release) -> Design | None:
    """The method with its parameters, where this version knows them; the law is enough to do without."""
    try:
        return METHODS.read(release.manifest.method)
    except SfumatoError:
        return None


def _size(release: Release) -> Answer | None:
    """How many rows the private table has; published tables of counts have other numbers of rows."""
    try:
        return release.query()
    except (NotIdentifiableError, TooLargeError):
        return None


def _show_size(size: Answer | None) -> str:
    if size is None:
        return "Rows"
    if size.is_exact:
        return f"{show(size.estimate, 0)} rows"
    error = size.std_error
    if size.certainty is Certainty.BOUNDED:
        least, most = show(size.low, 0), show(size.high, 0)
        return f"{least} rows or more" if math.isinf(size.high) else f"{least} to {most} rows"
    return f"About {show(size.estimate, error)} rows (standard error {show(error, error)})"


def _what_was_published(
    release: Release, margins: Sequence[Margin | OpenMargin], design: Design | None
) -> Section:
    manifest = release.manifest
    parameters = {name: value for name, value in manifest.method.items() if name != "method"}
    facts = [
        ("method", f"{design.title} ({release.method})" if design else release.method),
        *((name, _show_parameter(value, _help(design, name))) for name, value in parameters.items()),
        ("files", _show_files(manifest.tables)),
        ("noise, as the release says", manifest.privacy),
        ("link to the truth", release.law.sentence),
        ("signature", _signed_by(release)),
    ]
    attributes = Grid(
        "Published attributes",
        ("attribute", "role", "categories", "true counts"),
        tuple(
            (
                each.attribute.name,
                each.attribute.role.value,
                _show_categories(each.attribute, release.published_schema),
                _status(each),
            )
            for each in margins
        ),
        text_columns=4,
    )
    names = release.schema.names
    if len(names) > MOST_MARGINS:
        facts.append(("Attributes shown", f"the first {MOST_MARGINS} of {len(names):,}"))
    shown = release.schema.attributes[:MOST_MARGINS]
    every_category = Facts(tuple((each.name, ", ".join(each.labels)) for each in shown))
    return Section(
        "What was published",
        (
            *([Paragraph(design.summary)] if design else []),
            Facts(tuple(facts)),
            attributes,
            Folded("Every category of every attribute", (every_category,)),
        ),
    )


def _signed_by(release: Release) -> str:
    signature = release.signature
    if signature is None:
        return "nobody signed it: who made it is not known; checksums show accidental changes only"
    return f"signed by the key with fingerprint {signature.fingerprint}; whose key that is, you must know by other means"


def _show_categories(attribute: Attribute, published: Schema) -> str:
    if attribute.name not in published:
        return f"{attribute.size:,}, not published"
    coarse = published[attribute.name]
    same = coarse.labels == attribute.labels
    return f"{attribute.size:,}" if same else f"{attribute.size:,}, published in {coarse.size:,}"


def _status(margin: Margin | OpenMargin) -> str:
    if isinstance(margin, OpenMargin):
        return "not determined"
    if margin.is_exact:
        return "known exactly"
    return "estimated" if margin.is_unbiased else "estimated, under an assumption"


def _show_files(tables: Sequence[TableEntry]) -> str:
    shown = [f"{each.path} ({counted(each.number_of_rows, 'row')})" for each in tables[:LARGEST_LIST]]
    rest = len(tables) - len(shown)
    return ", ".join(shown) + (f", and {rest} more" if rest else "")


def _help(design: Design | None, name: str) -> str | None:
    field = type(design).model_fields.get(name) if design else None
    return field.description if field else None


def _show_parameter(value: Any, help_text: str | None) -> str:
    shown = _show_value(value)
    return f"{shown} ({help_text})" if help_text else shown


def _show_value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_show_value(each)}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_show_value(each) for each in value) or "none"
    return str(value)


def _promise(judgements: Sequence[tuple[Guarantee, Judgement | None]], release: Release) -> Section:
    promises = tuple(
        Promise(
            described["plain_words"],
            described["sentence"],
            (
                ("Protected", described["protected_unit"]),
                ("Made hard to tell apart", described["neighbours"]),
                ("Against someone who", described["attacker"]),
                ("Definition", described["reference"]),
                ("Checked", _checked(found)),
            ),
        )
        for each, found in judgements
        for described in [each.describe()]
    )
    nothing = Paragraph(
        WITHHELD_PROMISE
        if release.law.is_withheld
        else "The release makes no promise: nothing is proved to be protected."
    )
    return Section("The promise", promises or (nothing,))


def _checked(found: Judgement | None) -> str:
    if found is None:
        return "follows from the law of the release; its tables cannot show it"
    return f"{'kept' if found.holds else 'BROKEN'} by the published tables: {found.sentence}"


def _not_protected(release: Release) -> Section:
    manifest = release.manifest
    blocks: list[Block] = []
    for title, items in (
        ("Outside the promise", manifest.not_protected),
        ("Known weaknesses", manifest.weaknesses),
        ("The promise assumes", manifest.assumptions),
    ):
        if items:
            blocks += [Subheading(title), Bullets(items)]
    return Section(
        "What is not protected",
        (IN_ITS_WORDS, *blocks) if blocks else (Paragraph("The release names nothing outside its promise."),),
    )


def _chosen_from_private_data(release: Release) -> Section:
    chosen = release.manifest.chosen_from_private_data
    if chosen:
        explanation = (
            "These were chosen by looking at the private rows, which the promise does not account for:"
        )
        blocks: tuple[Block, ...] = (Paragraph(explanation), Facts(tuple(chosen.items())), IN_ITS_WORDS)
    else:
        blocks = (Paragraph("Nothing: every parameter and every list of categories was fixed beforehand."),)
    return Section("Chosen by looking at the private data", blocks)


def _expected_accuracy(release: Release, design: Design | None, size: Answer | None) -> list[Section]:
    """What the design promises before any row is read; left out where this version cannot say."""
    if design is None or size is None:
        return []
    try:
        tables = plan(design, release.schema, round(size.estimate)).tables
    except SfumatoError:
        return []
    reading = Paragraph(
        "A standard error says how far an estimate usually is from the truth: within one standard error in about "
        "two cases of three, within two in about 95 of 100. These are known before publication, from the method "
        "alone."
    )
    return [Section("Expected accuracy", (reading, *(Grid.of(table) for table in tables)))]
