"""Targets made of features of features, learned layer by layer."""
