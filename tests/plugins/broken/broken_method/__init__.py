"""A package of somebody else that breaks when it is loaded."""
