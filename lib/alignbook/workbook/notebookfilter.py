"""``./run_all.sh filter``: git leaves outputs out of the notebooks it commits.

`./run_all.sh lab` saves the workbook's notebooks without outputs; whoever starts Lab, VS Code or
papermill by hand saves them with outputs. `.gitattributes` names a filter for them, nbstripout,
which git ignores in a clone where it isn't set. Standard library only.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from alignbook import ROOT

SETTING = "filter.nbstripout.clean"
# What Lab adds: otherwise each version of Python and Lab would show as a change.
ADDED = (
    "codemirror_mode",
    "file_extension",
    "mimetype",
    "nbconvert_exporter",
    "pygments_lexer",
    "version",
)
# `-m nbstripout` without a check of addresses that takes 2 s to load and that no notebook needs.
RUN = "import sys; sys.modules['rfc3987_syntax'] = None; import nbstripout; nbstripout.main()"
STRIP = (
    "-I",
    "-c",
    RUN,
    "--keep-id",
    "--extra-keys",
    " ".join(f"metadata.language_info.{key}" for key in ADDED),
)


def main(arguments: list[str]) -> int:
    """``filter``: set it for this clone; returns the exit code."""
    argparse.ArgumentParser(
        prog="run_all.sh filter",
        allow_abbrev=False,
        description="Set a git filter in this clone: commits get notebooks without outputs.",
    ).parse_args(arguments)
    try:
        changed = put_in()
    except (OSError, ValueError) as error:
        print(f"run_all.sh: {error}", file=sys.stderr)
        return 2
    print(
        f"git config {SETTING}: {'set' if changed else 'is set already'}. Commits get notebooks "
        f"without outputs; git config --unset {SETTING} undoes it"
    )
    return 0


def put_in(root: Path = ROOT) -> bool:
    """Set the filter in the git checkout at `root`; whether that changed anything.

    Raises
    ------
    ValueError
        The folder is no checkout of its own, or git can't be asked about it.
    """
    top = git(root, "rev-parse", "--show-toplevel")
    if not top or not Path(top).samefile(root):
        raise ValueError(f"{root}: no git checkout, so there is nothing to set")
    if git(root, "config", SETTING) == (wanted := command(root)):
        return False
    git(root, "config", SETTING, wanted)
    return True


def command(root: Path) -> str:
    """What git runs, in the checkout's own folder: by this Python, relative where it lies inside."""
    python = Path(sys.executable)
    if python.is_relative_to(root):
        python = python.relative_to(root)
    return shlex.join([python.as_posix(), *STRIP])


def git(root: Path, *arguments: str) -> str:
    """What git says in a folder, nothing where it fails; ValueError if there is no git."""
    try:
        said = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except FileNotFoundError:
        raise ValueError("git is not installed: install it, then start again") from None
    return said.stdout.strip()
