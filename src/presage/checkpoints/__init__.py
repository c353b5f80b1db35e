"""Real weights: files are read, attention heads cut out of them, and each set beside what noise would show."""
