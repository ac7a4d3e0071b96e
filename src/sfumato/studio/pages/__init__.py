"""The pages: routes, and what their templates are given."""
