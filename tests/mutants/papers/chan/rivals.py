"""Wrong versions of `alignbook.papers.chan.rivals`."""

MUTANTS = {
    "test_rivals.py": [
        # VSE++.
        (
            "VSE++: state at the padded end",
            "torch.arange(len(words)), lengths - 1]",
            "torch.arange(len(words)), -1]",
        ),
        (
            "VSE++: state one word too late",
            "torch.arange(len(words)), lengths - 1]",
            "torch.arange(len(words)), lengths.clamp(max=words.shape[1] - 1)]",
        ),
        (
            "VSE++: state after the first word",
            "torch.arange(len(words)), lengths - 1]",
            "torch.arange(len(words)), lengths * 0]",
        ),
        (
            "VSE++: the GRU reads backwards",
            "gru.states(self.gru, self.vectors(ids), lengths)[0]",
            "self.gru(self.vectors(ids).flip(1))[0].flip(1)",
        ),
        ("VSE++: word vectors random", "self.vectors.weight.data.copy_(vectors)", "pass"),
        (
            "VSE++: the given word vectors are trained",
            "self.vectors.weight.data.copy_(vectors)",
            "self.vectors.weight.data = vectors",
        ),
        (
            "VSE++: word dropout in evaluation too",
            "if self.training and self.word_dropout:",
            "if self.word_dropout:",
        ),
        (
            "VSE++: kept words are dropped",
            "ids.masked_fill(lost, UNKNOWN)",
            "ids.masked_fill(~lost, UNKNOWN)",
        ),
        ("VSE++: maximum of the regions", "self.project(raw.mean(1))", "self.project(raw.amax(1))"),
        (
            "VSE++: mean of the features",
            "raw.mean(1)",
            "raw.mean(2, keepdim=True).mean(1).expand(-1, raw.shape[2])",
        ),
        (
            "VSE++: image of any length",
            "return F.normalize(self.project(raw.mean(1)), dim=-1)",
            "return self.project(raw.mean(1))",
        ),
        (
            "VSE++: image normalised over the batch",
            "F.normalize(self.project(raw.mean(1)), dim=-1)",
            "F.normalize(self.project(raw.mean(1)), dim=0)",
        ),
        (
            "text of any length",
            "return F.normalize(self.pool(self.words(ids, lengths), lengths), dim=-1)",
            "return self.pool(self.words(ids, lengths), lengths)",
        ),
        ("similarity: captions × images", "return images @ texts.T", "return texts @ images.T"),
        ("similarity: sign", "return images @ texts.T", "return -images @ texts.T"),
        # The mean of BERT's words.
        ("BERT: [SEP] counts", "_real(lengths - 1, words)", "_real(lengths, words)"),
        ("BERT: [CLS] counts", "inner[:, 0] = False", "pass"),
        ("BERT: mean over the padded length", "inner.sum(1).clamp(min=1)", "words.shape[1]"),
        ("BERT: sum", ".sum(1) / inner.sum(1).clamp(min=1)", ".sum(1)"),
        ("BERT: nothing divided by nothing", ".clamp(min=1)\n", "\n"),
        ("BERT: padding times zero", "words.masked_fill(~inner, 0)", "(words * inner)"),
        # The generalised pooling operator.
        ("GPO: ascending", "descending=True", "descending=False"),
        ("GPO: not sorted", ".sort(dim=1, descending=True).values", ""),
        ("GPO: sorted across dimensions", ".sort(dim=1, desc", ".sort(dim=2, desc"),
        ("GPO: padding is sorted in", "vectors.masked_fill(~real, -math.inf).sort", "vectors.sort"),
        (
            "GPO: padding as zeros",
            "vectors.masked_fill(~real, -math.inf)",
            "vectors.masked_fill(~real, 0)",
        ),
        ("GPO: padding weighed", "ranked.masked_fill(~real, 0)", "ranked"),
        (
            "GPO: coefficients of the padded length",
            "self.coefficients(sizes, vectors.shape[1])",
            "self.coefficients(sizes * 0 + vectors.shape[1], vectors.shape[1])",
        ),
        (
            "GPO: coefficients of other sets",
            "[which.to(vectors.device)]",
            "[which.flip(0).to(vectors.device)]",
        ),
        (
            "GPO: a run for each set",
            "lengths.unique(return_inverse=True)",
            "(lengths, torch.arange(len(lengths)))",
        ),
        (
            "GPO: coefficients not masked",
            "scores.masked_fill(~_real(sizes, scores), -math.inf)",
            "scores",
        ),
        (
            "GPO: the generator reads padding",
            "gru.states(self.gru, ranks, sizes)",
            "gru.states(self.gru, ranks, sizes * 0 + longest)",
        ),
        ("GPO: softmax over the sets", ".softmax(1).squeeze(2)", ".softmax(0).squeeze(2)"),
        ("GPO: no softmax", ".softmax(1).squeeze(2)", ".sigmoid().squeeze(2)"),
        ("GPO: temperature multiplies", ".mean(0)) / 0.1", ".mean(0)) * 0.1"),
        ("GPO: no temperature", ".mean(0)) / 0.1", ".mean(0))"),
        ("GPO: sum of the directions", "ranks, sizes).mean(0)", "ranks, sizes).sum(0)"),
        ("GPO: one direction", "ranks, sizes).mean(0)", "ranks, sizes)[0]"),
        ("GPO: a bias without effect", "nn.Linear(32, 1, bias=False)", "nn.Linear(32, 1)"),
        ("GPO: ranks from 0", "torch.arange(1.0, longest + 1)", "torch.arange(0.0, longest)"),
        ("GPO: cosine before sine", "(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"),
        (
            "GPO: sines, then cosines",
            "(angles.sin(), angles.cos()), dim=-1)",
            "(angles.sin(), angles.cos()), dim=1)",
        ),
        (
            "GPO: exponent i/width",
            "torch.arange(0, width, 2) / width",
            "torch.arange(0, width, 2) / width / 2",
        ),
        # VSE∞.
        ("VSE∞: no linear layer", "self.project(raw) + self.outer", "self.outer"),
        (
            "VSE∞: no perceptron",
            "self.project(raw) + self.outer(hidden.relu())",
            "self.project(raw)",
        ),
        ("VSE∞: no rectifier", "self.outer(hidden.relu())", "self.outer(hidden)"),
        (
            "VSE∞: no batch normalisation",
            "self.norm(self.inner(raw).flatten(0, 1))",
            "(self.inner(raw).flatten(0, 1))",
        ),
        (
            "VSE∞: a bias without effect",
            "nn.Linear(feature_dim, half, bias=False)",
            "nn.Linear(feature_dim, half)",
        ),
        (
            "VSE∞: images mixed up",
            ".unflatten(0, raw.shape[:2])",
            ".unflatten(0, raw.shape[1::-1]).transpose(0, 1)",
        ),
        (
            "VSE∞: the last region is left out",
            "torch.full(raw.shape[:1], raw.shape[1])",
            "torch.full(raw.shape[:1], raw.shape[1] - 1)",
        ),
        (
            "VSE∞: image of any length",
            "return F.normalize(self.pool_regions(regions, sizes), dim=-1)",
            "return self.pool_regions(regions, sizes)",
        ),
        (
            "VSE∞: one generator for both",
            "self.pool_regions(regions, sizes)",
            "self.pool(regions, sizes)",
        ),
        # Building and loading.
        (
            "build: last state of BERT",
            "VSEPlusPlus(config, width, words, bert_mean)",
            "VSEPlusPlus(config, width, words, last_state)",
        ),
        ("build: word dropout forgotten", "config.dim, config.word_dropout)", "config.dim)"),
        ("build: a model for any method", 'if config.method == "vse-inf":', "if True:"),
        ("compute: the seed has no effect", "torch.manual_seed(seed)", "pass"),
        ("load: weights forgotten", "model.load_state_dict(run.weights())", "pass"),
        ("load: left in training", "return model.eval(), vocabulary", "return model, vocabulary"),
        (
            "Config: other settings than CHAN's",
            "learning_rate: float = 1e-3",
            "learning_rate: float = 2e-3",
        ),
        # Attended vectors.
        (
            "attended: temperature multiplies",
            "t @ regions.mT / temperature",
            "t @ regions.mT * temperature",
        ),
        ("attended: softmax over the words", ".softmax(2) @ regions", ".softmax(1) @ regions"),
        ("attended: length of t̂ forgotten", "/ attended.norm(dim=2).clamp(min=least)", ""),
        ("attended: no floor under the length", ".clamp(min=least)", ""),
        ("attended: regions of any length", "    regions = F.normalize(regions, dim=-1)\n", ""),
        ("attended: words of any length", "F.normalize(block[known], dim=-1)", "block[known]"),
        (
            "attended: padded words count",
            "real = _real(word_lengths, words)",
            "real = _real(word_lengths * 0 + words.shape[1], words)",
        ),
        ("attended: absent words score 0", "known.shape), -math.inf)", "known.shape), 0.0)"),
        ("attended: 1/scale forgotten", "dim=2) / scale)", "dim=2))"),
        ("attended: scale forgotten inside", "logsumexp(scale * padded", "logsumexp(padded"),
        ("attended: captions first", "torch.cat(columns, dim=1)", "torch.cat(columns, dim=1).T"),
        ("attended: any temperature", "if not temperature > 0:", "if temperature == 0:"),
    ]
}
