"""Promises about values drawn from groups of decoys: which draws can tell the same thing about a person."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sfumato.guarantees.base import Guarantee
from sfumato.values.bounds import MOST_ROWS

Gamma = Annotated[int, Field(strict=True, ge=2, le=1_000_000)]


class DecoyPromise(Guarantee):
    """A promise that groups of decoys give, about attributes that may tell each other.

    Parameters
    ----------
    gamma_by_attribute
        Rows of a group, for each attribute that was drawn.
    smallest_count
        Rows that every published value is held by, at least: rows of rarer ones were left out.
    together
        Attributes that were drawn as one: a row shows all of them from one member of its group.
    independent
        Attributes that the custodian declares to tell nothing of the others. All the rest is taken to be tied: where
        a drug tells the disease, two draws speak of one fact.
    """

    gamma_by_attribute: Annotated[dict[str, Gamma], Field(min_length=1)]
    smallest_count: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)] = 1
    together: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()

    def tied_with(self, attribute: str) -> tuple[str, ...]:
        """One attribute of each draw that can speak of the attribute's value, itself first.

        Examples
        --------
        >>> from sfumato.guarantees.small_sum_privacy import SmallSumPrivacy
        >>> gammas = {"drug": 5, "disease": 5, "ward": 5}
        >>> promise = SmallSumPrivacy(gamma_by_attribute=gammas, relative_error=0.3, largest_small_count=3)
        >>> promise.model_copy(update={"independent": ("ward",)}).tied_with("disease")
        ('disease', 'drug')
        """
        if attribute in self.independent:
            return (attribute,)
        draws = dict.fromkeys(
            self._draw_of(name) for name in self.gamma_by_attribute if name not in self.independent
        )
        return (attribute, *(each for each in draws if each != self._draw_of(attribute)))

    def _draw_of(self, attribute: str) -> str:
        """The first attribute that shares its draw."""
        return self.together[0] if attribute in self.together else attribute

    @property
    def declarations(self) -> str:
        """What the numbers rest on besides the draws, as the end of a sentence."""
        parts = []
        if self.independent:
            names = " and ".join(self.independent)
            parts.append(
                f"if {names} {'is' if len(self.independent) == 1 else 'are'} independent of the other sensitive "
                "attributes, as the custodian declares"
            )
        if any(len(self.tied_with(name)) > 1 for name in self.gamma_by_attribute):
            parts.append("attributes that may tell each other counted as such")
        return "".join(f"; {each}" for each in parts)
