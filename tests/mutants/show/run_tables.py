"""Wrong versions of `alignbook.show.run_tables`."""

MUTANTS = {
    "test_chan_cost.py": [
        ("costs are no metrics", "pd.concat([metrics, long], ignore_index=True)", "metrics")
    ],
    "test_run_tables.py": [
        (
            "chosen by all settings",
            "is_chosen = settings == tuple(chosen.get(name) for name in shown)",
            "is_chosen = chosen in [run.config for run in trials]",
        ),
        ("of all candidates", "if of == settings]", "]"),
        ("one tuning seed", "if of == settings]", "if of == settings][:1]"),
        ("no edge", "if edge else", "if not edge else"),
        ("hard coding at τ = 0", '.replace({"τ": {0: np.nan}})', ""),
        ("what others vary", "value if of else np.nan", "value"),
        ("controls of more steps too", "arms[~longer]", "arms"),
        ("yes, no and nan", '.astype(object).fillna("–")', ""),
        ("no control at all", "& of_another", ""),
        ("a column of one value", "nunique() < 2]", "nunique() < 1]"),
    ],
    "test_results.py": [
        (
            "forest: a figure for all papers",
            ".groupby([whose, shown.unit",
            ".groupby([whose * 0, shown.unit",
        ),
        (
            "forest: a figure for each column",
            'column.endswith("RSUM") else',
            'column == "RSUM" else',
        ),
        ("forest: a unit's decimals", "claims.DECIMALS.get(unit, 1)]", "1]"),
    ],
}
