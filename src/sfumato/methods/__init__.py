"""The methods, a folder each, with everything there is to read to judge one.

`law`, `kernels` and files of mathematics are public: analysts and attackers may import them. `design`, `count_phase`
and `plan` see private rows. No `__init__` here imports anything: opening a release must not load a design.
"""
