"""Wrong versions of `alignbook.core.gru`."""

MUTANTS = {
    "test_gru.py": [
        ("GRU: both directions forwards", "first + lengths[rank] - 1 - place", "first + place"),
        ("GRU: the update gate kept out", "of_new = (1 - keep) *", "of_new = 1 *"),
        ("GRU: nothing is carried back", "here[:, : carried.shape[1]] += carried", "pass"),
        (
            "GRU: the reset gate counts twice",
            "of_new * own_new * reset * (1",
            "of_new * own_new * (1",
        ),
    ]
}
