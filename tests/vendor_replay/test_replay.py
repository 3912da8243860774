from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.plugins.use import ensure_active
from tests.dialects.test_backend_dialect import pytorch
from tests.vendor_replay.compare import Verdict
from tests.vendor_replay.folder import failures, print_folder, refusal, replay_folder, replay_members
from tests.vendor_replay.replay import Replayed, replay_wheel
from tests.vendor_replay.report import print_replayed, print_summary, unexplained
from tests.vendor_replay.vendors import TORCH_NPU, Group

BACKEND = """\
backend: NPU
cpp_namespace: at_npu::native
custom:
- func: npu_scale(Tensor self, *, float by=2) -> Tensor
supported:
- abs
- func: _coalesce(Tensor self) -> Tensor
  sparse: op_api
"""
ATEN = "torch_npu/include/torch_npu/csrc/aten/"
MEMBERS = {
    TORCH_NPU.backend: BACKEND,
    f"{ATEN}CustomFunctions.h": """\
#ifndef TORCH_NPU_CSRC_ATEN_CUSTOM_FUNCTIONS
#define TORCH_NPU_CSRC_ATEN_CUSTOM_FUNCTIONS
#include <ATen/ATen.h>
#include "torch_npu/csrc/core/npu/NPUMacros.h"
namespace at_npu { namespace native { namespace custom_ops {
TORCH_NPU_API at::Tensor npu_scale(const at::Tensor & self, double by=2);
}}}
#endif
""",
    f"{ATEN}ops/abs_npu_dispatch.h": "namespace at::npu {\nTORCH_API at::Tensor abs(const at::Tensor & me);\n}\n",
    f"{ATEN}ops/handwritten.h": "void by_hand();\n",
    f"{ATEN}VariableType.h": "void abs_backward();\n",
    "torch_npu/utils/custom_ops.py": "torch_npu.npu_scale = torch.ops.npu.npu_scale\nimport warnings\nimport torch\n",
}


class Wheel:
    """The members of a wheel, from a dictionary."""

    def __init__(self, members: dict[str, str]) -> None:
        self.members = members

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """The names that begin with a text."""
        return tuple(name for name in self.members if name.startswith(prefix))

    def read(self, names: list[str]) -> dict[str, bytes]:
        """The contents of members."""
        return {name: self.members[name].encode() for name in names}


@pytest.fixture(autouse=True)
def no_plugins() -> Iterator[None]:
    """No plug-in stays active after a test."""
    yield
    ensure_active(())


@pytest.fixture(scope="module")
def replayed() -> Replayed:
    """The replay of a small wheel."""
    return replay_wheel(TORCH_NPU, "2.13.0", Wheel(MEMBERS), pytorch())


def test_files_of_a_wheel_are_compared_by_group(replayed: Replayed) -> None:
    """Each group has the files that match its pattern, and files of no group are not compared."""
    verdicts = {file.path: file.verdict for file in replayed.comparisons}
    assert verdicts == {
        "CustomFunctions.h": Verdict.layout,
        "ops/abs_npu_dispatch.h": Verdict.different,
        "custom_ops.py": Verdict.different,
    }
    assert [group.title for group in replayed.groups] == ["custom functions", "headers per operator", "Python names"]
    assert 0 < replayed.share < 1


def test_the_report_names_what_differs(replayed: Replayed) -> None:
    """Differences have their kind and file; entries that are not taken and files without inputs have the reason."""
    text = print_replayed(replayed, markdown=True)
    assert text.startswith("## torch_npu 2.13.0\n\n| files of")
    assert "- a parameter has another name: no reason is known: `" in text
    line = 1 + BACKEND.splitlines().index("- func: _coalesce(Tensor self) -> Tensor")
    assert f"- torch-npu-2.13.0/{TORCH_NPU.backend}:{line}: `_coalesce` names no kernel of dense tensors" in text
    assert f"- {ATEN}VariableType.h: made from derivatives of op-plugin" in text
    assert ("ops/abs_npu_dispatch.h", "abs") in [(path, found.name) for path, found in unexplained(replayed)]
    assert print_summary([replayed]).splitlines()[-1].startswith("| torch_npu 2.13.0 |     3 |")


def test_known_reasons_explain_differences() -> None:
    """A difference that a reason explains is reported with the reason."""
    header = (
        "namespace at { namespace npu {\nTORCH_API ::std::tuple<at::Tensor,at::Tensor> matmul_backward("
        "const at::Tensor & grad_out, const at::Tensor & self, const at::Tensor & other, ::std::array<bool,2> mask);"
        "\n}}\n"
    )
    members = {
        TORCH_NPU.backend: "backend: NPU\ncpp_namespace: at_npu::native\nsupported:\n- matmul_backward\n",
        f"{ATEN}ops/matmul_backward_npu_dispatch.h": header,
    }
    found = replay_wheel(TORCH_NPU, "2.13.0", Wheel(members), pytorch())
    assert [path for path, difference in unexplained(found) if difference.name == "matmul_backward"] == []
    assert "the vendor's program replaces PyTorch's schema" in print_replayed(found, markdown=False)


def test_groups_are_of_one_folder() -> None:
    """A pattern does not reach into folders below."""
    group = Group("headers", "include/", "*.h")
    assert [group.path(name) for name in ("include/a.h", "include/ops/a.h", "a.h")] == ["a.h", "", ""]


def test_files_of_a_folder(tmp_path: Path) -> None:
    """Each file is read by the plug-in that recognises it, or by Opwright, or by nothing."""
    files = {
        "npu/functions.yaml": BACKEND,
        "mlu/mlu_functions.yaml": "aten:\n- func: abs\n- func: removed_operator\n",
        "own/backend.yaml": "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- absx\n",
        "et/functions.yaml": "- op: abs.out\n  kernels:\n  - arg_meta: null\n    kernel_name: acme::abs_out\n",
        "notes/tags.yaml": "- tag: core\n  desc: basic\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text, encoding="utf-8")
    found = {loaded.path: loaded for loaded in replay_folder(tmp_path, pytorch())}
    assert {path: loaded.reader for path, loaded in found.items()} == {
        "npu/functions.yaml": "torch_npu",
        "mlu/mlu_functions.yaml": "torch_mlu",
        "own/backend.yaml": "Opwright",
        "et/functions.yaml": "ExecuTorch",
        "notes/tags.yaml": "nothing",
    }
    assert found["npu/functions.yaml"].operators == 2
    assert found["mlu/mlu_functions.yaml"].files > 0
    assert found["mlu/mlu_functions.yaml"].notes == (
        "mlu/mlu_functions.yaml:3: `removed_operator` is no operator of this release",
    )
    assert found["own/backend.yaml"].errors == ("E1306: there is no operator `absx`",)
    assert "own/backend.yaml:\n- error: E1306" in print_folder([*found.values()])


def test_patches_beside_a_file(tmp_path: Path) -> None:
    """The lines that a patch adds to PyTorch's operators are there for the file beside it."""
    added = "+\n+- func: fused_scale(Tensor self) -> Tensor\n+  dispatch:\n+    CPU: fused_scale\n"
    patch = f"--- a/x\n+++ b/x\n@@ -1 +1,4 @@\n{added}"
    (tmp_path / "native_functions.yaml.patch").write_text(patch, encoding="utf-8")
    entry = "- func: fused_scale\n  dispatch:\n    PrivateUse1: FusedScale\n"
    (tmp_path / "musa_functions.yaml").write_text(entry, encoding="utf-8")
    [loaded] = replay_folder(tmp_path, pytorch())
    assert (loaded.reader, loaded.operators, loaded.notes, loaded.errors) == ("torch_musa", 1, (), ())


def test_a_file_that_is_no_yaml(tmp_path: Path) -> None:
    """A file that cannot be read is an error of that file alone."""
    (tmp_path / "broken.yaml").write_text("supported: [abs\n", encoding="utf-8")
    [loaded] = replay_folder(tmp_path, pytorch())
    assert (loaded.path, loaded.reader) == ("broken.yaml", "nothing")
    assert loaded.errors[0].startswith("E01")
    assert failures([loaded]) == ["broken.yaml"]


def test_members_of_executorch() -> None:
    """The files of operators in a wheel are read, and other members are not."""
    entry = "- op: abs.out\n  kernels:\n  - arg_meta: null\n    kernel_name: acme::abs_out\n"
    names = ("executorch/kernels/portable/functions.yaml", "executorch/kernels/portable/test/functions.yaml")
    [loaded] = replay_members(Wheel(dict.fromkeys(names, entry)), pytorch())
    assert (loaded.path, loaded.operators, loaded.errors) == (names[0], 1, ())


def test_files_that_their_authors_refuse_too() -> None:
    """A file that the generator of its author refuses is no failure of the replay."""
    assert "four namespaces" in refusal("executorch/backends_cadence_aot_functions_fusion_g3.yaml")
    assert refusal("own/backend.yaml") == ""
