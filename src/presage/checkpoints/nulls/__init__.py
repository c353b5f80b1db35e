"""What noise shows: laws of the singular values of random heads and matrices, sampled at their exact finite size."""
