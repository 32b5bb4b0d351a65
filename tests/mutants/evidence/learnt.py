"""Wrong versions of `alignbook.evidence.learnt`."""

MUTANTS = {
    "test_learnt.py": [
        ("learnt: of all steps", "[-max(1, len(loss) // 10) :]", "[:]"),
        (
            "learnt: of the first tenth",
            "[-max(1, len(loss) // 10) :]",
            "[: max(1, len(loss) // 10)]",
        ),
        ("learnt: the early value is the last", "early[-1, 1]) / dev", "dev[-1, 1]) / dev"),
        (
            "learnt: of the early value",
            "early[-1, 1]) / dev[-1, 1]",
            "early[-1, 1]) / early[-1, 1]",
        ),
        ("learnt: half the steps are early", "0.8 * dev[-1, 0]", "0.5 * dev[-1, 0]"),
        (
            "learnt: of two parts the first speaks",
            "key=lambda each: ORDER.index(state(*each))",
            "key=lambda each: 0",
        ),
        (
            "learnt: a base model is a part",
            'each.record["module"] == found[0].record["module"]',
            "True",
        ),
        ("learnt: at the bound", "loss_share > SHARE", "loss_share >= SHARE"),
        ("learnt: a rise to little", " or not dev[-1, 1] > LITTLE", ""),
        ("learnt: a rise is no matter", " and not dev_rise > RISE", ""),
        ("learnt: by how much dev fell", "dev[-1, 1] / dev[0, 1]", "dev[0, 1] / dev[-1, 1]"),
        ("learnt: what is lost is no matter", "dev_kept < KEPT or ", ""),
        ("learnt: lost at the bound", "dev_kept < KEPT", "dev_kept <= KEPT"),
        ("learnt: lost since the first look", "/ dev[:, 1].max()", "/ dev[0, 1]"),
        ("learnt: a rise since the warm-up", "rise(whole_dev(own))", "rise(dev)"),
        (
            "learnt: whatever was asked for is a warm-up",
            ' if "warm_up_epochs" in run.config else []',
            "",
        ),
        ("learnt: gains are no matter", "if dev_gain > GAIN", "if dev_gain > 1"),
        ("the worst trial", "np.argmax(scores)", "np.argmin(scores)"),
        ("idle trials win", "if may or not any(allowed)", "if True"),
        ("the best seed counts", "if DID_NOT_TRAIN in known:", "if {*known} == {DID_NOT_TRAIN}:"),
        (
            "one early seed makes a row early",
            "2 * known.count(STILL_LEARNING)",
            "9 * known.count(STILL_LEARNING)",
        ),
        ("of what is not stored", "if is_stored(key)]", "]"),
    ]
}
