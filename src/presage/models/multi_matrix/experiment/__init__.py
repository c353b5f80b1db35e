"""The second witness: draw matrices and samples, train, measure."""
