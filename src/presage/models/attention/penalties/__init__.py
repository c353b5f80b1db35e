"""What the learner pays for its matrix: one penalty a file, and what all of them need."""
