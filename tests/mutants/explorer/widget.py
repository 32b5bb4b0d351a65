"""Wrong versions of `alignbook.explorer.widget`."""

MUTANTS = {
    "test_own_photographs.py": [
        (
            "photographs: the caption goes with the picture",
            "if same else wording.start",
            "if False else wording.start",
        )
    ],
    "test_explorer.py": [
        (
            "explorer: both sides show the left",
            "_side(name, galleries[name],",
            "_side(name, galleries[self.left],",
        ),
        (
            "explorer: a move that failed is kept",
            "                setattr(self, name, value)\n            return",
            "                pass\n            return",
        ),
        (
            "explorer: pictures that were found are whole",
            "_png(gallery, int(i), THUMBNAIL)",
            "_png(gallery, int(i))",
        ),
    ],
}
