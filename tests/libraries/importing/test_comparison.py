"""`opwright import --check` says what PyTorch's dispatcher would call before and after the move to a library file."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import yaml

from opwright.cli.main import main
from opwright.migrate.importing.comparison import (
    Explanations,
    Registered,
    RegisteredSide,
    compare_registrations,
    load_sides,
)
from opwright.migrate.importing.python_reader import read_python_sources
from opwright.migrate.importing.recording_kernels import with_recorded
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.source.text import SourceFile
from opwright.syntax.cpp_source import parse_cpp

SOURCE = """\
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
using namespace torch::autograd;

at::Tensor cpu(const at::Tensor& x, const at::Tensor& y) { return x + y; }
at::Tensor narrow(const at::Tensor& x, int y) { return x + y; }
struct Sum : Function<Sum> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y) {
    at::AutoDispatchBelowADInplaceOrView guard;
    return cpu(x, y);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0], grads[0]};
  }
};
at::Tensor sum_autograd(const at::Tensor& x, const at::Tensor& y) { return Sum::apply(x, y); }
at::Tensor recorded(const at::Tensor& x, const at::Tensor& y) { return Sum::apply(x, y); }
at::Tensor& write(at::Tensor& x) { return x; }

TORCH_LIBRARY(acme, m) {
  m.def("kept(Tensor x, Tensor y) -> Tensor");
  m.def("gone(Tensor x, Tensor y) -> Tensor");
  m.def("half(Tensor x, Tensor y) -> Tensor");
  m.def("records(Tensor x, Tensor y) -> Tensor");
  m.def("plain(Tensor x, Tensor y) -> Tensor");
  m.def("write_(Tensor(a!) self) -> Tensor(a!)");
  m.def("typed(Tensor x, int y) -> Tensor");
  m.def("hand(Tensor x) -> Tensor", [](const at::Tensor& x) { return x; });
  m.def("emptied(Tensor x, Tensor y) -> Tensor", &cpu);
}
TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.set_python_module("acme.fakes");
  m.def("faked(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(acme, CPU, m) {
  m.impl("kept", &cpu);
  m.impl("gone", &cpu);
  m.impl("half", &cpu);
  m.impl("records", &recorded);
  m.impl("plain", &cpu);
  m.impl("write_", &write);
  m.impl("typed", &narrow);
}
TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  m.impl("kept", &sum_autograd);
  m.impl("gone", &sum_autograd);
  m.impl("half", &sum_autograd);
}
TORCH_LIBRARY_IMPL(acme, AutocastCPU, m) {
  m.impl("plain", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(acme, Functionalize, m) {
  m.impl("plain", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}
"""

LIBRARY = """\
namespace: acme
kernel_namespace: "::"
derivatives: derivatives.yaml
operators:
- func: kept(Tensor x, Tensor y) -> Tensor
  dispatch: {CPU: cpu}
- func: gone(Tensor x, Tensor y) -> Tensor
  dispatch: {CPU: cpu}
- func: half(Tensor x, Tensor y) -> Tensor
  dispatch: {CPU: cpu, MPS: cpu}
- func: records(Tensor x, Tensor y) -> Tensor
  dispatch: {CPU: recorded}
- func: plain(Tensor x, Tensor y) -> Tensor
  manual_kernel_registration: True
- func: write_(Tensor(a!) self) -> Tensor(a!)
  dispatch: {CPU: write}
- func: typed(Tensor x, int y) -> Tensor
  dispatch: {CPU: narrow}
- func: hand(Tensor x) -> Tensor
  manual_kernel_registration: True
- func: emptied(Tensor x, Tensor y) -> Tensor
  manual_kernel_registration: True
- func: faked(Tensor x) -> Tensor
  dispatch: {}
"""

DERIVATIVES = """\
- name: acme::kept(Tensor x, Tensor y) -> Tensor
  x, y: grad
- name: acme::half(Tensor x, Tensor y) -> Tensor
  x: grad
"""

HAND = """\
TORCH_LIBRARY_IMPL(acme, CompositeImplicitAutograd, m) {
  m.impl("hand", [](const at::Tensor& x) { return x; });
}
"""


#: What Python can register, for the comparison of its reader with PyTorch.
REGISTERING = """\
import torch
from torch import Tensor


@torch.library.custom_op("acme_registering::custom", mutates_args=(), device_types="cpu")
def custom(x: Tensor, k: int = 2) -> Tensor:
    return x * k


@torch.library.custom_op("acme_registering::every", mutates_args=("x",))
def every(x: Tensor) -> None:
    x.add_(1)


@torch.library.register_fake("acme_registering::custom")
def fake(x: Tensor, k: int = 2) -> Tensor:
    return torch.empty_like(x)


library = torch.library.Library("acme_registering", "FRAGMENT")
library.define("plain(Tensor x) -> Tensor", tags=(torch.Tag.core,))
library.define("composite(Tensor x) -> Tensor")
library.define("several.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")


def once(x: Tensor) -> Tensor:
    return x.clone()


def into(x: Tensor, *, out: Tensor) -> Tensor:
    return out.copy_(x)


library.impl("plain", once, "CPU")
library.impl("plain", once, "Meta")
library.impl("plain", torch.library.fallthrough_kernel, "AutocastCPU")
library.impl("plain", once, "Autograd")
library.impl("composite", once, "CompositeImplicitAutograd")
library.impl("composite", once, "CUDA")
library.impl("several.out", into, "CompositeExplicitAutograd")
"""


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    """The exit status of a comparison, and the lines that it prints."""
    status = main(["import", *words, "--out", "acme.yaml", "--check"])
    return status, capsys.readouterr().out.splitlines()


def test_differences_are_classed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is lost is told from what is added and what is intended, for each operator by itself."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("k.cpp", SOURCE),
        ("acme.yaml", LIBRARY),
        ("derivatives.yaml", DERIVATIVES),
        ("hand.cpp", HAND),
    ):
        Path(name).write_text(text)
    status, lines = checked(capsys, "k.cpp")
    assert status == 1

    def told(operator: str) -> list[str]:
        return [line for line in lines if f"`acme::{operator}`" in line]

    (kept,) = told("kept")
    assert kept.startswith(
        "intended: `acme::kept`: `sum_autograd` answers for AutogradOther, AutogradCPU, AutogradCUDA"
    )
    (gone,) = told("gone")
    assert gone.startswith("lost: `acme::gone`: `sum_autograd` answers")
    assert "raises in the backward pass" in gone
    half, added = told("half")
    assert added == "added: `acme::half`: nothing answers for MPS, and now `cpu`"
    assert half.startswith("lost: `acme::half`: `sum_autograd` answers")
    assert half.endswith(", but not of `y`")
    (records,) = told("records")
    assert records.startswith("lost: ")
    assert "`recorded` applies a class of autograd, whose gradients are gone" in records
    assert not told("plain")
    assert [line.partition(":")[0] for line in told("write_")] == ["intended"] * 3
    *typed, records = [line for line in told("typed") if line.startswith("lost: ")]
    assert "`narrow` gives the result of `x + ...`, which records gradients: these are gone" in records
    assert typed == [
        "lost: `acme::typed`: `narrow` is wanted as `at::Tensor (const at::Tensor &, int64_t)`, "
        "and is `at::Tensor (const at::Tensor&, int)`"
    ]
    for operator in ("hand", "emptied"):
        assert "`--by-hand` reads the source that is to register it" in told(operator)[0]
        assert all(line.startswith("lost: ") for line in told(operator))
    assert told("faked")[-1] == 'lost: `acme::faked`: `set_python_module("acme.fakes")` covers it no more'
    (deletable,) = [line for line in lines if line.startswith("can be deleted: ")]
    assert deletable == "can be deleted: k.cpp: 21, 25-26, 36, 41, 45"
    assert "register 3 operators alike, 13 differences are lost or added, " in lines[-1]
    status, lines = checked(capsys, "k.cpp", "--by-hand", "hand.cpp")
    assert status == 1
    assert not told("hand")


#: Bodies of kernels -> the operator whose result they give, whose gradients PyTorch's fallback records; empty for none.
#: One behind ` in ` is what writes to an argument.
_RECORDED = """\
return at::index_select(x, 0, y); => index_select()
auto [a, b] = two(x); return a; => exp()
std::vector<at::Tensor> all; all.push_back(x.t()); return all[0]; => t()
at::Tensor r(x.exp()); return r; => exp()
at::Tensor r{x.cos()}; return r; => cos()
Two r; r.a = x.sin(); return r.a; => sin()
at::Tensor all[2]; all[1] = x.tan(); return all[1]; => tan()
auto f = [&] { return x.exp(); }; return f(); => exp()
at::Tensor r; if (x.dim()) { r = x.sum(); } return r; => sum()
auto r = at::empty_like(x); fill(r.data_ptr<float>(), x.data_ptr<float>()); return r; =>
at::NoGradGuard guard; return x * 2; =>
at::Tensor r; if (y.dim()) { r = given.value(); } return r; =>
auto r = at::empty({x.size(0)}); return unknown(x.contiguous(), r); =>
auto n = 2; return 3 - n * x; => ... * x
return -x; => - x
return y[0]; => y[...]
auto r = x * 2; return at::sin(r); => sin()
return at::_ops::sin::call(x); => call()
at::Tensor z = x; z = z.exp(); return z; => exp()
auto r = at::zeros_like(x); r += x; return r; => +=
auto r = at::zeros_like(x); r.select(0, 0).copy_(x[0]); return r; => copy_()
auto r = at::zeros_like(x); r[0] = y; return r; => =
auto r = at::zeros_like(x); into(r, y); return r; => copy_()
auto r = at::zeros_like(x); fill(r, y); return r; =>
auto r = at::zeros_like(x); r.resize_(x.sizes()); auto n = *x.data_ptr<float>(); return r; =>
y.copy_(x); return y; => copy_()
auto v = y.view({-1}); v[0] = x; => = in v
y[0] -= x; => -= in y
into(y, x); => copy_() in y
fill(y, x); =>
auto r = x * 2; y.select(0, 0); y.add_(r, 3); => add_() in y
y.fill_(3); y.resize_(x.sizes()); y.copy_(x.detach()); =>
"""
RECORDED = {body: result.strip() for body, _, result in [line.partition(" =>") for line in _RECORDED.splitlines()]}


@pytest.mark.parametrize("body", RECORDED)
def test_kernels_that_record_gradients_are_found(body: str) -> None:
    """A kernel gives what an operator gave for its arguments, by whatever variable."""
    text = "struct Two { at::Tensor a, b; };\nstatic Two two(const at::Tensor& x) { return {x.exp(), x}; }\n"
    text += "static void into(at::Tensor& to, const at::Tensor& x) { to.copy_(x); }\n"
    text += "static void fill(at::Tensor& to, const at::Tensor& x) { *to.data_ptr<float>() = x.item<float>(); }\n"
    text += f"{'at::Tensor' if 'return' in body else 'void'} f(const at::Tensor& x, const at::Tensor& y) {{ {body} }}\n"
    for key, is_below in (("CPU", True), ("CompositeExplicitAutograd", True), ("CompositeImplicitAutograd", False)):
        row = RegistrationStatement("acme", "f", SourcePlace("a.cpp", 1, 1), keys=(key,), kernel="f")
        (found,) = with_recorded([row], [parse_cpp("a.cpp", text)])
        shown = RECORDED[body].replace(" in ", "` in `")
        assert found.gives == (f"`{shown}`" if shown and is_below else "")


def test_registrations_are_those_that_python_makes(tmp_path: Path, torch: ModuleType) -> None:
    """Where stubs answer in the dispatcher, the functions answer that a module registers, and nowhere else."""
    path = tmp_path / "registering.py"
    path.write_text(REGISTERING)
    side = RegisteredSide()
    side.add(read_python_sources([SourceFile.read(str(path))]).statements)
    _, (loaded,) = load_sides([side])
    scope: dict[str, object] = {}
    exec(compile(REGISTERING, str(path), "exec"), scope)
    assert len(side.definitions) == 5
    for namespace, name in side.definitions:
        table = torch._C._dispatch_dump_table(f"{namespace}::{name}")
        lines = [line.partition(": ") for line in table.splitlines()]
        own = {key for key, _, text in lines if "[backend fallback]" not in text}
        through = {key for key, _, text in lines if text.startswith("fallthrough") and key in own}
        answers = loaded.tables[namespace, name]
        assert {key for key, answer in answers.items() if isinstance(answer, Registered)} == own, name
        assert {key for key in own if getattr(answers[key], "is_fallthrough", False)} == through
        operator, _, overload = f"{namespace}::{name}".partition(".")
        definition = torch._C._get_schema(operator, overload)
        assert loaded.schemas[namespace, name] == str(definition)
        packet = getattr(getattr(torch.ops, namespace), name.partition(".")[0])
        tags = getattr(packet, overload or "default").tags
        assert loaded.tags[namespace, name] == {tag.name for tag in tags}
    assert "pt2_compliant_tag" in loaded.tags["acme_registering", "custom"]


def test_tags_of_custom_op_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An operator of `custom_op` keeps the tag that PyTorch gives it, and its kernel in the file is alike."""
    monkeypatch.chdir(tmp_path)
    Path("ops.py").write_text(
        "import torch\n\n\n@torch.library.custom_op('acme::twice', mutates_args=(), device_types='cpu')\n"
        "def twice(x: torch.Tensor, k: int = 2) -> torch.Tensor:\n    return x * k\n"
    )
    assert main(["import", "ops.py", "--out", "acme.yaml"]) == 0
    text = Path("acme.yaml").read_text()
    (entry,) = yaml.safe_load(text)["operators"]
    assert entry["tags"] == ["pt2_compliant_tag"]
    capsys.readouterr()
    kernel = "  outputs: like(x)\n  dispatch:\n    CPU: {python: 'ops:twice'}\n"
    written = text.replace("  manual_kernel_registration: True\n", kernel)
    Path("acme.yaml").write_text(written)
    status, lines = checked(capsys, "ops.py")
    assert (status, lines[-1].partition(",")[0].partition("the file ")[2]) == (0, "register 1 operator alike")
    Path("acme.yaml").write_text(written.replace("  tags: [pt2_compliant_tag]\n", ""))
    status, lines = checked(capsys, "ops.py")
    assert (status, lines[1]) == (
        1,
        "lost: `acme::twice`: its tags: `pt2_compliant_tag` in the sources, and `` generated",
    )


def test_without_pytorch_texts_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyTorch nothing says what a call runs, and nothing counts as proved."""
    monkeypatch.setattr("opwright.migrate.importing.comparison.find_spec", lambda _name: None)
    side = RegisteredSide()
    comparison = compare_registrations(side, side, Explanations({}, {}, {}))
    assert "without PyTorch" in comparison.compared
    assert not comparison.proved
