"""Inputs and programs of the jobs about selective builds."""
