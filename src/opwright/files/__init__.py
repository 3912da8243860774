"""Files on disk: templates, which files emitters make, the plan of outputs, whole-file writing."""

from __future__ import annotations
