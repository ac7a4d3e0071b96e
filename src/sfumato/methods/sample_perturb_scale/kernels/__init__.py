"""Drawing rows of every group, and merging public values: arrays in, arrays out, noise as an argument."""
