"""Spectra: a law plus a semicircle, and the integrals of it that the theory needs."""
