"""Quadratic networks and single-head attention: a symmetric matrix seen through a channel."""
