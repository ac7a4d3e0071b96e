"""Draw the pictures of the methods and of the pages around them.

``python docs/pictures/draw.py`` writes an SVG file for each beside this script; ``--check`` only says whether they are up to date.
The rows are made up; what happens to them is what the method does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from canvas import ROW, Canvas

HERE = Path(__file__).parent
PEOPLE = (
    ("F", "31", "Sales"),
    ("F", "34", "Care"),
    ("M", "38", "Tech"),
    ("M", "52", "Care"),
    ("F", "57", "Sales"),
    ("M", "59", "Tech"),
)
HEADS, WIDTHS = ("sex", "age", "job"), (34, 40, 56)


def _with(jobs: str) -> list[tuple[str, str, str]]:
    return [(sex, age, job) for (sex, age, _), job in zip(PEOPLE, jobs.split(), strict=True)]


def randomized_response() -> Canvas:
    """Values kept or redrawn by public chance."""
    made = Canvas(
        "Randomized response",
        "Six people with sex, age and job. Each job is kept with probability p and otherwise drawn anew from all jobs. Published are all six rows; "
        "two of the jobs, framed, are not the true ones, and nobody can tell which two.",
        206,
    )
    made.table(20, 40, HEADS, PEOPLE, WIDTHS)
    made.arrow(162, 106, 316, 106, "keep with p,", "else draw any job")
    made.table(328, 40, HEADS, _with("Sales Tech Tech Care Law Tech"), WIDTHS, marked=((1, 2), (4, 2)))
    made.words(20, 196, "private", "quiet small")
    made.words(328, 196, "published, with p", "quiet small")
    return made


def sample_perturb_scale() -> Canvas:
    """A group sampled, perturbed, scaled."""
    made = Canvas(
        "Sample, perturb, scale",
        "A group of eight people with the same public values. Four of them are sampled, the jobs of the four are perturbed, one job changes, and each row is "
        "repeated until the group has eight rows again. Of the group no more is told than four perturbed rows tell.",
        268,
    )
    groups = (
        ("a group", "Care Care Sales Care Care Tech Care Care"),
        ("sample", "Care Care Care Tech"),
        ("perturb", "Care Care Law Tech"),
        ("scale", "Care Care Care Care Law Law Tech Tech"),
    )
    for number, (name, jobs) in enumerate(groups):
        x = 20 + number * 122
        made.words(x + 32, 28, name, "ink bold small", "middle")
        for line, job in enumerate(jobs.split()):
            made.cell(
                x, 40 + line * ROW + (0 if number % 3 == 0 else 44), 64, job, marked=number == 2 and line == 2
            )
        if number < len(groups) - 1:
            made.arrow(x + 70, 128, x + 116, 128)
    made.words(20, 244, "8 rows", "quiet small")
    made.words(142, 244, "cap: 4 rows", "quiet small")
    made.words(264, 244, "1 redrawn", "quiet small")
    made.words(386, 244, "8 rows", "quiet small")
    return made


def splu_gen() -> Canvas:
    """Values drawn from secret groups."""
    made = Canvas(
        "SPLU-Gen",
        "Six people in two secret groups of three; in each group all jobs differ. Every row is published with a job drawn at random from its group, so that each shows "
        "its own job with probability one third. Which rows made a group is not published.",
        206,
    )
    made.table(38, 40, HEADS, PEOPLE, WIDTHS)
    for top in (0, 3):
        y = 42 + top * ROW
        made.line((32, y), (24, y), (24, y + 3 * ROW - 4), (32, y + 3 * ROW - 4), look="strong")
    made.arrow(178, 106, 316, 106, "draw a job", "of the group")
    made.table(
        328, 40, HEADS, _with("Care Care Sales Tech Sales Tech"), WIDTHS, marked=((0, 2), (2, 2), (3, 2))
    )
    made.words(24, 196, "secret groups of gamma = 3", "quiet small")
    made.words(328, 196, "published", "quiet small")
    return made


def distribution_resampling() -> Canvas:
    """Values drawn from a bag of all."""
    made = Canvas(
        "Distribution resampling",
        "The jobs of all six people lie in one bag. Each published row gets a job drawn from the bag. How frequent each job is survives; which people have it does not.",
        206,
    )
    made.table(20, 40, HEADS, PEOPLE, WIDTHS)
    made.box(200, 62, 76, 92, "strong", 12)
    for number, (_, _, job) in enumerate(PEOPLE):
        made.cell(
            205 + number % 2 * 34,
            72 + number // 2 * 25,
            32,
            job[:3],
            look={"Sales": "a", "Care": "b", "Tech": "c"}[job],
        )
    made.words(238, 52, "all jobs", "ink small", "middle")
    made.arrow(156, 106, 192, 106)
    made.arrow(284, 106, 320, 106)
    made.table(
        328,
        40,
        HEADS,
        _with("Tech Sales Sales Care Care Tech"),
        WIDTHS,
        marked=((0, 2), (1, 2), (2, 2), (4, 2)),
    )
    made.words(20, 196, "private", "quiet small")
    made.words(328, 196, "published", "quiet small")
    return made


def anatomy() -> Canvas:
    """Two tables that share a bucket."""
    made = Canvas(
        "Anatomy",
        "Two published tables. The first has each person's sex and age and the number of a bucket, the second the number of a bucket and a job. Each bucket holds three "
        "people and three different jobs; which job is whose is not published.",
        206,
    )
    buckets = ["7", "7", "7", "2", "2", "2"]
    made.table(
        40,
        40,
        ("sex", "age", "bucket"),
        [(s, a, b) for (s, a, _), b in zip(PEOPLE, buckets, strict=True)],
        (40, 44, 56),
    )
    made.table(
        300,
        40,
        ("bucket", "job"),
        list(zip(buckets, ["Tech", "Sales", "Care", "Tech", "Care", "Sales"], strict=True)),
        (56, 70),
    )
    for top in (0, 3):
        y = 40 + (top + 1.5) * ROW
        made.line((184, y - ROW), (200, y - ROW), (200, y + ROW), (184, y + ROW))
        made.line((292, y - ROW), (276, y - ROW), (276, y + ROW), (292, y + ROW))
        made.words(238, y + 4, "whose?", "quiet small", "middle")
    made.words(40, 196, "rows, exact", "quiet small")
    made.words(300, 196, "values, exact", "quiet small")
    return made


def generalization() -> Canvas:
    """Public values made coarser."""
    made = Canvas(
        "Generalization",
        "Sex and age are published as coarser values, so that three rows each are equal on them: any sex from 30 to 39, and any sex from 50 to 59. Jobs stay as they are.",
        206,
    )
    made.table(20, 40, HEADS, PEOPLE, WIDTHS)
    made.arrow(162, 106, 290, 106, "coarser until", "k = 3 rows are equal")
    coarse = [("any", "30-39" if number < 3 else "50-59", job) for number, (_, _, job) in enumerate(PEOPLE)]
    made.table(302, 40, HEADS, coarse, (40, 56, 60))
    made.line((300, 40 + 3 * ROW), (462, 40 + 3 * ROW), look="strong")
    made.words(20, 196, "private", "quiet small")
    made.words(302, 196, "published", "quiet small")
    return made


def noisy_marginals() -> Canvas:
    """Counts with noise, no rows."""
    made = Canvas(
        "Noisy marginals",
        "The people are counted by sex and job. Each count, those of nobody too, gets its own random whole number added: 41, 0, 212 and so on become 43, minus 2 and "
        "211. Only the noisy counts are published, and no row.",
        170,
    )
    heads = ("", "Sales", "Care", "Tech")
    made.table(14, 50, heads, (("F", "41", "212", "0"), ("M", "67", "38", "154")), (26, 48, 48, 48))
    made.arrow(192, 72, 284, 72, "+ noise", "on every count")
    made.table(292, 50, heads, (("F", "43", "211", "-2"), ("M", "66", "41", "153")), (26, 48, 48, 48))
    made.words(14, 122, "true counts", "quiet small")
    made.words(292, 122, "published", "quiet small")
    made.words(240, 152, "noise of known size: error bars follow from it", "ink small", "middle")
    return made


def columnized_counts() -> Canvas:
    """Rows with noisy counts, rare ones left out."""
    made = Canvas(
        "Columnized counts",
        "Different rows with the number of people who share them: 57, 31, 4 and 1. Rows that fewer than k people share are left out, the others are published with a noisy "
        "count of at least k: 55 and 33.",
        182,
    )
    rows = (("F", "Sales", "57"), ("M", "Care", "31"), ("M", "Sales", "4"), ("F", "Tech", "1"))
    made.table(20, 44, ("sex", "job", "people"), rows, (36, 60, 56))
    made.arrow(184, 88, 300, 88, "at least k = 10?", "noise on the count")
    made.table(312, 44, ("sex", "job", "count"), (("F", "Sales", "55"), ("M", "Care", "33")), (36, 60, 56))
    for line in (2, 3):
        made.box(313, 45 + line * ROW, 150, ROW - 2, "lost")
    made.words(20, 156, "private", "quiet small")
    made.words(312, 156, "published; rare rows never", "quiet small")
    return made


def overview() -> Canvas:
    """From private rows to answers and attacks."""
    made = Canvas(
        "What sfumato does",
        "A custodian has private rows and publishes them by one of eight methods. The release is data with a public law and a promise. From it alone an analyst estimates, "
        "with error bars, and an auditor attacks, before anyone else does.",
        250,
    )

    def box(x: float, y: float, width: float, lines: tuple[str, ...], look: str = "cell") -> None:
        made.box(x, y, width, 20 + 17 * len(lines), look, 6)
        for number, line in enumerate(lines):
            shade = "on" if look in "abcd" else "ink"
            made.words(
                x + width / 2,
                y + 23 + 17 * number,
                line,
                f"{shade} {'bold' if number == 0 else 'small'}",
                "middle",
            )

    box(12, 96, 112, ("private rows", "custodian"))
    box(186, 70, 124, ("release", "data", "+ law", "+ promise"), "c")
    box(364, 22, 108, ("estimates", "with error bars", "analyst"), "b")
    box(364, 150, 108, ("attacks", "before others", "auditor"), "a")
    made.arrow(128, 124, 180, 124, "method")
    made.arrow(314, 100, 358, 66)
    made.arrow(314, 138, 358, 172)
    made.words(12, 236, "Methods write laws. Analyses and attacks only read them.", "quiet small")
    return made


def choosing() -> Canvas:
    """Questions that lead to a method."""
    made = Canvas(
        "Which method",
        "Five questions, from top to bottom. Must the promise hold against anyone, whatever they know, about whole people? For counts: noisy marginals; for ratings, baskets or rows: "
        "columnized counts. Must each row be published? Is every single answer to be doubted: randomized response; also large groups of people alike: sample, perturb, scale; are large sums harmless and "
        "small ones secret: SPLU-Gen. Are values to be true, and only linking prevented: generalization hides rows, Anatomy hides whose value it is but not against who compares buckets. "
        "Shall only the frequency of each value survive: distribution resampling.",
        467,
    )
    steps = (
        (
            "Whole people, against anyone, whatever they know?",
            (("counts are enough", "noisy-marginals"), ("rows, ratings, baskets", "columnized-counts")),
        ),
        (
            "Every single answer to be doubted?",
            (
                ("large groups may show", "randomized-response"),
                ("large groups may not", "sample-perturb-scale"),
            ),
        ),
        ("Facts about many harmless, about few secret?", (("published once", "splu-gen"),)),
        (
            "Values must be true; only linking is feared?",
            (("hide the row", "generalization"), ("hide whose value", "anatomy")),
        ),
        ("Only how frequent values are shall survive?", (("no association", "distribution-resampling"),)),
    )
    y = 18
    for number, (question, ways) in enumerate(steps):
        made.box(12, y, 456, 26, "cell", 6)
        made.words(24, y + 18, f"{number + 1}. {question}", "ink bold")
        for line, (when, method) in enumerate(ways):
            top = y + 34 + line * 27
            made.words(40, top + 16, when, "quiet")
            made.line((212, top + 12), (246, top + 12))
            made.box(250, top, 200, 24, "abcda"[number], 6)
            made.words(350, top + 16, method, "on bold", "middle")
        y += 34 + 27 * len(ways) + 14
        if number < len(steps) - 1:
            made.words(24, y - 4, "no", "quiet small")
    return made


def mark() -> str:
    """A disc whose edge is not sharp."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" role="img" aria-label="sfumato"><defs><radialGradient id="soft"><stop offset=".45" '
        'stop-color="#fff"/><stop offset="1" stop-color="#fff" stop-opacity="0"/></radialGradient></defs><circle cx="12" cy="12" r="12" fill="#23395b"/>'
        '<circle cx="12" cy="12" r="10" fill="url(#soft)"/></svg>\n'
    )


PICTURES: dict[str, Callable[[], Canvas]] = {
    "randomized-response": randomized_response,
    "sample-perturb-scale": sample_perturb_scale,
    "splu-gen": splu_gen,
    "distribution-resampling": distribution_resampling,
    "anatomy": anatomy,
    "generalization": generalization,
    "noisy-marginals": noisy_marginals,
    "columnized-counts": columnized_counts,
    "overview": overview,
    "choosing": choosing,
}


def main() -> int:
    """Write, or check."""
    texts = {name: picture().svg() for name, picture in PICTURES.items()} | {"mark": mark()}
    stale = []
    for name, text in texts.items():
        path = HERE / f"{name}.svg"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}. Run python docs/pictures/draw.py.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
