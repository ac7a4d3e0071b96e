"""The ledger: what was released from which table, kept on the custodian's own machine."""

from sfumato.custody.ledger.book import Entry, Ledger, default_ledger
from sfumato.custody.ledger.composing import Composition, compose_entries

__all__ = ["Composition", "Entry", "Ledger", "compose_entries", "default_ledger"]
