"""Wrong versions of `alignbook.papers.comalign.components.obstacles`."""

MUTANTS = {
    "test_components_check.py": [
        ("the world lacks what it has", "if world and value ==", "if not world and value =="),
        ("none is a name", 'if value == "none":', "if False:"),
        ("parses of photographs", 'if value == "captions":', "if False:"),
        ("instances are of all", 'value == "instances" and name == "coco"', 'value == "instances"'),
        ("weights needn't be there", "detector.Weights(value).path", "detector.Weights(value)"),
        ("a file needn't be there", "if not Path(value).is_file():", "if False:"),
        ("gold of photographs", '("grid",)):', '("grid", "gold")):'),
        ("the world takes probes", 'if data == "world":', "if False:"),
        (
            "any folder has benchmarks",
            "probes.Brought(Path(value)).files",
            "probes.Brought(Path(value))",
        ),
    ],
    "test_environment.py": [
        (
            "the world's detector is not missed",
            'if value == "detector" and not find_spec',
            'if value == "yolo" and not find_spec',
        ),
        ("weights without ultralytics", 'if not find_spec("ultralytics"):\n', "if False:\n"),
    ],
}
