"""Where rows come from and how they are counted."""
