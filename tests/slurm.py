"""A Slurm of one node for the tests: its own key, sockets, ports and files, in a folder of its own.

Nothing of it is reached from outside this machine, and nothing of it is left afterwards. Accounting
needs a database, so there is none: a job's state is asked of `squeue`.
"""

import ctypes
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "srun")
WHERE = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # where Debian has the daemons
PATIENCE = 60.0  # seconds for the cluster to come up

CONFIGURATION = """\
ClusterName=alignbook
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=5,batch_sched_delay=0
MinJobAge=600
KillWait=2
ReturnToService=2
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=one Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP
"""


def missing() -> list[str]:
    """Programs of Slurm and munge that are not installed."""
    return [name for name in NEEDED if not shutil.which(name, path=WHERE)]


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def ends_with_tests() -> None:
    """Have the kernel end this process when the tests' own is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Cluster:
    """A cluster at work.

    Attributes
    ----------
    environment : what a program needs in its environment to reach it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder}/bin:{WHERE}",
        }
        self._daemons: list[subprocess.Popen] = []

    def start(self) -> None:
        """Write the configuration, start the daemons, wait until the node takes jobs."""
        self.folder.chmod(0o711)  # munge wants its socket to be reached by all
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir()
        # The plugin takes SLURM_CONF from the step's environment, as if all had Slurm in its own place.
        srun = self.folder / "bin/srun"
        conf, real = self.environment["SLURM_CONF"], shutil.which("srun", path=WHERE)
        srun.write_text(f'#!/bin/sh\nSLURM_CONF="{conf}" exec {real} "$@"\n')
        srun.chmod(0o755)
        controller, node = free_ports(2)
        (self.folder / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                user=getpass.getuser(),
                folder=self.folder,
                controller=controller,
                node=node,
                cpus=os.cpu_count(),
                memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20,
            )
        )
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
        options = [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]
        self._daemon(
            "munged", "--foreground", "--force", f"--seed-file={self.folder}/seed", *options
        )
        self._wait((self.folder / "munge.socket").exists, "munged")
        self._daemon("slurmctld", "-D", "-i")
        self._daemon("slurmd", "-D", "-N", "one")
        self._wait(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"), "the node")

    def ask(self, *words: str) -> str:
        """What a program says to the cluster's user; empty if it fails."""
        done = subprocess.run(
            words, env={**os.environ, **self.environment}, capture_output=True, text=True
        )
        return "" if done.returncode else done.stdout

    def jobs(self, state: str = "PENDING,RUNNING,COMPLETING,CONFIGURING,SUSPENDED") -> list[str]:
        """The jobs in some state, by number."""
        return self.ask("squeue", "-h", "-o", "%i", "-t", state).split()

    def _daemon(self, *words: str) -> None:
        with open(self.folder / f"{words[0]}.out", "wb") as said:
            self._daemons.append(
                subprocess.Popen(
                    words,
                    executable=shutil.which(words[0], path=WHERE),
                    env={**os.environ, **self.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                    preexec_fn=ends_with_tests,
                )
            )

    def _wait(self, true, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end or any(each.poll() is not None for each in self._daemons):
                files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
                said = "\n".join(f"{each.name}: {each.read_text()[-2000:]}" for each in files)
                raise RuntimeError(f"{what} did not come up\n{said}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Cancel what is there, end the daemons in the order opposite to their start."""
        if len(self._daemons) == 3:
            self.ask("scancel", f"--user={getpass.getuser()}")
            end = time.monotonic() + 15
            while self.jobs() and time.monotonic() < end:
                time.sleep(0.2)
        for daemon in reversed(self._daemons):
            for name in (signal.SIGTERM, signal.SIGKILL):
                if daemon.poll() is None:
                    daemon.send_signal(name)
                    try:
                        daemon.wait(10)
                    except subprocess.TimeoutExpired:
                        continue


@contextmanager
def cluster():
    """A cluster for as long as this lasts."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    made = Cluster(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)
