"""Wrong versions of `alignbook.workbook.packs.pack`."""

MUTANTS = {
    "test_pack.py": [
        ("times are lent for other code", "            if not apart:", "            if True:")
    ]
}
