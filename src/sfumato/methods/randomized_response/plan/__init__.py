"""What to expect of randomized response, and the retentions that lose least while a goal is kept."""
