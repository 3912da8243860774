"""The user's cache folder, for state that belongs to no output folder."""

from __future__ import annotations

import os
import sys


def cache_folder() -> str:
    """The folder of Opwright's cache: `OPWRIGHT_CACHE_DIR`, else a folder in the user's cache folder."""
    named = os.environ.get("OPWRIGHT_CACHE_DIR")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        # The same folder as platformdirs', whose import would take a tenth of a short run.
        root = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(root, "opwright")
    try:
        from platformdirs import user_cache_dir
    except ModuleNotFoundError:
        # The core does without.
        local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else ""
        return os.path.join(local, "opwright", "Cache") if local else os.path.expanduser("~/.cache/opwright")

    return user_cache_dir("opwright", appauthor=False)
