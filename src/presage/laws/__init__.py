"""Laws of eigenvalues and singular values that a target can have: one class a file."""
