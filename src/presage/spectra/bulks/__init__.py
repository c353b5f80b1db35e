"""Laws that the bulk of a spectrum of noise has, fitted to eigenvalues."""
