"""Chance, exactly: secret words, samplers, noise on counts, distortion matrices, designs of groups."""
