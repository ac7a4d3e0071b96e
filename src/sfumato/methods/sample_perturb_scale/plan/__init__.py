"""What to expect of sampling, perturbing and scaling, and which groups plain perturbation leaves open."""
