"""The second witness: sample data at finite size, train the matrix, measure."""
