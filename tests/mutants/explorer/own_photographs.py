"""Wrong versions of `alignbook.explorer.own_photographs`."""

MUTANTS = {
    "test_own_photographs.py": [
        ("photographs: features of any code", "            and runs.is_of_this_code(run)\n", ""),
        (
            "photographs: models of squashed ones",
            '(profile.fit, profile.size) != ("crop", packaged.PIXELS)',
            "profile.size != packaged.PIXELS",
        ),
        (
            "photographs: other data are passed over",
            'data != "world" or stored_models',
            "stored_models",
        ),
    ]
}
