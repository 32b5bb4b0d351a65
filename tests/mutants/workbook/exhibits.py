"""Wrong versions of `alignbook.workbook.exhibits`."""

MUTANTS = {
    "test_components_check.py": [
        ("the world lacks parses", 'if data != "world" or field == "boxes"]', "]"),
        ("nothing is lacking", '== "none"]', '== "nothing"]'),
        ("the other target", '{"world": "", "coco": "f30k"}', '{"world": "", "coco": "coco"}'),
    ],
    "test_exhibits.py": [
        ("primary ones are not first", "(name not in FIRST, papers", "(False, papers"),
        ("papers from the first on", "for each in reversed(FIRST)]", "for each in FIRST]"),
        ("every profile is long", "(long or name in FIRST)", "True"),
        ("bought for what is not made", "and arms(name, data, profile)", ""),
        ("who says how many buys", "profile.seeds_most <= profile.seeds", "False"),
    ],
}
