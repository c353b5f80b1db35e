"""The best that any method can do."""
