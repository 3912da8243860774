"""Strings, comments and includes in the languages of the outputs, written so that no text can end them."""

from __future__ import annotations
