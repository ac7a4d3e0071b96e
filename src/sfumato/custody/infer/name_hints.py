"""What a column's name suggests about its role: the one table of words, in English, German and French."""

from __future__ import annotations

import re
import unicodedata

_SENSITIVE = """
aids arrest belief cancer charge conviction credit crime criminal debt diagnoses diagnosis disability disease diseases drug
drugs earnings faith genetic health hiv illness income job medication occupation offence offense orientation pay political
politics pregnancy pregnant profession religion salary sexuality symptom symptoms treatment vote wage wages wealth
beruf diagnose einkommen gehalt gesundheit haftstrafe konfession krankheit lohn partei schulden schwangerschaft straftat
behinderung vermogen
condamnation delit dette diagnostic grossesse handicap maladie metier revenu revenus salaire sante traitement patrimoine
"""

_SENSITIVE_STEMS = """
einkommen krankheit diagnos gesundheit behinderung vermogen konfession schulden straftat schwangerschaft
"""

_IDENTIFIER = """
email firstname iban lastname passport phone ssn surname telephone username
nachname vorname telefon ausweis steuernummer sozialversicherungsnummer
prenom courriel passeport nir
"""

_HOUSEHOLD = "household hh hhid family haushalt haushaltsnummer familie menage foyer famille"
_WEIGHT = "weight weights wgt gewicht gewichtung poids ponderation"
_EXPANSION = "wgt gewichtung hochrechnung hochrechnungsfaktor ponderation expansion"
_CODE = (
    "code codes zip postcode postal isco nace icd plz postleitzahl kldb gemeinde schlussel gemeindeschlussel ags naf insee "
    "commune cim pcs isced"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SENSITIVE_WORDS = _words(_SENSITIVE)
"""Words that name what people mostly want kept to themselves."""

SENSITIVE_STEMS = _words(_SENSITIVE_STEMS)
"""Beginnings and ends of such words, in the language that puts words together."""

IDENTIFIER_WORDS = _words(_IDENTIFIER)
"""Words that name what points at one person, however often a value occurs."""

HOUSEHOLD_WORDS = _words(_HOUSEHOLD)
"""Words that name what rows belong together by."""

WEIGHT_WORDS = _words(_WEIGHT)
"""Words that name a survey weight, or what a scale shows: the values decide."""

EXPANSION_WORDS = _words(_EXPANSION)
"""Words that name a survey weight and nothing else."""

CODE_WORDS = _words(_CODE)
"""Words that name codes of a classification, which are no quantities although they are digits."""

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words_of(name: str) -> frozenset[str]:
    """The words a column's name is made of, in lower case and without accents.

    Examples
    --------
    >>> sorted(words_of("yearlyIncome_USD-2020"))
    ['income', 'usd', 'yearly', 'yearlyincome']
    >>> sorted(words_of("Santé_perçue"))
    ['percue', 'sante']
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    # With and without the humps, since KldB is one word.
    return frozenset(
        word.lower() for text in (letters, _CAMEL_HUMP.sub(" ", letters)) for word in _WORD.findall(text)
    )


def sensitive_word(name: str) -> str | None:
    """The word of the name that says it is sensitive, or None.

    Examples
    --------
    >>> sensitive_word("net_income"), sensitive_word("Haushaltseinkommen"), sensitive_word("incomers")
    ('income', 'haushaltseinkommen', None)
    """
    for word in sorted(words_of(name)):
        if word in SENSITIVE_WORDS or any(
            word.startswith(stem) or word.endswith(stem) for stem in SENSITIVE_STEMS
        ):
            return word
    return None


def suggests(name: str, words: frozenset[str]) -> bool:
    """Whether a whole word of the name is one of the words.

    Examples
    --------
    >>> suggests("home phone", IDENTIFIER_WORDS), suggests("phonetics", IDENTIFIER_WORDS)
    (True, False)
    """
    return not words_of(name).isdisjoint(words)
