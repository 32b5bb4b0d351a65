"""Wrong versions of what finds stale and broken files; every one must fail its test file."""


def _of(file: str, tests: str, *changes: tuple[str, str, str]) -> list[tuple]:
    return [(name, file, snippet, replacement, tests) for name, snippet, replacement in changes]


MUTANTS = [
    *_of(
        "store/contents.py",
        "test_stale.py",
        (
            "times are no matter",
            "return [now.st_size, now.st_mtime_ns, now.st_ctime_ns, ",
            "return [now.st_size, 0, 0, ",
        ),
        ("only the time that anybody can set", "now.st_ctime_ns, now.st_ino", "0, now.st_ino"),
        (
            "a broken list ends the start",
            "    except (OSError, ValueError):\n        return {}",
            "    except OSError:\n        return {}",
        ),
        ("nothing is kept", "    if old:", "    if False:"),
        ("what is young is kept", "max(looks[name][1:3]) < now - YOUNG * 1e9", "True"),
    ),
    *_of(
        "workbook/named_files.py",
        "test_stale.py",
        ("places are compared", "if k not in (*known, *HOW)}", "if k not in HOW}"),
        (
            "hashes are left out",
            'kept = {name: settings.get(name) for name in COMPARED} | {"files": known}',
            "kept = {name: settings.get(name) for name in COMPARED}",
        ),
    ),
    *_of(
        "workbook/named_files.py",
        "test_stale.py",
        (
            "what can't be read counts as gone",
            "except (DataError, FileNotFoundError, NotADirectoryError):",
            "except (DataError, OSError):",
        ),
    ),
    *_of(
        "papers/gsl/settings.py",
        "test_stale.py",
        (
            "noise of other data",
            'files = [folder / f"{kind}_{rate}.npy"',
            'files = [folder / f"flickr8k_{rate}.npy"',
        ),
        ("noise that isn't there", "for file in files if file.is_file()]", "for file in files]"),
    ),
    *_of(
        "store/fingerprint.py",
        "test_stale.py",
        ("files that are no code don't count", "+ _files_named_in(nodes), tuple", ", tuple"),
    ),
    *_of(
        "store/fingerprint.py",
        "test_fingerprint.py",
        ("docstrings are code", "if not _is_words(one)]", "]"),
        ("words of classes alone", '("body", "orelse", "finalbody")', '("body",)'),
        ("the body of a module passes", "and not isinstance(value, ast.Module)", ""),
        ("whatever it looks like", "return _look()[0]", 'return ""'),
        (
            "what is young is kept",
            "now == looks and changed < time.time() - contents.YOUNG",
            "now == looks",
        ),
        ("what changed meanwhile is kept", "now == looks and changed", "changed"),
        ("a hash whatever counts", ".get(counts)  #", '.get(counts, "")  #'),
        ("all by the name of what trains", 'bool: " and all"', 'bool: ""'),
        ("the last one alone", "known | {asked: found}", "{asked: found}"),
        ("code alone", 'if "__pycache__" not in file.parts', 'if file.suffix == ".py"'),
        ("bytecode too", 'if "__pycache__" not in file.parts', "if True"),
    ),
    *_of(
        "store/durable.py",
        "test_durable.py",
        (
            "renamed before it is on the disk",
            "    settle(aside)\n    os.replace(aside, path)\n    _settle_one(Path(path).parent)",
            "    os.replace(aside, path)\n    settle(path)\n    _settle_one(Path(path).parent)",
        ),
        ("the name is not on the disk", "\n    _settle_one(Path(path).parent)", ""),
        (
            "files of a folder are not",
            '_settle_one, [path, *path.rglob("*")]',
            "_settle_one, [path]",
        ),
        (
            "sizes alone",
            "if found != expected and contents.hash_of(path) != expected:",
            "if False:",
        ),
        ("seals are not looked at", "return file.read() == digest.digest()", "return True"),
    ),
    *_of(
        "store/runs.py",
        "test_durable.py",
        ("the record's seal is no matter", 'if said.pop("seal") != key(said) or said', "if said"),
        ("what is broken stays", "    drop(run.key)\n", ""),
    ),
    *_of(
        "datasets/prepared.py",
        "test_durable.py",
        ("the list's seal is no matter", 'if meta["seal"] != fingerprint.key(said):', "if False:"),
        (
            "prepared files are believed",
            'wrong = durable.fault(folder, meta["files"])',
            'wrong = ""',
        ),
    ),
    *_of(
        "core/training.py",
        "test_durable.py",
        ("a broken checkpoint is loaded", "if not durable.is_sealed(path)]", "if False]"),
        ("others stay", "for path in there if bad else ():", "for path in ():"),
    ),
    *_of(
        "workbook/salvage.py",
        "test_durable.py",
        ("lists of lost runs stay", "if _is_lost(key)]:", "if False]:"),
        (
            "records are not looked for",
            'elif not any(_record(out, file, kind).exists() for kind in ("metadata", "incomplete")):',
            "elif False:",
        ),
        ("a notebook's times are removed", "* (not _stands_beside(file))", ""),
        ("a job's times stay without a record", " and file.stem not in EXHIBITS", ""),
        ("broken records stay", "            if not whole:\n                file.unlink()", ""),
        ("other code's runs are set aside", "runs.fault(key) != runs.OTHER and ", ""),
    ),
]
