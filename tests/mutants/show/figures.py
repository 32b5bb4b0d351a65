"""Wrong versions of `alignbook.show.figures`."""

MUTANTS = {
    "test_published.py": [("any figure shows numbers", '!= "numbers"', '== "pictures"')],
    "test_figures.py": [
        ("figures: shown twice", "plt.close(figure)  # else", "# else"),
        (
            "figures: no alt text",
            'metadata={"image/png": {"alt": alt, "width": width}}',
            "metadata={}",
        ),
        ("figures: laid out for each file", "    figure.set_layout_engine(None)", "    #"),
        ("figures: as large as in print", " * ON_SCREEN / IN_PRINT", ""),
        ("figures: files without words", '{"Date": None, "Description": alt}', '{"Date": None}'),
        (
            "figures: nothing around what is drawn",
            '.padded(plt.rcParams["savefig.pad_inches"])',
            "",
        ),
        ("figures: not run on the diamond", "xytext=(side, 0)", "xytext=(0, 0)"),
        ("figures: not run where there is no room", "if there < np", "if there > np"),
        ("figures: no axis for a reference", '["mean", "reference"]', '["mean"]'),
        ("figures: a scale for each matrix", "vmin=low, vmax=high, ", ""),
        ("figures: another axis for each cost", "+ 2, 3.8), sharey=True)", "+ 2, 3.8))"),
        ("figures: other data beside", "data.to_csv(index", "data.iloc[1:].to_csv(index"),
    ],
    "test_results.py": [
        ("dots: a mean for each seed", 'data=seeds, x="values"', 'data=seeds, x="value"'),
        (
            "dots: bars as long as the other bound",
            '2, **BUTT), xmin="low", xmax="high"',
            '2, **BUTT), xmin="low", xmax="value"',
        ),
    ],
    "test_verbatim.py": [("figures: formulas", '        "text.parse_math": False,\n', "")],
}
