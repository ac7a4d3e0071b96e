"""Drawing decoys on counts, and dealing them to rows."""
