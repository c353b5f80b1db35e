"""The second witness: layers that are fitted to data, estimators for data of one's own, networks beside them."""
