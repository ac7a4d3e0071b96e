"""Publishing without the law: what may be said of a release whose matrices are kept back.

Every number that depends on the matrices gives them away: the retention is a function of epsilon, of the
amplification, of a bound on risk that was reached. So nothing of the method's own is carried over but names.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.errors import ParameterError
from sfumato.release.manifest import Manifest
from sfumato.release.publication import Publication

HOW_IS_WITHHELD = "chosen by looking at the private rows; how is withheld with the law"

ASSUMED = (
    "The distortion matrices, the method's parameters and the numbers of its promise are withheld: whoever knows one of "
    "them knows the others."
)

WEAKNESS = (
    "Withholding the law protects nobody by itself: whoever knows the true shares of an attribute from elsewhere can "
    "estimate its matrix from the release."
)


def without_law(publication: Publication, method: str) -> Publication:
    """The same tables with a law that names only what was perturbed, and none of the method's own sentences.

    Raises
    ------
    ParameterError
        When the method's law has no such form: nothing would then stay valid.
    """
    law = publication.law.withheld()
    if law is None:
        raise ParameterError(
            f"the law of a release by {method} cannot be withheld: without it, nothing that is computed from the release would "
            "be valid. Only the law of rows that are redrawn one by one can (randomized-response of tables that are not unit-item-value "
            "data). Publish with the law, or such a table by that method.",
            parameter="withhold_law",
        )
    return replace(
        publication,
        law=law,
        assumptions=(),
        not_protected=(),
        chosen_from_private_data=dict.fromkeys(publication.chosen_from_private_data, HOW_IS_WITHHELD),
    )


def without_numbers(manifest: Manifest) -> Manifest:
    """The manifest of a release without its law: the method's name, no parameter, no promise."""
    return manifest.model_copy(
        update={
            "method": {"method": manifest.method["method"]},
            "guarantees": (),
            "assumptions": (*manifest.assumptions, ASSUMED),
            "weaknesses": (*manifest.weaknesses, WEAKNESS),
        }
    )
