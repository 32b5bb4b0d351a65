"""Wrong versions of `alignbook.workbook.checks`."""

MUTANTS = {
    "test_report_curves.py": [
        ("event files are a size of the profile", 'if not text.startswith("tensorboard=")]', "]"),
        ("event files unasked", 'return said == "yes"', 'return said != "no" or True'),
    ],
    "test_components_check.py": [
        (
            "the same photographs twice",
            'if {source, target} == {"flickr8k", "flickr30k"} and not apart:',
            "if False:",
        ),
        (
            "split as Flickr8k whatever lies there",
            "karpathy.split_as_flickr8k(Path(folder))",
            "True",
        ),
        (
            "a test may have been trained on",
            'and not by_name.photographs(spec, "train", "dev") &',
            'and not by_name.photographs(spec, "test") &',
        ),
        ("the world has sources", '    if target == "world":\n', "    if False:\n"),
        ("nothing is refused", "if problem and (wanted or", "if problem and (False or"),
        ("all is refused", "if problem and (wanted or", "if problem and (True or"),
        ("a name of an exhibit is none", "(name, *exhibits.NOTEBOOKS[name].exhibits)", "(name,)"),
        ("nothing may be left", "or targets and set(lacking) >= set(notebooks)", ""),
        ("none is a wish", 'overrides.get(field, "none") != "none"', "overrides.get(field)"),
        (
            "nothing is left out",
            "for name in notebooks if name not in left]",
            "for name in notebooks]",
        ),
        ("the settings don't say so", '            overrides[field] = "none"\n', ""),
        (
            "paths stay as they are",
            "place not in words and Path(place).expanduser().exists()",
            "place not in words and Path(place).is_mount()",
        ),
    ],
}
