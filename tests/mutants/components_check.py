"""Wrong versions of what is checked before components, and of brought benchmarks."""

TESTS = "test_components_check.py"


def _of(file, *changes):
    return [(name, file, snippet, wrong, TESTS) for name, snippet, wrong in changes]


MUTANTS = [
    *_of(
        "papers/comalign/components/check.py",
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
    ),
    *_of(
        "papers/comalign/components/vectors.py",
        ("train alone will do", "files[0].is_file() and files[1].is_file()", "files[0].is_file()"),
        ("test is left out", '("train", "val", "test")]', '("train", "val")]'),
        (
            "photographs of their own folder",
            "if path.is_file()), folder)",
            "if path.is_file()), place)",
        ),
    ),
    *(
        (name, file, snippet, wrong, "test_components_vectors.py")
        for file, name, snippet, wrong in (
            (
                "papers/comalign/components/said.py",
                "all training images",
                "[: config.images or None]",
                "[:]",
            ),
            (
                "papers/comalign/components/said.py",
                "dev says nothing",
                ', splits["dev"], splits["test"]])',
                ', splits["test"]])',
            ),
            (
                "papers/comalign/components/said.py",
                "captions that aren't read say the first phrase",
                "places.shape[1]), -1, np.int32)",
                "places.shape[1]), 0, np.int32)",
            ),
            (
                "papers/comalign/components/said.py",
                "as many captions as images",
                "numbers = (rows_of(dataset, config)",
                "numbers = (np.arange(len(rows_of(dataset, config)))",
            ),
            (
                "papers/comalign/components/said.py",
                "the whole comes last",
                "[first, said.entities, said.relations]",
                "[said.entities, said.relations, first]",
            ),
            (
                "papers/comalign/components/said.py",
                "prepositions always",
                "kinds = config.prepositions, config.bare",
                "kinds = True, config.bare",
            ),
            (
                "papers/comalign/components/said.py",
                "bare nouns always",
                "kinds = config.prepositions, config.bare",
                "kinds = config.prepositions, True",
            ),
            (
                "papers/comalign/components/vectors.py",
                "phrases by length",
                "out[some] = vectors",
                "out[start : start + BATCH] = vectors",
            ),
            (
                "papers/comalign/components/vectors.py",
                "phrases as they come",
                "np.argsort([len(phrase.split())",
                "np.argsort([0 * len(phrase)",
            ),
        )
    ),
    *_of(
        "papers/comalign/components/probes.py",
        (
            "pictures of dev",
            'unseen = dataset.splits["test"].tolist()',
            'unseen = dataset.splits["dev"].tolist()',
        ),
        ("names as before 2017 alone", '.rpartition("_")[2]: row', '.partition("_")[2]: row'),
        ("lost items don't count", "int(rows.isna().sum())", "0"),
        ("lost pictures don't count", "lost + int((~there).sum())", "lost"),
        ("lost pictures of SVO don't count", "lost + int((~there).sum())", "int((~there).sum())"),
        ("a lost probe counts once", "lost = 2 * probes", "lost = probes"),
        ("attribution is a relation", 'kind = "attribution" if', 'kind = "relation" if'),
        ("the picture isn't cut", 'kept[["x0", "y0", "x1", "y1"]].to_numpy())', "None)"),
        ("pictures are no part of the key", 'glob("*/images/**/*")', 'glob("*/pictures/**/*")'),
        ("tables are no part of the key", "[*self.files, *sorted(", "[*sorted("),
        ("names with their folder", 'names[row].rpartition("/")[2]', "names[row]"),
    ),
    *_of(
        "papers/comalign/inputs.py",
        (
            "the source has the target's boxes",
            'book.on(spec, "boxes", comalign_source="")',
            'book.on(spec, comalign_source="")',
        ),
        (
            "the source has a source",
            'book.on(spec, "boxes", comalign_source="")',
            'book.on(spec, "boxes")',
        ),
        ("boxes as the profile says", "places or book.profile.boxes", "book.profile.boxes"),
        ("detections by their kind", 'return "detections", ', 'return "instances", '),
    ),
    *_of(
        "workbook/checks.py",
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
    ),
    *_of(
        "workbook/exhibits.py",
        ("the world lacks parses", 'if data != "world" or field == "boxes"]', "]"),
        ("nothing is lacking", '== "none"]', '== "nothing"]'),
        ("the other target", '{"world": "", "coco": "f30k"}', '{"world": "", "coco": "coco"}'),
    ),
]
