"""The templates of the stub files of torch."""

from __future__ import annotations
