"""What noise does to singular values."""
