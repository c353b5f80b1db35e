"""What the theory says about pooled tokens."""
