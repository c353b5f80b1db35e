"""Restricted Boltzmann machines with a few hidden units: directions of the data learned by maximum likelihood."""
