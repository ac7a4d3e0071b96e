"""Analyses of releases. They read a release and its law, never private rows."""
