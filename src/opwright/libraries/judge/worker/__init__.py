"""The program that runs candidates. It imports nothing of Opwright, and knows no reference.

Its modules import each other by their places, as the program has another name for the package than this one.
"""

from __future__ import annotations
