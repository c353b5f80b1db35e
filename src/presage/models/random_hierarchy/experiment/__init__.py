"""The experiment: draw rules and samples, learn layer by layer, and measure."""
