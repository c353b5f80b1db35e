"""Results in files: written whole or not at all, read back to the last bit."""
