"""Sample, perturb, scale: a limited number of every group's rows, redrawn by chance and scaled up again."""
