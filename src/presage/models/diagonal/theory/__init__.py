"""The first witness: the two equations of the LASSO in the limit of many entries."""
