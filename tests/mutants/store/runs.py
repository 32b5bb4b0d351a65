"""Wrong versions of `alignbook.store.runs`."""

MUTANTS = {
    "test_runs.py": [
        ("seed not in the key", '"seed": seed,', '"seed": 0,'),
        ("code not in the key", '"code": code_hash(module),', '"code": "",'),
        (
            "inputs not in the key",
            'getattr(i, "key", None) or i.fingerprint for i in inputs',
            '"" for i in inputs',
        ),
        ("device not in the key", '"device": device.partition(":")[0],', '"device": "cpu",'),
        ("versions not in the key", "{name: version(name) for name in VERSIONS}", "{}"),
        (
            "what is whole is not stored",
            '"run.json").exists() and not fault(name)',
            '"run.json").exists() and bool(fault(name))',
        ),
        (
            "equal parameters pass",
            'arms[a].metrics["checksum"] == arms[b].metrics["checksum"]',
            "False",
        ),
        (
            "runs: what others have done is asked for last",
            "each for each in left if",
            "each for each in reversed(left) if",
        ),
        ("equal gradients pass", "if found[a, b] <= least:", "if found[a, b] <= 0:"),
        ("the smallest difference counts", "float(apart.max())", "float(apart.min())"),
        (
            "runs: who was asleep stores",
            "    claim.check()\n    durable.replace",
            "    durable.replace",
        ),
        (
            "runs: the folder is shared",
            'own = parts / f"{name}.{claim.number}"',
            'own = parts / f"{name}.1"',
        ),
        (
            "runs: the oldest folder is gone on with",
            "int(each.suffix[1:]), reverse=True)",
            "int(each.suffix[1:]))",
        ),
    ],
    "test_durable.py": [
        ("the record's seal is no matter", 'if said.pop("seal") != key(said) or said', "if said"),
        ("what is broken stays", "    drop(run.key)\n", ""),
        (
            "what an owner left is believed",
            '    for left in own.glob("*.json"):',
            "    for left in ():",
        ),
    ],
}
