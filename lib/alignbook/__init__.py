"""alignbook: a workbook on aligning images and text, part by part.

Importing the package is cheap (standard library only): the heavy packages are imported by the
modules that compute with them.
"""

import os
from pathlib import Path

from alignbook.store import home
from alignbook.workbook import lifeline

__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent
# The folder with data/ and results/; in a checkout notebooks/ and run_all.sh lie there as well.
ROOT = home.find(PACKAGE, os.environ.get(home.VARIABLE, ""))

if lifeline.VARIABLE in os.environ:  # a process started by the main job ends when that ends
    lifeline.watch()
