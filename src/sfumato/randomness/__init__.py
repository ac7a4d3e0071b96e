"""Random bits, exact samplers, noise, distortion matrices and random partitions."""
