"""Numerical engines that know no model."""
