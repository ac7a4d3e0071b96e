"""Analyses of releases. They read the release and its law, never private rows."""
