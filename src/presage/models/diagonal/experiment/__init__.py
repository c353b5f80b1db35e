"""The second witness: draw data at finite size, train, measure."""
