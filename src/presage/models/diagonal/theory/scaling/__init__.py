"""Entries that fall as a power of their rank: phases, laws, and what is learned of which entry."""
