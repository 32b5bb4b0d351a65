"""``./run_all.sh lab``: the notebooks in JupyterLab, on this machine only and with a token.

With ``--photos DIR`` it opens on the explorer, which shows that folder's pictures besides.
"""

import os
import sys

from alignbook import ROOT

# JupyterLab, opened on the map and asking nobody outside for news, updates or extensions.
LAB = (
    "--ServerApp.ip=127.0.0.1",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
MAP, EXPLORER = "00_start_here", "60_explorer"  # the notebook that it opens on
PHOTOS = "ALIGNBOOK_PHOTOS"  # names the folder of pictures to the notebooks
# What would let others in, or hides that from this list: whole classes, and settings of any class.
# Jupyter takes some names without their class, and with one dash.
OPENING = {
    "IdentityProvider",
    "PasswordIdentityProvider",
    "LegacyIdentityProvider",
    "Authorizer",
    "AllowAllAuthorizer",
    "GatewayClient",
    "Session",
    "NotebookNotary",
    "ip",
    "local_hostnames",
    "sock",
    "sock_mode",
    "transport",
    "websocket_url",
    "trust_xheaders",
    "token",
    "password",
    "hashed_password",
    "password_required",
    "allow_password_change",
    "allow_unauthenticated_access",
    "authenticate_prometheus",
    "identity_provider_class",
    "authorizer_class",
    "login_handler_class",
    "logout_handler_class",
    "allow_remote_access",
    "allow_origin",
    "allow_origin_pat",
    "allow_credentials",
    "disable_check_xsrf",
    "cookie_secret",
    "cookie_secret_file",
    "cookie_options",
    "get_secure_cookie_kwargs",
    "allow_external_kernels",
    "external_connection_dir",
    "gateway_url",
    "tornado_settings",
    "webapp_settings",
    "settings",
    "ssl_options",
    "handlers",
    "extra_services",
    "static_dir",
    "static_paths",
    "extra_static_paths",
    "jpserver_extensions",
    "config",
    "config_file",
    "config_file_name",
    "config_manager_class",
    "collaborative",
}


def lab(arguments: list[str]) -> int:
    """Become JupyterLab, on this machine only and with a token; 2 if asked for anything else, or to
    show a folder without pictures.

    If a port is taken, the next free one is used, and the address that is printed says so.
    """
    try:
        photos, arguments = with_photos(arguments)
    except ValueError as refusal:
        print(f"run_all.sh: lab --photos: {refusal}", file=sys.stderr)
        return 2
    for each in arguments:
        name = each.partition("=")[0]
        parts = name.lstrip("-").replace("-", "_").split(".")
        if each.startswith("-") and not OPENING.isdisjoint(parts):
            print(
                f"run_all.sh: lab {name}: a notebook can run anything here, so Lab listens on "
                "127.0.0.1 alone and asks for a token. From another machine: ssh -L "
                "8888:127.0.0.1:8888 HOST, then the printed address there. A token of your own: "
                "JUPYTER_TOKEN=… ./run_all.sh lab",
                file=sys.stderr,
            )
            return 2
    # Lab's settings of ours, by which it doesn't ask whether to fetch news either.
    ours = ROOT / "lib/alignbook/workbook/jupyter", os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(str(each) for each in ours if each)
    if photos:
        os.environ[PHOTOS] = photos
    opened = f"--LabApp.default_url=/lab/tree/notebooks/{EXPLORER if photos else MAP}.ipynb"
    hand_over("jupyterlab", f"--ServerApp.root_dir={ROOT}", *LAB, opened, *arguments)


def with_photos(arguments: list[str]) -> tuple[str, list[str]]:
    """The folder that ``--photos`` names, "" if none is, and the other arguments.

    Raises
    ------
    ValueError
        No folder is named, or two, or one without pictures.

    Examples
    --------
    >>> with_photos(["--no-browser"])
    ('', ['--no-browser'])
    """
    named, rest, waiting = [], [], iter(arguments)
    for each in waiting:
        if each == "--photos":
            named.append(next(waiting, ""))
        elif each.startswith("--photos="):
            named.append(each.partition("=")[2])
        else:
            rest.append(each)
    if not named:
        return "", rest
    if len(named) > 1 or not named[0]:
        raise ValueError(
            f"{len(list(filter(None, named)))} folders named, expected one: --photos DIR"
        )
    from alignbook.datasets import picture_folder  # numpy, which the command line goes without

    folder = os.path.abspath(os.path.expanduser(named[0]))
    picture_folder.found(folder)
    return folder, rest


def hand_over(module: str, *arguments: str) -> None:
    """Become another program of this environment, in the project folder."""
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])
