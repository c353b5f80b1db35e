"""The first witness: one outlier a feature, in the limit of many dimensions."""
