"""Which tensors of a model are the queries and keys of its attention, and how they are cut into heads."""
