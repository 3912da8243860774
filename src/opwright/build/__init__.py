"""From emitted slots to files on disk: templates, shards, the plan of a run, whole-file writing, dependency lists."""

from __future__ import annotations
