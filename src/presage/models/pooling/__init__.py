"""Attention pooling: a class that is learned from the covariance of pooled tokens."""
