"""``sfumato independence``: whether two attributes could be independent."""

from __future__ import annotations

from sfumato.cli.measures import Of, two_sides
from sfumato.cli.options import AsJson, ReleaseFolder, Where
from sfumato.cli.showing import show

EXAMPLES = (
    "sfumato independence release --of sex,occupation",
    "sfumato independence release --of sex --of \"occupation = 'Sales'\"",
)


def independence(release: ReleaseFolder, *, of: Of, where: Where = "", as_json: AsJson = False) -> None:
    """Test whether two attributes are independent in the population, at the right level."""
    from sfumato.release import load_release

    show(load_release(release).independence(*two_sides(of), where=where), as_json=as_json)
