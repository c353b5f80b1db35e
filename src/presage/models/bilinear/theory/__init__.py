"""The first witness: the two equations of a nuclear-norm fit in the limit of large matrices."""
