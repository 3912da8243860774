"""A folder with Debian's unstable suite, which has the newest Python, where this machine has none so new.

It takes root, Linux and `debootstrap`. Commands run in the folder by way of a mount namespace of their own, so nothing
stays mounted; they find the project at its usual path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.pythons.environments import ROOT
from tests.pythons.interpreters import Interpreter, asked

__all__ = ["NEWEST", "newest_of_debian"]

#: The newest Python that Opwright is tested with.
NEWEST: Final = (3, 14)

_PACKAGES: Final = ("python{0}", "python{0}-venv", "git", "make", "g++", "ca-certificates")
_NEEDED: Final = ("chroot", "debootstrap", "mount", "unshare")

#: Runs the words after the folder and the project in the folder, with the working folder of the caller.
_ENTER: Final = """\
folder=$1 project=$2; shift 2
mount -t proc proc "$folder/proc" && mount --rbind /dev "$folder/dev" && mount --bind "$project" "$folder$project" &&
exec chroot "$folder" sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$@"
"""

#: What a program needs to reach a package index: names of hosts, certificates, and the settings of pip.
_SETTINGS: Final = ("/etc/hosts", "/etc/pip.conf", "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt")


def newest_of_debian(work: Path, found: list[Interpreter]) -> list[Interpreter]:
    """The newest Python in a folder below `work`, which is made if it is missing.

    Gives none if the machine has such a Python, or cannot have the folder.
    """
    if any(interpreter.version >= NEWEST and not interpreter.is_free_threaded for interpreter in found):
        return []
    if sys.platform != "linux" or os.geteuid() != 0 or not all(map(shutil.which, _NEEDED)):
        return []
    version = ".".join(map(str, NEWEST))
    folder = work / "debian"
    if not (folder / "usr/bin" / f"python{version}").exists():
        shutil.rmtree(folder, ignore_errors=True)
        packages = ",".join(_PACKAGES).format(version)
        command = ["debootstrap", "--variant=minbase", f"--include={packages}", "sid", str(folder)]
        folder.parent.mkdir(parents=True, exist_ok=True)
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return []
    for path in (*_SETTINGS, str(Path.home() / ".config/pip/pip.conf")):
        copy = Path(f"{folder}{path}")
        if Path(path).is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    Path(f"{folder}{ROOT}").mkdir(parents=True, exist_ok=True)
    enter = ("unshare", "--mount", "sh", "-c", _ENTER, "sh", str(folder), str(ROOT))
    interpreter = asked(f"/usr/bin/python{version}", enter)
    return [] if interpreter is None else [interpreter]
