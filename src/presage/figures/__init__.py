"""The published figures, one module each, and the data that draws them."""
