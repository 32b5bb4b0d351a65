"""Wrong versions of `alignbook.papers.gsl.noise`."""

MUTANTS = {
    "test_noise.py": [
        ("one seed for all", "ratio, seed, captions_per_image", "ratio, 0, captions_per_image"),
        ("five captions an image always", "ratio, seed, captions_per_image", "ratio, seed"),
        ("captions left over", " or n_captions % captions_per_image", ""),
        (
            "no captions are noise",
            "captions_per_image < 1 or n_captions < 1 or ",
            "captions_per_image < 1 or ",
        ),
        ("clean pairs taken for noisy", "np.asarray(index) != ", "np.asarray(index) == "),
        (
            "captions counted across the images",
            "np.arange(len(index)) // captions_per_image",
            "np.arange(len(index)) % captions_per_image",
        ),
    ]
}
