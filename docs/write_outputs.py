"""Write what commands and sessions print into the pages that show it.

``python docs/write_outputs.py [PAGE ...]`` runs each page in a folder of its own and replaces what it shows by what came out. Where a page shows
``...`` in place of a part, what stands around it is compared and nothing is replaced. ``make test`` fails while a page is out of date.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from documentation.running import close, inside, run_page  # noqa: E402 - the path comes first
from documentation.stages import PAGES, prepare  # noqa: E402


def main() -> None:
    """All pages, or those named."""
    named = [Path(each).resolve() for each in sys.argv[1:]] or PAGES
    for page in named:
        with tempfile.TemporaryDirectory() as folder, inside(Path(folder)):
            os.environ["SFUMATO_LEDGER"] = str(Path(folder) / "ledger.db")
            # From the end, so that places before stay where they are.
            names = prepare(page)
            found = list(run_page(page, names))
            close(names)
        text = page.read_text(encoding="utf-8")
        for place, shown, came_out in reversed(found):
            text = text[:place] + came_out + text[place:].removeprefix(shown)
        page.write_text(text, encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {len(found)} outputs written")


if __name__ == "__main__":
    main()
