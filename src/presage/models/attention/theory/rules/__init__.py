"""Ways to average over the pre-activations of one sample: one rule a file."""
