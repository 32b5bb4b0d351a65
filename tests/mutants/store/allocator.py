"""Wrong versions of `alignbook.store.allocator`."""

MUTANTS = {
    "test_allocator.py": [
        (
            "large tensors go back",
            "library.mallopt(M_MMAP_MAX, 0)",
            "library.mallopt(M_MMAP_MAX, 65536)",
        )
    ]
}
