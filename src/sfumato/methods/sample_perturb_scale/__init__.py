"""Sample-perturb-scale: a limited number of every group's rows, randomized and scaled up."""
