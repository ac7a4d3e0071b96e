"""The designs of all methods on Adult: six public attributes, occupation, a thousand questions, ten splits.

``python benchmarks/adult_frontier.py`` goes on where it was stopped; ``--seconds`` stops it by itself. It prints the
processor time of all results, and exits with 1 when it is more than two cores have in twenty minutes. ``--picture`` writes the
chart of the page as PNG, which needs chromium; ``--figures docs/adult_frontier.json`` keeps what the page says in numbers, which
``docs/figures/frontier.py`` reads and a test computes again in part.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

from measuring import Measurement, finish

NAMES = ("age", "workclass", "education", "marital_status", "race", "sex", "occupation")
CHECKED = ("randomized-response retention=0.5", "splu-gen gamma=4")
"""Designs that a test computes again on the first split."""

LIMIT = 2 * 20 * 60
"""Seconds of processor time: twenty minutes on two cores."""

COMPARE = (
    *("--sensitive", "occupation", "--queries", "1000", "--repeats", "10", "--classifier-repeats", "3"),
    *("--seed", "18", "--cheapest", "0.05"),
)


def main() -> None:
    """Make the table, compare, sum up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "work" / "adult-frontier")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--picture", type=Path, default=None)
    parser.add_argument("--figures", type=Path, default=None)
    options = parser.parse_args()
    data, schema = prepare(options.out)
    command = [
        sys.executable,
        "-c",
        "from sfumato.cli import main; main()",
        "compare",
        data,
        "--schema",
        schema,
    ]
    folder = options.out / "comparison"
    try:
        subprocess.run(
            [*command, *COMPARE, "--workers", str(options.workers), "--out", str(folder)],
            check=True,
            timeout=options.seconds,
        )
    except subprocess.TimeoutExpired:
        print(f"stopped after {options.seconds:.0f} s; run it again to go on.", file=sys.stderr)
        sys.exit(2)
    results = [json.loads(each.read_text()) for each in (folder / "results").glob("*.json")]
    spent = sum(each["seconds"] for each in results)
    if options.picture is not None:
        draw(folder / "comparison.html", options.picture)
    if options.figures is not None:
        options.figures.write_text(json.dumps(summed_up(folder), indent=1) + "\n", encoding="utf-8")
    finish([Measurement(f"{len(results)} results on Adult, seconds of processor", spent, LIMIT)])


def summed_up(folder: Path) -> dict[str, object]:
    """What the page says of a comparison, and what some designs gave on the first split, by which it can be checked."""
    told = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    results = [json.loads(each.read_text(encoding="utf-8")) for each in (folder / "results").glob("*.json")]
    return {
        "splits": told["repeats"],
        "minutes of processor": round(sum(each["seconds"] for each in results) / 60),
        "designs": {
            each["design"]: {
                "method": each["method"],
                "risk": round(each["risk"], 5),
                "error": round(each["error"], 5),
                "rare": round(each["numbers"]["rare found, with"], 5),
            }
            for each in told["designs"]
        },
        "equal risk": {each["method"]: each["risk 5%"] for each in told["equal_risk"]},
        "reach ten percent": {
            each["method"]: each["risk 10%"] != "cannot reach" for each in told["equal_risk"]
        },
        "first split": {
            each["label"]: {
                "with": each["present"]["right among the most linkable"],
                "without": each["absent"]["right among the most linkable"],
                "error": each["numbers"]["error"],
            }
            for each in results
            if each["repeat"] == 0 and each["label"] in CHECKED
        },
    }


def prepare(out: Path) -> tuple[str, str]:
    """Complete rows of the training file, as the literature uses them, with six public attributes."""
    out.mkdir(parents=True, exist_ok=True)
    data, schema = out / "adult.csv", out / "schema.toml"
    if not data.is_file():
        from sfumato import Schema
        from sfumato.datasets import fetch_dataset

        fetch_dataset("adult", out / "fetched")
        with (out / "fetched" / "adult.csv").open(encoding="utf-8") as file:
            rows = [
                [row[name] for name in NAMES]
                for row in csv.DictReader(file)
                if row["part"] == "train" and all(row.values())
            ]
        whole = Schema.read(out / "fetched" / "adult.schema.toml")
        told = {name: {**whole.to_dict()["attributes"][name], "missing": "error"} for name in NAMES}
        schema.write_text(Schema.from_dict({"attributes": told}).to_toml(), encoding="utf-8")
        with data.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([NAMES, *rows])
    return str(data), str(schema)


def draw(page: Path, out: Path) -> None:
    """The chart as a browser draws it on the page: its colours and its width are the page's own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        tab = browser.new_page(viewport={"width": 980, "height": 900}, device_scale_factor=1.5)
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("figure svg")
        tab.locator("figure").first.screenshot(path=out)
        browser.close()


if __name__ == "__main__":
    main()
