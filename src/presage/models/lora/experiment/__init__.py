"""The second witness: pre-train a layer, freeze it, train an adapter, measure."""
