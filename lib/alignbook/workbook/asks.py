"""What a job asks of the machine that it runs on: memory, time and a GPU.

Snakemake hands it to an executor, which finds such a machine and ends what takes longer. On this
machine `gpu` alone counts: no more jobs begin at once than its GPUs take.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from alignbook.show import gpu_hours
from alignbook.workbook import plan
from alignbook.workbook.profiles import Profile
from alignbook.workbook.running import gpu_locks, timeleft

# Megabytes: a laptop's jobs were seen to hold 0.9 GB of their own at most, besides the packages,
# which they share here and would not elsewhere; the larger profiles' are estimates.
MEMORY = {"smoke": 4000, "laptop": 6000, "overnight": 8000, "gpu": 16000, "paper": 32000}
LATE = 4  # times what is planned that a job may take
# Minutes that any job may take, and the most that one may ask for: a job that is ended then is
# started again, and goes on from the last checkpoint.
LEAST, MOST = 30, 24 * 60
LISTED = (
    120  # minutes of a job whose arms or seeds others have trained: it lists, and measures some
)


@dataclass(frozen=True)
class Asks:
    """What the jobs of a profile on a kind of data ask for, on a device as --device says."""

    profile: Profile
    data: str
    device: str

    def of(self, *words: str, trained: bool = False) -> dict[str, int]:
        """What a job asks for, by kind and names: mem_mb, runtime (minutes) and gpu: 0, or 1, or as
        many as the profile's processes that train together, which then share one node.

        `trained`: other jobs have done its trainings.
        """
        planned = LEAST + math.ceil(LATE * self._seconds(words) / 60)
        # Nobody knows before how many seeds are bought.
        planned = {"buy": MOST, "seeds": LISTED}.get(words[0], planned)
        asked = {
            "mem_mb": MEMORY[self.profile.name],
            "runtime": min(planned, LISTED if trained else MOST),
            "gpu": self._gpus(words[0]),
        }
        together = self.profile.processes > 1 and gpu_locks.used(self.device)
        return asked | ({"nodes": 1} if together else {})

    def by(self, words: Callable) -> dict[str, Callable]:
        """The same where a rule knows kind and names from its wildcards."""
        return {
            name: lambda wildcards, name=name: self.of(*words(wildcards))[name]
            for name in self.of("data")
        }

    def _gpus(self, kind: str) -> int:
        if kind in gpu_locks.WITHOUT or not gpu_locks.used(self.device):
            return 0
        return self.profile.processes if kind in gpu_locks.TOGETHER else 1

    def _seconds(self, words: tuple[str, ...]) -> float:
        """What is planned for a job: by the budget, or by the GPU hours of the papers' settings."""
        known = timeleft.Plan(self.profile, self.data, [], "arm", 1, {})
        if known.budgeted or words[0] not in (*gpu_locks.TOGETHER, "base"):
            together = words[0] in ("arms", "whole")
            return sum(known.parts([*words], True)) if together else known.seconds([*words])
        if self.profile.name != "paper" or words[0] not in ("arms", "training"):
            return 60 * MOST
        arms = words[2:] if words[0] == "arms" else words[2:3]
        found = plan.trainings(words[1], self.data, self.profile, arms)
        each = [gpu_hours.hours(one.work) for one in found.values()]
        return 3600 * (sum(each) if words[0] == "arms" else max(each, default=0.0))
