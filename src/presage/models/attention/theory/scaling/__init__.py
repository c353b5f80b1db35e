"""Targets whose eigenvalues fall as a power of their rank: phases, laws, what tuning and width can do."""
