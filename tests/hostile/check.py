"""One hostile value of all: in a field of a file, or in a description for a build system."""

from __future__ import annotations

from tests.hostile.descriptions import check_description
from tests.hostile.run import Finding, check_number


def check_value(number: int) -> tuple[bool, Finding | None]:
    """Try the hostile value of a number, one in eight in a description. Whether it was taken, and a finding."""
    return check_description(number) if number % 8 == 7 else check_number(number)
