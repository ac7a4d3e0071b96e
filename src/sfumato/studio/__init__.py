"""The local web page: a server on this machine that runs verbs of the command line.

It computes nothing itself. What a page shows was printed by a verb of the command line, or comes from the functions
that the verb calls; the page says which verb that is.
"""
