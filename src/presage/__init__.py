"""presage: predict what a neural layer will learn before anyone trains it.

The public names are listed in `__init__.pyi`, and each is imported when it is first used: `import presage` and
`presage --help` do not wait for numba, SciPy, matplotlib or xarray.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.2.0"
