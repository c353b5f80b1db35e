"""The first witness: outliers of a noisy matrix, in the limit of many coordinates."""
