"""Predictions: state evolution of several matrices at once."""
