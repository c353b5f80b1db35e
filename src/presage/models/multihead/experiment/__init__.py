"""The second witness: sequences drawn at finite size, heads trained together, and what they show measured."""
