"""The first witness: state evolution in the high-dimensional limit."""
