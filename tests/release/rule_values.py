"""All that a release's table of behaviours says."""

from __future__ import annotations

from opwright.release.rules import Rules


def rule_values(rules: Rules) -> list[tuple[str, int]]:
    """The name and value of every behaviour in a release."""
    return [(row.name, rules.value(row.name)) for row in Rules.rows()]
