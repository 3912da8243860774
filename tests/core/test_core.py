"""The core holds what the drop-in programs need and nothing else, and runs with PyYAML alone."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
import yaml

from opwright.cli.main import COMMANDS
from opwright.release.local import from_installed, installed_generator
from tests.conformance.inputs import source_tree
from tests.core.__main__ import contents, write_folder, write_zip
from tests.core.closure import SOURCE, Closure, imports_of, module_paths
from tests.core.installation import write_site
from tests.test_layering import WINGS, room
from tests.torchgen_interface.symbols import symbols

#: Parts of other rooms.
PARTS_OUTSIDE = ("mobile.executorch_dialect", "mobile.executorch")
#: Guests that drop-in programs use.
GUESTS_INSIDE = {"backends", "mobile"}
#: What drop-in programs never import: the other wings.
OUTSIDE = {*WINGS, "plugin", "setuptools"} - {"cli", "torchgen", *GUESTS_INSIDE}
NETWORK = {"asyncio", "ftplib", "http", "netrc", "smtplib", "socket", "ssl", "urllib"}
#: What reviewers of a vendored copy read. It may grow, knowingly.
MOST_LINES = 59_400


@cache
def core() -> Closure:
    """The core for PyTorch's programs."""
    return Closure()


@pytest.mark.thorough
def test_no_tools_and_libraries() -> None:
    """No module of the core is one of a tool or a library; a failure shows the imports that lead there."""
    outside = {
        name
        for name in core().importers
        if name.split(".")[1:2] and (name.split(".")[1] in OUTSIDE or name.startswith(_PARTS))
    }
    assert [core().way_to(name) for name in sorted(outside)] == []
    assert {name.split(".")[2] for name in core().importers if name.startswith("opwright.cli.")}.isdisjoint(COMMANDS)


_PARTS = tuple([f"opwright.{part}" for part in PARTS_OUTSIDE])


def test_rooms_outside_exist() -> None:
    """The lists above name rooms that there are."""
    rooms = {name.split(".")[1] for name in module_paths() if "." in name}
    assert rooms >= OUTSIDE
    assert module_paths().keys() >= {*_PARTS}


#: What the compiler has and no drop-in program needs: what is started as a program.
BESIDES = {"opwright.source.child_program.__main__"}


@pytest.mark.thorough
def test_the_compiler_is_what_programs_need() -> None:
    """The rooms of the compiler, but that of plug-ins, have what drop-in programs need, and what is listed above."""
    compiler = {name for name in module_paths() if room(name) and room(name).split("/")[0] not in WINGS}
    assert compiler - core().importers.keys() == BESIDES


def test_dependencies() -> None:
    """The core imports PyYAML, the standard library without its network, and itself."""
    others = core().other_packages.keys() - sys.stdlib_module_names
    assert others == {"yaml"}
    assert core().other_packages.keys().isdisjoint(NETWORK)


def test_size() -> None:
    """The core does not grow unnoticed."""
    files = [path for path in core().files() if path.suffix == ".py"]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) < MOST_LINES


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import opwright.cli", ["opwright.cli"]),
        ("def f():\n    from opwright.cli import console", ["opwright.cli", "opwright.cli.console"]),
        ("if TYPE_CHECKING:\n    import os\nelse:\n    import re", ["re"]),
        ("try:\n    import rich\nexcept ModuleNotFoundError:\n    import other\nelse:\n    import os", ["os"]),
        ("try:\n    import rich\nexcept OSError:\n    pass", ["rich"]),
        ("module = 'opwright.cli.console:run'", ["opwright.cli.console"]),
        ("text = 'opwright.cli is a room'\nname = 'cli.console'", []),
        ("def __getattr__(name):\n    import opwright.cli", []),
        ("class C:\n    def __getattr__(self, name):\n        import os", ["os"]),
    ],
)
def test_imports(code: str, names: list[str]) -> None:
    """An import counts wherever it stands, unless it is for types, for those who ask, or may fail."""
    assert list(imports_of(ast.parse(code), "opwright.example")) == names


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core as a zip file."""
    path = tmp_path_factory.mktemp("core") / "core.zip"
    write_zip(contents(core()), path)
    return path


def isolated(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder with PyYAML and nothing else that is installed."""
    packages = folder / "packages"
    if not packages.exists():
        packages.mkdir()
        for name in ("yaml", "_yaml"):
            (packages / name).symlink_to(Path(yaml.__file__).parents[1] / name)
    environment = {"PYTHONPATH": str(packages), "OPWRIGHT_CACHE_DIR": str(folder / "cache"), "PATH": os.defpath}
    words = [sys.executable, "-S", *words]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_module_loads(archive: Path, tmp_path: Path) -> None:
    """Each module of the zip file can be imported from it, with PyYAML alone."""
    code = "import sys; sys.path.insert(0, sys.argv[1])\nfor name in sys.argv[2:]: __import__(name)"
    done = isolated(["-c", code, str(archive), *sorted({*core().importers, *core().interface})], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
def test_names_for_importers(archive: Path, tmp_path: Path) -> None:
    """What public programs import from PyTorch's generator, they get from the core, but for ExecuTorch's modules."""
    lines = ["import sys", "sys.path.insert(0, sys.argv[1])"]
    for module, names in symbols().items():
        if "executorch" not in module and module != "torchgen.aoti.fallback_ops":
            lines += [f"from {module} import {name}" for name in names if name not in ("(module)", "*")]
    done = isolated(["-c", "\n".join(lines), str(archive)], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
def test_torch_runs_on_the_core(tmp_path: Path) -> None:
    """In an installed PyTorch whose generator is replaced, PyTorch is imported and compiles, and the generator runs.

    The inputs of the folder stay: `packaged`, and the table of shims.
    """
    site = tmp_path / "site"
    write_site(site, core())
    original = Path(installed_generator() or "")

    def run(*words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    program = Path(__file__).parents[1] / "torchgen_interface" / "torch_program.py"
    code = f"import runpy, opwright, torchgen; runpy.run_path({str(program)!r}); print(opwright.__file__)"
    assert run("-c", code, "aot_eager", "inductor").splitlines()[-1] == str(site / "opwright" / "__init__.py")
    code = (
        "from torchgen.aoti import fallback_ops; print(fallback_ops.__name__, len(fallback_ops.inductor_fallback_ops))"
    )
    assert run("-c", code).startswith("torchgen.aoti.fallback_ops ")
    aten = site / "torchgen" / "packaged" / "ATen"
    words = ["--install-dir", "out", "--aoti-install-dir", "out", "--output-dependencies", "lists.cmake", "--dry-run"]
    lists = []
    for module, folder in (("torchgen.gen", aten), ("opwright.torchgen.gen", original / "packaged" / "ATen")):
        run("-m", module, "--source-path", str(folder), *words)
        lists.append((tmp_path / "lists.cmake").read_bytes())
    assert lists[0] == lists[1]


@pytest.mark.thorough
def test_programs_run(archive: Path, tmp_path: Path) -> None:
    """The zip file is a program that runs drop-in programs, and writes what the installed Opwright writes."""
    native, tags = map(from_installed().display_path, ("native/native_functions.yaml", "native/tags.yaml"))
    words = ["gen_annotated_fn_args", native, tags, "out", str(Path(native).parents[2] / "autograd")]
    done = isolated([str(archive), *words, "--depfile", "out.d"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(archive) in (tmp_path / "out.d").read_text()
    words[3] = "other"
    environment = {**os.environ, "OPWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    module = f"opwright.torchgen.{words[0]}"
    subprocess.run([sys.executable, "-m", module, *words[1:]], cwd=tmp_path, env=environment, check=True)
    written = [path.read_bytes() for path in sorted(tmp_path.glob("o*/*.py"))]
    assert len(written) == 2
    assert written[0] == written[1]


@pytest.mark.thorough
def test_backends_take_operators_of_the_tree(archive: Path, tmp_path: Path) -> None:
    """Programs for backends read the tree at whose top they run, also where the core replaces its generator."""
    tree = tmp_path / "tree"
    write_folder(contents(core()), tree)
    for name in ("aten", "tools", "version.txt"):
        (tree / name).symlink_to(source_tree() / name)
    (tmp_path / "a.yaml").write_text("backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu\n")
    words = ["--source-yaml", "../a.yaml", "--output-dir", "../out", "--depfile", "../out.d"]
    environment = {**os.environ, "OPWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    for program in ([str(archive), "gen_backend_stubs"], ["-m", "torchgen.gen_backend_stubs"]):
        (tmp_path / "out").mkdir()
        subprocess.run([sys.executable, *program, *words], cwd=tree, env=environment, check=True)
        read = (tmp_path / "out.d").read_text().split()
        assert [path for path in read if path.endswith("/native_functions.yaml")] == [
            f"{tree}/aten/src/ATen/native/native_functions.yaml"
        ]
        shutil.rmtree(tmp_path / "out")


def test_upgraders_without_pytorch(archive: Path, tmp_path: Path) -> None:
    """Upgraders come from a kept file, without PyTorch; without such a file the program says what it lacks."""
    code = {"instructions": [["RET", 0, 0]], "constants": [], "types": [], "operators": [], "register_size": 1}
    names = {"aten::div.Scalar": {"upgraders": ["div_Scalar_0_3"], "ranges": [[0, 3]]}}
    (tmp_path / "kept.json").write_text(json.dumps({"upgraders": {"div_Scalar_0_3": code}, "operators": names}))
    done = isolated([str(archive), "gen_mobile_upgraders", "--bytecode", "kept.json", "--out", "out"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "div_Scalar_0_3" in (tmp_path / "out" / "upgrader_mobile.cpp").read_text()
    done = isolated([str(archive), "gen_mobile_upgraders", "--out", "other"], tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E1731]")


def test_no_network(archive: Path, tmp_path: Path) -> None:
    """A version of PyTorch, which would come from a package index, is a fault with a way out."""
    (tmp_path / "a.yaml").write_text("backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- relu\n")
    words = ["gen_backend_stubs", "--source-yaml", "a.yaml", "--output-dir", "out", "--torch", "2.13.0"]
    done = isolated([str(archive), *words], tmp_path)
    assert done.returncode == 1
    assert "error[E0503]: this is the core of Opwright" in done.stderr


def test_usage(archive: Path, tmp_path: Path) -> None:
    """A wrong word lists the programs."""
    done = isolated([str(archive), "torchgen"], tmp_path)
    assert done.returncode == 2
    assert done.stderr.split()[-len(core().programs) :] == list(core().programs)


def test_folder(tmp_path: Path) -> None:
    """The folder has the files of the manifest with their digests, and nothing of an earlier one."""
    files = contents(core())
    target = tmp_path / "opwright-core"
    (target / "opwright").mkdir(parents=True)
    (target / "opwright" / "gone.py").touch()
    write_folder(files, target)
    there = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    lines = [line.split("  ") for line in (target / "MANIFEST.txt").read_text().splitlines()]
    assert there == {path for _, path in lines} | {"MANIFEST.txt"}
    assert all(hashlib.sha256((target / path).read_bytes()).hexdigest() == digest for digest, path in lines)
    assert {path.relative_to(SOURCE).as_posix() for path in core().files()} <= there


def test_zip_is_the_same_again(archive: Path, tmp_path: Path) -> None:
    """The same sources give the same bytes."""
    write_zip(contents(Closure()), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
