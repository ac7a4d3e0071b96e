"""Promises are recomputed, never believed: what a release claims against what its law gives."""

from __future__ import annotations

from sfumato.errors import ReleaseDamagedError
from sfumato.guarantees.base import about_learned_lists
from sfumato.release.release import Release


def refuse_stronger_promises(release: Release) -> None:
    """Refuse a release that promises more than follows from its law and its attributes.

    What only its tables can tell, such as the size of every class, is judged when they are read
    (:mod:`sfumato.release.verifying`).

    Raises
    ------
    ReleaseDamagedError
        Naming the promise.
    """
    # Of a long table the list of items was learned, and not the attributes that questions make of them.
    conditions = about_learned_lists(release.schema.learned or release.published_schema.learned)
    for stated in release.guarantees:
        name = stated.model_dump()["guarantee"]
        if not stated.follows_from(release.law.promises(release.schema, stated), release):
            raise ReleaseDamagedError(
                f"the release promises {name} with numbers that do not follow from its law. A promise may say no more than "
                "the law beside it gives; do not rely on this release, and ask where it comes from."
            )
        if not stated.is_under(conditions):
            raise ReleaseDamagedError(
                f"the release promises {name} without saying that categories were read off the private rows, as its "
                "attributes do. Do not rely on this release, and ask where it comes from."
            )
