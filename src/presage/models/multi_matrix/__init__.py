"""Labels that are a function of a few quadratic forms, each of a matrix of its own."""
