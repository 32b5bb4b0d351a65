"""A run in one file, for a class or another machine: what goes in, and what may come out of one."""
