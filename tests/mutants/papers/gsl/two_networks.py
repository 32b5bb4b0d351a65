"""Wrong versions of `alignbook.papers.gsl.two_networks`."""

MUTANTS = {
    "test_coteaching.py": [
        (
            "frame: networks begin alike",
            "        sgraf.build(config.similarity",
            "        torch.manual_seed(7) and sgr.build(config.similarity",
        ),
        (
            "checkpoint: without what is known",
            "self.register_buffer(name, value)",
            "self.register_buffer(name, value, persistent=False)",
        ),
        # Similarities.
        (
            "similarities: the last network's half",
            "total = total + torch.cat(parts)",
            "total = torch.cat(parts)",
        ),
        ("similarities: with dropout", "        network.eval()\n        words", "        words"),
        (
            "similarities: networks train afterwards",
            "torch.cat(parts)\n        network.train(was)",
            "torch.cat(parts)\n        network.train()",
        ),
        ("loaded networks train", "return both.eval(), vocabulary", "return both, vocabulary"),
    ]
}
