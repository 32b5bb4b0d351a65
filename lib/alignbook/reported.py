"""The papers' own numbers, transcribed cell by cell in data/reported."""

import pandas as pd

from alignbook import ROOT


def table(exhibit: str) -> pd.DataFrame:
    """The printed table of an exhibit: group, row, column, value, in the order of the print.

    Raises
    ------
    FileNotFoundError
        Nothing has been transcribed for this exhibit.
    """
    return pd.read_csv(ROOT / "data" / "reported" / f"{exhibit}.csv")
