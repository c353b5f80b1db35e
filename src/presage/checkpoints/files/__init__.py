"""Files of weights, one kind a module: each gives named tensors that are read when they are asked for."""
