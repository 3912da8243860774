"""Checks beyond the reference: lints, their selection and suppression, fixes, and the forms of reports."""

from __future__ import annotations
