"""Wrong versions of `alignbook.core.training`."""

MUTANTS = {
    "test_training.py": [
        ("the same caption in every epoch", "(start + epoch) %", "(start + 0 * epoch) %"),
        (
            "the same order in every epoch",
            "default_rng([seed, epoch]).perm",
            "default_rng([seed, 0]).perm",
        ),
        (
            "captions of other images",
            "images * captions_per_image + turn",
            "images + captions_per_image * turn",
        ),
        ("batches overlap", "[i * batch : (i + 1) * batch]", "[i : i + batch]"),
        ("no warm-up", "if step < rise:", "if False:"),
        ("cosine upwards", "0.5 * (1 + math.cos", "0.5 * (1 - math.cos"),
        ("generator not restored", 'torch.set_rng_state(state["rng"])', "pass"),
        ("optimiser not restored", 'self.optimizer.load_state_dict(state["optimizer"])', "pass"),
        ("schedule not restored", 'self.scheduler.load_state_dict(state["scheduler"])', "pass"),
        (
            "a step done twice",
            "range(len(course.losses), steps)",
            "range(max(0, len(course.losses) - 1), steps)",
        ),
        ("divergence unnoticed", "if not np.isfinite(loss):", "if False:"),
        ("checksum over names only", "digest.update(tensor.detach()", "(tensor.detach()"),
        (
            "looks draw numbers",
            "torch.random.fork_rng(devices), torch.no_grad()",
            "torch.no_grad()",
        ),
        ("looks leave the evaluation mode", "        part.training = mode", "        pass"),
        ("looks have gradients", "fork_rng(devices), torch.no_grad():", "fork_rng(devices):"),
        (
            "the curve begins anew after a kill",
            'list(state["sketches"]), state["dev"]',
            'list(state["sketches"]), []',
        ),
        ("nobody looks before the first step", "if 0 in dev_steps and", "if False and"),
        ("looks come a step early", "-(-steps * k // DEV_LOOKS)", "steps * k // DEV_LOOKS"),
        ("no gradient is clipped", "if self.clip:", "if False:"),
        ("every gradient is clipped", "if self.clip:", "if True:"),
        ("trivial: of the step behind the last", "trivial_at, steps - 1)", "trivial_at, steps)"),
        (
            "best: of equal looks the last",
            "key=lambda i: dev[i][1])",
            "key=lambda i: (dev[i][1], i))",
        ),
        ("best: the lowest", "return max(range(len(dev))", "return min(range(len(dev))"),
        ("best: the last", "if best_look(self.dev) == len(self.dev) - 1:", "if True:"),
        (
            "best: of another part",
            "if name.startswith(part)}",
            'if part and name.startswith("0.") or not part}',
        ),
    ],
    "test_durable.py": [
        ("a broken checkpoint is loaded", "if not durable.is_sealed(path)]", "if False]"),
        ("others stay", "for path in there if bad else ():", "for path in ():"),
    ],
}
