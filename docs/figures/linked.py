"""Numbers on the page of the linking attack: beliefs beside how often they were right, on tables that nothing was chosen by.

A figure is a page and the text that must stand on it, numbers filled in. Seeds were fixed before the run; expected were no bin off where the
inferred value alone is perturbed, and single bins off where a quasi-identifier is too: there a bin may hold a few groups of all tables.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import sfumato
from sfumato.attacks.linking import Linking, LinkingPosterior
from sfumato.compare.grid import read_candidates
from sfumato.custody.publish import in_memory
from sfumato.data.engine import ArrayEngine, CodedRows
from sfumato.data.private_table import PrivateTable
from sfumato.randomness.streams import NoiseSource
from sfumato.schema import Attribute, Role, Schema
from sfumato.testing import release_in_memory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    str(ROOT),
    str(ROOT / "benchmarks"),
    str(ROOT / "reproductions"),
    str(ROOT / "docs" / "attacks"),
]

Figure = tuple[str, str]
Floats = npt.NDArray[np.float64]
Guesses = tuple[Floats, npt.NDArray[np.bool_], npt.NDArray[np.int64]]
"""Belief in everybody's likeliest value, whether it is right, and the group."""

PAGE = "docs/attacks/linking.md"
SEEDS = tuple(range(81, 97))
ALONE = 1e-6
"""Rows that groups by themselves lean on."""

DISEASES = np.array([[8, 16, 48], [12, 14, 2]])
"""Guo (2010), table 2.5(b): percent of men and women by three diseases."""

TABLES = {
    "no association: sex, age, region": ("no association", ("sex", "age", "region")),
    "strong associations: sex, age, region": ("strong associations", ("sex", "age", "region")),
    "strong associations: sex, region, school": ("strong associations", ("sex", "region", "school")),
    "long tail: sex, region, school": ("long tail", ("sex", "region", "school")),
}
"""By what the page calls them: the population of the coverage matrix, and what is known of people."""


def figures() -> Iterator[Figure]:
    """All of them."""
    yield from calibrated()
    yield from told_by_one_attribute()
    yield from perturbed_besides()
    yield from towns()
    yield from diseases()
    yield from people_of_adult()


def calibrated(tables: Sequence[str] = tuple(TABLES)) -> Iterator[Figure]:
    """The inferred value alone perturbed."""
    for name in tables:
        cells = (bins_of(*TABLES[name], retention, ("job",)) for retention in (0.5, 0.3))
        yield PAGE, f"| {name} | {' | '.join(cells)} |"


def told_by_one_attribute() -> Iterator[Figure]:
    """A longer tail, of which one attribute of thirty categories tells."""
    from tests.attacked_tables import linking_guesses, told_people

    cells = []
    for retention in (0.5, 0.3):
        found = [linking_guesses(told_people(6_000, seed), retention, ["value"], seed) for seed in SEEDS]
        cells.append(bins(found))
    yield PAGE, f"| longer tail that one attribute tells | {' | '.join(cells)} |"


def perturbed_besides() -> Iterator[Figure]:
    """A quasi-identifier perturbed as well."""
    for name in list(TABLES)[:2]:
        cells = (bins_of(*TABLES[name], retention, ("job", "age")) for retention in (0.5, 0.3))
        yield PAGE, f"| {name}; age perturbed too | {' | '.join(cells)} |"


def bins_of(skew: str, known: tuple[str, ...], retention: float, perturbed: tuple[str, ...]) -> str:
    """Beliefs about tables made as one of the coverage matrix."""
    from coverage_matrix.tables import population

    design = sfumato.RandomizedResponse(retention=retention, attributes=perturbed)
    found = []
    for seed in SEEDS:
        people = population(skew, seed=seed)  # type: ignore[arg-type]
        release = release_in_memory(people, design, seed=seed)
        found.append(guesses(people, release, Linking(sensitive="job", quasi_identifiers=known)))
    return bins(found)


def guesses(people: PrivateTable, release: sfumato.Release, attack: Linking) -> Guesses:
    """Everybody of a table attacked."""
    posterior = attack.posterior(release)
    assert isinstance(people.source, CodedRows)
    codes = {each.name: people.source.codes[each.name].astype(np.int64) for each in posterior.attributes[:-1]}
    groups = np.unique(np.stack(list(codes.values())), axis=1, return_inverse=True)[1].ravel()
    beliefs = _of(posterior, posterior.beliefs, codes).max(axis=-1)
    truth = people.source.codes[posterior.sensitive.name]
    return beliefs, posterior.likeliest(codes) == truth, groups


def _of(posterior: LinkingPosterior, by_group: Floats, codes: dict[str, npt.NDArray[np.int64]]) -> Floats:
    """What is said of groups, for each person."""
    return by_group[posterior._groups(codes)]  # noqa: SLF001


def bins(found: Sequence[Guesses]) -> str:
    """Mean stated / share right of each bin of 200 guesses or more; *off* beyond 5 points and two standard errors.

    People of one group share a belief, and all groups of a release what it is corrected by: the larger error of the two counts.
    """
    from calibration import error_of_groups

    stated, is_right = (np.concatenate([each[part] for each in found]) for part in (0, 1))
    releases = np.repeat(np.arange(len(found)), [each[0].size for each in found])
    groups = np.concatenate([each[2] for each in found]) + 10_000 * releases
    places = np.minimum((stated * 10).astype(int), 9)
    told = []
    for place in np.unique(places):
        inside = places == place
        if inside.sum() < 200:
            continue
        off = is_right[inside] - stated[inside]
        error = max(error_of_groups(off, alike[inside]) for alike in (groups, releases))
        is_off = abs(off.mean()) > 0.05 + 2 * error
        told.append(
            f"{_short(stated[inside].mean())} / {_short(is_right[inside].mean())}{' *off*' if is_off else ''}"
        )
    return ", ".join(told)


def towns() -> Iterator[Figure]:
    """A hundred towns of sixty people, alike or each with a job of its own."""
    for name, has_own in (
        ("alike (safe)", False),
        ("each with a job of its own, held by nine in ten (vulnerable)", True),
    ):
        people = _towns(has_own=has_own)
        design = sfumato.RandomizedResponse(retention={"town": 0.6, "job": 0.5}, attributes=("town", "job"))
        release = release_in_memory(people, design, seed=SEEDS[0])
        assert isinstance(people.source, CodedRows)
        commonest = np.bincount(people.source.codes["job"]).max() / people.number_of_rows
        cells = [commonest]
        for smoothing in (None, ALONE):
            stated, is_right, _ = guesses(people, release, Linking(smoothing=smoothing))
            cells += [stated.mean(), is_right.mean()]
        yield PAGE, f"| {name} | {' | '.join(f'{100 * each:.1f} %' for each in cells)} |"


def _towns(*, has_own: bool) -> PrivateTable:
    draw = np.random.default_rng(SEEDS[0])
    town = np.repeat(np.arange(100), 60)
    any_job = draw.choice(5, town.size, p=[0.4, 0.25, 0.15, 0.1, 0.1])
    own = np.where(
        draw.random(town.size) < 0.9, draw.integers(0, 5, 100)[town], draw.integers(0, 5, town.size)
    )
    return _table({"town": (100, town), "job": (5, own if has_own else any_job)})


def diseases() -> Iterator[Figure]:
    """A hundred thousand rows of Guo's table 2.5(b), both attributes kept with a half."""
    sex, disease = (np.repeat(each.ravel(), DISEASES.ravel() * 1_000) for each in np.indices((2, 3)))
    people = _table({"sex": (2, sex), "disease": (3, disease)})
    design = sfumato.RandomizedResponse(retention=0.5, attributes=("sex", "disease"))
    release = release_in_memory(people, design, seed=SEEDS[0])
    _, is_right, _ = guesses(people, release, Linking())
    commonest = DISEASES.sum(axis=0).max()
    yield (
        PAGE,
        f"it names the right disease for {100 * is_right.mean():.0f} %, against {commonest} % for the commonest",
    )


def _table(columns: dict[str, tuple[int, npt.NDArray[np.int64]]]) -> PrivateTable:
    """The last attribute is sensitive."""
    *_, secret = columns
    schema = Schema(
        attributes=tuple(
            Attribute(
                name=name,
                role=Role.SENSITIVE if name == secret else Role.QUASI_IDENTIFIER,
                categories=tuple(map(str, range(size))),
            )
            for name, (size, _) in columns.items()
        )
    )
    codes = {each.name: columns[each.name][1].astype(each.code_type) for each in schema.attributes}
    return PrivateTable(CodedRows(schema, codes), schema, engine=ArrayEngine())


def people_of_adult() -> Iterator[Figure]:
    """Guo's RR-Both on Adult, three releases of each."""
    from adult import EMGRW, read_adult
    from evidence import bundled

    with tempfile.TemporaryDirectory() as folder:
        people = in_memory(read_adult(bundled("adult", Path(folder)), EMGRW))
    assert isinstance(people.source, CodedRows)
    commonest = np.bincount(people.source.codes["workclass"]).max() / people.number_of_rows
    yield PAGE, f"The commonest workclass is held by {100 * commonest:.1f} %."
    designs = read_candidates(ROOT / "reproductions" / "guo_comparison" / "emgrw.toml")[-3:]
    for level, smoothing in ((3, None), (5, None), (5, ALONE)):
        design = sfumato.RandomizedResponse(**designs[level - 3].parameters)
        found = [_adult(people, design, smoothing, seed) for seed in SEEDS[:3]]
        cells = " | ".join(
            _range([100 * each[place] for each in found]) for place in range(5 if smoothing is None else 4)
        )
        name = f"l = {level}{'' if smoothing is None else ', groups by themselves'}"
        yield PAGE, f"| {name} | {cells} |{'' if smoothing is None else ' |'}"


def _adult(
    people: PrivateTable, design: sfumato.RandomizedResponse, smoothing: float | None, seed: int
) -> list[float]:
    """What the attackers expect, and how often they were right."""
    *known, secret = people.schema.names
    attack = Linking(sensitive=secret, quasi_identifiers=tuple(known), smoothing=smoothing)
    posterior = attack.posterior(release_in_memory(people, design, seed=seed))
    assert isinstance(people.source, CodedRows)
    codes = {name: people.source.codes[name].astype(np.int64) for name in known}
    truth = people.source.codes[secret]
    beliefs = _of(posterior, posterior.beliefs, codes)
    return [
        beliefs.max(axis=-1).mean(),
        np.mean(posterior.likeliest(codes) == truth),
        (beliefs**2).sum(axis=-1).mean(),
        np.mean(posterior.drawn(codes, NoiseSource.seeded(seed)) == truth),
        np.mean(_of(posterior, posterior.read, codes).argmax(axis=-1) == truth),
    ]


def _range(numbers: Sequence[float]) -> str:
    least, most = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return f"{least} %" if least == most else f"{least}-{most} %"


def _short(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")


if __name__ == "__main__":
    for _, text in figures():
        print(text, flush=True)
