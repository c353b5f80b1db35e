"""Run the command line as ``python -m presage``."""

from presage.cli import main

if __name__ == "__main__":
    main()
