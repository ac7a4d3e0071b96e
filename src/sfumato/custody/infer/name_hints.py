"""What a column's name suggests about its role: the one table of words."""

from __future__ import annotations

import re

SENSITIVE_WORDS = frozenset(
    [
        "aids",
        "arrest",
        "belief",
        "cancer",
        "charge",
        "conviction",
        "credit",
        "crime",
        "criminal",
        "debt",
        "diagnoses",
        "diagnosis",
        "disability",
        "disease",
        "diseases",
        "drug",
        "drugs",
        "earnings",
        "faith",
        "genetic",
        "health",
        "hiv",
        "illness",
        "income",
        "job",
        "medication",
        "occupation",
        "offence",
        "offense",
        "orientation",
        "pay",
        "political",
        "politics",
        "pregnancy",
        "pregnant",
        "profession",
        "religion",
        "salary",
        "sexuality",
        "symptom",
        "symptoms",
        "treatment",
        "vote",
        "wage",
        "wages",
        "wealth",
    ]
)
"""Words that name what people mostly want kept to themselves."""

IDENTIFIER_WORDS = frozenset(
    ["email", "firstname", "iban", "lastname", "passport", "phone", "ssn", "surname", "telephone", "username"]
)
"""Words that name what points at one person, however often a value occurs."""

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
_CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words_of(name: str) -> frozenset[str]:
    """The words a column's name is made of, in lower case.

    Examples
    --------
    >>> sorted(words_of("yearlyIncome_USD-2020"))
    ['income', 'usd', 'yearly']
    """
    return frozenset(word.lower() for word in _WORD.findall(_CAMEL_HUMP.sub(" ", name)))


def suggests_sensitive(name: str) -> bool:
    """Whether a whole word of the name is one of :data:`SENSITIVE_WORDS`.

    Examples
    --------
    >>> suggests_sensitive("net_income"), suggests_sensitive("incomers")
    (True, False)
    """
    return not words_of(name).isdisjoint(SENSITIVE_WORDS)


def suggests_identifier(name: str) -> bool:
    """Whether a whole word of the name is one of :data:`IDENTIFIER_WORDS`.

    Examples
    --------
    >>> suggests_identifier("home phone"), suggests_identifier("phonetics")
    (True, False)
    """
    return not words_of(name).isdisjoint(IDENTIFIER_WORDS)
