"""Runs that are killed at calls of the system: nothing is lost, nothing is left, and no process lives on."""
