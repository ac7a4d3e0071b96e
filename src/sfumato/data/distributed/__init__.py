"""Tables read in splits, each by a task of its own: in this process, or on Spark.

A task knows nothing of what runs it. Only what tasks find comes back: counts, names of files, sentences.
"""
