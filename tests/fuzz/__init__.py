"""Inputs that nobody would write, by seed: whatever is given, the command line answers or refuses."""
