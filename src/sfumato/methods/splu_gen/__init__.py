"""SPLU-Gen: every sensitive value is hidden among decoys, so that large sums survive and small ones do not."""
