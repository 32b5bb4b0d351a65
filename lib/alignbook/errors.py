"""What is said of input that cannot be used."""

from alignbook.store import verbatim


class DataError(ValueError):
    """Input that cannot be used: names file, row, what was expected and how to mend it."""

    def __init__(self, said):
        super().__init__(verbatim.message(said))
