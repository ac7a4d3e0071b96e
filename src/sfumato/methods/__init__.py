"""The methods: a folder each, with all there is to read to judge it.

``law`` and ``kernels`` are the public half: mathematics that analysts and attackers may import. ``design`` and
``plan`` are the custodian's half, which sees private rows. No ``__init__`` here imports anything, so that
opening a release never loads a design.
"""
