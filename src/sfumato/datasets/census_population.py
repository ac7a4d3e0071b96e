"""The synthetic population behind the census table, and drawing rows of it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# --------------------------------------------------------------------------------------------------
# The make-believe population behind the census-like table: names, shares and ties, as plain data.
#
# The numbers are rounded impressions of a large country, not estimates of a real one. They exist to
# give a table the skew and the dependencies that make publishing it hard: one dominating country and
# a long tail, occupations tied to schooling and sex, salaries tied to occupation and age.


AGES = tuple(range(17, 94))

SEXES = ("Female", "Male")
SEX_SHARES = (0.51, 0.49)

EDUCATIONS = (
    "No schooling",
    "Grades 1-4",
    "Grades 5-8",
    "Grade 9",
    "Grade 10",
    "Grade 11",
    "Grade 12 without diploma",
    "High school diploma",
    "Some college",
    "Associate degree",
    "Bachelor degree",
    "Master degree",
    "Professional degree",
    "Doctorate",
)
"""In order of schooling; the position is the level that occupations and salaries refer to."""

EDUCATION_SHARES = (1.0, 0.8, 2.0, 1.4, 2.0, 2.4, 2.0, 27.0, 21.0, 8.5, 20.0, 8.8, 1.5, 1.6)

MARITALS = (
    "Married",
    "Married with absent spouse",
    "Separated",
    "Divorced",
    "Widowed",
    "Never married",
)


class Race(NamedTuple):
    """A race with its share of the population and how likely each origin is within it."""

    name: str
    share: float
    origins: dict[str, float]
    """Origin to a factor on its countries' shares; an origin not named has ``OTHER_ORIGIN``."""


OTHER_ORIGIN = 0.02
"""Nobody is ruled out anywhere: every race is found, if rarely, in every country of birth."""

RACES = (
    Race("White", 72.0, {"home": 1.0, "western": 1.3, "latin": 0.7, "middle east": 1.0}),
    Race("Black", 12.6, {"home": 1.0, "caribbean": 3.0, "africa": 6.0}),
    Race("American Indian or Alaska Native", 0.9, {"home": 1.0, "latin": 0.5}),
    Race("Chinese", 1.4, {"home": 0.006, "china": 1.0, "southeast asia": 0.05}),
    Race("Japanese", 0.4, {"home": 0.004, "japan": 3.0}),
    Race(
        "Other Asian or Pacific Islander",
        4.2,
        {"home": 0.01, "south asia": 1.0, "southeast asia": 1.0, "korea": 1.0},
    ),
    Race("Other race", 5.6, {"home": 0.12, "latin": 2.0, "caribbean": 0.8}),
    Race("Two races", 2.6, {"home": 1.0, "latin": 0.6, "caribbean": 0.6, "japan": 0.8}),
    Race("Three or more races", 0.3, {"home": 1.0, "caribbean": 0.3}),
)

ORIGIN_SCHOOLING = {
    "home": 0.0,
    "latin": -2.6,
    "caribbean": -0.8,
    "western": 0.6,
    "china": 0.4,
    "japan": 0.9,
    "korea": 0.9,
    "southeast asia": 0.1,
    "south asia": 1.8,
    "middle east": 0.7,
    "africa": 0.3,
}
"""Levels of education by which people of an origin are above or below the others."""


class Country(NamedTuple):
    """A country of birth: how many of ten thousand people were born there, and its origin."""

    name: str
    share: float
    origin: str


COUNTRIES = (
    Country("United States", 8650, "home"),
    Country("Mexico", 360, "latin"),
    Country("India", 85, "south asia"),
    Country("China", 80, "china"),
    Country("Philippines", 65, "southeast asia"),
    Country("Puerto Rico", 50, "latin"),
    Country("El Salvador", 45, "latin"),
    Country("Vietnam", 43, "southeast asia"),
    Country("Cuba", 41, "caribbean"),
    Country("Dominican Republic", 37, "caribbean"),
    Country("Guatemala", 34, "latin"),
    Country("South Korea", 33, "korea"),
    Country("Colombia", 26, "latin"),
    Country("Canada", 26, "western"),
    Country("Honduras", 25, "latin"),
    Country("Jamaica", 25, "caribbean"),
    Country("Haiti", 22, "caribbean"),
    Country("United Kingdom", 22, "western"),
    Country("Germany", 18, "western"),
    Country("Brazil", 15, "latin"),
    Country("Venezuela", 15, "latin"),
    Country("Peru", 14, "latin"),
    Country("Ecuador", 14, "latin"),
    Country("Poland", 13, "western"),
    Country("Nigeria", 13, "africa"),
    Country("Russia", 13, "western"),
    Country("Pakistan", 12, "south asia"),
    Country("Iran", 12, "middle east"),
    Country("Ukraine", 11, "western"),
    Country("Japan", 11, "japan"),
    Country("Italy", 10, "western"),
    Country("Bangladesh", 8, "south asia"),
    Country("Thailand", 8, "southeast asia"),
    Country("Nicaragua", 8, "latin"),
    Country("Ethiopia", 8, "africa"),
    Country("Guyana", 8, "caribbean"),
    Country("Hong Kong", 7, "china"),
    Country("Iraq", 7, "middle east"),
    Country("Trinidad and Tobago", 7, "caribbean"),
    Country("Egypt", 6, "middle east"),
    Country("Ghana", 6, "africa"),
    Country("Portugal", 6, "western"),
    Country("France", 6, "western"),
    Country("Argentina", 6, "latin"),
    Country("Romania", 5, "western"),
    Country("Laos", 5, "southeast asia"),
    Country("Cambodia", 5, "southeast asia"),
    Country("Greece", 4, "western"),
    Country("Ireland", 4, "western"),
    Country("Israel", 4, "middle east"),
    Country("Turkey", 4, "middle east"),
    Country("Lebanon", 4, "middle east"),
    Country("Kenya", 4, "africa"),
    Country("Spain", 4, "western"),
    Country("Myanmar", 4, "southeast asia"),
    Country("Nepal", 4, "south asia"),
    Country("South Africa", 3.5, "africa"),
    Country("Costa Rica", 3, "latin"),
    Country("Panama", 3, "latin"),
    Country("Chile", 3, "latin"),
    Country("Bolivia", 3, "latin"),
    Country("Netherlands", 3, "western"),
    Country("Indonesia", 3, "southeast asia"),
    Country("Australia", 3, "western"),
    Country("Afghanistan", 3, "middle east"),
    Country("Morocco", 2.5, "africa"),
    Country("Hungary", 2, "western"),
    Country("Serbia", 1.5, "western"),
    Country("Sweden", 1.5, "western"),
)


class Occupation(NamedTuple):
    """An occupation and the people who are in it."""

    name: str
    share: float
    schooling: float
    """The usual level of education, a position in ``EDUCATIONS``."""
    schooling_spread: float
    """How many levels around the usual one are common."""
    women: float
    """Share of women."""
    entry: float
    """How much likelier a person under 25 is to be in it than an older one."""
    salary: float
    """Usual yearly salary in thousands."""
    sector: str


OCCUPATIONS = (
    Occupation("Chief executive", 1.1, 10.4, 1.2, 0.28, 0.05, 140, "company"),
    Occupation("General manager", 3.2, 9.4, 1.5, 0.36, 0.30, 84, "company"),
    Occupation("Financial manager", 1.3, 10.2, 1.1, 0.53, 0.20, 92, "company"),
    Occupation("School principal", 0.9, 11.2, 0.8, 0.63, 0.05, 82, "school"),
    Occupation("Health services manager", 0.8, 10.4, 1.1, 0.70, 0.10, 78, "care"),
    Occupation("Human resources specialist", 1.3, 9.9, 1.2, 0.72, 0.40, 62, "company"),
    Occupation("Accountant", 2.0, 10.3, 0.9, 0.60, 0.45, 66, "company"),
    Occupation("Financial analyst", 0.7, 10.5, 0.8, 0.40, 0.60, 86, "company"),
    Occupation("Software developer", 2.1, 10.5, 1.0, 0.20, 0.60, 102, "company"),
    Occupation("Computer support specialist", 1.4, 9.2, 1.2, 0.26, 0.80, 60, "company"),
    Occupation("Civil engineer", 1.0, 10.6, 0.8, 0.15, 0.40, 86, "company"),
    Occupation("Electrical engineer", 0.9, 10.6, 0.9, 0.11, 0.40, 94, "company"),
    Occupation("Engineering technician", 0.8, 8.8, 1.0, 0.19, 0.60, 56, "company"),
    Occupation("Research scientist", 0.8, 12.8, 0.9, 0.46, 0.20, 80, "state"),
    Occupation("Social worker", 1.2, 10.6, 0.9, 0.81, 0.35, 46, "public"),
    Occupation("Clergy", 0.5, 11.0, 1.5, 0.20, 0.20, 46, "care"),
    Occupation("Lawyer", 1.1, 12.1, 0.4, 0.37, 0.02, 122, "own"),
    Occupation("College professor", 1.3, 12.5, 0.9, 0.48, 0.10, 72, "state"),
    Occupation("Elementary school teacher", 3.0, 10.5, 0.8, 0.80, 0.35, 49, "school"),
    Occupation("Secondary school teacher", 1.4, 10.7, 0.7, 0.58, 0.30, 53, "school"),
    Occupation("Teaching assistant", 1.2, 8.2, 1.1, 0.89, 1.50, 22, "school"),
    Occupation("Artist or designer", 1.6, 9.8, 1.3, 0.50, 0.80, 48, "own"),
    Occupation("Physician", 0.9, 12.3, 0.4, 0.36, 0.01, 178, "own"),
    Occupation("Registered nurse", 2.7, 9.9, 0.9, 0.89, 0.35, 64, "care"),
    Occupation("Health technician", 1.9, 9.0, 1.0, 0.73, 0.70, 44, "care"),
    Occupation("Home health aide", 2.5, 6.9, 1.7, 0.88, 1.00, 24, "care"),
    Occupation("Medical assistant", 1.2, 8.2, 0.9, 0.90, 1.10, 31, "care"),
    Occupation("Police officer", 1.0, 8.9, 1.0, 0.15, 0.30, 63, "public"),
    Occupation("Firefighter", 0.5, 8.6, 0.9, 0.05, 0.40, 60, "public"),
    Occupation("Security guard", 1.1, 7.6, 1.2, 0.23, 1.10, 30, "company"),
    Occupation("Cook", 2.3, 6.2, 1.9, 0.41, 2.60, 22, "company"),
    Occupation("Waiter", 2.2, 7.4, 1.3, 0.69, 5.00, 20, "company"),
    Occupation("Cleaner", 3.4, 5.3, 2.3, 0.45, 1.00, 23, "company"),
    Occupation("Groundskeeper", 1.0, 5.6, 2.1, 0.06, 1.40, 26, "own"),
    Occupation("Childcare worker", 1.2, 7.7, 1.4, 0.95, 2.00, 20, "own"),
    Occupation("Hairdresser", 0.9, 7.7, 0.9, 0.88, 1.00, 25, "own"),
    Occupation("Retail salesperson", 3.6, 7.8, 1.3, 0.51, 3.50, 27, "company"),
    Occupation("Cashier", 2.8, 6.9, 1.5, 0.73, 5.00, 18, "company"),
    Occupation("Sales representative", 1.6, 9.1, 1.3, 0.28, 0.60, 64, "company"),
    Occupation("Real estate agent", 0.9, 9.0, 1.3, 0.55, 0.20, 56, "own"),
    Occupation("Secretary", 3.2, 8.2, 1.1, 0.95, 0.70, 36, "company"),
    Occupation("Customer service agent", 2.2, 8.1, 1.1, 0.66, 2.00, 33, "company"),
    Occupation("Bookkeeper", 1.4, 8.4, 1.0, 0.88, 0.50, 38, "company"),
    Occupation("Farm worker", 0.9, 2.6, 2.2, 0.21, 1.60, 20, "farm"),
    Occupation("Construction labourer", 1.8, 5.4, 2.1, 0.03, 1.30, 33, "own"),
    Occupation("Carpenter", 1.2, 6.3, 1.7, 0.02, 0.90, 36, "own"),
    Occupation("Electrician", 0.9, 7.6, 1.0, 0.02, 0.90, 51, "company"),
    Occupation("Car mechanic", 1.2, 7.0, 1.2, 0.02, 1.20, 39, "company"),
    Occupation("Assembly line worker", 2.6, 6.4, 1.8, 0.37, 1.20, 32, "company"),
    Occupation("Truck driver", 2.9, 6.9, 1.4, 0.05, 0.60, 42, "company"),
)

WORKCLASSES = (
    "Private company",
    "Non-profit organisation",
    "Local government",
    "State government",
    "Federal government",
    "Self-employed",
    "Unpaid family work",
)

SECTOR_WORKCLASSES = {
    "company": (86.0, 3.0, 2.5, 1.8, 1.7, 4.8, 0.2),
    "public": (10.0, 8.0, 52.0, 21.0, 8.0, 0.9, 0.1),
    "school": (13.0, 12.0, 62.0, 10.0, 1.0, 1.9, 0.1),
    "state": (28.0, 19.0, 3.0, 38.0, 9.0, 2.9, 0.1),
    "care": (57.0, 27.0, 4.5, 5.0, 2.5, 3.8, 0.2),
    "own": (54.0, 3.0, 2.0, 1.5, 1.0, 38.0, 0.5),
    "farm": (61.0, 1.0, 0.5, 0.5, 0.3, 29.0, 7.7),
}
"""Weights of ``WORKCLASSES`` in each sector of occupations."""

SELF_EMPLOYED_GROWTH = 0.02
"""Growth of the weight of self-employment with each year of age past 17."""

WORKCLASS_PAY = (0.0, -0.06, -0.02, -0.01, 0.10, -0.05, -2.5)
"""Shift of the log salary in each of ``WORKCLASSES``."""

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
