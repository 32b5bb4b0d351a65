"""What a fixed piece of work takes on this machine, so that bars in seconds hold on others too.

`seconds()` starts as many processes of one thread as the smoke run has jobs at work, each of which
trains a small recurrent network, and returns the mean of their times. Machines that are lent for
tests differ by up to two; so does one machine from hour to hour.
"""

import subprocess
import sys
import time

JOBS = 2  # the smoke run's, and the cores that its bar is for
REFERENCE = 2.5  # seconds() where the smoke run takes four minutes, and the bar is five


def work() -> float:
    """The seconds of 120 steps, after two to warm up."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    words = torch.randn(64, 12, 128)
    network = torch.nn.GRU(128, 256, batch_first=True)
    optimizer = torch.optim.AdamW(network.parameters())
    for step in range(122):
        if step == 2:
            began = time.monotonic()
        optimizer.zero_grad()
        pooled = torch.nn.functional.normalize(network(words)[0].mean(dim=1), dim=-1)
        (pooled @ pooled.T).logsumexp(dim=1).sum().backward()
        optimizer.step()
    return time.monotonic() - began


def seconds() -> float:
    """Mean time of `JOBS` processes that do the same work side by side."""
    command = [sys.executable, __file__]
    jobs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(JOBS)]
    return sum(float(job.communicate()[0]) for job in jobs) / JOBS


def allowed(bar: float, *measured: float) -> float:
    """`bar` seconds, and more where the slowest of `measured` says that the machine is slower.

    Most of a smoke run is the interpreter's work, which slows by more than products do: where this
    yardstick took 1.35 times as long, the run of one version took 1.85 times.
    """
    return bar * max([1.0, *((each / REFERENCE) ** 2 for each in measured)])


if __name__ == "__main__":
    print(work())
