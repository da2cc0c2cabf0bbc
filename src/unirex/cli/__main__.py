"""Run the command line with `python -m unirex.cli`."""

import sys

from unirex.cli import main

sys.exit(main())
