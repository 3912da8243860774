"""Prove that this copy of Opwright writes what the generator in a PyTorch tree writes, byte by byte.

  python prove.py ~/pytorch                         the top of a source tree
  python prove.py venv/lib/python3.12/site-packages the folder that a PyTorch is installed in
  python prove.py TREE --python EXE                 EXE runs the tree's generator, and needs what that imports

It needs nothing but this folder, and runs the Python code of the tree. The exit status is 0 if all files are identical.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

_CALL = "import sys; import {} as program; program.{}(*sys.argv[1:])"
#: The program for lazy tensors looks for ATen where it never is, so its function is called as the program would.
_LAZY_CALL = """\
import sys
import torchgen.gen_lazy_tensor as program
from torchgen.dest.lazy_ir import GenTSLazyIR
sys.modules["__main__"].__file__ = program.__file__
program.run_gen_lazy_tensor(
    sys.argv[1], "lazy.yaml", "out", False, None, lazy_ir_generator=GenTSLazyIR,
    shape_inference_hdr="shapes.h", build_in_tree=True,
)
"""
#: The program for static runtime logs with a module of a company, and needs a formatter.
_STATIC_RUNTIME_CALL = """\
import sys
from types import ModuleType
for name in ("libfb", "libfb.py", "libfb.py.log"):
    sys.modules[name] = ModuleType(name)
sys.modules["libfb.py.log"].set_simple_logging = print
from torchgen.static_runtime import gen_static_runtime_ops as program
program.clang_format = str
program.main()
"""
_BACKEND = """\
backend: PrivateUse1
cpp_namespace: torch_acme
use_out_as_primary: true
device_guard: true
supported:
- add.out
- empty.memory_format
- relu
- sum.IntList_out
autograd:
- celu
"""
_LAZY = """\
backend: Lazy
cpp_namespace: torch::lazy
full_codegen:
- _log_softmax
- cat
- relu
- sum
ir_gen:
- selu
supported:
- as_strided
- clone
autograd:
- celu
"""


_SHAPES = """\
TORCH_API std::vector<torch::lazy::Shape> compute_shape_relu(const at::Tensor & self);
TORCH_API std::vector<torch::lazy::Shape> compute_shape_sum(const at::Tensor & self, ::std::optional<at::ScalarType> \
dtype);
"""
#: What programs for backends read, in the folder in which they run.
_INPUTS = {"backend.yaml": _BACKEND, "lazy.yaml": _LAZY, "shapes.h": _SHAPES}


class Comparison(NamedTuple):
    """A program with its words, and the words by which Python runs that of the tree, which may take others."""

    title: str
    program: str
    words: tuple[str, ...]
    reference: tuple[str, ...]
    reference_words: tuple[str, ...] | None = None


class Tree(NamedTuple):
    """A PyTorch with its generator: its top, and the folders of ATen's and of autograd's inputs."""

    top: Path
    aten: Path
    autograd: Path

    @property
    def is_source(self) -> bool:
        """Whether it is a source tree, which has the programs in `tools` too."""
        return self.autograd.parent.name == "tools"

    @classmethod
    def at(cls, top: Path) -> Tree:
        """The tree at a path. Ends the process if there is no generator."""
        packaged = top / "torchgen" / "packaged"
        if not (top / "torchgen" / "gen.py").is_file():
            sys.exit(f"prove.py: error: `{top}` has no torchgen/gen.py")
        if packaged.is_dir():
            return cls(top, packaged / "ATen", packaged / "autograd")
        return cls(top, top / "aten" / "src" / "ATen", top / "tools" / "autograd")


def comparisons(tree: Tree) -> Iterator[Comparison]:
    """Everything that is compared for a tree."""
    yield from _of_aten(tree)
    native, tags = (str(tree.aten / "native" / name) for name in ("native_functions.yaml", "tags.yaml"))
    four, package = (native, tags, "out", str(tree.autograd)), _package(tree)
    module = f"{package}.gen_autograd"
    yield Comparison("autograd", "gen_autograd", four, ("-m", module))
    yield Comparison("python", "gen_autograd_python", four, ("-c", _CALL.format(module, "gen_autograd_python")))
    yield Comparison("annotated", "gen_annotated_fn_args", four, ("-m", f"{package}.gen_annotated_fn_args"))
    yield from _of_backends(tree)
    names = ("--generated-ops-cpp-path", "out/ops.cpp", "--generated-ops-test-cpp-path", "out/test.cpp")
    static = "torchgen.static_runtime.gen_static_runtime_ops"
    if (tree.top / Path(*static.split("."))).with_suffix(".py").is_file():
        words = ("--source-path", str(tree.aten), *names)
        yield Comparison(
            "static runtime", "gen_static_runtime_ops", (*words, "--no-format"), ("-c", _STATIC_RUNTIME_CALL), words
        )
    if tree.is_source:
        yield from _of_tools(tree, native, tags)


def _package(tree: Tree) -> str:
    return "tools.autograd" if tree.is_source else "torchgen.packaged.autograd"


def _of_aten(tree: Tree) -> Iterator[Comparison]:
    """The main program, with the flags of several builds."""
    words: tuple[str, ...] = ("--source-path", str(tree.aten), "--install-dir", "aten", "--aoti-install-dir", "aoti")
    if "headeronly-install-dir" in (tree.top / "torchgen" / "gen.py").read_text(encoding="utf-8"):
        words += ("--headeronly-install-dir", "headeronly")
    builds = {
        "operators": ("--per-operator-headers",),
        "whole headers": (),
        "devices": ("--per-operator-headers", "--mps", "--xpu", "--mtia"),
        "ROCm": ("--per-operator-headers", "--rocm"),
        "static dispatch": ("--static-dispatch-backend", "CPU", "--skip-dispatcher-op-registration"),
        "lists": ("--per-operator-headers", "--output-dependencies", "lists/build.cmake"),
    }
    for title, flags in builds.items():
        yield Comparison(f"ATen, {title}", "gen", (*words, *flags), ("-m", "torchgen.gen"))


def _of_backends(tree: Tree) -> Iterator[Comparison]:
    """The programs for backends, on small files that are written beside the outputs."""
    own = ("--source-path", str(tree.aten))
    words: tuple[str, ...] = ("--output-dir", "out", "--source-yaml", "backend.yaml")
    module = "torchgen.gen_backend_stubs"
    yield Comparison("backend", "gen_backend_stubs", (*words, *own), ("-m", module), words)
    words = (
        "--output-dir",
        "out",
        "--source-yaml",
        "lazy.yaml",
        "--gen-ts-lowerings",
        "--shape-inference-hdr",
        "shapes.h",
    )
    yield Comparison("lazy tensors", "gen_lazy_tensor", (*words, *own), ("-c", _LAZY_CALL), (str(tree.aten),))


def _of_tools(tree: Tree, native: str, tags: str) -> Iterator[Comparison]:
    """The programs that source trees alone have."""
    tools = tree.top / "tools"
    paths = ("--native-functions-path", native, "--tags-path", tags)
    for title, flags in (
        ("code", ()),
        ("libtorch", ("--subset", "libtorch")),
        ("no autograd", ("--disable-autograd",)),
    ):
        words = (*paths, "--gen-dir", "out", *flags)
        program = str(tools / "setup_helpers" / "generate_code.py")
        yield Comparison(f"generate_code, {title}", "generate_code", words, (program,))
    words = ("--source-path", str(tree.aten), "--install-dir", "out")
    yield Comparison("unboxing", "gen_unboxing", words, (str(tools / "jit" / "gen_unboxing.py"),))


def run(words: list[str], folder: Path, path: str) -> str:
    """Run Python in a folder with modules from a path; gives what it says if it fails."""
    for name, text in _INPUTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("aten", "aoti", "headeronly", "lists", "out"):
        (folder / name).mkdir()
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    environment["OPWRIGHT_CACHE_DIR"] = str(folder.parent / "cache")
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else "\n".join(["", *done.stderr.strip().splitlines()[-6:]])


def contents(folder: Path) -> dict[str, bytes]:
    """The files that a run wrote below its folder, by their paths there."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if name not in _INPUTS}


def compare(comparison: Comparison, tree: Tree, python: str, own: str) -> tuple[int, list[str]]:
    """Run both sides. Gives how many files are identical, and what is wrong, line by line."""
    with tempfile.TemporaryDirectory(prefix="opwright-prove-") as top:
        folders = [Path(top, "theirs", "work"), Path(top, "ours", "work")]
        for folder in folders:
            folder.mkdir(parents=True)
        theirs = comparison.words if comparison.reference_words is None else comparison.reference_words
        failed = run([python, *comparison.reference, *theirs], folders[0], str(tree.top))
        if failed:
            return 0, [f"the generator in the tree failed:{failed}"]
        module = f"opwright.torchgen.{comparison.program}"
        failed = run([sys.executable, "-m", module, *comparison.words], folders[1], own)
        if failed:
            return 0, [f"Opwright failed:{failed}"]
        expected, given = map(contents, folders)
    wrong = [path for path in sorted({*expected, *given}) if expected.get(path) != given.get(path)]
    return len(expected) - len([path for path in wrong if path in expected]), wrong


def main() -> int:
    """Compare everything, and print a line for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", metavar="TREE", type=Path)
    parser.add_argument("--python", metavar="EXE", default=sys.executable, help="what runs the generator of the tree")
    parser.add_argument("--core", metavar="PATH", type=Path, default=HERE, help="this folder, or the zip file")
    parser.add_argument("--only", metavar="TEXT", default="", help="only what has this text in its title")
    arguments = parser.parse_args()
    tree, core = Tree.at(arguments.tree.resolve()), str(arguments.core.resolve())
    total, bad = 0, 0
    for comparison in comparisons(tree):
        if arguments.only not in comparison.title:
            continue
        identical, wrong = compare(comparison, tree, arguments.python, core)
        total, bad = total + identical, bad + len(wrong)
        print(f"{comparison.title}: {identical:,} files identical" + (f", {len(wrong):,} not" if wrong else ""))
        for line in wrong[:20]:
            print(f"  {line}")
        sys.stdout.flush()
    print(f"{total:,} files identical, {bad:,} not")
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
