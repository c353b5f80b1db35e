"""The second witness: draw samples, diagonalise, read out, measure."""
