"""Sweeps: one function over a grid of problems, on a laptop or a cluster, in a store that can go on."""
