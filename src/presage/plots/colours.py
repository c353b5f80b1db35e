"""Colours, lines and markers of every picture: told apart by colour-blind eyes, and in grey."""

from __future__ import annotations

# Okabe and Ito's colours; line styles and markers differ as well, since in grey some of them are alike.
BLACK, BLUE, ORANGE, GREEN, PINK, SKY = "0.1", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, BLACK)
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "0.45"
