"""Plain values that flow between the layers: schemas, questions, counts, estimates, answers."""
