"""Every program of PyTorch's generator, on twelve layouts of folders: who runs there runs here, with the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.conformance.inputs import MY_ENTRY

pytestmark = pytest.mark.thorough


class Layout(NamedTuple):
    """Copies of folders of an installed generator, by where they are; where ATen and autograd are then, if copied."""

    copies: dict[str, str]
    aten: str = ""
    autograd: str = ""


LAYOUTS: Final = {
    "packaged under another name": Layout({"P": "packaged"}, "P/ATen", "P/autograd"),
    "ATen alone": Layout({"ATen": "packaged/ATen"}, "ATen"),
    "ATen below folders": Layout({"a/b/c/ATen": "packaged/ATen"}, "a/b/c/ATen"),
    "torchgen": Layout({"torchgen": "."}, "torchgen/packaged/ATen", "torchgen/packaged/autograd"),
    "packaged": Layout({"packaged": "packaged"}, "packaged/ATen", "packaged/autograd"),
    "ATen as in a tree": Layout({"aten/src/ATen": "packaged/ATen"}, "aten/src/ATen"),
    "beside each other": Layout({"mine": "packaged"}, "mine/ATen/", "mine/autograd/"),
    "ATen alone in packaged": Layout({"torchgen/packaged/ATen": "packaged/ATen"}, "torchgen/packaged/ATen"),
    "the working folder": Layout({".": "packaged/ATen"}, "."),
    "around": Layout({"inputs of mine/ATen": "packaged/ATen"}, "inputs of mine/../inputs of mine/ATen"),
    "autograd elsewhere": Layout(
        {"ATen": "packaged/ATen", "mine/of autograd": "packaged/autograd"}, "ATen", "mine/of autograd"
    ),
    "autograd alone": Layout({"autograd": "packaged/autograd"}, "", "autograd"),
}


class Program(NamedTuple):
    """A program: the reference's statements, ours, and the arguments that both get after the folder of the output."""

    reference: str
    ours: str
    arguments: tuple[str, ...]


_RUN: Final = "import runpy; runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
_BY_CALL: Final = (
    "import torchgen.packaged.autograd.gen_autograd as program; program.gen_autograd_python(*sys.argv[1:])"
)
_MAIN: Final = ("--source-path", "{aten}", "--install-dir", "{out}", "--headeronly-install-dir", "{out}/core")
_PATHS: Final = ("{native}", "{tags}", "{out}", "{autograd}")


def _ours(name: str) -> str:
    return _RUN.format(f"opwright.torchgen.{name}")


PROGRAMS: Final = {
    "gen": Program(
        _RUN.format("torchgen.gen"),
        _ours("gen"),
        (*_MAIN, "--aoti-install-dir", "{out}/aoti", "--per-operator-headers"),
    ),
    "gen without headers per operator": Program(
        _RUN.format("torchgen.gen"), _ours("gen"), (*_MAIN, "--aoti-install-dir", "{out}/aoti")
    ),
    "gen_autograd": Program(
        _RUN.format("torchgen.packaged.autograd.gen_autograd"), _ours("gen_autograd"), _PATHS
    ),
    "gen_annotated_fn_args": Program(
        _RUN.format("torchgen.packaged.autograd.gen_annotated_fn_args"), _ours("gen_annotated_fn_args"), _PATHS
    ),
    "gen_autograd_python": Program(_BY_CALL, _ours("gen_autograd_python"), _PATHS),
}  # fmt: skip

#: Programs of a tree that no wheel has, and commands: they run, and write or say something.
OURS: Final = {
    "gen_unboxing": ("opwright.torchgen.gen_unboxing", "--source-path", "{aten}", "--install-dir", "{out}"),
    "gen_static_runtime_ops": (
        "opwright.torchgen.gen_static_runtime_ops", "--source-path", "{aten}", "--no-format",
        "--generated-ops-cpp-path", "{out}/ops.cpp", "--generated-ops-test-cpp-path", "{out}/test.cpp",
    ),
    "gen_backend_stubs": (
        "opwright.torchgen.gen_backend_stubs", "--source-path", "{aten}", "-s", "backend.yaml", "-o", "{out}",
    ),
    "generate_code": (
        "opwright.torchgen.generate_code", "--native-functions-path", "{native}", "--tags-path", "{tags}",
        "--install-dir", "{out}",
    ),
    "generate": ("opwright", "generate", "--source-path", "{aten}", "--out", "{out}"),
    "explain": ("opwright", "explain", "my_softclip", "--source-path", "{aten}"),
    "check": ("opwright", "check", "{native}"),
    "diff": ("opwright", "diff", "{aten}", "{aten}"),
}  # fmt: skip

_BACKEND: Final = "backend: PrivateUse1\ncpp_namespace: torch_acme\nsupported:\n- abs\n- my_softclip\n"


@pytest.fixture(params=LAYOUTS)
def layout(
    request: pytest.FixtureRequest, tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """The places of a layout, made in an empty working folder; what is not copied is that of the installed PyTorch."""
    package = reference_inputs.parents[1]
    chosen = LAYOUTS[request.param]
    for target, source in chosen.copies.items():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package / source, tmp_path / target, ignore=ignored, dirs_exist_ok=True)
    aten = chosen.aten or os.fspath(package / "packaged/ATen")
    if chosen.aten:
        with open(tmp_path / aten / "native/native_functions.yaml", "a", encoding="utf-8") as stream:
            stream.write(MY_ENTRY)
    (tmp_path / "backend.yaml").write_text(_BACKEND)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", os.fspath(tmp_path / "cache"))
    return {
        "aten": aten,
        "native": f"{aten.rstrip('/')}/native/native_functions.yaml",
        "tags": f"{aten.rstrip('/')}/native/tags.yaml",
        "autograd": chosen.autograd or os.fspath(package / "packaged/autograd"),
        "is_copied": chosen.aten,
    }


def _run(statements: str, arguments: tuple[str, ...], places: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python with the installed packages: parts of them in the working folder are not imported."""
    # What is copied as a whole is imported, as it is for a user.
    is_whole = os.path.isfile("torchgen/utils.py") and "opwright" not in statements
    leaves_out = "" if is_whole else "import sys; sys.path[:] = [path for path in sys.path if path]; "
    call = f"{leaves_out}import sys; {statements}"
    words = [argument.format(**places) for argument in arguments]
    return subprocess.run([sys.executable, "-c", call, *words], capture_output=True, text=True, check=False)


def _files(folder: str) -> dict[str, bytes]:
    """The files below a folder, by path; emptied, because there are thousands."""
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    shutil.rmtree(folder)
    return files


def test_programs_of_the_reference(layout: dict[str, str]) -> None:
    """Each program of the reference that runs on a layout runs here too, and writes the same bytes."""
    for name, program in PROGRAMS.items():
        done = []
        for statements in (program.reference, program.ours):
            for folder in ("core", "ops", "aoti"):
                os.makedirs(f"out/{folder}")
            run = _run(statements, program.arguments, {**layout, "out": "out"})
            done.append((run.returncode, _files("out")))
            if statements is program.ours and not done[0][0]:
                assert run.returncode == 0, f"{name}: {run.stderr}"
        (status, theirs), (_, ours) = done
        assert status == 0, name
        assert theirs
        assert [path for path, data in theirs.items() if ours.get(path) != data] == [], name
        assert set(ours) == set(theirs), name


@pytest.mark.parametrize("name", OURS)
def test_other_programs(name: str, layout: dict[str, str]) -> None:
    """Programs that no wheel has, and commands about operators, run on each layout with a copy of ATen."""
    if not layout["is_copied"]:
        pytest.skip("this layout has no copy of ATen")
    module, *arguments = OURS[name]
    os.makedirs("out")
    run = _run(_RUN.format(module), tuple(arguments), {**layout, "out": "out"})
    assert run.returncode == 0, run.stderr
    assert os.listdir("out") or run.stdout or "no findings" in run.stderr
