"""What noise does to eigenvalues."""
