"""Wrong versions of `alignbook.backbones.weight_files`."""

MUTANTS = {
    "test_bert.py": [
        ("weights left out of the key", "together(self.files)", "together(self.files[::2])"),
        ("the tokenizer left out of the key", "together(self.files)", "together(self.files[:2])"),
        ("a name is no place", "else WEIGHTS / place", "else place"),
    ]
}
