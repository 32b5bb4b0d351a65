"""Wrong versions of `alignbook.show.exercises`."""

MUTANTS = {
    "test_exercises.py": [
        (
            "check: everything is right",
            "    if not np.allclose(",
            "    if False and not np.allclose(",
        ),
        ("check: relative tolerance", "rtol=0, atol=tolerance", "rtol=tolerance, atol=0"),
        (
            "check: NaN is right",
            "if not np.allclose(given, wanted,",
            "if not np.allclose(np.where(np.isnan(given), wanted, given), wanted,",
        ),
        ("check: shapes are broadcast", "if given.shape != wanted.shape:", "if False:"),
        ("check: no answer is a wrong one", "if answer is None or answer is ...:", "if False:"),
        ("check: an ellipsis is an answer", "answer is None or answer is ...", "answer is None"),
        ("check: silent", '    print("✓ right")\n', "    pass\n"),
        ("edition: the original is changed", "copy.deepcopy(notebook)", "notebook"),
        ("edition: outputs stay", "cell.outputs, cell.execution_count = [], None", "pass"),
        (
            "edition: solutions stay",
            "        cell.source = without_solution(cell.source)\n",
            "        pass\n",
        ),
        (
            "edition: the first line of a solution stays",
            "lines[: places[0]]",
            "lines[: places[0] + 2]",
        ),
        ("edition: not indented", "marker.replace(MARKER, YOUR_TURN)", "YOUR_TURN"),
        ("edition: any number of markers", "if len(places) != 1:", "if len(places) < 1:"),
        (
            "edition: every cell has a solution",
            "in tagged(edition, SOLUTION)",
            'in [c for c in edition.cells if c.cell_type == "code"]',
        ),
        (
            "command: answers are overwritten",
            "if path.exists() and path.read_bytes()",
            "if False and path.read_bytes()",
        ),
        (
            "command: hidden copies",
            "durable.write(path, text)",
            'durable.write(path.with_name("." + path.name), text)',
        ),
    ]
}
