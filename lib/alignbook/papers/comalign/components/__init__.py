"""Components of captions and pictures: entities, and relations of two of them (ComAlign)."""
