"""The command `opwright check`: which files it checks, what it prints, its settings, its exit status and its speed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.release.inputs import open_inputs
from opwright.source.codes import CHANGED_MEANWHILE
from opwright.source.diagnostic import FaultsFound
from opwright.tools import tool_codes
from opwright.tools.check.checking import CheckRequest
from opwright.tools.check.checking import check as run_check
from opwright.tools.check.findings import CheckedFiles, find
from opwright.tools.check.fixing import fix_files, write_changes
from opwright.tools.check.lints import LINTS
from opwright.tools.check.settings import find_settings
from opwright.tools.check.suppressions import CodeFilter
from tests.fuzz.run import time_limit
from tests.tools.check.cases import RELEASE, check
from tests.tools.check.sarif_log import mistakes_in

SMALL = ["--source-path", str(RELEASE), "--release", "2.13.0"]
KEYWORD = "- func: acme::pad(Tensor self, int default) -> Tensor\n  dispatch: {CPU: pad, Meta: pad_meta}\n"
DEFAULT = "- func: acme::pad(Tensor self) -> Tensor\n  variants: function\n  dispatch: {CPU: pad, Meta: pad_meta}\n"


def write(folder: Path, name: str, text: str) -> Path:
    """A file of a folder, with its text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def status(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of a check in a folder, against the small release."""
    monkeypatch.chdir(folder)
    return main(["check", *SMALL, *arguments])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree of PyTorch with the inputs of the installed one."""
    inputs = open_inputs("auto")
    for name in inputs.names():
        folder = "tools" if name.startswith("autograd/") else "aten/src/ATen"
        write(tmp_path, f"{folder}/{name}", inputs.read_text(name).text)
    write(tmp_path, "version.txt", "2.13.0\n")
    return tmp_path


def test_pytorch_has_no_findings(tmp_path: Path) -> None:
    """The files of the installed PyTorch have no finding in the default selection."""
    assert check(["--torch", "auto"], tmp_path).startswith("no findings in 4 files (below ")


@pytest.mark.parametrize("command", ["check", "format"])
def test_without_files_the_folder_is_checked(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bare command means the working folder, as if it were named; a folder with nothing to check passes nowhere."""
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 1
    assert "no YAML file below this folder" in capsys.readouterr().err
    write(tmp_path, "ops/operators.yaml", "namespace: acme\noperators:\n- func: f(Tensr x) -> Tensor\n")
    reports = []
    for words in ([], ["."]):
        assert main([command, *words]) == 1
        captured = capsys.readouterr()
        reports.append(captured.out + captured.err)
    assert reports[0] == reports[1]
    assert "E0202" in reports[0]
    assert "1 error in 1 file (ops/operators.yaml)" in reports[0]


def test_fragments_are_checked_alone(tmp_path: Path) -> None:
    """A file that stands for one of PyTorch's says nothing about PyTorch's others, which the user cannot change."""
    write(tmp_path, "g.yaml", "- func: f(Tensor x) -> Tensor\n  dispatch:\n    CPU: f\n")
    assert check(["g.yaml"], tmp_path) == "no findings in 1 file (g.yaml)\n"
    write(tmp_path, "tags.yaml", "- tag: mine\n  desc: Mine.\n")
    report = check(["tags.yaml"], tmp_path)
    assert report.startswith("no findings in 1 file (tags.yaml); ")
    assert report.endswith(" about PyTorch's other files left out\n")


def test_statistics_count_by_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--statistics` shows how often each code is found, and `--output-file` writes the report to a file."""
    write(tmp_path, "ops.yaml", "namespace: acme\noperators:\n" + "- func: f(double x) -> Tensor\n" * 2 + "- fnc: g\n")
    arguments = ("--output-file", "report.txt", "--statistics", "ops.yaml")
    assert status(tmp_path, monkeypatch, *arguments) == 1
    assert capsys.readouterr().out == ""
    lines = (tmp_path / "report.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "    2  E0202  unknown type"
    assert [line.split()[:2] for line in lines[1:]] == [["1", "E0303"]]


@pytest.mark.network
@pytest.mark.parametrize("version", ["2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.0", "2.15.0"])
def test_releases_have_no_findings(version: str, tmp_path: Path) -> None:
    """No release of PyTorch has a finding in the default selection."""
    assert check(["--torch", version], tmp_path).startswith("no findings in 4 files (below ")


def test_lints_of_pytorch_are_counted() -> None:
    """The lints that are off for PyTorch's files find in 2.13.0 what the page says."""
    request = CheckRequest(open_inputs("auto"), checks_pytorch=True, codes=CodeFilter(extend_select=("W22",)))
    found = [diagnostic.code for diagnostic in run_check(request)]
    page = (Path(__file__).parents[3] / "docs" / "check.md").read_text(encoding="utf-8")
    for code, lint in LINTS.items():
        if not lint.for_pytorch and found.count(code):
            assert f"| {code} |" in page
            (row,) = [line for line in page.splitlines() if line.startswith(f"| {code} |")]
            assert row.split("|")[-2].strip() == str(found.count(code))


@pytest.mark.thorough
def test_a_file_of_a_tree_is_checked_with_the_rest(tree: Path) -> None:
    """A schema that is changed in one file differs from that of another one, whichever of them is named."""
    native = tree / "aten/src/ATen/native/native_functions.yaml"
    native.write_text(native.read_text().replace("func: trace(Tensor self)", "func: trace(Tensor self, int by=0)"))
    for name in ("aten/src/ATen/native/native_functions.yaml", "tools/autograd/derivatives.yaml"):
        report = check(["--format", "short", name], tree)
        assert "tools/autograd/derivatives.yaml" in report
        assert "E0905" in report
    # Without files, the tree in the working folder is checked.
    assert check(["--format", "short"], tree) == report


@pytest.mark.thorough
def test_python_inputs_of_a_tree_are_checked_with_the_rest(tree: Path) -> None:
    """The tables of C shims, and declarations of kernels compiled ahead of time, are checked against the operators."""
    module = write(
        tree,
        "torchgen/aoti/fallback_ops.py",
        "inductor_fallback_ops = {'aten.nothing.default': {}}\naten_shimified_ops = {}\n",
    )
    aot = write(tree, "torch/_native/ops/nothing/aot.py", 'ATEN_OP = "nothing"\n')
    for path, code in ((module, "W0805"), (aot, "E052")):
        report = check(["--format", "short", "--release", "2.15.0", str(path)], tree)
        assert f"{path}:1:" in report
        assert code in report


def test_a_folder_is_searched(tmp_path: Path) -> None:
    """A folder stands for the files of known kinds below it; others, and hidden folders, are left out."""
    write(tmp_path, "ops/pad.yaml", KEYWORD)
    write(tmp_path, "ops/settings.yaml", "colour: blue\n")
    write(tmp_path, ".hidden/pad.yaml", KEYWORD)
    report = check([*SMALL, "--format", "short", "."], tmp_path)
    assert report.splitlines() == [
        "ops/pad.yaml:1:32: error[W2211]: argument name `default` is a C++ keyword; write `default_`, or another name",
        "1 error in 1 file (ops/pad.yaml)",
    ]


def test_derivatives_of_a_library_are_checked_with_it(tmp_path: Path) -> None:
    """A file with derivatives that a library names is no file of PyTorch."""
    write(
        tmp_path,
        "acme.yaml",
        "namespace: acme\nderivatives: derivatives.yaml\noperators:\n"
        "- func: pad(Tensor self) -> Tensor\n  dispatch: {CPU: pad, Meta: pad}\n",
    )
    write(tmp_path, "derivatives.yaml", "- name: pad(Tensor self) -> Tensor\n  slf: grad\n")
    for names in (["derivatives.yaml"], ["."], ["acme.yaml"]):
        report = check([*SMALL, "--format", "short", *names], tmp_path)
        assert "derivatives.yaml:2:3: error[E0908]" in report


@pytest.mark.parametrize("kind", ["library", "backend"])
def test_new_projects_have_no_findings(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a new project have nothing that the check reports."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", kind, "acme", "project"]) == 0
    assert check(["project"], tmp_path).startswith("no findings in")


def test_a_kind_may_be_named(tmp_path: Path) -> None:
    """`--backend` and `--library` read a file as what they say, whatever it looks like."""
    write(tmp_path, "file.yaml", "colour: blue\n")
    assert "E1301" in check([*SMALL, "--backend", "file.yaml"], tmp_path)
    assert "E110" in check([*SMALL, "--library", "file.yaml"], tmp_path)


def test_a_backward_that_lacks_an_operator(tmp_path: Path) -> None:
    """A kernel whose backward formula calls an operator that the backend lacks is reported at its entry."""
    write(tmp_path, "acme.yaml", "backend: PrivateUse1\ncpp_namespace: acme\nfallback: error\nsupported:\n- tanh\n")
    report = check(["--select", "W2213", "--format", "short", "acme.yaml"], tmp_path)
    assert "warning[W2213]: backward of `tanh` calls `tanh_backward.grad_input`, which the backend lacks" in report


def test_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status is 0 without findings, 1 with some, and 2 for wrong usage; `--fail-on` says which findings count."""
    write(tmp_path, "pad.yaml", DEFAULT)
    write(tmp_path, "sound.yaml", KEYWORD.replace("default", "value"))
    write(tmp_path, "wrong.yaml", KEYWORD.replace("Tensor self", "Tensr self"))
    assert status(tmp_path, monkeypatch, "sound.yaml") == 0
    assert status(tmp_path, monkeypatch, "pad.yaml") == 1
    assert status(tmp_path, monkeypatch, "--fail-on", "error", "pad.yaml") == 0
    assert status(tmp_path, monkeypatch, "--fail-on", "error", "wrong.yaml") == 1
    assert status(tmp_path, monkeypatch, "--fail-on", "never", "wrong.yaml") == 0
    assert status(tmp_path, monkeypatch, "missing.yaml") == 1
    with pytest.raises(SystemExit) as ended:
        status(tmp_path, monkeypatch, "--format", "xml", "pad.yaml")
    assert ended.value.code == 2


def test_wrong_codes_are_reported(tmp_path: Path) -> None:
    """Codes that do not exist are errors, not a selection of nothing."""
    write(tmp_path, "pad.yaml", KEYWORD)
    for option in ("--select", "--ignore", "--extend-select"):
        assert f"error[{tool_codes.UNKNOWN_CODE}]" in check([*SMALL, option, "W2299", "pad.yaml"], tmp_path)


def test_text_from_standard_input(tmp_path: Path) -> None:
    """An editor checks a text that is not saved, under the path of its file."""
    path = write(tmp_path, "pad.yaml", KEYWORD)
    command = [sys.executable, "-m", "opwright", "check", *SMALL, "--format", "short", "--stdin-filename", str(path)]
    done = subprocess.run(command, input=DEFAULT, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("W2216"), done.stdout.count("W2211")) == (1, 1, 0)
    assert subprocess.run([*command, "--fix"], input="", capture_output=True, text=True).returncode == 2


def test_json(tmp_path: Path) -> None:
    """The report as JSON has places, labels, help and fixes."""
    write(tmp_path, "pad.yaml", DEFAULT)
    report = json.loads(check([*SMALL, "--format", "json", "pad.yaml"], tmp_path).rpartition("}\n")[0] + "}")
    (diagnostic,) = report["diagnostics"]
    assert report["version"] == 1
    assert (diagnostic["code"], diagnostic["severity"]) == ("W2216", "warning")
    assert diagnostic["place"]["start"] == {"line": 2, "column": 3, "offset": 43}
    (edit,) = diagnostic["fix"]["edits"]
    assert (edit["start"]["line"], edit["end"]["line"], edit["text"]) == (2, 3, "")


def test_suggested_names_are_taken_only_when_asked(tmp_path: Path) -> None:
    """`--fix` leaves a misspelt name; with `--unsafe-fixes` it gets the name that the help suggests."""
    path = write(tmp_path, "pad.yaml", "- func: acme::pad(Tensr self) -> Tensor\n  dispatch: {CPUU: pad, Meta: pad}\n")
    report = check([*SMALL, "--fix", "pad.yaml"], tmp_path)
    assert "--fix --unsafe-fixes takes 2 suggested names" in report
    assert "Tensr self" in path.read_text()
    assert "+- func: acme::pad(Tensor self)" in check([*SMALL, "--diff", "--unsafe-fixes", "pad.yaml"], tmp_path)
    check([*SMALL, "--fix", "--unsafe-fixes", "pad.yaml"], tmp_path)
    assert path.read_text() == "- func: acme::pad(Tensor self) -> Tensor\n  dispatch: {CPU: pad, Meta: pad}\n"


def test_json_has_suggestions(tmp_path: Path) -> None:
    """A suggestion is no fix: the report as JSON has it under its own name."""
    write(tmp_path, "pad.yaml", DEFAULT.replace("self", "self, Tensr other"))
    report = json.loads(check([*SMALL, "--format", "json", "pad.yaml"], tmp_path).rpartition("}\n")[0] + "}")
    (diagnostic,) = report["diagnostics"]
    assert diagnostic["fix"] is None
    assert [edit["text"] for edit in diagnostic["suggestion"]["edits"]] == ["Tensor"]


def test_sarif(tmp_path: Path) -> None:
    """The report as SARIF has the form of version 2.1.0, with paths below the folder of the run."""
    write(
        tmp_path, "a b/pad.yaml", DEFAULT + KEYWORD.replace("pad", "pat") + "- func: acme::pad(Tensor self) -> Tensr\n"
    )
    write(tmp_path, "two.yaml", DEFAULT.replace("acme", "other") * 2)
    log = json.loads(
        check([*SMALL, "--format", "sarif", "a b/pad.yaml", "two.yaml"], tmp_path).rpartition("}\n")[0] + "}"
    )
    assert not mistakes_in(log)
    results = log["runs"][0]["results"]
    assert {result["ruleId"] for result in results} >= {"W2211", "W2216", "E0202", "E0410"}
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/pad.yaml", "uriBaseId": "%SRCROOT%"}
    assert any("relatedLocations" in result for result in results)
    assert any("fixes" in result for result in results)


def test_sarif_mistakes_are_found() -> None:
    """The check of SARIF logs that the test above relies on sees wrong values and missing properties."""
    assert mistakes_in({"version": "2.0.0", "runs": []})
    assert mistakes_in({"version": "2.1.0", "runs": [{"results": []}]})


def test_github(tmp_path: Path) -> None:
    """Commands of GitHub workflows name files as the repository does, and escape what ends a property."""
    path = write(tmp_path, "a,b/pad.yaml", KEYWORD)
    report = check([*SMALL, "--format", "github", str(path)], tmp_path)
    assert report.splitlines()[0] == (
        "::error file=a%2Cb/pad.yaml,line=1,endLine=1,col=32,endColumn=43,title=W2211::"
        "argument name `default` is a C++ keyword%0Ahelp: write `default_`, or another name"
    )


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the nearest `pyproject.toml` selects codes and files; arguments add to it."""
    write(
        tmp_path,
        "pyproject.toml",
        '[tool.opwright.check]\nignore = ["W2211"]\nfiles = ["ops/*.yaml"]\nfail-on = "error"\n'
        '[tool.opwright.check.per-file-ignores]\n"ops/old.yaml" = ["W2216"]\n',
    )
    write(tmp_path, "ops/pad.yaml", KEYWORD.replace("acme::pad", "acme::p"))
    write(tmp_path, "ops/new.yaml", DEFAULT)
    write(tmp_path, "ops/old.yaml", DEFAULT.replace("acme", "old"))
    write(tmp_path, "ops/inner/x", "")
    report = check(["--release", "2.13.0", "--format", "short"], tmp_path)
    assert report.splitlines()[1:] == ["1 warning in 3 files (ops/new.yaml, ops/old.yaml, ops/pad.yaml); --fix fixes 1"]
    assert report.startswith("ops/new.yaml:2:3: warning[W2216]")
    assert status(tmp_path, monkeypatch, "ops/new.yaml") == 0
    assert status(tmp_path, monkeypatch, "--fail-on", "warning", "ops/new.yaml") == 1
    assert status(tmp_path, monkeypatch, "--isolated", "ops/pad.yaml") == 1
    assert find_settings(str(tmp_path / "ops" / "inner")) == str(tmp_path / "pyproject.toml")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[tool.opwright.check]\nignored = []\n", "pyproject.toml:2:1: error[E2203]"),
        ("[tool.opwright.check]\nignore = 'W2211'\n", "pyproject.toml:2:1: error[E2203]"),
        ("[tool.opwright.check]\nignore = ['W2211', 'W2299']\n", "pyproject.toml:2:21: error[E2204]"),
        ("[tool.opwright.check]\nfail-on = 'errors'\n", "pyproject.toml:2:12: error[E2203]"),
        ("[tool.opwright.check]\ntorch = 2.13\n", "pyproject.toml:2:1: error[E2203]"),
        ("[tool.opwright]\ncheck = 3\n", "pyproject.toml:1:1: error[E2203]"),
        ("[tool.opwright.check]\nper-file-ignores = {'a.yaml' = ['X1']}\n", "pyproject.toml:2:34: error[E2204]"),
        ("[tool.opwright.check]\nignore = [W2211]\n", "pyproject.toml:2:11: error[E2202]"),
        ("[tool.opwright.check\n", "pyproject.toml:1:21: error[E2202]"),
    ],
)
def test_mistakes_in_settings_have_places(text: str, place: str, tmp_path: Path) -> None:
    """Each mistake in the settings is a diagnostic at the key or the value."""
    write(tmp_path, "pyproject.toml", text)
    report = check([*SMALL, "--color", "never"], tmp_path)
    error, _, arrow = report.partition("\n")
    path, line, column = arrow.splitlines()[0].split("--> ")[1].split(":")
    assert f"{path}:{line}:{column}: {error.partition(':')[0]}" == place


def test_fix_keeps_bytes(tmp_path: Path) -> None:
    """A fix keeps line breaks, the byte order mark, the mode, and links; what is not fixed keeps its bytes."""
    text = "\ufeff" + DEFAULT.replace("\n", "\r\n") + "# ende: ä\r\n"
    path = write(tmp_path, "real/pad.yaml", text)
    path.chmod(0o640)
    (tmp_path / "pad.yaml").symlink_to(path)
    check([*SMALL, "--fix", "pad.yaml"], tmp_path)
    assert path.read_bytes().decode() == text.replace("  variants: function\r\n", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (tmp_path / "pad.yaml").is_symlink()
    assert os.listdir(tmp_path / "real") == ["pad.yaml"]


def test_diff_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--diff` prints the change as a patch that `patch` applies, and leaves the file alone."""
    path = write(tmp_path, "pad.yaml", DEFAULT)
    printed = check([*SMALL, "--diff", "pad.yaml"], tmp_path)
    assert printed.splitlines()[:2] == ["--- pad.yaml", "+++ pad.yaml"]
    assert "-  variants: function" in printed
    assert path.read_text() == DEFAULT
    assert status(tmp_path, monkeypatch, "--diff", "pad.yaml") == 1
    if shutil.which("patch"):
        subprocess.run(["patch", "-p0"], input=printed, text=True, check=True, cwd=tmp_path, capture_output=True)
        assert path.read_text() == DEFAULT.replace("  variants: function\n", "")


def test_installed_files_are_never_changed(tmp_path: Path) -> None:
    """`--fix` changes the files that the user names, not those of the release."""
    native = open_inputs("auto").read_text("native/native_functions.yaml")
    before = os.stat(native.path).st_mtime_ns
    assert "no findings" not in check(["--extend-select", "W2216", "--fix"], tmp_path)
    assert os.stat(native.path).st_mtime_ns == before


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """Fixes are not written over an edit that came after the check."""
    path = write(tmp_path, "pad.yaml", DEFAULT)
    files = CheckedFiles((str(path),), release="2.13.0")
    outcome = fix_files(files, lambda own: find(own, CodeFilter(), lambda: open_inputs(None, str(RELEASE))))
    assert outcome.fix_count == 1
    path.write_text(KEYWORD)
    with pytest.raises(FaultsFound) as raised:
        write_changes(outcome)
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == [CHANGED_MEANWHILE]
    assert path.read_text() == KEYWORD


def test_settings_stay_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No pattern of the settings reaches a file outside of the project, nor a pipe; `format` changes none of them."""
    text = "namespace: acme\noperators:\n- func: f( Tensor a )->(Tensor)\n"
    outside, project = write(tmp_path, "victim.yaml", text), tmp_path / "project"
    inside = write(project, "ops/deep/a.yaml", text)
    (project / "ops" / "linked.yaml").symlink_to(outside)
    (project / "all").symlink_to(tmp_path)
    os.mkfifo(project / "ops" / "pipe.yaml")
    monkeypatch.chdir(project)
    far = ["../victim.yaml", str(outside), "/etc/passwd", "/**/*.yaml", "all/*.yaml", "ops/../../*"]
    for pattern in [*far, "ops/linked.yaml", "ops/*.yaml", "ops/pipe.yaml"]:
        write(project, "pyproject.toml", f"[tool.opwright.check]\nfiles = [{pattern!r}]\n")
        with time_limit(10):
            assert main(["format"]) == 1
        report = capsys.readouterr()
        assert "--> pyproject.toml:2:1" in report.err, pattern
        assert "root:" not in report.err + report.out
        assert outside.read_text() == text
    write(project, "pyproject.toml", "[tool.opwright.check]\nfiles = ['**/a.yaml', 'ops/deep/**']\n")
    assert main(["format"]) == 0
    assert "f(Tensor a)" in inside.read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text", ["  tags: core\n" * 50_000, "- func: f(Tensor a) -> Tensor\n" * 30_000], ids=["keys", "entries"]
)
def test_what_is_repeated_often_takes_seconds(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand fixes of keys, or of entries, that stand tens of thousands of times take seconds."""
    path = write(tmp_path, "l.yaml", f"namespace: acme\noperators:\n- func: f(Tensor a) -> Tensor\n{text}")
    with time_limit(8):
        assert main(["check", str(path)]) == 1
    assert "--fix fixes 1000" in capsys.readouterr().err


def test_links_out_of_a_folder_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder stands for its own files: those that links in it lead to elsewhere are left as they are."""
    outside = write(tmp_path, "victim.yaml", "namespace: acme\noperators:\n- func: f( Tensor a )->(Tensor)\n")
    inside = write(tmp_path, "ops/a.yaml", outside.read_text())
    (tmp_path / "ops" / "linked.yaml").symlink_to(outside)
    status(tmp_path, monkeypatch, "--fix", "--select", "W2220,W2221", "ops")
    assert "f(Tensor a)" in inside.read_text()
    assert "f( Tensor a )" in outside.read_text()


@pytest.mark.parametrize("name", ["grads.yaml", "below/grads.yaml"])
def test_derivatives_may_be_named_beside_their_library(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that a library names as its derivatives is checked once with it, named before or after it."""
    library = f"namespace: acme\nderivatives: {name}\noperators:\n- func: twice(Tensor self) -> Tensor\n"
    write(tmp_path, "acme.yaml", library + "  dispatch: {CPU: twice}\n  outputs: like(self)\n")
    formula = "- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n"
    derivatives = write(tmp_path, name, formula)
    assert status(tmp_path, monkeypatch, "acme.yaml", name) == status(tmp_path, monkeypatch, name, "acme.yaml") == 0
    assert status(tmp_path, monkeypatch, name) == ("/" in name)
    capsys.readouterr()
    # Nothing is a schema here, so no fix can compare it with the operator's.
    derivatives.write_text(formula.replace("(Tensor self) -> Tensor", ""))
    assert status(tmp_path, monkeypatch, "acme.yaml", name) == 1
    assert capsys.readouterr().out.count("error[") == 1
