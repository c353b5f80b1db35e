"""The solvable models, one folder each: its problem, its theory and its experiment."""
