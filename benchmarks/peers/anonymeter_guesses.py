"""How often anonymeter guesses a value right, in its own environment: ``anonymeter_guesses.py PRIVATE RELEASED CONTROL SECRET NUMBER KNOWN...``."""

from __future__ import annotations

import json
import sys

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator


def main() -> None:
    """Print the shares of right guesses about people in the table, about others, and by guessing at random."""
    private, released, control, secret, number, *known = sys.argv[1:]
    own, published, others = (
        pd.read_csv(path, dtype=str, keep_default_na=False)[[*known, secret]]
        for path in (private, released, control)
    )
    evaluator = InferenceEvaluator(
        ori=own, syn=published, control=others, aux_cols=known, secret=secret, n_attacks=int(number)
    )
    found = evaluator.evaluate(n_jobs=1).results()
    print(
        json.dumps(
            {
                "inside": float(found.attack_rate.value),
                "outside": float(found.control_rate.value),
                "random": float(found.baseline_rate.value),
            }
        )
    )


if __name__ == "__main__":
    main()
