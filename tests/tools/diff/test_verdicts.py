"""Verdicts on libraries: pairs of entries, each labelled with what a new version of the library would be."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from opwright.cli.main import main
from opwright.source.diagnostic import Diagnostics
from opwright.tools.diff.compare import compare
from opwright.tools.diff.diffing import load_side
from opwright.tools.diff.records import Level
from opwright.tools.diff.reports import verdict_on

HEAD = "namespace: acme\n"
NORM = "f(Tensor x, Tensor w, float eps=1e-6) -> Tensor"
CPU = "dispatch: {CPU: f}"


class Pair(NamedTuple):
    """Two forms of an entry: the lines after `func`, with `|` between them. `back` is the way from new to old."""

    old: str
    new: str
    there: str
    back: str
    schemas: tuple[str, str] = (NORM, NORM)


def _schemas(old: str, new: str, there: str, back: str) -> Pair:
    return Pair(CPU, CPU, there, back, (old, new))


PAIRS = {
    # Schemas.
    "argument with a default": _schemas("f(Tensor x) -> Tensor", "f(Tensor x, int n=1) -> Tensor", "minor", "major"),
    "argument without a default": _schemas("f(Tensor x) -> Tensor", "f(Tensor x, int n) -> Tensor", "major", "major"),
    "keyword argument": _schemas("f(Tensor x) -> Tensor", "f(Tensor x, *, int n=1) -> Tensor", "minor", "major"),
    "default": _schemas("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, int n=2) -> Tensor", "major", "major"),
    "lost default": _schemas("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, int n) -> Tensor", "major", "minor"),
    "name of an argument": _schemas("f(Tensor x, int n) -> Tensor", "f(Tensor x, int m) -> Tensor", "major", "major"),
    "order": _schemas("f(Tensor x, Tensor y) -> Tensor", "f(Tensor y, Tensor x) -> Tensor", "major", "major"),
    "keyword only": _schemas("f(Tensor x, int n=1) -> Tensor", "f(Tensor x, *, int n=1) -> Tensor", "major", "minor"),
    "wider type": _schemas("f(Tensor x, int n) -> Tensor", "f(Tensor x, int? n) -> Tensor", "minor", "major"),
    "number of results": _schemas("f(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, Tensor)", "major", "major"),
    "written": _schemas("f(Tensor x) -> ()", "f(Tensor(a!) x) -> ()", "major", "major"),
    "view": Pair("", "", "major", "major", ("f(Tensor x) -> Tensor", "f(Tensor(a) x) -> Tensor(a)")),
    # Conditions on a new argument hold for calls that leave it out, or they do not.
    "condition that the default fulfils": Pair(
        CPU, f"{CPU}|requires: n > 0", "minor", "major", ("f(Tensor x) -> Tensor", "f(Tensor x, int n=1) -> Tensor")
    ),
    "condition that the default breaks": Pair(
        CPU, f"{CPU}|requires: n > 1", "major", "major", ("f(Tensor x) -> Tensor", "f(Tensor x, int n=1) -> Tensor")
    ),
    # Conditions that are compared as sets.
    "condition": Pair(CPU, f"{CPU}|requires: eps > 0", "major", "minor"),
    "stricter number": Pair(f"{CPU}|requires: eps >= 0", f"{CPU}|requires: eps > 0", "major", "minor"),
    "other limit": Pair(f"{CPU}|requires: eps < 1", f"{CPU}|requires: eps < 2", "minor", "major"),
    "one of two conditions": Pair(f"{CPU}|requires: [eps > 0, eps < 1]", f"{CPU}|requires: eps > 0", "minor", "major"),
    "dtypes": Pair(f"{CPU}|dtypes: {{x: [float32]}}", f"{CPU}|dtypes: {{x: floating}}", "minor", "major"),
    "any dtype": Pair(f"{CPU}|dtypes: {{x: floating}}", CPU, "minor", "major"),
    "dtype of another": Pair(CPU, f"{CPU}|dtypes: {{w: x}}", "major", "minor"),
    "disjoint dtypes": Pair(f"{CPU}|dtypes: {{x: integral}}", f"{CPU}|dtypes: {{x: complex}}", "major", "major"),
    "sizes": Pair(CPU, f'{CPU}|dims: {{x: "*b d", w: d}}', "major", "minor"),
    "a rank more": Pair(f'{CPU}|dims: {{x: "n d"}}', f'{CPU}|dims: {{x: "*b d"}}', "minor", "major"),
    "broadcast": Pair(f'{CPU}|dims: {{x: "n d", w: "d"}}', f'{CPU}|dims: {{x: "n d", w: "#d"}}', "minor", "major"),
    "names of sizes": Pair(f'{CPU}|dims: {{x: "n d", w: d}}', f'{CPU}|dims: {{x: "rows c", w: c}}', "patch", "patch"),
    "layout that copies": Pair(CPU, f"{CPU}|layout: {{x: contiguous}}", "patch", "patch"),
    "layout that refuses": Pair(
        f"{CPU}|layout: {{x: contiguous}}", f"{CPU}|layout: {{x: contiguous!}}", "major", "minor"
    ),
    "layout of an optional tensor": Pair(
        f"{CPU}|layout: {{w: contiguous}}",
        f"{CPU}|layout: {{w: contiguous!}}",
        "major",
        "minor",
        ("f(Tensor x, Tensor? w) -> Tensor",) * 2,
    ),
    "choices of a text": Pair(
        f"{CPU}|values: {{mode: [sum, mean]}}",
        f"{CPU}|values: {{mode: [sum, mean, max]}}",
        "minor",
        "major",
        ('f(Tensor x, str mode="sum") -> Tensor',) * 2,
    ),
    # Conditions on values, which no drawn call has.
    "values": Pair(
        f"{CPU}|dtypes: {{x: int64}}", f"{CPU}|dtypes: {{x: int64}}|values: {{x: x >= 0}}", "major", "minor"
    ),
    "range of values": Pair(
        f"{CPU}|dtypes: {{x: int64}}|values: {{x: x >= 0}}",
        f"{CPU}|dtypes: {{x: int64}}|values: {{x: x > 0}}",
        "major",
        "minor",
    ),
    "order of values": Pair(f"{CPU}|values: {{x: increasing}}", f"{CPU}|values: {{x: ascending}}", "minor", "major"),
    # Conditions that drawn calls compare. NaN fulfils the second one alone.
    "same condition but for NaN": Pair(
        f"{CPU}|requires: eps > 0 and eps < 1", f"{CPU}|requires: not (eps <= 0 or eps >= 1)", "minor", "major"
    ),
    "even sizes": Pair(
        f'{CPU}|dims: {{x: "n d"}}|requires: d % 2 == 0',
        f'{CPU}|dims: {{x: "n d"}}|requires: d % 4 == 0',
        "major",
        "minor",
    ),
    "neither": Pair(
        f'{CPU}|dims: {{x: "n d"}}|requires: d % 2 == 0',
        f'{CPU}|dims: {{x: "n d"}}|requires: n % 2 == 0',
        "major",
        "major",
    ),
    # Results.
    "declared result": Pair(CPU, f"{CPU}|outputs: like(x)", "minor", "major"),
    "another size": Pair(f"{CPU}|outputs: like(x)", f"{CPU}|outputs: like(w)", "major", "major"),
    "same size otherwise": Pair(f'{CPU}|outputs: "[x.size(0)]"', f'{CPU}|outputs: "[x.size(0) * 1]"', "patch", "patch"),
    "dtype of the result": Pair(
        f'{CPU}|dims: {{x: "*b", return: "*b"}}',
        f'{CPU}|dims: {{x: "*b", return: "*b"}}|dtypes: {{return: float64}}',
        "major",
        "major",
    ),
    # Kernels, builds, and what lies around calls.
    "device": Pair(CPU, "dispatch: {CPU: f, CUDA: g}", "minor", "major"),
    "kernel for all devices": Pair(CPU, "dispatch: {CompositeExplicitAutograd: f}", "minor", "major"),
    "name of a kernel": Pair(CPU, "dispatch: {CPU: g}", "patch", "patch"),
    "condition of the build": Pair(CPU, f"{CPU}|if: defined(ACME)", "major", "minor"),
    "autocast": Pair(CPU, f"{CPU}|autocast: fp32", "major", "major"),
    "policy of autocast": Pair(f"{CPU}|autocast: fp32", f"{CPU}|autocast: lower_precision_fp", "major", "major"),
    "batch rule": Pair(CPU, f"{CPU}|batch_rule: f_rule", "patch", "patch"),
    "documentation": Pair(CPU, f"{CPU}|doc: Scales.", "patch", "patch"),
    "devices of tensors": Pair(CPU, f"{CPU}|device_check: NoCheck", "minor", "major"),
    "deprecated": Pair(CPU, f"{CPU}|deprecated: since 2, use g", "minor", "patch"),
    "samples": Pair(CPU, f'{CPU}|samples: ["torch.rand(3), torch.rand(3)"]', "patch", "patch"),
    "tag": Pair(CPU, f"{CPU}|tags: pointwise", "patch", "patch"),
    "shared memory": Pair(
        CPU,
        f"{CPU}|overlap: allowed",
        "minor",
        "major",
        ("f(Tensor x, Tensor(a!) w) -> ()",) * 2,
    ),
}


def _file(folder: Path, name: str, entries: list[tuple[str, str]], head: str = HEAD) -> Path:
    lines = [head, "operators:\n"]
    for schema, fields in entries:
        lines += [f"- func: {schema}\n", *[f"  {line}\n" for line in fields.split("|") if line]]
    path = folder / name
    path.write_text("".join(lines))
    return path


def _level(old: Path, new: Path) -> tuple[Level, str]:
    sink = Diagnostics()
    comparison = compare(*[load_side(str(path), None, sink).side for path in (old, new)])
    assert comparison.has_verdict
    texts = [reason.text for change in comparison.changes for reason in change.reasons]
    return verdict_on(comparison.changes, comparison, "").level, "; ".join(texts)


@pytest.mark.parametrize("name", PAIRS)
def test_verdicts_are_the_labels(name: str, tmp_path: Path) -> None:
    """Each pair is labelled in both directions."""
    pair = PAIRS[name]
    old = _file(tmp_path, "old.yaml", [(pair.schemas[0], pair.old)])
    new = _file(tmp_path, "new.yaml", [(pair.schemas[1], pair.new)])
    for sides, label in (((old, new), pair.there), ((new, old), pair.back)):
        level, texts = _level(*sides)
        assert level.name == label, texts


GRAD = "- name: f(Tensor x, Tensor w, float eps=1e-6) -> Tensor\n"
X, W = "  x: grad * w\n", "  w: grad * x\n"

FORMULAS = {
    "a gradient more": (GRAD + X, GRAD + X + W, "minor", "major"),
    "first gradients": ("[]\n", GRAD + X, "minor", "major"),
    "another formula": (GRAD + X, GRAD + "  x: w * grad\n", "patch", "patch"),
    "no gradient by name": (GRAD + X + W, GRAD + X + "  w: non_differentiable\n", "major", "minor"),
    "a tangent": (GRAD + X, GRAD + X + "  result: auto_linear\n", "minor", "major"),
}


@pytest.mark.parametrize("interface", ["native", "stable"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_have_verdicts(name: str, interface: str, tmp_path: Path) -> None:
    """The same for formulas of gradients, of both C++ interfaces."""
    old, new, there, back = FORMULAS[name]
    if interface == "stable" and "result" in new:
        new = new.replace("auto_linear", "x_t * w_p")
    sides = []
    for side, formulas in (("old", old), ("new", new)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "derivatives.yaml").write_text(formulas)
        head = f"{HEAD}derivatives: derivatives.yaml\n" + "abi: stable\n" * (interface == "stable")
        fields = f"{CPU}|outputs: like(x)"
        sides.append(_file(tmp_path / side, "acme.yaml", [(NORM, fields)], head))
    for pair, label in ((sides, there), (sides[::-1], back)):
        level, texts = _level(*pair)
        assert level.name == label, texts


ONE, TWO = (NORM, f"{CPU}|outputs: like(x)"), ("g(Tensor x) -> Tensor", "dispatch: {CPU: g}|outputs: like(x)")
OVERLOAD = ("f.plain(Tensor x) -> Tensor", "dispatch: {CPU: g}|outputs: like(x)")
PRIVATE = ("_g(Tensor x) -> Tensor", "dispatch: {CPU: g}|outputs: like(x)")
STABLE = f"{HEAD}abi: stable\n"

BORROWED = f'{CPU}|dims: {{x: "*b", return: "*b"}}|dtypes: {{x: float32, return: float32}}'
FILES = {
    "an operator more": (HEAD, [ONE], HEAD, [ONE, TWO], "minor", "major"),
    "an overload more": (HEAD, [ONE], HEAD, [ONE, OVERLOAD], "minor", "major"),
    "a private operator more": (HEAD, [ONE], HEAD, [ONE, PRIVATE], "patch", "patch"),
    "another name": (HEAD, [TWO], HEAD, [("h(Tensor x) -> Tensor", TWO[1])], "major", "major"),
    "namespace": (HEAD, [ONE], "namespace: acme2\n", [ONE], "major", "major"),
    "order of entries": (HEAD, [ONE, TWO], HEAD, [TWO, ONE], "patch", "patch"),
    "nothing": (HEAD, [ONE], HEAD, [ONE], "patch", "patch"),
    "Python package": (HEAD, [ONE], f"{HEAD}python_package: acme_ops\n", [ONE], "major", "major"),
    "C++ interface": (HEAD, [ONE], STABLE, [ONE], "major", "major"),
    "oldest PyTorch": (f"{STABLE}torch: '>=2.10'\n", [ONE], f"{STABLE}torch: '>=2.11'\n", [ONE], "major", "minor"),
    "PyTorch of a native one": (f"{HEAD}torch: '>=2.10'\n", [ONE], f"{HEAD}torch: '>=2.12'\n", [ONE], "major", "minor"),
    "newest PyTorch": (HEAD, [ONE], f"{HEAD}torch: '<2.15'\n", [ONE], "major", "minor"),
    "C shims": (HEAD, [ONE], f"{HEAD}c_shims: [cpu]\n", [ONE], "minor", "major"),
    "C++ namespace": (HEAD, [ONE], f"{HEAD}cpp_namespace: acme2\n", [ONE], "major", "major"),
    "frameworks": (
        f"{HEAD}abi: dlpack\n",
        [("f(Tensor x) -> Tensor", BORROWED)],
        f"{HEAD}abi: dlpack\nframeworks: [torch, jax]\n",
        [("f(Tensor x) -> Tensor", BORROWED)],
        "major",
        "minor",
    ),
    "an argument of a C shim": (
        f"{HEAD}c_shims: [cpu]\n",
        [("f(Tensor x) -> Tensor", CPU)],
        f"{HEAD}c_shims: [cpu]\n",
        [("f(Tensor x, int n=1) -> Tensor", CPU)],
        "major",
        "major",
    ),
    "a contract more": (
        HEAD,
        [("s_(Tensor(a!) self) -> Tensor(a!)", "dispatch: {CPU: s}")],
        HEAD,
        [("s_(Tensor(a!) self) -> Tensor(a!)", "dispatch: {CPU: s}|autogen: s, s.out")],
        "minor",
        "major",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_have_verdicts(name: str, tmp_path: Path) -> None:
    """The same for what whole files say."""
    before, first, after, second, there, back = FILES[name]
    old, new = _file(tmp_path, "old.yaml", first, before), _file(tmp_path, "new.yaml", second, after)
    for sides, label in (((old, new), there), ((new, old), back)):
        level, texts = _level(*sides)
        assert level.name == label, texts


def test_a_removal_is_announced_or_not(tmp_path: Path) -> None:
    """A report says of an operator that is gone what its entry said before."""
    new = _file(tmp_path, "new.yaml", [ONE])
    for fields, text in (
        ("|deprecated: since 2, use f", "the operator is gone, as announced: since 2, use f"),
        ("", "the operator is gone, unannounced"),
    ):
        old = _file(tmp_path, "old.yaml", [ONE, (TWO[0], f"{TWO[1]}{fields}")])
        assert _level(old, new) == (Level.major, text)


def _repository(folder: Path, *files: tuple[str, str]) -> None:
    """A repository with a tag for each content of a file."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)

    git("init")
    for tag, text in files:
        (folder / "ops").mkdir(exist_ok=True)
        (folder / "ops" / "acme.yaml").write_text(text)
        git("add", "-A")
        git("commit", "-m", tag)
        git("tag", tag)


def test_a_library_is_compared_with_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`git:REF` is the path of the other side in a commit; the verdict and the next version come last."""
    old = f"{HEAD}operators:\n- func: {NORM}\n  {CPU}\n  requires: eps > 0\n"
    _repository(tmp_path, ("v1.4.2", old), ("v1.5.0", old.replace("eps > 0", "eps >= 0")))
    library = tmp_path / "ops" / "acme.yaml"
    assert main(["diff", "git:v1.4.2", str(library), "--current", "1.4.2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("git:v1.4.2 -> ")
    assert "minor: it no longer needs: `eps > 0`; it takes (" in out
    assert out.endswith("Verdict: minor (1 minor); the version after 1.4.2 is 1.5.0.\n")
    assert main(["diff", "git:v1.4.2", str(library.parent), "--fail-on", "minor"]) == 1
    assert main(["diff", "git:v1.4.2", str(library), "--fail-on", "major"]) == 0
    assert main(["diff", str(library), "git:v1.4.2:ops/acme.yaml", "--fail-on", "major"]) == 1
    capsys.readouterr()
    for spec, message in (
        ("git:v9", "`v9` is no commit of the repository"),
        ("git:v1.5.0:ops/other.yaml", "`ops/other.yaml` is not in `v1.5.0`"),
        ("git:v1.5.0:../acme.yaml", "`../acme.yaml` is not in `v1.5.0`"),
        ("git:--output=x", "`--output=x` is no commit of the repository"),
    ):
        assert main(["diff", spec, str(library)]) == 1
        assert message in capsys.readouterr().err


def test_changes_say_since_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--since` names the first tag with each change, for the last time that it came."""
    first = f"{HEAD}operators:\n- func: {NORM}\n  {CPU}\n  requires: eps > 0\n"
    argument = first.replace("eps=1e-6", "eps=1e-6, bool flag=False")
    versions = {
        "v1": first,
        "v2": argument,
        "v3": first,
        "v4": "namespace: [",
        "v5": argument,
        "v6": f"{argument}- func: g(Tensor x) -> Tensor\n  {CPU}\n",
        "v7": f"{argument}- func: g(Tensor x) -> Tensor\n  {CPU}\n  doc: Of another line.\n",
    }
    _repository(tmp_path, *versions.items())
    library = tmp_path / "ops" / "acme.yaml"
    library.write_text(versions["v7"].replace("eps > 0", "eps > 1"))
    command = ["diff", "--since", "git:v1"]
    assert main([*command, str(library)]) == 1
    out, err = capsys.readouterr()
    assert "new argument `bool flag=False` (since v5)" in " ".join(out.split())
    assert "acme::g (since v6)" in out
    assert "(since the last commit): breaks python" in " ".join(out.split())
    assert err == "opwright diff: 1 of 6 commits cannot be read, and are left out\n"
    monkeypatch.chdir(tmp_path)
    assert main(["diff", "--since", "git:v1:ops/acme.yaml", "git:v6:ops/acme.yaml", "--format", "json"]) == 1
    changes = {change["name"]: change for change in json.loads(capsys.readouterr().out)["changes"]}
    assert changes["acme::g"]["since"] == "v6"
    assert [reason["since"] for reason in changes["acme::f"]["reasons"]] == ["v5", "v5"]
    packed = tmp_path / "acme-7-py3-none-any.whl"
    _wheel(packed, {"acme.yaml": versions["v7"].encode()})
    assert main(["diff", "--since", "git:v1:ops/acme.yaml", str(packed), "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert {change["name"]: change for change in json.loads(out)["changes"]}["acme::g"]["since"] == "v6"
    assert err.startswith("opwright diff: 1 of 6 commits")
    assert main(["diff", "--since", str(library), str(library)]) == 1
    assert "`--since` looks for commits" in capsys.readouterr().err


def test_links_of_a_commit_are_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A commit has no way to what is outside of it."""
    (tmp_path / "repository" / "ops").mkdir(parents=True)
    secret = tmp_path / "secret.yaml"
    secret.write_text(f"{HEAD}operators: []\n")
    (tmp_path / "repository" / "ops" / "link.yaml").symlink_to(secret)
    _repository(tmp_path / "repository", ("v1", f"{HEAD}operators: []\n"))
    library = str(tmp_path / "repository" / "ops" / "acme.yaml")
    assert main(["diff", "git:v1:ops/link.yaml", library]) == 1
    assert "is not in `v1`" in capsys.readouterr().err


def _sdist(path: Path, files: Mapping[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def _wheel(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(("name", "write"), [("acme-1.4.2.tar.gz", _sdist), ("acme-1.4.2-py3-none-any.whl", _wheel)])
def test_a_library_is_compared_with_an_archive(
    name: str,
    write: Callable[[Path, Mapping[str, bytes]], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A wheel or a source distribution is a side, if it has library files; nothing of it gets out of its folder."""
    old = f"{HEAD}operators:\n- func: {NORM}\n  {CPU}\n  requires: eps > 0\n"
    new = tmp_path / "acme.yaml"
    new.write_text(old.replace("eps > 0", "eps > 1"))
    archive = tmp_path / name
    write(archive, {"acme/ops/acme.yaml": old.encode(), "../out.yaml": old.encode(), "acme/setup.py": b"raise"})
    assert main(["diff", str(archive), str(new), "--current", "1.4.2"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{archive} -> ")
    assert "major: it needs: `eps > 1`" in out
    assert out.endswith("Verdict: major (1 major); the version after 1.4.2 is 2.0.0.\n")
    write(archive, {"acme/__init__.py": b""})
    assert main(["diff", str(archive), str(new)]) == 1
    assert f"`{archive}` has no library files" in capsys.readouterr().err
    write(archive, {"acme.yaml": old.encode(), "acme.yaml/more.yaml": old.encode()})
    assert main(["diff", str(archive), str(new)]) == 1
    assert f"`{archive}` cannot be unpacked" in capsys.readouterr().err
    archive.write_bytes(b"damaged")
    assert main(["diff", str(archive), str(new)]) == 1
    assert str(archive) in capsys.readouterr().err


def test_an_encrypted_archive_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody is asked for a password."""
    archive = tmp_path / "acme-1.4.2-py3-none-any.whl"
    _wheel(archive, {"acme.yaml": b"a" * 40})
    data = archive.read_bytes()
    # The first flag of a member, in its header and in the directory, says that it is encrypted.
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.index(mark) + place
        data = data[:at] + bytes([data[at] | 1]) + data[at + 1 :]
    archive.write_bytes(data)
    assert main(["diff", str(archive), str(archive)]) == 1
    assert f"`{archive}` cannot be unpacked" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_library_is_compared_with_what_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package with library files is read, and not imported; of another one the process says what it registers."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    old = f"{HEAD}operators:\n- func: {NORM}\n  {CPU}\n  requires: eps > 0\n"
    new = tmp_path / "acme.yaml"
    new.write_text(old.replace("float eps", "float epsilon").replace("eps > 0", "epsilon > 0"))
    (tmp_path / "with_files").mkdir()
    (tmp_path / "with_files" / "__init__.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "with_files" / "acme.yaml").write_text(old)
    assert main(["diff", "module:with_files", str(new)]) == 1
    assert "argument `eps` is replaced by `epsilon`" in capsys.readouterr().out
    define = f'import torch\nlibrary = torch.library.Library("acme", "DEF")\nlibrary.define("{NORM}")\n'
    (tmp_path / "that_runs.py").write_text(define)
    assert main(["diff", "module:that_runs", str(tmp_path / "with_files" / "acme.yaml")]) == 0
    out = capsys.readouterr().out
    assert "module:that_runs was read from its process: nothing but schemas and tags was compared." in out
    assert out.endswith("Verdict: at least patch (no changes).\n")
    assert main(["diff", "module:that_runs", str(new), "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["running"] == ["module:that_runs"]
    assert data["verdict"]["level"] == "major"
    for spec, message in (("module:no_such_one", "importing `no_such_one` failed"), ("module:a-b", "is no name of a")):
        assert main(["diff", spec, str(new)]) == 1
        assert message in capsys.readouterr().err


def test_reports_say_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has the level of each change and reason, and Markdown can be pasted into notes of a release."""
    old = _file(tmp_path, "old.yaml", [ONE])
    new = _file(tmp_path, "new.yaml", [(NORM, f"{CPU}|outputs: like(x)|requires: eps > 0"), TWO])
    assert main(["diff", str(old), str(new), "--format", "json", "--current", "0.3.1"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == {"level": "major", "current": "0.3.1", "next": "0.4.0"}
    assert [(change["name"], change["level"]) for change in data["changes"]] == [
        ("acme::f", "major"),
        ("acme::g", "minor"),
    ]
    assert main(["diff", str(old), str(new), "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "**Verdict: major (1 major, 1 minor).**" in out
    assert "it needs: `eps > 0`; it no longer takes (" in out
    with pytest.raises(SystemExit):
        main(["diff", str(old), str(new), "--current", "next"])
