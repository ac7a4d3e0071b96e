"""Where rows come from and how they are counted. Only `private_table` gives private rows to others."""
