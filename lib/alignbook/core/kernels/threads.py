"""Blocks of work for all of PyTorch's threads.

A thread takes a block after another and computes all of it alone. Were every operator shared out
instead, threads would wait for each other several times a block, and for a thread that the system
has stopped each time. Results don't depend on how many threads there are.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import torch

CHUNKS = 8  # that sums over blocks are cut into, whatever the number of threads


def on_all(work, blocks, device="cpu", most=None) -> None:
    """Let every thread, or `most` of them, call `work` with an iterator that gives it the next of the
    blocks.

    Threads have no gradient and operators of one thread. They end with the call: a process that is
    forked later would wait for threads that it doesn't have. A GPU is given its work by one.
    """
    before, left = torch.get_num_threads(), iter(blocks)
    threads = min(before, len(blocks)) if torch.device(device).type == "cpu" else 1
    if threads < 2:
        return work(left)

    inference = torch.is_inference_mode_enabled()  # its tensors can't be written to outside it

    def alone():
        torch.set_num_threads(1)
        with torch.inference_mode(inference), torch.no_grad():
            work(left)

    try:
        with ThreadPoolExecutor(most or threads) as pool:
            for done in [pool.submit(alone) for _ in range(threads)]:
                done.result()
    finally:
        torch.set_num_threads(before)  # of threads to come: this one's was never another


def shares(device="cpu") -> int:
    """How many chunks there are at most, and so how many sums of their own."""
    return CHUNKS if torch.device(device).type == "cpu" else 1


def chunks(blocks, device="cpu") -> list[list]:
    """Neighbouring blocks together, of which each chunk has sums of its own."""
    n = -(-len(blocks) // shares(device)) or 1
    return [blocks[i : i + n] for i in range(0, len(blocks), n)]


def in_order(totals):
    """A function of a number and tensors that adds these to the totals, those of 0 first, then of 1, …

    Whichever thread is done first, sums are the same; and what was added needs no memory any longer.
    """
    lock, waiting, due = Lock(), {}, 0

    def add(number, parts):
        nonlocal due
        with lock:
            waiting[number] = parts
            while due in waiting:
                for total, part in zip(totals, waiting.pop(due)):
                    total.add_(part)
                due += 1

    return add
