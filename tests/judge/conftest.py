"""Candidates are files for the judge, and no modules of tests."""

from __future__ import annotations

collect_ignore_glob = ["kinds/*"]
