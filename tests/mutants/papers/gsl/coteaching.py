"""Wrong versions of `alignbook.papers.gsl.coteaching`."""

MUTANTS = {
    "test_coteaching.py": [
        # The table of methods.
        ("the rate falls at half", "4 * step >= 3 * steps", "2 * step >= steps"),
        ("warm-up: networks begin anew", "pair.networks.load_state_dict(start.weights())", "pass"),
        (
            "trivial: samples count",
            "        if self.mixed:\n            return",
            "        if False:\n            return",
        ),
        ("trivial: labels are kept", "if not self.mixed:", "if True:"),
        (
            "warm-up: at the later rate",
            "return self.config.after * self.method.decay(",
            "return self.method.decay(",
        ),
        (
            "frame: both train on one batch",
            "[self.seed, passed, k, j], i)",
            "[self.seed, passed, j], i)",
        ),
        (
            "frame: own division for the peer's",
            'config.split == "peer" else k',
            'config.split == "own" else k',
        ),
        ("frame: one record for both", "pair.record[k])", "pair.record[0])"),
        (
            "frame: p at δ is clean",
            "self.pair.posterior[judge].numpy() > self.config.delta",
            "self.pair.posterior[judge].numpy() >= self.config.delta",
        ),
        (
            "frame: δ is a half",
            "self.pair.posterior[judge].numpy() > self.config.delta",
            "self.pair.posterior[judge].numpy() > 0.5",
        ),
        ("frame: a clean pair alone", "if len(clean) < 2:", "if not len(clean):"),
        (
            "frame: a noisy pair alone",
            "noisy if len(noisy) > 1 else",
            "noisy if len(noisy) > 0 else",
        ),
        (
            "frame: late with warm-up counted",
            "late = 2 * (epoch * self.per_epoch + i) >= self.total",
            "late = 2 * (passed * self.per_epoch + i) >= self.total",
        ),
        (
            "frame: late from the next epoch",
            "late = 2 * (epoch * self.per_epoch + i) >= self.total",
            "late = 2 * epoch * self.per_epoch > self.total",
        ),
        (
            "frame: the last epoch alone is measured",
            "range(first, lessons.total + 1, lessons.per_epoch)",
            "range(lessons.total, lessons.total + 1)",
        ),
        ("frame: divided once", "if i == 0 and self.method", "if step == 0 and self.method"),
        ("frame: one network trains", "return of_a + of_b", "return of_a + of_a"),
        (
            "frame: the rate falls with warm-up counted",
            "method.decay(step, self.total)",
            "method.decay(step + self.config.warm_up_epochs * self.per_epoch, self.total)",
        ),
        (
            "frame: weight decay",
            "torch.optim.Adam(networks, lr=rate, fused=True)",
            "torch.optim.AdamW(networks, lr=rate, fused=True)",
        ),
        (
            "frame: the warm-up is no candidate",
            "first = 0 if config.warm_up_epochs else lessons.per_epoch",
            "first = lessons.per_epoch",
        ),
        (
            "frame: the last epoch is measured",
            'found = training.take_best(pair.networks, outcome, part="networks.")',
            'found = {"best step": 0}',
        ),
        (
            "bank: by the network's own division",
            "self.parts(epoch, self.judge(k))[0]",
            "self.parts(epoch, k)[0]",
        ),
        (
            "bank: filled once",
            "for k in range(2) if self.method.bank(config) else ():",
            "for k in range(2) if self.method.bank(config) and not epoch else ():",
        ),
        (
            "curve: of all pairs",
            "return loss, step.told[0] if step.told else loss.detach()",
            "return loss, loss.detach()",
        ),
        (
            "frame: tuning on test",
            '"dev" if self.seed >= TUNING_SEED',
            '"dev" if self.seed > TUNING_SEED',
        ),
        ("frame: samples of warm-up aren't counted", ' // 2 + warmed["samples"]', " // 2"),
        (
            "frame: identified by a half",
            "division(self.pair, self.pairs.noisy, self.config.delta, ",
            "division(self.pair, self.pairs.noisy, 0.5, ",
        ),
        (
            "checkpoint: problems are forgotten",
            "json.loads(path.read_text()) if path.exists() else {}",
            "{}",
        ),
        (
            "clock: correction isn't left",
            '            yield\n        self.clock.turn("training")',
            "            yield",
        ),
        (
            "step: its own peer",
            "self.pair.networks[1 - self.number]",
            "self.pair.networks[self.number]",
        ),
        (
            "step: posterior of its own division",
            "self.pair.posterior[self.judge, chosen]",
            "self.pair.posterior[self.number, chosen]",
        ),
        (
            "step: the judge's record",
            "self.pair.record[self.number]",
            "self.pair.record[self.judge]",
        ),
        (
            "step: labels in the judge's row",
            "self.pair.labels[self.number, chosen]",
            "self.pair.labels[self.judge, chosen]",
        ),
        (
            "step: corrects with a gradient",
            "with torch.no_grad():\n            yield",
            "with torch.enable_grad():\n            yield",
        ),
        (
            "a run's course: a division before the first",
            "divided = self.method.divide and step",
            "divided = self.method.divide",
        ),
        (
            "a run's course: an epoch late",
            "pair.course[step // self.per_epoch] =",
            "pair.course[-1 + step // self.per_epoch] =",
        ),
    ]
}
