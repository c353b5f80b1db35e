"""What the machine has: memory and cores."""

from __future__ import annotations


def available_memory() -> float:
    """Bytes of memory that are free on this machine."""
    import psutil

    return float(psutil.virtual_memory().available)


def available_cores() -> int:
    """Cores that this process may use."""
    from joblib import cpu_count

    return int(cpu_count())
