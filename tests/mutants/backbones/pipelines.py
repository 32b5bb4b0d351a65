"""Wrong versions of `alignbook.backbones.pipelines`."""

MUTANTS = {
    "test_components_text.py": [
        (
            "everything is loaded",
            "exclude=[name for name in kinds if kinds[name] not in NEEDED]",
            "exclude=[]",
        ),
        ("a parser is enough", 'for name in ("tagger", "parser") if', 'for name in ("parser",) if'),
        ("a tagger is enough", 'for name in ("tagger", "parser") if', 'for name in ("tagger",) if'),
        ("transformers are let in", 'if "transformer" in kinds[name]', "if False"),
        ("packages are unknown", "and spacy.util.is_package(str(name)):", "and False:"),
    ]
}
