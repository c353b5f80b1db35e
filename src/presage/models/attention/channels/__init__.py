"""What labels and loss see of the pre-activations: one channel a file, and what all of them need."""
