"""What Snakemake says of its jobs, a line of JSON each, for the process that shows them.

A logger plugin in Snakemake's own terms. It lies here rather than in a package of its own, so the
program that starts Snakemake registers it by `register`.
"""

import json
import sys
from dataclasses import dataclass, field
from logging import ERROR, LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

# Of each event, what is written down.
KEPT = {
    LogEvent.RUN_INFO: ("stats",),  # jobs that will run, by rule
    LogEvent.JOB_INFO: ("jobid", "rule_name", "output", "shellcmd", "reason"),
    LogEvent.JOB_FINISHED: ("job_id",),
    LogEvent.JOB_ERROR: ("jobid", "rule_name", "output", "log", "rule_msg"),
}


def register() -> None:
    """Make this module known as the logger plugin "alignbook"."""
    here = sys.modules[__name__]
    LoggerPluginRegistry().register_plugin("snakemake_logger_plugin_alignbook", here)


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Snakemake offers these as options: ``--logger-alignbook-file``."""

    file: Path | None = field(
        default=None,
        metadata={"help": "the file that events are appended to", "required": True, "type": Path},
    )


class LogHandler(LogHandlerBase):
    """Appends an event a line, flushed: {"event": "job_info", "time": 1763917080.5, …}."""

    writes_to_stream = False  # Snakemake's own words go on as they are
    writes_to_file = True  # `baseFilename`
    has_filter = True  # every event is wanted, however quiet Snakemake shall be
    has_formatter = True  # JSON
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.baseFilename = str(self.settings.file)
        self.stream = open(self.baseFilename, "a", buffering=1, encoding="utf-8")

    def emit(self, record: LogRecord) -> None:
        """Write an event down; and what Snakemake complains of, as the event "error"."""
        event = getattr(record, "event", None)
        said = {"event": event, "time": record.created}
        if event in KEPT:
            said |= {name: getattr(record, name) for name in KEPT[event]}
        elif record.levelno >= ERROR:
            said |= {"event": LogEvent.ERROR, "text": record.getMessage()}
        else:
            return
        self.stream.write(json.dumps(said, default=str) + "\n")

    def close(self) -> None:
        """Close the file."""
        self.stream.close()
        super().close()
