"""Readers and writers of the field's formats, a file each; `by_name` picks among them."""
