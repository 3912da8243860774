"""Files with the texts that tests expect, which `make cases` writes anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a folder, by their names."""
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
