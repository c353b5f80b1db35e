"""Several heads of tied attention that are learned together, and a learned gain of their output."""
