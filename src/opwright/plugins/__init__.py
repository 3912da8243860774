"""Plug-ins: what others add to Opwright, as values in one object, and what finds, activates and checks it."""

from __future__ import annotations
