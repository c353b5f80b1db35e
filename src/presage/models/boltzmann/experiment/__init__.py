"""Machines of finite size, trained on sampled data."""
