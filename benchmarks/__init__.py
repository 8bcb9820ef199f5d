"""Measurements. Run those in folders from the checkout's root: `python -m benchmarks.exact.speed`.

The others are scripts: `python benchmarks/quick.py`. Both find `common` and each other, since this
folder is on the path: of a script it is the first entry, and for `python -m` it is put there here.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
