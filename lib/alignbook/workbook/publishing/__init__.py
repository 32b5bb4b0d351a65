"""Reference results in the repository, and the pages that say what they answer."""
