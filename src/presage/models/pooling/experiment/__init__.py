"""Pooled tokens at finite size."""
