"""Inputs of releases that are not on this machine: out of wheels, from the package index that pip would use."""

from __future__ import annotations
