"""The first witness: state evolution of a head whose matrix has no symmetry."""
