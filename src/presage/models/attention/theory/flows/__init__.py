"""The way of a training in time: of infinitely many samples, and of a matrix that is trained itself."""
