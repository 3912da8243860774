"""The forms of reports for programs: JSON, SARIF, and commands of GitHub workflows."""

from __future__ import annotations
