"""Distribution-based resampling: the baseline that keeps a distribution and nothing else."""
