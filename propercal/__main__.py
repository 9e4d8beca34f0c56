"""Run the command line with ``python -m propercal``."""
# PYTHON_ARGCOMPLETE_OK

import sys

from propercal.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
