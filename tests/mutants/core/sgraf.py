"""Wrong versions of `alignbook.core.sgraf`."""

MUTANTS = {
    "test_sgraf.py": [
        # The sides.
        (
            "regions not of length 1",
            "local = unit(self.image(regions))",
            "local = self.image(regions)",
        ),
        (
            "whole image by the unit mean",
            "self.whole_image(local, mean)",
            "self.whole_image(local, unit(mean))",
        ),
        ("mean over padding", "mean = local.sum(1) / n", "mean = local.mean(1)"),
        ("a word of padding is real", "device=ids.device) < n", "device=ids.device) <= n"),
        ("words behind the end stay", ".masked_fill(~real[..., None], 0)", ""),
        (
            "self-attention: sum for product",
            "self.each(local) * self.all(mean)[:, None]",
            "self.each(local) + self.all(mean)[:, None]",
        ),
        ("self-attention: the same layer twice", "self.all(mean)[:, None]", "self.each(local)"),
        (
            "self-attention: hidden members have logit 0",
            "logits.masked_fill(~real, -torch.inf)",
            "logits.masked_fill(~real, 0)",
        ),
        (
            "self-attention: not of length 1",
            "return unit((logits.softmax(1)[:, None] @ local).squeeze(1))",
            "return (logits.softmax(1)[:, None] @ local).squeeze(1)",
        ),
        # Alignments.
        ("captions put back the wrong way", "torch.cat(order).argsort()", "torch.cat(order)"),
        ("words of padding compared", "local=captions.local[:, :length]", "local=captions.local"),
        ("scores are logits", "[:, back].sigmoid()", "[:, back]"),
        (
            "distance not squared",
            "(context - captions.local).square()",
            "(context - captions.local).abs()",
        ),
        (
            "word alignments not of length 1",
            "words = unit(self.align_words((context - captions.local).square()))",
            "words = self.align_words((context - captions.local).square())",
        ),
        (
            "means compared for wholes",
            "images.whole[:, None] - captions.whole",
            "images.pooled[:, None] - captions.pooled",
        ),
        (
            "one layer for words and wholes",
            "unit(self.align_whole(apart))",
            "unit(self.align_words(apart))",
        ),
        ("blocks sized by words alone", "* length * each > limit", "* each > limit"),
        ("blocks of several lengths as large as others", "else min(most, MIXED)", "else most"),
        ("a block is as long as its shortest", "sizes[stop - 1]\n", "sizes[start]\n"),
        (
            "a word behind the end is aligned",
            "device=device) <= lengths",
            "device=device) < lengths",
        ),
        (
            "words behind the end aligned as they are",
            "masked_fill(~real[:, 1:, None], 0)",
            "clone()",
        ),
        (
            "SGR: alignments behind the end are looked at",
            "logits.masked_fill(~real[:, None], -torch.inf)",
            "logits.masked_fill(~real[:, None], 0)",
        ),
        ("SAF: alignments behind the end count", "gates = gates.masked_fill(hidden, 0)", "pass"),
        (
            "SAF: the mean counts what is hidden",
            "mean = logits.masked_fill(hidden, 0).sum",
            "mean = logits.sum",
        ),
        (
            "SAF: the variance counts what is hidden",
            "(logits - mean).masked_fill(hidden, 0)",
            "logits - mean",
        ),
        # Attention of words.
        ("attention: plain ReLU", "regions.flatten(0, 1).T, 0.1)", "regions.flatten(0, 1).T, 0.0)"),
        (
            "attention: normalised over regions",
            "cosines.square().sum(1, keepdim=True)",
            "cosines.square().sum(2, keepdim=True)",
        ),
        ("attention: λ left out", "(scale * cosines.view(", "(cosines.view("),
        (
            "attention: softmax over images",
            "*regions.shape[:2])).softmax(dim=2)",
            "*regions.shape[:2])).softmax(dim=1)",
        ),
        # Graph reasoning.
        (
            "SGR: the last word counts",
            "last(nodes[..., :1, :], nodes, real)",
            "last(nodes[..., -1:, :], nodes, real)",
        ),
        (
            "SGR: one step's weights for all",
            "nodes = step(nodes, nodes, real)",
            "nodes = last(nodes, nodes, real)",
        ),
        (
            "SGR: queries and keys exchanged",
            "key @ self.query.weight, key",
            "(key @ self.query.weight).T, key",
        ),
        ("SGR: queries without bias", "key @ self.query.bias)", "0 * self.query.bias)"),
        ("SGR: no ReLU", "nodes)).relu()", "nodes))"),
        # Attention filter.
        (
            "SAF: softmax for sigmoid",
            "(self.weight * normal + self.bias).sigmoid()",
            "(self.weight * normal + self.bias).softmax(dim=2)",
        ),
        (
            "SAF: normalised over all captions",
            "dim=(0, 2), correction=0",
            "dim=(0, 1, 2), correction=0",
        ),
        (
            "SAF: normalised by the unbiased variance",
            "dim=(0, 2), correction=0",
            "dim=(0, 2), correction=1",
        ),
        (
            "SAF: a batch's own statistics in evaluation",
            "        if self.training:\n            n, mean",
            "        if True:\n            n, mean",
        ),
        ("SAF: a batch counts as one caption", "0.99 ** found.shape[1]", "0.99"),
        ("SAF: the last block alone is remembered", "torch.cat(self.seen, dim=1)", "self.seen[-1]"),
        ("SAF: captions are remembered twice", "            self.seen.clear()\n", ""),
        (
            "SAF: biased running variance",
            "unbiased = variance * n / (n - 1)",
            "unbiased = variance",
        ),
        # A new model.
        ("word vectors drawn anew", "    text.vectors.weight.data.copy_(word_vectors)\n", ""),
        (
            "no dropout of words",
            "nn.Sequential(text.vectors, nn.Dropout(dropout))",
            "nn.Sequential(text.vectors)",
        ),
        ("the text side is drawn by Xavier too", ' and not name.startswith("text.")', ""),
        (
            "PyTorch's own first weights",
            "                nn.init.xavier_uniform_(module.weight)\n",
            "",
        ),
    ]
}
