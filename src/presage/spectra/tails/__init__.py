"""Power laws in the upper end of a spectrum."""
