"""The limit of many visible units: overlaps, likelihoods, and how they move in time."""
