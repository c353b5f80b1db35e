"""The first witness: state evolution in the limit of large dimension."""
