"""Cutting wide or sparse tables into columns of attributes that go together (Li and Li, section 6).

Plain mathematics on arrays: no engine, no files, randomness as an argument.
"""
