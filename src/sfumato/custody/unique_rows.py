"""The gate before a release: how many of its rows are unique on what is published as it is."""

from __future__ import annotations

from sfumato.custody.ledger.publishing import Say
from sfumato.data.uniqueness import TELLING_SHARE, UniqueRowCounter, UniqueRows
from sfumato.errors import UniqueRowsError
from sfumato.release.publication import Publication
from sfumato.values.batches import CodedBatch
from sfumato.values.number_text import percent
from sfumato.values.schema import Role


class Gate:
    """Looks at rows as they are written, and refuses a release in which being found reveals something.

    Parameters
    ----------
    publication
        What is about to be written.
    """

    def __init__(self, publication: Publication) -> None:
        exact = set(publication.published_as_they_are)
        held = {
            each.name: [attribute for attribute in each.schema.attributes if attribute.name in exact]
            for each in publication.tables
        }
        # Rows of different tables do not stand together.
        self._table = max(held, key=lambda name: len(held[name]), default="")
        attributes = held.get(self._table, [])
        self._counter = UniqueRowCounter(attributes) if attributes else None
        self._only_known = all(each.role is Role.QUASI_IDENTIFIER for each in attributes)

    def look(self, table: str, batch: CodedBatch) -> None:
        """See some rows that were written."""
        if self._counter is not None and table == self._table:
            self._counter.add(batch)

    def looker(self, table: str) -> UniqueRowCounter | None:
        """What looks at some rows of a table elsewhere; None where nobody needs to."""
        return (
            None
            if self._counter is None or table != self._table
            else UniqueRowCounter(self._counter.attributes)
        )

    def seen(self, table: str, looked: UniqueRowCounter) -> None:
        """Take over what was seen elsewhere."""
        if self._counter is not None and table == self._table:
            self._counter.merge(looked)

    def result(self) -> UniqueRows | None:
        """What was seen; None where nothing is published as it is, so that no row is found by what it shows."""
        return None if self._counter is None else self._counter.result()

    def refuse(self) -> None:
        """Refuse the release, when it needs somebody's consent.

        Raises
        ------
        UniqueRowsError
            When a telling share of the rows is unique on a few attributes, and shows others besides.
        """
        found = self.result()
        if found is None or not found.reveals:
            return
        others = ", ".join(found.revealed[:5]) + (", …" if len(found.revealed) > 5 else "")
        raise UniqueRowsError(
            f"{found.sentence()} Whoever knows these of a person finds the row, and reads off it what is published as it is "
            f"besides: {others}. At most {percent(TELLING_SHARE)} may be found so. Leave columns out, merge categories, "
            "declare what others know as quasi-identifiers and publish by a method that changes it, or accept it with "
            "--accept-unique-rows."
        )

    def warn(self, say: Say) -> None:
        """Say in one sentence when the quasi-identifiers alone single rows out; the attacker of the methods knows them."""
        found = self.result()
        if found is not None and self._only_known and found.share >= TELLING_SHARE:
            say(
                f"{found.sentence()} They are quasi-identifiers: whoever knows them of a person finds the row, and what it "
                "shows besides is as the method changed it."
            )
