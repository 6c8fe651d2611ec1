"""``python -m memwb`` is the command ``memwb``."""

from __future__ import annotations

import sys

from memwb.cli import main

if __name__ == "__main__":
    sys.exit(main())
