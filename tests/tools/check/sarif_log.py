"""What the schema of SARIF 2.1.0 asks of the parts of a log that Opwright writes, from the text of the standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LEVELS = {"none", "note", "warning", "error"}
#: Object -> its properties, with those that it must have.
REQUIRED = {
    "log": ({"$schema", "version", "runs"}, {"version", "runs"}),
    "run": ({"tool", "columnKind", "originalUriBaseIds", "results"}, {"tool"}),
    "driver": ({"name", "version", "informationUri", "rules"}, {"name"}),
    "rule": ({"id", "shortDescription", "fullDescription", "help", "helpUri", "defaultConfiguration"}, {"id"}),
    "result": (
        {"ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "fixes"},
        {"message"},
    ),
    "location": ({"physicalLocation", "message"}, set()),
    "physicalLocation": ({"artifactLocation", "region"}, {"artifactLocation"}),
    "region": ({"startLine", "startColumn", "endLine", "endColumn"}, {"startLine"}),
    "fix": ({"description", "artifactChanges"}, {"artifactChanges"}),
    "change": ({"artifactLocation", "replacements"}, {"artifactLocation", "replacements"}),
    "replacement": ({"deletedRegion", "insertedContent"}, {"deletedRegion"}),
}


def mistakes_in(log: dict[str, Any]) -> list[str]:
    """What is wrong with a log."""
    return list(_log_mistakes(log))


def _properties(kind: str, value: dict[str, Any]) -> Iterator[str]:
    allowed, required = REQUIRED[kind]
    yield from [f"{kind} has {name}" for name in value.keys() - allowed]
    yield from [f"{kind} lacks {name}" for name in required - value.keys()]


def _log_mistakes(log: dict[str, Any]) -> Iterator[str]:
    yield from _properties("log", log)
    if log.get("version") != "2.1.0":
        yield "the version is not 2.1.0"
    for run in log.get("runs", ()):
        yield from _properties("run", run)
        if "tool" not in run:
            continue
        driver = run["tool"]["driver"]
        yield from _properties("driver", driver)
        for rule in driver["rules"]:
            yield from _properties("rule", rule)
            yield from [] if rule["defaultConfiguration"]["level"] in LEVELS else ["a wrong level"]
            yield from [] if rule["helpUri"].startswith("https://") else ["a wrong link"]
        for result in run["results"]:
            yield from _result_mistakes(result, driver["rules"])


def _result_mistakes(result: dict[str, Any], rules: list[dict[str, Any]]) -> Iterator[str]:
    yield from _properties("result", result)
    if rules[result["ruleIndex"]]["id"] != result["ruleId"] or result["level"] not in LEVELS:
        yield "a wrong rule or level"
    if not isinstance(result["message"].get("text"), str):
        yield "a message without text"
    for location in (*result.get("locations", ()), *result.get("relatedLocations", ())):
        yield from _properties("location", location)
        yield from _properties("physicalLocation", location["physicalLocation"])
        yield from _region_mistakes(location["physicalLocation"]["region"])
    for fix in result.get("fixes", ()):
        yield from _properties("fix", fix)
        for change in fix["artifactChanges"]:
            yield from _properties("change", change)
            for replacement in change["replacements"]:
                yield from _properties("replacement", replacement)
                yield from _region_mistakes(replacement["deletedRegion"])


def _region_mistakes(region: dict[str, Any]) -> Iterator[str]:
    yield from _properties("region", region)
    if min(region.values()) < 1 or region["endLine"] < region["startLine"]:
        yield "a region before the first line or column"
