"""The first witness: the state evolution of an adapter on a frozen layer."""
