"""Installed plug-ins: they add families without being named, and change nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.project import FAMILIES, Project, files_of, times_of
from tests.plugins.wheels import FILES, build_wheel, install, uninstall

NASTY = """\
from opwright.plugin import Code, Dialect, ExtraKey, Family, Plugin, WrapperHook

plugin = Plugin(
    "acme",
    api=1,
    families=[Family("acme_list", "a list", emitters=[lambda job: 1 / 0], folders={"aten": "aten/src/ATen"})],
    dialects=[
        Dialect(
            "acme_tags",
            inputs=("native/tags.yaml", "native/native_functions.yaml"),
            fields=("func",),
            loads_into=dict,
            loader=lambda files, context: 1 / 0,
            is_always_loaded=True,
        )
    ],
    extra_keys=[ExtraKey("acme", int, "native function", is_required=True)],
    wrapper_hooks=[WrapperHook("before", lambda wrapper: "acme::trace();")],
    registration_changes=[lambda registration, wrapper: ()],
)
"""


class Environment:
    """A folder in which wheels are installed, and runs that find them."""

    def __init__(self, folder: Path, project: Project) -> None:
        self.site = folder / "site"
        self.project = project

    def run(self, *words: object, status: int = 0) -> str:
        """What the program prints, on both streams."""
        paths = [str(self.site), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "1000"}
        command = [sys.executable, "-m", "opwright", *map(str, words)]
        done = subprocess.run(
            command, text=True, env=environment, cwd=self.project.folder, capture_output=True, check=False
        )
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def generate(self, *words: object, status: int = 0) -> str:
        """What a run over the project prints."""
        project = self.project
        where = ["--source-path", project.inputs, "--release", "2.13", "--out", project.out]
        return self.run("generate", *where, *words, status=status)


@pytest.fixture
def environment(tmp_path: Path, project: Project) -> Environment:
    """An environment without a plug-in."""
    return Environment(tmp_path, project)


def made(report: str) -> dict[str, int]:
    """How many fragments each emitter made, by `--stats`."""
    rows = [line.split() for line in report.splitlines() if line.startswith(("headers ", "acme_list "))]
    return {row[1]: int(row[4].replace(",", "")) for row in rows}


@pytest.mark.thorough
def test_install_edit_remove(environment: Environment, tmp_path: Path) -> None:
    """An installed plug-in adds its family; edited, it makes that again and nothing else; removed, it is gone."""
    run, generate = environment.run, environment.generate
    assert "acme_list" not in run("generate", "--help")
    assert "invalid choice: 'acme_list'" in generate("--only", "acme_list", status=2)

    install(build_wheel(tmp_path, FILES), environment.site)
    assert "`acme_list`, a list of operators (of the plug-in acme)" in run("generate", "--help")
    assert "did you mean `acme_list`?" in generate("--only", "acme_lst", status=2)
    assert "acme (installed with acme-opwright 1.0)" in run("plugins")
    both = ("--only", "acme_list", "--only", "headers", "--stats")
    first = generate(*both)
    count = made(first)["acme_list"]
    assert count == len((environment.project.out / "lists/operators.txt").read_text().splitlines())
    assert sum(made(first).values()) > count
    # The quickest way: no emitter is asked, so no statistics are printed.
    assert "fragments made" not in generate(*both)

    before = times_of(environment.project.out)
    words = environment.site / "acme_opwright" / "words.py"
    words.write_text('ENDING = ",,"\n')
    edited = generate(*both)
    assert made(edited) == {"acme_list": count}
    after = times_of(environment.project.out)
    assert [path for path in after if after[path] != before[path]] == ["lists/operators.txt"]
    assert (environment.project.out / "lists/operators.txt").read_text().startswith("twice,,\n")

    uninstall(environment.site)
    assert "acme_list" not in run("generate", "--help")
    assert "invalid choice: 'acme_list'" in generate(*both, status=2)


@pytest.mark.thorough
def test_an_installed_plugin_changes_nothing(environment: Environment, tmp_path: Path) -> None:
    """Unless it is named, what is installed changes no output of PyTorch's inputs; its functions are not called."""
    families = [word for family in FAMILIES for word in ("--only", family)]
    environment.generate(*families)
    expected = files_of(environment.project.out)
    install(build_wheel(tmp_path, {"acme_opwright.py": NASTY}), environment.site)
    again = environment.project.out.with_name("again")
    where = ["--source-path", environment.project.inputs, "--release", "2.13"]
    environment.run("generate", *where, "--out", again, *families)
    assert files_of(again) == expected
    named = environment.generate("--plugin", "acme", status=1)
    assert "plug-in `acme`" in named


@pytest.mark.thorough
def test_a_run_without_plugins_does_not_import_them(environment: Environment, tmp_path: Path) -> None:
    """Neither a run nor one with nothing to do imports an installed plug-in that it does not use."""
    install(build_wheel(tmp_path, {"acme_opwright.py": "raise SystemExit(9)"}), environment.site)
    environment.generate("--only", "headers")
    environment.generate("--only", "headers")
    assert "plug-in `acme` does not load: SystemExit: 9" in environment.run("plugins", status=1)


def test_nothing_to_do_imports_no_plugin(environment: Environment, tmp_path: Path) -> None:
    """A run with nothing to do that uses a plug-in does not import it, and finds that one of its files changed."""
    install(build_wheel(tmp_path, FILES), environment.site)
    code = (
        "import sys; from opwright.cli.main import main; main(sys.argv[1:]); "
        "print([name for name in ('acme_opwright', 'importlib.metadata', 'typing') if name in sys.modules])"
    )
    project = environment.project
    words = ["generate", "--source-path", project.inputs, "--release", "2.13", "--out", project.out]
    words += ["--only", "acme_list"]
    command = [sys.executable, "-S", "-c", code, *map(str, words)]
    paths = [str(environment.site), *[path for path in sys.path if path]]
    imported = []
    for _ in range(2):
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(command, text=True, env=variables, capture_output=True, check=True)
        imported.append(done.stdout.splitlines()[-1])
    assert "acme_opwright" in imported[0]
    assert imported[1] == "[]"
