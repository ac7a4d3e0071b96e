"""A file as an office has it: sixty columns, semicolons, latin-1, decimal commas, codes, dates, households, a weight."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

ROWS = 3_000

NAMES = {
    "German": {
        "person": "Person_ID",
        "household": "Haushalt_Nr",
        "weight": "Hochrechnungsfaktor",
        "postcode": "PLZ",
        "birth": "Geburtsdatum",
        "interview": "Interviewdatum",
        "income": "Nettoeinkommen",
        "illness": "Diagnose",
        "rent": "Miete",
        "size": "Wohnfläche",
        "age": "Alter",
        "school": "Schulabschluss",
        "wave": "Welle",
        "remark": "Bemerkung",
        "phone": "Telefon",
    },
    "French": {
        "person": "identifiant",
        "household": "n° ménage",
        "weight": "pondération",
        "postcode": "code postal",
        "birth": "date de naissance",
        "interview": "date d'enquête",
        "income": "revenu net",
        "illness": "maladie",
        "rent": "loyer",
        "size": "surface",
        "age": "âge",
        "school": "diplôme",
        "wave": "vague",
        "remark": "remarque",
        "phone": "numéro de téléphone",
    },
}
"""Names that say what a column is, by language."""

SCHOOLS = {
    "German": ("Hauptschule", "Realschule", "Abitur", "Universität"),
    "French": ("aucun", "brevet", "baccalauréat", "université"),
}
ILLNESSES = {
    "German": ("keine", "Diabetes", "Asthma", "Depression", "Bluthochdruck"),
    "French": ("aucune", "diabète", "asthme", "dépression", "hypertension"),
}


@dataclass(frozen=True)
class MessyFile:
    """The file, what each column is called in it, and the values in it as Python has them."""

    path: Path
    names: dict[str, str]
    values: dict[str, list]
    secrets: tuple[str, ...]


def _number(value: float, digits: int, thousands: str) -> str:
    """A number as people write it there: 1.234,50."""
    return f"{value:,.{digits}f}".replace(",", "#").replace(".", ",").replace("#", thousands)


def write_messy(folder: Path, language: str, *, named: bool = True) -> MessyFile:
    """Write the file in German or French; without names, columns are called v01 and so on."""
    draw = np.random.default_rng(19)
    thousands, date_format = (".", "%d.%m.%Y") if language == "German" else (" ", "%d/%m/%Y")
    sizes = draw.choice([1, 2, 3, 4], ROWS, p=[0.4, 0.3, 0.2, 0.1])
    households = np.repeat(np.arange(10_000, 10_000 + ROWS), sizes)[:ROWS]
    strata = draw.integers(0, 40, ROWS)
    weights = draw.lognormal(6, 0.4, 40).round(4)[strata]
    values: dict[str, list] = {
        "person": [f"P{number:06}" for number in draw.permutation(ROWS)],
        "household": [str(each) for each in households],
        "weight": weights.tolist(),
        "postcode": [
            f"{region:02}{place:03}"
            for region, place in zip(draw.integers(1, 40, ROWS), draw.integers(0, 300, ROWS), strict=True)
        ],
        "birth": [date(1930, 1, 1) + timedelta(days=int(each)) for each in draw.integers(0, 27_000, ROWS)],
        "interview": [date(2021, 3, 1) + timedelta(days=int(each)) for each in draw.integers(0, 400, ROWS)],
        "income": draw.lognormal(7.6, 0.7, ROWS).round(2).tolist(),
        "illness": draw.choice(ILLNESSES[language], ROWS, p=[0.7, 0.1, 0.1, 0.05, 0.05]).tolist(),
        "rent": np.where(draw.random(ROWS) < 0.45, 0.0, draw.lognormal(6.3, 0.5, ROWS).round(2)).tolist(),
        "size": draw.gamma(6, 15, ROWS).round(1).tolist(),
        "age": draw.integers(18, 95, ROWS).tolist(),
        "school": draw.choice(SCHOOLS[language], ROWS).tolist(),
        "wave": ["2021"] * ROWS,
        "remark": [f"{number} Stück, geprüft" for number in draw.integers(0, 10**9, ROWS)],
        "phone": [f"0{number}" for number in draw.integers(10**8, 10**9, ROWS)],
    }
    no_answer = draw.random(ROWS) < 0.05
    written = {
        **values,
        "weight": [_number(each, 4, "") for each in values["weight"]],
        "birth": [each.strftime(date_format) for each in values["birth"]],
        "interview": [each.strftime(date_format) for each in values["interview"]],
        "income": [
            "-9" if gone else _number(each, 2, thousands)
            for each, gone in zip(values["income"], no_answer, strict=True)
        ],
        "rent": [_number(each, 2, thousands) for each in values["rent"]],
        "size": [_number(each, 1, "") for each in values["size"]],
    }
    values["income"] = [
        None if gone else each for each, gone in zip(values["income"], no_answer, strict=True)
    ]
    for item in range(60 - len(written)):
        answers = draw.choice(
            ["1", "2", "3", "4", "5", "-9"], ROWS, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]
        ).tolist()
        values[f"item{item}"] = [None if each == "-9" else each for each in answers]
        written[f"item{item}"] = answers
    if named:
        names = {key: NAMES[language].get(key, key) for key in written}
    else:
        names = {key: f"v{place:02}" for place, key in enumerate(written)}
    path = folder / "survey.csv"
    lines = [";".join(names[key] for key in written)]
    lines += [";".join(map(str, row)) for row in zip(*written.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    return MessyFile(path, names, values, ("income", "illness") if named else ())
