"""Wrong versions of `alignbook.backbones.bert`."""

MUTANTS = {
    "test_bert.py": [
        ("trivial: of the captions", "math.log(len(pieces))", "math.log(len(ids))"),
        (
            "BERT attends to padding",
            "attention_mask=_seen(ids, lengths).long()",
            "attention_mask=torch.ones_like(ids)",
        ),
        (
            "BERT does not see the last word",
            "< lengths.to(ids.device)[:, None]",
            "< lengths.to(ids.device)[:, None] - 1",
        ),
        (
            "padding is projected to the bias",
            ".masked_fill(~_seen(ids, lengths)[..., None], 0.0)",
            "",
        ),
        (
            "no fully-connected layer",
            "words = self.project(last_layer(self.bert, ids, lengths))",
            "words = last_layer(self.bert, ids, lengths)",
        ),
        (
            "word vectors instead of the last layer",
            "return bert(ids, attention_mask=_seen(ids, lengths).long()).last_hidden_state",
            "return bert.embeddings(ids)",
        ),
        (
            "BERT is frozen",
            "words = self.project(last_layer(self.bert, ids, lengths))",
            "words = self.project(last_layer(self.bert, ids, lengths).detach())",
        ),
        (
            "the end is cut off",
            "rows = [torch.tensor([start, *each.ids[:kept], end])",
            "rows = [torch.tensor([start, *each.ids, end][: kept + 2])",
        ),
        (
            "[CLS] and [SEP] exchanged",
            '("[CLS]", "[SEP]"))\n        kept',
            '("[SEP]", "[CLS]"))\n        kept',
        ),
        (
            "start and end not counted",
            "min(max_words, self.positions) - 2",
            "min(max_words, self.positions)",
        ),
        ("more words than positions", "min(max_words, self.positions) - 2", "max_words - 2"),
        (
            "padding is [MASK]",
            "pad_sequence(rows, batch_first=True)",
            "pad_sequence(rows, batch_first=True, padding_value=4)",
        ),
        (
            "letters inside words in the order of a hash table",
            '[*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]',
            "[*SPECIAL]",
        ),
        (
            "letters are special tokens",
            "return _tokenizer(tokenizer.get_vocab())",
            "return tokenizer",
        ),
        ("the limit is forgotten", "vocab_size=limit", "vocab_size=30000"),
        ("capitals are other words", "lowercase: bool = True", "lowercase: bool = False"),
        (
            "test captions enter the vocabulary",
            'word_pieces(dataset.captions_of("train"), config.pieces)',
            'word_pieces([c for s in ("train", "dev", "test") for c in dataset.captions_of(s)], '
            "config.pieces)",
        ),
        (
            "pretrained on dev",
            'ids, lengths = pieces.encode(dataset.captions_of("train"))',
            'ids, lengths = pieces.encode(dataset.captions_of("dev"))',
        ),
        (
            "measured on the training captions",
            'ids, lengths = pieces.encode(dataset.captions_of("dev"))',
            'ids, lengths = pieces.encode(dataset.captions_of("train"))',
        ),
        ("the same mask at every step", "default_rng([seed, 5, step])", "default_rng([seed, 5])"),
        (
            "the same captions at every step",
            "pairs_in_batch(len(ids), size, 1, seed, step)",
            "pairs_in_batch(len(ids), size, 1, seed, 0)",
        ),
        ("lengths of other captions", "seen, rng = lengths[rows],", "seen, rng = lengths[:size],"),
        ("masks unknown to the step number", "default_rng([seed, 5, step])", "default_rng()"),
        (
            "the untrained encoder is kept",
            "training.save(model.bert, outcome, folder)",
            "training.save(type(model)(model.config).bert, outcome, folder)",
        ),
        (
            "every word is guessed",
            "model.cls(states[hidden]), ids.to(model.device)[hidden]",
            "model.cls(states.flatten(0, 1)), ids.to(model.device).flatten()",
        ),
        (
            "what BERT reads is to be guessed",
            "ids.to(model.device)[hidden]",
            "read.to(model.device)[hidden]",
        ),
        (
            "BERT reads the answers",
            "last_layer(model.bert, read.to(model.device), lengths)",
            "last_layer(model.bert, ids.to(model.device), lengths)",
        ),
        ("accuracy of the least likely", "logits.argmax(1) == said", "logits.argmin(1) == said"),
        ("[CLS] may be masked", "(place > 0) & (place <", "(place >= 0) & (place <"),
        ("[SEP] may be masked", "(place < lengths[:, None] - 1)", "(place < lengths[:, None])"),
        (
            "the last word is never masked",
            "(place < lengths[:, None] - 1)",
            "(place < lengths[:, None] - 2)",
        ),
        ("the first word is never masked", "(place > 0) &", "(place > 1) &"),
        ("always [MASK]", "drawn < 0.8 * share", "drawn < share"),
        (
            "none as they were",
            "torch.where(drawn < 0.9 * share, other, ids)",
            "torch.where(drawn < share, other, ids)",
        ),
        (
            "none another piece",
            "torch.where(drawn < 0.9 * share, other, ids)",
            "torch.where(drawn < 0.8 * share, other, ids)",
        ),
        (
            "only what is read as [MASK] is guessed",
            '("[MASK]")), drawn < share',
            '("[MASK]")), drawn < 0.8 * share',
        ),
        (
            "[PAD] among the other pieces",
            "rng.integers(len(SPECIAL), pieces,",
            "rng.integers(0, pieces,",
        ),
        (
            "the last piece is never drawn",
            "rng.integers(len(SPECIAL), pieces,",
            "rng.integers(len(SPECIAL), pieces - 1,",
        ),
        ("trained weights forgotten", "model.load_state_dict(source.weights())", "pass"),
        (
            "loaded for training",
            "return model.eval(), pieces\n\n\nclass",
            "return model.train(), pieces\n\n\nclass",
        ),
        ("own weights forgotten", "model.load_state_dict(state)", "pass"),
        (
            "own BERT loaded for training",
            "return model.eval(), pieces\n\n    def",
            "return model.train(), pieces\n\n    def",
        ),
        (
            "another architecture",
            'settings.get("model_type", "bert")) != "bert"',
            'settings.get("model_type", "bert")) == ""',
        ),
        (
            "names and shapes unchecked",
            "weight_files.compare(weights, {name: value.shape for name, value in state.items()}, "
            "model)",
            "state = model.state_dict() | state",
        ),
        (
            "weights that are not finite",
            "not value.is_floating_point() or not torch.isfinite(value).all()",
            "not value.is_floating_point()",
        ),
        (
            "integers for weights",
            "not value.is_floating_point() or not torch.isfinite(value).all()",
            "not torch.isfinite(value).all()",
        ),
        ("a tokenizer of another size", "if size != expected or known", "if known"),
        ("a tokenizer without an end", ' or known("[SEP]") is None:', ":"),
        ("the tokenizer's own padding", "tokenizer.no_padding()", "pass"),
        ("the tokenizer's own cut", "tokenizer.no_truncation()", "pass"),
        (
            "always lower case",
            "lowercase=all(word == word.lower() for word in plain)",
            "lowercase=True",
        ),
        ("special tokens taken for capitals", ' and word[:1] != "[")', ")"),
        ("early names unknown", '.replace("LayerNorm.gamma", "LayerNorm.weight")', ""),
        ("heads taken for the encoder", 'if name.startswith("bert.") or not whole:', "if True:"),
    ]
}
