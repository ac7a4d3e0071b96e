"""How often the answers of every method hold the truth; ``python -m coverage_matrix`` with ``benchmarks`` on the path."""
