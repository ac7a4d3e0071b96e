"""The synthetic population behind the census table, and drawing rows of it."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# --------------------------------------------------------------------------------------------------
# Categories, shares and dependencies of the population; ``census_population.toml`` says what each number is.


class Race(NamedTuple):
    """A race, its share of the population, and factors on the shares of countries by origin."""

    name: str
    share: float
    origins: dict[str, float]


class Country(NamedTuple):
    """A country of birth: its share in ten thousand people, and its origin."""

    name: str
    share: float
    origin: str


class Occupation(NamedTuple):
    """An occupation and the people who are in it."""

    name: str
    share: float
    schooling: float
    schooling_spread: float
    women: float
    entry: float
    salary: float
    sector: str


_POPULATION = tomllib.loads(
    resources.files("sfumato.datasets").joinpath("census_population.toml").read_text("utf-8")
)

AGES = tuple(range(_POPULATION["ages"][0], _POPULATION["ages"][1] + 1))
SEXES, SEX_SHARES = zip(*_POPULATION["sexes"], strict=True)
EDUCATIONS, EDUCATION_SHARES = zip(*_POPULATION["educations"], strict=True)
MARITALS = tuple(_POPULATION["maritals"])
OTHER_ORIGIN = _POPULATION["other_origin"]
RACES = tuple(Race(*row) for row in _POPULATION["races"])
ORIGIN_SCHOOLING = _POPULATION["origin_schooling"]
COUNTRIES = tuple(Country(*row) for row in _POPULATION["countries"])
OCCUPATIONS = tuple(Occupation(*row) for row in _POPULATION["occupations"])
WORKCLASSES = tuple(_POPULATION["workclasses"])
WORKCLASS_PAY = tuple(_POPULATION["workclass_pay"])
SECTOR_WORKCLASSES = _POPULATION["sector_workclasses"]

SELF_EMPLOYED_GROWTH = 0.02
"""Growth of the weight of self-employment with each year of age past 17."""

SCHOOLING_PAY = 0.045
"""Shift of the log salary for each level of education, within an occupation."""

WOMEN_PAY = -0.17
"""Shift of the log salary of women, within an occupation."""

SALARY_NOISE = 0.15
"""Scale of the logistic noise on the log salary: the middle half lies within 1.1 of it."""

SALARY_BAND = 4
"""Width of a band of salaries, in thousands."""

SALARIES = (
    *(f"{SALARY_BAND * band}-{SALARY_BAND * (band + 1)}k" for band in range(49)),
    f"{SALARY_BAND * 49}k and more",
)


# --------------------------------------------------------------------------------------------------
# Drawing rows of the census-like population, a block at a time.
#
# Every attribute is drawn from a *ticket table*: for each combination of its parents, 65,536 tickets
# shared out over the categories. A draw is then one 16-bit random number and one lookup. The order of
# drawing is sex, age, race, country, education, marital, occupation, workclass, salary.


Codes = NDArray[np.uint8]
"""Category codes of one attribute, (n_rows,)."""

Weights = NDArray[np.float64]
"""Relative frequencies, (n_parents, n_categories)."""

TICKET_BITS = 16
ROWS_PER_BLOCK = 131_072
"""Rows drawn from one random stream. Changing it changes every table of every seed."""

CATEGORIES = MappingProxyType(
    {
        "age": tuple(str(age) for age in AGES),
        "sex": SEXES,
        "education": EDUCATIONS,
        "marital": MARITALS,
        "race": tuple(each.name for each in RACES),
        "workclass": WORKCLASSES,
        "country": tuple(each.name for each in COUNTRIES),
        "occupation": tuple(each.name for each in OCCUPATIONS),
        "salary": SALARIES,
    }
)
"""Attributes in the order of the columns, each with its categories in the order of their codes."""

AGES_AS_NUMBERS = np.array(AGES, dtype=np.float64)
STAGES = np.searchsorted([20, 25, 45, 65], AGES_AS_NUMBERS, side="right").astype(np.uint8)
"""Stage of life of each age: until 19, until 24, until 44, until 64, older."""
N_STAGES = 5
FIRST_GROWN_STAGE = 2

ORIGINS = tuple(ORIGIN_SCHOOLING)
ORIGIN_OF_COUNTRY = np.array([ORIGINS.index(each.origin) for each in COUNTRIES], dtype=np.uint8)

HUNDREDTHS = 100
"""Log salaries are added up as integers of this many parts."""


@dataclass(frozen=True)
class TicketTable:
    """Tickets of one attribute given its parents.

    Parameters
    ----------
    categories
        Category of each ticket, (n_parents * 2**TICKET_BITS,), parents in blocks.

    Examples
    --------
    >>> table = TicketTable.share_out(np.array([[3.0, 1.0], [0.0, 1.0]]))
    >>> table.draw(np.array([0, 0, 1]), tickets=np.array([0, 65_535, 0], dtype=np.uint16)).tolist()
    [0, 1, 1]
    """

    categories: Codes

    @classmethod
    def share_out(cls, weights: Weights) -> TicketTable:
        """Share the tickets of each parent out in proportion to the weights.

        A category with a positive weight keeps at least one ticket, so that rare categories exist.

        Parameters
        ----------
        weights
            (n_parents, n_categories); not negative, each row with a positive sum.
        """
        n_categories = weights.shape[1]
        numbers = np.arange(n_categories, dtype=np.uint8)
        counts = np.apply_along_axis(_share_tickets, 1, weights)
        return cls(np.concatenate([np.repeat(numbers, row) for row in counts]))

    def draw(self, parents: NDArray[np.integer], *, tickets: NDArray[np.uint16]) -> Codes:
        """Categories of the given tickets, (n_rows,).

        Parameters
        ----------
        parents
            Which row of the weights applies, (n_rows,).
        tickets
            Uniform 16-bit numbers, (n_rows,).
        """
        drawn: Codes = self.categories[(parents.astype(np.intp) << TICKET_BITS) | tickets]
        return drawn


def _share_tickets(weights: Weights) -> NDArray[np.intp]:
    present = weights > 0
    tickets = 1 << TICKET_BITS
    ideal = weights / weights.sum() * (tickets - present.sum())
    whole = np.floor(ideal)
    counts: NDArray[np.intp] = whole.astype(np.intp) + present
    # The largest remainders take what rounding down has left; a stable sort settles ties.
    left = tickets - counts.sum()
    counts[np.argsort(np.where(present, whole - ideal, np.inf), kind="stable")[:left]] += 1
    return counts


def _bell(distance: Weights, spread: Weights | float) -> Weights:
    return np.exp(-0.5 * (distance / spread) ** 2)


def _rise(at: float, width: float) -> Weights:
    return 1 / (1 + np.exp((at - AGES_AS_NUMBERS) / width))


def weigh_ages() -> Weights:
    """Weights of ages given sex, (2, 77): level until 50, then falling, later for women."""
    declines = ((70.0, 9.0), (66.0, 8.5))
    return np.stack([(1 - _rise(at, width)) * (1 - 0.003 * (AGES_AS_NUMBERS - 17)) for at, width in declines])


def weigh_countries() -> Weights:
    """Weights of countries of birth given race, (9, 69)."""
    return np.array(
        [
            [country.share * race.origins.get(country.origin, OTHER_ORIGIN) for country in COUNTRIES]
            for race in RACES
        ]
    )


def weigh_educations() -> Weights:
    """Weights of education given stage of life and origin, (5 * 11, 14)."""
    levels = np.arange(len(EDUCATIONS), dtype=np.float64)
    # The most schooling a person can have had by the stage, and how sharp that limit is.
    ceilings = ((7.4, 0.5), (9.6, 0.6), (20.0, 1.0), (20.0, 1.0), (20.0, 1.0))
    trends = (0.0, 0.0, 0.5, 0.0, -1.0)
    rows = []
    for (ceiling, width), trend in zip(ceilings, trends, strict=True):
        reachable = 1 / (1 + np.exp((levels - ceiling) / width))
        for shift in ORIGIN_SCHOOLING.values():
            # Tilting by exp(shift * level) moves the mean and keeps every level possible.
            tilt = np.exp((shift + trend) * levels / 6)
            rows.append(np.array(EDUCATION_SHARES) * reachable * tilt)
    return np.stack(rows)


def weigh_maritals() -> Weights:
    """Weights of marital status given sex and age, (2 * 77, 6)."""
    rows = []
    for wedding, widowing in ((25.5, 78.0), (27.5, 88.0)):
        ever = 0.93 * _rise(wedding, 3.2)
        widowed = ever * _rise(widowing, 5.5)
        divorced = (ever - widowed) * 0.22 * _rise(36.0, 6.0)
        separated = (ever - widowed) * 0.03 * _rise(28.0, 4.0)
        absent = (ever - widowed) * 0.03
        married = ever - widowed - divorced - separated - absent
        rows.append(np.stack([married, absent, separated, divorced, widowed, 1 - ever], axis=1))
    return np.concatenate(rows)


def weigh_occupations() -> Weights:
    """Weights of occupation given education, sex and whether grown up, (14 * 2 * 2, 50)."""
    columns = {name: _column(name) for name in ("share", "schooling", "schooling_spread", "women")}
    rows = []
    for level in range(len(EDUCATIONS)):
        fit = _bell(level - columns["schooling"], columns["schooling_spread"])
        for of_sex in (columns["women"], 1 - columns["women"]):
            # Few people work far from their schooling, but some do in every occupation.
            base = columns["share"] * (fit + 0.002) * of_sex
            rows += [base * _column("entry"), base]
    return np.stack(rows)


def weigh_workclasses() -> Weights:
    """Weights of workclass given occupation and stage of life, (50 * 5, 7)."""
    own = WORKCLASSES.index("Self-employed")
    years = (
        np.array([AGES_AS_NUMBERS[stage == STAGES].mean() for stage in range(N_STAGES)]) - AGES_AS_NUMBERS[0]
    )
    rows = []
    for occupation in OCCUPATIONS:
        for year in years:
            row = np.array(SECTOR_WORKCLASSES[occupation.sector])
            row[own] *= 1 + SELF_EMPLOYED_GROWTH * year
            rows.append(row)
    return np.stack(rows)


def _column(name: str) -> Weights:
    return np.array([getattr(each, name) for each in OCCUPATIONS], dtype=np.float64)


@dataclass(frozen=True)
class SalaryModel:
    """A wage equation: the log salary is a sum of effects and logistic noise, all in hundredths.

    ``effects`` holds an int16 array per attribute; ``noise`` one per ticket; ``bands`` the category
    of each possible sum, the first of which is ``lowest``.
    """

    effects: MappingProxyType[str, NDArray[np.int16]]
    noise: NDArray[np.int16]
    bands: Codes
    lowest: int

    def draw(self, codes: dict[str, Codes], *, tickets: NDArray[np.uint16]) -> Codes:
        """Salary bands of people with the given codes, (n_rows,)."""
        total = self.noise[tickets]
        for name, effect in self.effects.items():
            total += effect[codes[name]]
        bands: Codes = self.bands[total - np.int16(self.lowest)]
        return bands


def make_salary_model() -> SalaryModel:
    """The salary model of the population."""
    levels = np.arange(len(EDUCATIONS)) - EDUCATIONS.index("Some college")
    effects = {
        "occupation": np.log(_column("salary")),
        "education": SCHOOLING_PAY * levels,
        "sex": np.array([WOMEN_PAY, 0.0]),
        "workclass": np.array(WORKCLASS_PAY),
        # A steep start, a top in the fifties, a slow decline: Mincer's curve of experience.
        "age": 0.12
        - 1.1 * np.exp(-(AGES_AS_NUMBERS - 17) / 8)
        - 0.0004 * np.maximum(AGES_AS_NUMBERS - 52, 0) ** 2,
    }
    chances = (np.arange(1 << TICKET_BITS) + 0.5) / (1 << TICKET_BITS)
    noise = SALARY_NOISE * np.log(chances / (1 - chances))
    whole = {name: _round_hundredths(values) for name, values in effects.items()}
    noise_whole = _round_hundredths(noise)
    parts = (*whole.values(), noise_whole)
    lowest, highest = (sum(int(f(part)) for part in parts) for f in (np.min, np.max))
    salaries = np.exp(np.arange(lowest, highest + 1) / HUNDREDTHS)
    bands = np.minimum(salaries // SALARY_BAND, len(SALARIES) - 1)
    return SalaryModel(MappingProxyType(whole), noise_whole, bands.astype(np.uint8), lowest)


def _round_hundredths(values: Weights) -> NDArray[np.int16]:
    return np.rint(HUNDREDTHS * values).astype(np.int16)


@dataclass(frozen=True)
class Drawing:
    """All tables needed to draw rows."""

    tables: MappingProxyType[str, TicketTable]
    salary: SalaryModel

    def draw_block(self, *, seed: int, block: int) -> dict[str, Codes]:
        """Codes of one block of ``ROWS_PER_BLOCK`` rows, attribute by attribute.

        Blocks are independent of each other and of how many there are, which makes a shorter table
        the beginning of a longer one.

        Parameters
        ----------
        seed
            The seed of the table.
        block
            The number of the block, from 0.
        """
        # Raw words of a bit generator stay the same over versions of numpy; draws of its
        # distributions may not.
        bits = np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(block,)))

        def tickets() -> NDArray[np.uint16]:
            # Fixed byte order, so that the rows do not depend on the machine.
            return bits.random_raw(ROWS_PER_BLOCK // 4).astype("<u8", copy=False).view("<u2")

        # Combinations of parents number 50 * 5 at most, so they fit the 8 bits of the codes.
        nobody = np.zeros(ROWS_PER_BLOCK, dtype=np.uint8)
        tables = self.tables
        sex = tables["sex"].draw(nobody, tickets=tickets())
        age = tables["age"].draw(sex, tickets=tickets())
        race = tables["race"].draw(nobody, tickets=tickets())
        country = tables["country"].draw(race, tickets=tickets())
        stage = STAGES[age]
        origin = ORIGIN_OF_COUNTRY[country]
        education = tables["education"].draw(stage * len(ORIGINS) + origin, tickets=tickets())
        marital = tables["marital"].draw(sex * np.uint8(len(AGES_AS_NUMBERS)) + age, tickets=tickets())
        is_grown = stage >= FIRST_GROWN_STAGE
        occupation = tables["occupation"].draw(
            (education * 2 + sex) * np.uint8(2) + is_grown, tickets=tickets()
        )
        workclass = tables["workclass"].draw(occupation * N_STAGES + stage, tickets=tickets())
        codes = {
            "age": age,
            "sex": sex,
            "education": education,
            "marital": marital,
            "race": race,
            "workclass": workclass,
            "country": country,
            "occupation": occupation,
        }
        return {**codes, "salary": self.salary.draw(codes, tickets=tickets())}


@functools.cache
def prepare_drawing() -> Drawing:
    """The tables of the census-like population, built once."""
    weights = {
        "sex": np.array([SEX_SHARES]),
        "age": weigh_ages(),
        "race": np.array([[each.share for each in RACES]]),
        "country": weigh_countries(),
        "education": weigh_educations(),
        "marital": weigh_maritals(),
        "occupation": weigh_occupations(),
        "workclass": weigh_workclasses(),
    }
    tables = {name: TicketTable.share_out(each) for name, each in weights.items()}
    return Drawing(MappingProxyType(tables), make_salary_model())
