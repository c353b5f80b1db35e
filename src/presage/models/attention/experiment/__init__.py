"""The second witness: sample data at finite d, train the network, measure."""
