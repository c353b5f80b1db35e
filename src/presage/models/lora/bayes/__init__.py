"""The least error of any method that sees the frozen layer and the new samples."""
