"""Generalization as mathematics: counts of distinct rows in, classes of rows out.

Nothing here reads, draws or publishes. Rows that are equal count once, with their number, so that the
cost follows the number of different combinations.
"""
