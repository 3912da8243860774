"""Builds on other machines: a service for remote execution, and workers that see nothing of this checkout."""
