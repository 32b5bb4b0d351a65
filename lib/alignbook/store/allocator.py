"""Memory that training frees stays with the process.

Left alone, the GNU C library hands each large tensor's pages back when it is freed and asks for them
anew at the next step. The kernel clears them every time: a fifth of a training step on captions,
nearly all of one on photographs. Standard library only.
"""

import ctypes

TOP_PAD = 2**27  # bytes that the heap grows by at least
# The same for a process that is yet to begin, by its environment.
ENVIRONMENT = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    "MALLOC_TOP_PAD_": str(TOP_PAD),
}
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # as in malloc.h


def keep_freed() -> bool:
    """From now on no freed memory goes back to the system; False if the C library can't be told so.

    Only GNU's can: macOS and musl have no `mallopt`, and nothing is changed there.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    library.mallopt(M_MMAP_MAX, 0)  # all from the heap
    library.mallopt(M_TRIM_THRESHOLD, -1)  # which never shrinks
    library.mallopt(M_TOP_PAD, TOP_PAD)
    return True
