"""A vector learned by a diagonal linear network: weight decay on two factors is the LASSO."""
