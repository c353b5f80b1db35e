"""The second witness: draw data at finite size, train layer by layer, measure."""
