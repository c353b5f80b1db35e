"""The first witness: where each feature comes out of the noise, in the limit of many coordinates."""
