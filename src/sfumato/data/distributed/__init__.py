"""Tables that are read in splits, each by a task of its own: here one after the other, on Spark side by side.

A task knows nothing of what runs it. Only what tasks find comes back: counts, names of files, sentences.
"""
