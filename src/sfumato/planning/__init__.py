"""Planning: what a design promises and what it will cost, before anything is published."""
