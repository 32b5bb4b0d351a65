"""alignbook: a workbook on aligning images and text, part by part.

Importing the package is cheap (standard library only): the heavy packages are imported by the
modules that compute with them.
"""

import os
from pathlib import Path

from . import lifeline

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parents[2]  # the project folder: notebooks/, data/, results/

if lifeline.VARIABLE in os.environ:  # a process started by the main job ends when that ends
    lifeline.watch()
