"""Wrong versions of `alignbook.papers.comalign.components.detector`."""

MUTANTS = {
    "test_components_image.py": [
        ("pictures mirrored without their boxes", "2 - x0 - x1, x0 + x1)", "x0 + x1, x0 + x1)"),
        ("boxes mirrored without pictures", "pictures[mirrored, :, ::-1]", "pictures[mirrored]"),
        ("mirrored upside down", "pictures[mirrored, :, ::-1]", "pictures[mirrored, ::-1]"),
        ("corners for extents", "(y0 + y1) / 2, x1 - x0, y1 - y0]", "(y0 + y1) / 2, x1, y1]"),
        ("axes of a picture exchanged", ".permute(0, 3, 1, 2)", ".permute(0, 3, 2, 1)"),
        ("the first class alone", "classes.amax(2)", "classes[..., 0]"),
        ("corners without their middle", "middle - extent / 2, middle", "middle, middle"),
        ("doubtful boxes are kept", "(sure > config.confidence) &", "(sure > 0) &"),
        ("boxes leave the picture", "corners = corners.clamp(0, config.size)", "pass"),
        ("doubles are kept", "nms(corners, sure, config.overlap)", "sure.argsort(descending=True)"),
        ("more boxes than asked for", "[: config.boxes]", "[: config.boxes + 1]"),
        (
            "batches begin at 0",
            "zip(*_decoded(model, pixels)), start)",
            "zip(*_decoded(model, pixels)), 0)",
        ),
        ("the seed is not used", "torch.manual_seed(seed)", "pass"),
        (
            "quality on the training pictures",
            "dataset.splits[split])\n",
            'dataset.splits["train"])\n',
        ),
        ("its Image.open stays", "Image.open, torch.save = opened, saved", "pass"),
        ("settings stay", "shutil.rmtree(place, ignore_errors=True)", "pass"),
        ("a run's detector is made anew", "model.load_state_dict(run.weights())", "pass"),
        (
            "any pickle is opened",
            '"ULTRALYTICS_SAFE_LOAD": "true"',
            '"ULTRALYTICS_SAFE_LOAD": "false"',
        ),
        ("segmenters detect", 'model.task != "detect" or not', "not"),
        ("weights known by their name", "contents.sha256([self.path])[0][:16]", "self.path.suffix"),
    ]
}
