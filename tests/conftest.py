"""What every run of the tests needs, whole or in part.

Hypothesis is imported before any test. Its plugin asks for it at the end of a run, and where nothing had imported it by
then trio's entry point warns from there, which ends a run of passed tests with an error.
"""

import hypothesis  # noqa: F401
