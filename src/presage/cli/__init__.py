"""The command line `presage`: a view of the library, with no formula of its own.

Nothing but typer is imported until a command runs, so that `presage --help` and shell completion are quick.
"""

from presage.cli.app import main

__all__ = ["main"]
