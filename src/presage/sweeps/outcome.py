"""The words by which a cell says that it has no numbers. Nothing is imported here: `presage --help` reads them too."""

FAILED = "failed"  # and after a colon the reason
NOT_YET = "not computed yet"
