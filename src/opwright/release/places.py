"""Where Opwright keeps things between runs that belong to no output folder."""

from __future__ import annotations

import os

__all__ = ["cache_folder"]


def cache_folder() -> str:
    """The folder of everything that is kept between runs: `OPWRIGHT_CACHE_DIR`, else the user's cache folder."""
    named = os.environ.get("OPWRIGHT_CACHE_DIR")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    from platformdirs import user_cache_dir

    return user_cache_dir("opwright", appauthor=False)
