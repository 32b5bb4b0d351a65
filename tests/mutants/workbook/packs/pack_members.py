"""Wrong versions of `alignbook.workbook.packs.pack_members`."""

MUTANTS = {
    "test_pack.py": [
        (
            "metrics need not be finite",
            "type(value) in (int, float) and abs(value) < 1 << 63",
            "type(value) in (int, float)",
        ),
        (
            "metrics may lack",
            "name for name in TRAINED if trained",
            "name for name in () if trained",
        ),
        ("arrays of objects are taken", 'if dtype.kind not in "biuf":', "if False:"),
        ("arrays of another size are taken", " or expected != size:", ":"),
        ("weights are not looked at", '".safetensors": _check_weights, ', ""),
    ]
}
