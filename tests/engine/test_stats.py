"""`--stats` prints what a run made and reused."""

from __future__ import annotations

import re

from tests.engine.project import Project


def rows(text: str) -> dict[str, list[int]]:
    """The numbers of each emitter: files made and reused, fragments made and reused."""
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    return {
        line[0]: [int(cell.replace(",", "")) for cell in line[1:]]
        for line in lines
        if len(line) == 5 and line[1].isdigit()
    }


def test_stats_show_what_an_edit_costs(project: Project) -> None:
    """The first run makes everything; after an edit of one entry each emitter makes one fragment at most."""
    first = rows(project.run("--stats").stdout)
    assert first["all emitters"][1] == first["all emitters"][3] == 0
    project.edit("eps=1e-6", "eps=1e-5")
    run = project.run("--stats")
    second = rows(run.stdout)
    assert second["sources operators_source"][2:] == [1, 10]
    assert max(numbers[2] for name, numbers in second.items() if name != "all emitters") == 1
    assert sum(second["all emitters"][:2]) == sum(first["all emitters"][:2])
    assert re.search(r"^load the edit and write files +\d+\.\d{3}$", run.stdout, re.MULTILINE)


def test_stats_do_not_make_a_run_another_one(project: Project) -> None:
    """A run with nothing to do stays one, and prints its summary alone."""
    project.run()
    assert "0 written" in project.run("--stats").stdout
