"""The texts of inputs as the last run read them, kept for the next one, which compares them with the inputs it finds.

The manifest of the run names the checksum of what is kept here, so both are of the same run.
"""

from __future__ import annotations

from opwright.files.state_files import read_checked_state, replace_checked_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.incremental.identity import Run

__all__ = ["keep_inputs", "kept_inputs"]

_FORMAT = "opwright-inputs 1"
_SUFFIX = ".inputs"
_SEPARATOR = "\0"


def kept_inputs(run: Run, checksum: str) -> dict[str, str] | None:
    """The texts of inputs by their names; None if nothing is kept under this checksum."""
    try:
        header, body = read_checked_state(run.state_path(_SUFFIX), _FORMAT)
        if header != checksum:
            return None
        texts = body.decode("utf-8", "surrogatepass").split(_SEPARATOR)
        return dict(zip(texts[::2], texts[1::2], strict=True))
    except (OSError, ValueError):
        return None


def keep_inputs(run: Run, texts: Mapping[str, str]) -> str:
    """Keep the texts of inputs, by their names, and give the checksum for the manifest; empty if nothing is kept."""
    parts = [part for item in texts.items() for part in item]
    if any(_SEPARATOR in part for part in parts):
        return ""
    body = _SEPARATOR.join(parts).encode("utf-8", "surrogatepass")
    return replace_checked_state(run.state_path(_SUFFIX), _FORMAT, body)
