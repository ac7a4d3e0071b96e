"""What an attribute is to an attacker, and what it is to the table."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What an attribute is for.

    Examples
    --------
    >>> Role("sensitive") is Role.SENSITIVE
    True
    >>> [str(each) for each in Role if not each.is_published]
    ['identifier', 'weight', 'unit', 'household']
    """

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    OTHER = "other"
    WEIGHT = "weight"
    UNIT = "unit"
    HOUSEHOLD = "household"

    @property
    def is_published(self) -> bool:
        """Whether a release may hold a column of this role."""
        return self in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER)

    @property
    def as_noun(self) -> str:
        """The role with its article, for sentences."""
        return f"{'an' if self.value[0] in 'aeio' else 'a'} {self.value}"

    @property
    def meaning(self) -> str:
        """What the role says, in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    Role.IDENTIFIER: "points at one person by itself: name, number, address; never read and never published",
    Role.QUASI_IDENTIFIER: "others may know it of a person: age, sex, region; together such columns single people out",
    Role.SENSITIVE: "what must not be learned about a person: the secret that methods protect",
    Role.OTHER: "published, neither known to others nor secret",
    Role.WEIGHT: "how many people of the population a row stands for; checked, never published as it is",
    Role.UNIT: "whose rows they are, where a person has several; checked, never published",
    Role.HOUSEHOLD: "which rows belong together: family, school, firm; checked, never published",
}
