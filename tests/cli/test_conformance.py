"""`opwright conformance`: the generator of a tree is run, and what it writes is compared with what Opwright writes.

Most generators here are scripts of a few lines at the places of PyTorch's programs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.torchgen import gen_annotated_fn_args
from tests.conformance.inputs import TREE, input_folder
from tests.release.fake_torch import generator_files, wheel_bytes, write_files, write_source_tree

PROGRAM = "gen_annotated_fn_args"
TEMPLATE = "tools/autograd/templates/annotated_fn_args.py.in"
#: Writes the text beside the script to the file that PyTorch's program writes.
WRITER = """\
import pathlib, sys
here = pathlib.Path(__file__)
out = pathlib.Path(sys.argv[3])
out.mkdir(parents=True, exist_ok=True)
(out / "annotated_fn_args.py").write_text((here.parent / "written.txt").read_text())
"""


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[..., Path]:
    """Makes a small tree whose generator writes what Opwright writes, with further text at the end."""

    def make(name: str, *, more: str = "", version: str = "2.15.0a0") -> Path:
        folder = write_source_tree(tmp_path / name, version)
        write_files(
            folder,
            {
                "torchgen/__init__.py": "",
                **generator_files(version),
                "tools/__init__.py": "",
                "tools/autograd/__init__.py": "",
                f"tools/autograd/{PROGRAM}.py": WRITER,
                TEMPLATE: "annotated_args = {\n    ${annotated_args}\n}\n",
            },
        )
        own = tmp_path / f"{name}-own"
        native = folder / "aten/src/ATen/native"
        autograd = folder / "tools/autograd"
        words = [native / "native_functions.yaml", native / "tags.yaml", own, autograd]
        assert gen_annotated_fn_args.main([*map(str, words), "--tolerate-generator-edits"]) == 0
        (autograd / "written.txt").write_text((own / "annotated_fn_args.py").read_text() + more)
        return folder

    return make


def compare(*words: object) -> int:
    """The status of the command for the one program of these trees."""
    return main(["conformance", *[str(word) for word in words], "--only", PROGRAM])


def test_same_files(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Where the generator writes what Opwright writes, the status is 0; nothing is written into the tree."""
    tree = make_tree("same")
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    assert compare(tree) == 0
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    assert f"  {PROGRAM}: 1 files are identical\n" in capsys.readouterr().out


def test_a_program_is_named_before_it_runs(make_tree: Callable[..., Path]) -> None:
    """What runs of a tree, and with which Python, is printed before the code of the tree can do anything."""
    tree = make_tree("said")
    seen = tree / "seen.txt"
    code = f"import pathlib; pathlib.Path({str(seen)!r}).write_text(pathlib.Path({str(tree / 'log')!r}).read_text())\n"
    program = tree / f"tools/autograd/{PROGRAM}.py"
    program.write_text(code + program.read_text())
    with open(tree / "log", "w") as log:
        command = [sys.executable, "-m", "opwright", "conformance", str(tree), "--only", PROGRAM]
        assert subprocess.run(command, stdout=log, check=False).returncode == 0
    assert seen.read_text().splitlines() == [
        f"{tree}:",
        f"  {PROGRAM}: runs `tools/autograd/{PROGRAM}.py` of the tree, with {sys.executable}",
    ]


def test_different_files(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """What no behaviour explains is shown, line by line, and the status is 1."""
    assert compare(make_tree("new", more="NEW = 1\n")) == 1
    said = capsys.readouterr().out
    assert "files: 1 differ, 0 are gone, 0 are new; 0 files are identical" in said
    assert "not explained by a behaviour" in said
    assert "-NEW = 1" in said


def test_long_differences_are_cut(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """`--all` shows every line of a long difference."""
    tree = make_tree("long", more="".join(f"LINE_{number} = 1\n" for number in range(99)))
    assert compare(tree) == 1
    said = capsys.readouterr().out
    assert ("-LINE_98" in said, "which `--all` shows" in said) == (False, True)
    compare(tree, "--all")
    said = capsys.readouterr().out
    assert ("-LINE_98" in said, "which `--all` shows" in said) == (True, False)


@pytest.mark.thorough
def test_the_first_tree_that_differs(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Of trees from old to new, the first one with differences is found, and not every tree is compared."""
    trees = [make_tree(f"tree-{number}", more="NEW = 1\n" if number >= 3 else "") for number in range(7)]
    assert compare("--bisect", *trees) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == f"the first tree with differences is `{trees[3]}`"
    assert said.count("files are identical") < len(trees)
    assert compare("--bisect", *trees[:3]) == 0
    assert capsys.readouterr().out.count("files are identical") == 1
    assert compare("--bisect", trees[5]) == 1
    assert f"the first tree with differences is `{trees[5]}`" in capsys.readouterr().out


def test_a_generator_that_fails(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The last lines of what the generator said are shown; nothing is compared."""
    tree = make_tree("broken")
    (tree / f"tools/autograd/{PROGRAM}.py").write_text("raise SystemExit('no module yaml')\n")
    assert compare(tree) == 1
    said = capsys.readouterr().err
    assert "error[E2105]" in said
    assert "no module yaml" in said
    assert compare(tree, "--python", "no-such-python") == 1
    assert "cannot run `no-such-python`" in capsys.readouterr().err


def test_opwright_that_fails(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """What Opwright says of the tree is shown, as a difference is."""
    tree = make_tree("wrong")
    (tree / "aten/src/ATen/native/native_functions.yaml").write_text("- func: twice(Tensr self) -> Tensor\n")
    assert compare(tree) == 1
    said = capsys.readouterr().out
    assert f"  {PROGRAM}: Opwright fails\n" in said
    assert "did you mean `Tensor`?" in said


@pytest.mark.parametrize("name", ["aten/src/ATen", "nowhere"])
def test_a_folder_without_a_generator(
    name: str, make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of inputs alone has nothing to compare with."""
    assert compare(make_tree("inputs") / name) == 1
    assert "error[E2106]" in capsys.readouterr().err


def test_flags_are_those_of_both_sides(make_tree: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The main program of the tree gets the flags; those that it does not have are left out."""
    tree = make_tree("flags")
    main_program = tree / "torchgen/gen.py"
    main_program.write_text("import sys\nraise SystemExit(' '.join(sys.argv[1:]))\n")
    words = ["conformance", str(tree), "--only", "gen", "--xpu", "--static-dispatch-backend", "CPU", "CUDA"]
    assert main(words) == 1
    said = capsys.readouterr().err
    flags = "--per-operator-headers --xpu --static-dispatch-backend CPU CUDA"
    assert f"--source-path {tree}/aten/src/ATen --install-dir aten --aoti-install-dir aoti {flags}" in said
    assert "headeronly" not in said
    with main_program.open("a") as stream:
        stream.write("# --headeronly-install-dir\n")
    main(words)
    assert f"{flags} --headeronly-install-dir headeronly" in capsys.readouterr().err


def test_the_generator_in_a_wheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wheel is unpacked, and the modules in it are run."""
    files = {
        "torchgen/__init__.py": "",
        "torchgen/gen.py": "",
        "torchgen/packaged/__init__.py": "",
        "torchgen/packaged/autograd/__init__.py": "",
        f"torchgen/packaged/autograd/{PROGRAM}.py": "raise SystemExit('run from ' + __name__)\n",
    }
    wheel = tmp_path / "torch-2.15.0-py3-none-any.whl"
    packaged = {"torchgen/packaged/ATen/native/native_functions.yaml": "[]\n"}
    wheel.write_bytes(wheel_bytes("2.15.0", {**files, **packaged}))
    assert compare(wheel, "--python", sys.executable) == 1
    assert "run from __main__" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("program", "file", "edit", "explained"),
    [
        (
            "gen_autograd_python",
            "gen_python_functions.py",
            ("if (has_torch_function(self_))", "if(check_has_torch_function(self_))"),
            "argumentless_methods_ask_has_torch_function explains 1 files and",
        ),
        ("gen_autograd", "gen_variable_type.py", ('    "acosh",\n', ""), "lists of operators explains "),
    ],
    ids=["behaviour", "list"],
)
def test_what_the_generator_has_otherwise(
    program: str,
    file: str,
    edit: tuple[str, str],
    explained: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """PyTorch's generator with a change taken back: its row explains the files, and nothing else differs."""
    tree = tmp_path / "tree"
    shutil.copytree(input_folder(TREE), tree)
    source = tree / "tools/autograd" / file
    text = source.read_text()
    assert text.count(edit[0]) == 1
    source.write_text(text.replace(*edit))
    words = ["conformance", str(tree), "--only", program]
    # The version is that of a release, whose rules the generator does not follow any more.
    assert main(words) == 1
    said = capsys.readouterr().out
    assert explained in said
    assert said.count(" explains ") == 1
    assert "not explained" not in said
    # In a tree between releases the generator decides.
    (tree / "version.txt").write_text("2.14.0a0\n")
    assert main(words) == 0
