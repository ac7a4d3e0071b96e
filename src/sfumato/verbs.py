"""Verbs, each declared once: name, role, parameters, examples, result.

The declaration of a verb lies below what it declares: functions of `analysis`, `custody` and `compare` carry it.
The methods of a release, the command line, the studio's forms and the reference page are read off it.
"""
