"""Planning: what a design promises and how accurate its release will be, before anything is published."""
