"""Parts of the outputs that a run makes: one of several shards, or those of a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping

from opwright.files.plan import FileSpec, shard_number
from opwright.source.records import NamedTuple


class OutputShard(NamedTuple):
    """One of `parts` parts of the outputs, by number from 0 on. The parts are disjoint, and together they are all."""

    number: int
    parts: int

    def has(self, spec: FileSpec) -> bool:
        """Whether a file is in this part."""
        return self.number_of(spec, self.parts) == self.number

    @staticmethod
    def number_of(spec: FileSpec, parts: int) -> int:
        """Number of the part that a file is in."""
        return shard_number(f"{spec.folder}/{spec.path}", parts)


class OutputsInFolder(NamedTuple):
    """The outputs directly in one folder. `folders` are the output folders of the run by name, as in the request."""

    path: str
    folders: Mapping[str, str]

    def has(self, spec: FileSpec) -> bool:
        """Whether a file is in the folder."""
        return os.path.abspath(os.path.dirname(f"{self.folders[spec.folder]}/{spec.path}")) == self.path
