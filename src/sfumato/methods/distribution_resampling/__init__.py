"""Distribution resampling: the baseline that keeps one distribution and nothing else."""
