"""Wrong versions of `alignbook.backbones.towers`."""

MUTANTS = {
    "test_base.py": [
        (
            "trivial: words are foretold",
            "logits = times * self.caption_logits(",
            "logits = self.caption_logits(",
        ),
        ("texts: in the order of their length", "[order.argsort()]", ""),
        ("pixels from 0 to 2", "/ 127.5 - 1", "/ 127.5"),
        ("height and width exchanged", "transpose(0, 3, 1, 2)", "transpose(0, 3, 2, 1)"),
        (
            "end token on the last word",
            "tokens[torch.arange(len(ids)), end] = self.eos",
            "tokens[torch.arange(len(ids)), end - 1] = self.eos",
        ),
        (
            "image embedding of any length",
            "F.normalize(self.project(self.dropout(pooled)), dim=-1)",
            "self.project(self.dropout(pooled))",
        ),
        (
            "no start token in front of a caption",
            "super().tokens(started, lengths + 1)",
            "super().tokens(ids, lengths)",
        ),
        ("the end token is not predicted", "int(lengths.max()) + 2]", "int(lengths.max()) + 1]"),
        (
            "the decoder sees the word it has to say",
            "tokens[:, 1:].flatten()",
            "tokens[:, :-1].flatten()",
        ),
        (
            "padding is predicted too",
            "tokens[:, 1:].flatten(), ignore_index=PAD",
            "tokens[:, 1:].flatten()",
        ),
        ("no causal mask", "attn_mask=clip.attn_mask[:length, :length]", "attn_mask=None"),
        (
            "texts: the longest one's end is cut",
            "tokens[some, : int(end.max()) + 1]",
            "tokens[some, : int(end.max())]",
        ),
        ("texts: as long as the shortest", "int(end.max()) + 1", "int(end.min()) + 1"),
        (
            "texts: read at the first token",
            "states[torch.arange(len(states)), end]",
            "states[:, 0]",
        ),
        (
            "texts: positions from the end",
            "clip.positional_embedding[:length]",
            "clip.positional_embedding[-length:]",
        ),
        (
            "texts: not projected",
            "F.normalize(found, dim=-1)\n\n    def _states",
            "found\n\n    def _states",
        ),
    ]
}
