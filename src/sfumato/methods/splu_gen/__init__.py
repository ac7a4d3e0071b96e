"""SPLU-Gen: every sensitive value is hidden among decoys; large sums survive, small ones do not."""
