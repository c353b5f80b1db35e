"""What every model answers, said once: problems, results, verbs, comparisons, errors."""
