"""One attention head with query and key matrices of its own, ``S = W_Q W_K'/d``."""
