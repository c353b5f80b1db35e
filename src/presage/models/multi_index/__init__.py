"""Targets of several directions, one smaller than the other, learned by a spectral method and a readout."""
