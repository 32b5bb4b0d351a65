"""A run from its start to its last table: the graph's jobs, who watches them, what is resumed."""
