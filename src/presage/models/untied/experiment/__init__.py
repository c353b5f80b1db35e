"""The second witness: sequences drawn at finite size, queries and keys trained, and what they show measured."""
