"""The theory: a count of the ways in which clustering can go wrong at each level."""
