"""The risk before anything is done: schema guessing and inspection of private rows."""
