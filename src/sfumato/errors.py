"""The exceptions sfumato raises, in one tree.

::

    SfumatoError
    ├── SchemaError (ValueError)          a schema contradicts itself; carries every problem found
    ├── DataError (ValueError)            private rows do not fit their schema: column, reason, number of rows
    │   ├── SourceError                   a file, table or stream cannot be read as what it claims to be
    │   └── CheckRefusedError             a release fails a check that was not accepted
    ├── ParameterError (ValueError)       a parameter is outside what is allowed
    │   └── GoalUnattainableError         no parameters keep the goal; says the nearest goal that they could
    ├── QueryError (ValueError)           a query is malformed, or names what does not exist
    ├── ReleaseError                      a release folder cannot be written or trusted
    │   ├── ReleaseExistsError            the output folder is already there
    │   ├── ReleaseDamagedError           a checksum, file or manifest is not as published
    │   │   └── PromiseRefutedError       a release promises more than follows from its law
    │   └── ReleaseUnsupportedError       a format version, law or method this version does not know
    ├── LedgerError                       the ledger of releases cannot be used
    │   ├── LedgerLostError               its key or entries are lost or damaged
    │   └── PublishedBeforeError          another release of the table adds to one that is still out
    ├── NotIdentifiableError              the release's law leaves the asked quantity undetermined
    │   └── NoSolutionError               the estimated counts determine no such number; carries the reason
    ├── TooLargeError                     the request would not fit in memory; says how to ask for less
    ├── DownloadError                     a data set could not be fetched, or is not the one expected
    └── MissingExtraError (ImportError)   an optional part is not installed; carries the install command

Every message has three parts: what is wrong with which value, what is allowed, what to do next.
No message contains a value of a private cell; ``tests/boundaries`` plants markers and looks for them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def shortened(text: str, most: int = 60) -> str:
    """A name of somebody else's as it stands in a message: a long one with its middle left out.

    Examples
    --------
    >>> shortened("occupation"), shortened("a" * 70_000, most=9)
    ('occupation', 'aaaa…aaaa')
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


LONGEST_MESSAGE = 2_000
"""Characters of a message, whatever names of others are in it."""

_LONG_WORD = re.compile(r"\S{300,}")


def readable(message: str) -> str:
    r"""A message that a person can read, however long the names in it: the middle of what is too long is left out.

    Examples
    --------
    >>> readable(f"there is no method {'a' * 70_000!r}; see methods.")[-50:]
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'; see methods."
    >>> len(readable("a b " * 5_000)), readable("one\n" * 800)[-33:]
    (1999, '… and 315 more lines like it.\none')
    """
    short = _LONG_WORD.sub(lambda found: shortened(found[0], 120), message)
    if len(short) <= LONGEST_MESSAGE:
        return short
    first, *rest = short.rstrip("\n").split("\n")
    if not rest:
        return shortened(short, LONGEST_MESSAGE)
    # The first line says what is wrong, the last one what to do.
    first, last = (shortened(each, LONGEST_MESSAGE // 3) for each in (first, rest.pop()))
    kept, room = [first], LONGEST_MESSAGE - len(first) - len(last) - 60
    for line in rest:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, f"… and {len(rest) + 1 - len(kept)} more lines like it.", last])


class SfumatoError(Exception):
    """Base of everything sfumato raises on purpose."""

    def __str__(self) -> str:
        return readable(super().__str__())


@contextmanager
def without_origins() -> Iterator[None]:
    """Errors that leave the block, or the function that it decorates, do not carry the ones they were made from.

    Those of engines and readers quote lines of the data, and ``from None`` only keeps them from being printed.
    """
    try:
        yield
    except SfumatoError as error:
        error.__cause__ = error.__context__ = None
        raise


class SchemaError(SfumatoError, ValueError):
    """A schema contradicts itself.

    Attributes
    ----------
    problems
        One sentence for each problem; all of them, so that a schema file is mended in one go.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = tuple(problems.split("\n") if isinstance(problems, str) else problems)
        super().__init__("\n".join(self.problems))


class DataError(SfumatoError, ValueError):
    """Private rows do not fit their schema.

    Carries the column, a reason and how many rows are concerned; never a value of a cell.
    """

    def __init__(
        self, message: str, *, attribute: str | None = None, number_of_rows: int | None = None
    ) -> None:
        self.attribute = attribute
        self.number_of_rows = number_of_rows
        super().__init__(message)


class SourceError(DataError):
    """A file, table or stream cannot be read as what it claims to be."""


class CheckRefusedError(DataError):
    """A release fails a check that was not accepted.

    Attributes
    ----------
    check
        Its name.
    columns
        What to coarsen, perturb or remove.
    """

    def __init__(self, message: str, *, check: str = "", columns: tuple[str, ...] = ()) -> None:
        self.check = check
        self.columns = columns
        super().__init__(message, attribute=columns[0] if columns else None)


class ParameterError(SfumatoError, ValueError):
    """A parameter is outside what is allowed."""

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        self.parameter = parameter
        super().__init__(message)


class GoalUnattainableError(ParameterError):
    """No parameters keep the goal.

    Attributes
    ----------
    attainable
        The lowest level that could be asked for instead.
    group_sizes
        Of the groups that block it: size to the number of groups. Private, like everything counted.
    """

    def __init__(self, message: str, *, attainable: float, group_sizes: dict[int, int]) -> None:
        self.attainable = attainable
        self.group_sizes = group_sizes
        super().__init__(message, parameter="goal")


class QueryError(SfumatoError, ValueError):
    """A query is malformed or names what does not exist.

    Attributes
    ----------
    position
        Zero-based position in the query text where reading stopped making sense, when known.
    """

    def __init__(self, message: str, *, position: int | None = None) -> None:
        self.position = position
        super().__init__(message)


class ReleaseError(SfumatoError):
    """A release folder cannot be written or trusted."""


class ReleaseExistsError(ReleaseError):
    """The output folder is already there; nothing is ever overwritten."""


class ReleaseDamagedError(ReleaseError):
    """A checksum, a file or the manifest is not as it was published."""


class PromiseRefutedError(ReleaseDamagedError):
    """A release promises more than follows from its law and its attributes, or in words of its own.

    Attributes
    ----------
    promise
        Name of the promise.
    """

    def __init__(self, message: str, *, promise: str) -> None:
        super().__init__(message)
        self.promise = promise


class ReleaseUnsupportedError(ReleaseError):
    """The release uses a format version, law or method that this version does not know."""


class LedgerError(SfumatoError):
    """The ledger of releases cannot be used."""


class LedgerLostError(LedgerError):
    """Key or entries of the ledger are lost or damaged: published tables would not be recognized."""


class PublishedBeforeError(LedgerError):
    """Another release of the table adds to one that is still out."""


class NotIdentifiableError(SfumatoError):
    """The release's law leaves the asked quantity undetermined."""


class NoSolutionError(NotIdentifiableError):
    """The estimated counts determine no such number: noise, or the rows themselves, leave it open.

    Attributes
    ----------
    reason
        In one or two words, for programs: ``"separation"``, ``"indefinite"``, ``"weak"``, ``"no root"``,
        ``"undefined"``.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        self.reason = reason
        super().__init__(message)


class TooLargeError(SfumatoError):
    """The request would not fit in memory."""


class DownloadError(SfumatoError):
    """A data set could not be fetched, or what came is not what was expected."""


class MissingExtraError(SfumatoError, ImportError):
    """An optional part is not installed."""

    def __init__(self, feature: str, *, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature} needs an optional part: pip install 'sfumato[{extra}]'")


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the hint that ends a message about an unknown name.

    Examples
    --------
    >>> nearest("ocupation", ["age", "occupation"])
    "did you mean 'occupation'?"
    >>> nearest("x", ["age", "sex"])
    "known are 'age', 'sex'."
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(each) for each in names[:12])
    return f"known are {shown}{', …' if len(names) > 12 else '.'}" if names else "none exist."
