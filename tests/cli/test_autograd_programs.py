"""The drop-in programs around autograd's folder: which files they write where, and what they say of faults."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest

from opwright.files.staging import STATE_FOLDER
from opwright.torchgen import gen_annotated_fn_args, gen_autograd, gen_autograd_python, generate_code

MINE = """
- func: mix(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: mix
- func: mix_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  variants: method
  dispatch:
    CPU: mix_
  autogen: mix.out
- func: linalg_mix(Tensor self) -> Tensor
  python_module: linalg
- func: empty(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)\
 -> Tensor
  dispatch:
    CPU: empty_cpu
"""


LAZY = """
backend: Lazy
cpp_namespace: torch::lazy
full_codegen:
- mix
"""


SHAPES = """
TORCH_API std::vector<torch::lazy::Shape> compute_shape_mix(const at::Tensor & self, const at::Tensor & other);
"""

#: --gen-dir, --install-dir, --subset and --gen-lazy-ts-backend; `make test` runs every seventh of them.
PLACES = [
    pytest.param(*flags, marks=[pytest.mark.thorough] if number % 7 else [])
    for number, flags in enumerate(
        product(
            (None, "A", "./A/../A//"),
            (None, "B", "./B//c/..", "A"),
            (None, "pybindings", "libtorch", "python"),
            (False, True),
        )
    )
]


@pytest.fixture
def packaged(reference_inputs: Path, tmp_path: Path) -> Path:
    """A folder laid out as the packaged inputs: PyTorch's templates, with few operators and no derivatives."""
    root = tmp_path / "torchgen" / "packaged"
    (root / "ATen" / "native").mkdir(parents=True)
    (root / "autograd").mkdir()
    (root / "ATen" / "templates").symlink_to(reference_inputs / "templates")
    (root / "autograd" / "templates").symlink_to(reference_inputs.parent / "autograd" / "templates")
    (root / "ATen" / "native" / "native_functions.yaml").write_text(MINE)
    (root / "ATen" / "native" / "tags.yaml").write_text((reference_inputs / "native" / "tags.yaml").read_text())
    (root / "autograd" / "derivatives.yaml").write_text("[]\n")
    (root / "autograd" / "deprecated.yaml").write_text("[]\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.13.0'\n")
    return root


def _places(packaged: Path, out: Path) -> list[str]:
    native = packaged / "ATen" / "native"
    return [*map(str, (native / "native_functions.yaml", native / "tags.yaml", out, packaged / "autograd"))]


def _files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and STATE_FOLDER not in path.parts
    }


def test_python_program_writes_the_bindings(packaged: Path, tmp_path: Path) -> None:
    """The files of the bindings go into one folder, and name their templates as the packaged ones are named."""
    out = tmp_path / "out"
    assert gen_autograd_python.main(_places(packaged, out)) == 0
    assert len(_files(out)) == 21
    text = (out / "python_linalg_functions.cpp").read_text()
    assert "@" + "generated from packaged/autograd/templates/python_linalg_functions.cpp" in text
    assert '"linalg_mix(Tensor input)",' in text


def test_annotated_program_writes_its_file(packaged: Path, tmp_path: Path) -> None:
    """There is one file, with a line for each overload and each module that has it."""
    out = tmp_path / "out"
    assert gen_annotated_fn_args.main(_places(packaged, out)) == 0
    assert _files(out) == {"annotated_fn_args.py"}
    lines = (out / "annotated_fn_args.py").read_text().splitlines()
    assert [line.split(":")[0].strip() for line in lines if line.startswith("    torch")] == [
        "torch._C._VariableFunctions.mix",
        "torch._C._VariableFunctions.empty",
        "torch._C._linalg.linalg_mix",
        "torch.Tensor.mix",
        "torch.Tensor.mix_",
    ]


@pytest.mark.parametrize(
    ("subset", "some", "none"),
    [
        ("pybindings", "autograd/generated/python_nn_functions.cpp", "autograd/generated/Functions.h"),
        ("libtorch", "autograd/generated/Functions.h", "annotated_fn_args.py"),
        ("python", "annotated_fn_args.py", "autograd/generated/python_nn_functions.cpp"),
    ],
)
def test_build_program_makes_a_subset(packaged: Path, tmp_path: Path, subset: str, some: str, none: str) -> None:
    """Each subset has its files; the binding of view-meta classes goes with all of them."""
    native, tags, _, _ = _places(packaged, tmp_path)
    flags = ["--native-functions-path", native, "--tags-path", tags, "--install-dir", str(tmp_path / "out")]
    assert generate_code.main([*flags, "--subset", subset]) == 0
    files = _files(tmp_path / "out")
    assert some in files
    assert none not in files
    assert "functionalization/generated/ViewMetaClassesPythonBinding.cpp" in files


def test_build_program_writes_below_torch(packaged: Path, tmp_path: Path) -> None:
    """Without an install folder all goes below `torch`."""
    native, tags, _, _ = _places(packaged, tmp_path)
    flags = ["--native-functions-path", native, "--tags-path", tags, "--gen-dir", str(tmp_path / "build")]
    assert generate_code.main([*flags, "--force_schema_registration"]) == 0
    files = _files(tmp_path / "build")
    assert "torch/testing/_internal/generated/annotated_fn_args.py" in files
    assert "torch/csrc/autograd/generated/VariableType_0.cpp" in files


@pytest.mark.parametrize(("generated", "install", "subset", "lazy"), PLACES)
def test_build_program_writes_where_its_flags_say(
    packaged: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    generated: str | None,
    install: str | None,
    subset: str | None,
    lazy: bool,
) -> None:
    """--install-dir is used as it stands, --gen-dir without it; each run makes all folders, and again if they go."""
    native, tags, _, _ = _places(packaged, tmp_path)
    (packaged / "ATen/native/ts_native_functions.yaml").write_text(LAZY)
    for folder in ("core", "ts_backend"):
        (tmp_path / "work/torch/csrc/lazy" / folder).mkdir(parents=True)
    (tmp_path / "work/torch/csrc/lazy/core/shape_inference.h").write_text(SHAPES)
    (tmp_path / "work/torch/csrc/lazy/ts_backend/ts_native_functions.cpp").write_text("")
    monkeypatch.chdir(tmp_path / "work")
    flags = ["--native-functions-path", native, "--tags-path", tags]
    flags += [*(["--gen-dir", generated] if generated else []), *(["--install-dir", install] if install else [])]
    flags += [*(["--subset", subset] if subset else []), *(["--gen-lazy-ts-backend"] if lazy else [])]
    csrc = Path(install or f"{generated or '.'}/torch/csrc")
    testing = csrc if install else Path(generated or ".", "torch/testing/_internal/generated")
    wanted = {testing, csrc / "autograd/generated", csrc / "functionalization/generated"}
    if lazy:
        wanted.add(csrc / "lazy/generated")
    for _ in range(2):
        assert generate_code.main(flags) == 0
        assert all(folder.is_dir() for folder in wanted)
        files = {path.parent for path in Path().rglob("*") if path.is_file() and path.suffix != ".yaml"}
        files = {path.resolve() for path in files if path.name not in ("core", "ts_backend", "templates")}
        beside = {testing, csrc / "autograd/generated"} if subset else set()
        made = {path.resolve() for path in wanted - beside}
        assert made <= files <= {path.resolve() for path in wanted}
        if testing != csrc:
            shutil.rmtree(testing)


def test_build_program_takes_a_list_of_operators(packaged: Path, tmp_path: Path) -> None:
    """A list selects operators with all of their overloads, for training too."""
    native, tags, _, _ = _places(packaged, tmp_path)
    chosen = tmp_path / "operators.yaml"
    chosen.write_text("- aten::mix_.Tensor\n")
    flags = ["--native-functions-path", native, "--tags-path", tags, "--install-dir", str(tmp_path / "out")]
    assert generate_code.main([*flags, "--subset", "libtorch", "--selected-op-list-path", str(chosen)]) == 0
    text = (tmp_path / "out" / "autograd" / "generated" / "ADInplaceOrViewTypeEverything.cpp").read_text()
    assert 'm.impl("mix_"' in text
    assert 'm.impl("mix.out"' not in text


def test_faults_are_reported_and_nothing_is_written(
    packaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mistakes in `deprecated.yaml` and functions that Python cannot have stop the run before it writes."""
    out = tmp_path / "out"
    (packaged / "autograd" / "deprecated.yaml").write_text(
        "- name: mix(Tensor self) -> Tensor\n  aten: mix(self, otter)\n"
    )
    assert gen_autograd_python.main(_places(packaged, out)) == 1
    assert "deprecated.yaml:2:19" in capsys.readouterr().err
    (packaged / "autograd" / "deprecated.yaml").write_text("[]\n")
    native = packaged / "ATen" / "native" / "native_functions.yaml"
    native.write_text(MINE + "- func: blend(Tensor self, SymBool by) -> Tensor\n")
    assert gen_autograd_python.main(_places(packaged, out)) == 1
    assert "error[E1024]: Python can pass nothing to `blend`" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_found_late_is_told_once(
    packaged: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    processes: int,
) -> None:
    """Derivatives are loaded by the process that needs them: its warnings are told, and its faults stop all."""
    monkeypatch.setattr("opwright.run.generation._WORTH_SHARING", 0)
    monkeypatch.setattr("opwright.source.child.usable_processes", lambda most: processes)
    derivatives = packaged / "autograd" / "derivatives.yaml"
    entry = "- name: mix(Tensor self, Tensor other) -> Tensor\n  self: grad * no_such_name\n  other: grad\n"
    derivatives.write_text(entry)
    out = tmp_path / "out"
    for _ in range(2):
        # The second run has nothing to do, and says again what the first one said.
        assert gen_autograd_python.main(_places(packaged, out)) == 0
        assert capsys.readouterr().err.count("no_such_name` is") == 1
    before = {name: (out / name).read_bytes() for name in _files(out)}
    derivatives.write_text(entry.replace("  other: grad", "  otter: grad"))
    assert gen_autograd_python.main(_places(packaged, out)) == 1
    assert "derivatives.yaml:3:3" in capsys.readouterr().err
    assert {name: (out / name).read_bytes() for name in _files(out)} == before


def test_generated_comments_name_the_program(packaged: Path, tmp_path: Path) -> None:
    """`VariableType.cpp` names the program that PyTorch would run in the drop-in's place."""
    by_hand, by_build = tmp_path / "hand", tmp_path / "build"
    assert gen_autograd.main(_places(packaged, by_hand)) == 0
    flags = ["--native-functions-path", _places(packaged, tmp_path)[0], "--tags-path", _places(packaged, tmp_path)[1]]
    assert generate_code.main([*flags, "--install-dir", str(by_build), "--subset", "libtorch"]) == 0
    named = "@" + "generated by {} from VariableType.cpp"
    for path, program in (
        (by_hand, "torchgen/packaged/autograd/gen_autograd.py"),
        (by_build / "autograd" / "generated", "tools/setup_helpers/generate_code.py"),
    ):
        assert named.format(program) in (path / "VariableType_0.cpp").read_text()
