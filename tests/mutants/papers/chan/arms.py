"""Wrong versions of `alignbook.papers.chan.arms`."""

MUTANTS = {
    "test_chan.py": [
        (
            "τ of the curve not set",
            'coding="soft", temperature=1 / n',
            'coding="soft", temperature=1',
        ),
        (
            "long runs are short",
            '{"steps": 4 * profile.chan_steps}',
            '{"steps": profile.chan_steps}',
        ),
        (
            "sizes exchanged between codings",
            '{"hard": trials(profile, grid=HARD), "soft": cross_attention(profile)}',
            '{"soft": trials(profile, grid=HARD), "hard": cross_attention(profile)}',
        ),
        (
            "trials are as long as what is reported",
            "shorter = max(1, round(profile.chan_trial_share * steps))",
            "shorter = steps",
        ),
        ("reports are as long as trials", '{"steps": steps} | changes', "changes"),
        (
            "controls are as long as their arms",
            '{"steps": steps} | changes',
            'changes | {"steps": steps}',
        ),
        (
            "hard coding's margins lie around soft coding's",
            "hard = trials(profile, grid=HARD)",
            "hard = lse",
        ),
        ("textual arm keeps the visual codebook", 'replace(c, codebook="textual")', "c"),
        (
            "the paper profile tries other settings first",
            "FULL_LSE if profile.name",
            "LSE if profile.name",
        ),
        (
            "BERT's batches are the BiGRU's",
            "min(profile.chan_batch, preset.batch)",
            "profile.chan_batch",
        ),
        (
            "BERT's epochs are fewer",
            "profile.chan_steps * profile.chan_batch // batch",
            "profile.chan_steps",
        ),
        (
            "the official arm divides by λ",
            "getattr(preset, name) for name in DIFFERENCES",
            "getattr(preset, name) for name in DIFFERENCES if name != 'divided'",
        ),
    ]
}
