"""What an import writes besides registrations: drafts of derivatives, and declared outputs that samples prove."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import yaml

from opwright.cli.main import main
from opwright.migrate.importing.cpp_reader import read_cpp_sources
from opwright.migrate.importing.drafts import draft_derivatives
from opwright.migrate.importing.process import proven_outputs
from opwright.source.text import SourceFile

HEADER = """
#pragma once
#include <ATen/core/Tensor.h>
at::Tensor scale_cpu(const at::Tensor& self, double by);
at::Tensor scale_meta(const at::Tensor& self, double by);
at::Tensor scale_backward(const at::Tensor& grad, double by);
std::tuple<at::Tensor, at::Tensor> pick_cpu(const at::Tensor& self, int64_t dim);
"""

CLASSES = """
#include "scale.h"
namespace {
using namespace torch::autograd;
struct Scale : torch::autograd::Function<Scale> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& self, double by) {
    context->saved_data["by"] = by;
    at::AutoDispatchBelowADInplaceOrView guard;
    return scale_cpu(self, by);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {scale_backward(grads[0], context->saved_data["by"].toDouble()), at::Tensor()};
  }
};
at::Tensor scale_autograd(const at::Tensor& self, double by) {
  return Scale::apply(self, by);
}
class Pick : public torch::autograd::Function<Pick> {
public:
  static variable_list forward(AutogradContext* ctx, Variable src, int64_t axis) {
    ctx->saved_data["axis"] = axis;
    ctx->saved_data["sizes"] = src.sizes();
    auto result = pick_cpu(src, axis);
    auto chosen = std::get<1>(result);
    ctx->save_for_backward({chosen, src});
    ctx->mark_non_differentiable({chosen});
    return {std::get<0>(result), chosen};
  }
  static variable_list backward(AutogradContext* ctx, variable_list outs) {
    auto saved = ctx->get_saved_variables();
    auto chosen = ctx->get_saved_variables()[0];
    auto axis = ctx->saved_data["axis"].toInt();
    auto grad_in = at::zeros(ctx->saved_data["sizes"].toIntVector(), outs[0].options());
    grad_in.scatter_(axis, chosen, outs[0]);
    return {grad_in, Variable()};
  }
};
std::tuple<at::Tensor, at::Tensor> pick_autograd(const at::Tensor& x, int64_t dim) {
  auto result = Pick::apply(x, dim);
  return {result[0], result[1]};
}
}
TORCH_LIBRARY(acme, m) {
  m.def("scale(Tensor x, float by) -> Tensor");
  m.def("pick(Tensor self, int dim) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(acme, CPU, m) {
  m.impl("scale", &scale_cpu);
  m.impl("pick", &pick_cpu);
}
TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  m.impl("scale", &scale_autograd);
  m.impl("pick", &pick_autograd);
}
"""

DERIVATIVES = """\
# scale.cpp:5: from `Scale`
- name: acme::scale(Tensor x, float by) -> Tensor
  x: scale_backward(grad, by)
# scale.cpp:18: from `Pick`
- name: acme::pick(Tensor self, int dim) -> (Tensor, Tensor)
  output_differentiability: [True, False]
  self: at::zeros(C10_AS_INTARRAYREF_SLOW(self.sym_sizes()), grad.options()).scatter_(dim, result1, grad)
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the sources of a library."""
    monkeypatch.chdir(tmp_path)
    Path("scale.cpp").write_text(CLASSES)
    Path("scale.h").write_text(HEADER)
    return tmp_path


def imported(*words: str) -> int:
    """The exit status of an import of both files."""
    return main(["import", "scale.cpp", *words, "--out", "acme.yaml", "--derivatives", "derivatives.yaml"])


def test_formulas_from_classes(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What classes of autograd save and return becomes formulas; kernels for Autograd and the classes can go."""
    assert imported() == 0
    assert Path("derivatives.yaml").read_text() == DERIVATIVES
    written = yaml.safe_load(Path("acme.yaml").read_text())
    assert (written["derivatives"], written["derivative_includes"]) == ("derivatives.yaml", ["scale.h"])
    assert [entry["dispatch"] for entry in written["operators"]] == [{"CPU": "scale_cpu"}, {"CPU": "pick_cpu"}]
    printed = capsys.readouterr().out
    assert "in the file: scale.cpp: 5-41, 43-54\n" in printed
    assert imported("--check") == 0
    main(["check", "acme.yaml"])
    assert "error[" not in capsys.readouterr().err
    Path("derivatives.yaml").write_text(f"# Ours.\n{DERIVATIVES}")
    assert imported() == 1
    assert "E2402" in capsys.readouterr().err


SAVES_ANOTHER = """auto twice = self * 2;
    twice.add_(1);
    context->save_for_backward({twice});
    context->saved_data"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("return {scale_b", "if (!grads[0].defined()) return {};\n    return {scale_b", "has the statement"),
        ('saved_data["by"] = by;', 'saved_data["by"] = count();', "is no expression of saved values"),
        ("context->saved_data", SAVES_ANOTHER, "it saves `twice`"),
        ("context->saved_data", "context->mark_dirty({self});\n    context->saved_data", "an argument as written"),
        ("&scale_autograd)", "torch::dispatch(c10::kCUDA, &scale_autograd))", "the kernel for CUDA applies it"),
    ],
)
def test_classes_that_stay(library: Path, old: str, new: str, reason: str) -> None:
    """A class without formulas stays with its kernel, and a comment says why."""
    Path("scale.cpp").write_text(CLASSES.replace(old, new, 1))
    assert imported() == 0
    head = Path("derivatives.yaml").read_text().splitlines()[0]
    assert head.startswith("# scale.cpp:5: `Scale` of `scale` stays by hand: ")
    assert reason in head
    assert "scale_autograd" in Path("acme.yaml").read_text()
    lines = Path("derivatives.yaml").read_text().splitlines()
    assert not [line for line in lines if "scale" in line and not line.startswith("#")]


FORWARD = "return scale_cpu(self, by);"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (FORWARD, "return scale_cpu(self, by) * 2;", "forward does more than"),
        (FORWARD, "return scale_cpu(self.contiguous(), by);", "forward does more than"),
        (FORWARD, "return scale_meta(self, by);", "forward does more than"),
        (FORWARD, f'TORCH_CHECK(by > 0, "by");\n    {FORWARD}', "forward has the statement `TORCH_CHECK"),
        ("return Scale::apply(self, by);", "return Scale::apply(self, by) + 1;", "`scale_autograd` does more than"),
        ("return Scale::apply(self, by);", "check(self); return Scale::apply(self, by);", "does more than"),
        ("scale_backward(grads[0]", "here(grads[0]", "it calls `here`, which only its file can name"),
        ("scale_backward(grads[0]", "helper(grads[0]", "it calls `helper`, which only its file can name"),
        ("grads[0], context", "grads[0] * kFactor, context", "is no expression of saved values"),
        ('saved_data["by"] = by;', 'saved_data["by"] = at::rand_like(self);', "is no expression of saved values"),
        (
            "at::AutoDispatch",
            "context->save_for_backward({scale_cpu(self, by) + 1});\n    at::AutoDispatch",
            "it saves `scale",
        ),
        ('m.impl("scale", &scale_cpu);', 'm.impl("scale", torch::CppFunction::make());', "stay by hand"),
    ],
)
def test_classes_that_do_more_stay(library: Path, old: str, new: str, reason: str) -> None:
    """A class whose functions do more than formulas and kernels would stays, with its function and its kernel."""
    text = CLASSES.replace(old, new, 1).replace(
        "struct Scale :", "at::Tensor here(const at::Tensor& x, double by) { return x * by; }\nstruct Scale :"
    )
    text = text.replace(
        "  static variable_list backward",
        "  static at::Tensor helper(at::Tensor x, double);\n  static variable_list backward",
        1,
    )
    Path("scale.cpp").write_text(
        text.replace("helper(at::Tensor x, double);", "helper(at::Tensor x, double) { return x; }")
    )
    assert imported() == 0
    head = Path("derivatives.yaml").read_text().splitlines()[0]
    assert head.startswith("# scale.cpp:6: `Scale` of `scale` stays by hand: ")
    assert reason in head
    if "CppFunction" not in new:
        (entry, _) = yaml.safe_load(Path("acme.yaml").read_text())["operators"]
        assert entry["dispatch"] == {"CPU": "scale_cpu", "Autograd": "scale_autograd"}


def test_forward_may_call_the_dispatcher(library: Path) -> None:
    """A function of another file that finds the operator in the dispatcher is the operator, for all its kernels."""
    Path("scale.h").write_text(HEADER + "at::Tensor scale(const at::Tensor& self, double by);\n")
    Path("call.cpp").write_text("""
#include "scale.h"
at::Tensor scale(const at::Tensor& self, double by) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::scale", "").typed<decltype(scale)>();
  return op.call(self, by);
}
TORCH_LIBRARY_FRAGMENT(acme, m) { m.impl("scale", c10::DispatchKey::CUDA, &scale_meta); }
""")
    Path("scale.cpp").write_text(CLASSES.replace(FORWARD, "return scale(self, by);"))
    assert imported("call.cpp") == 0
    assert DERIVATIVES in Path("derivatives.yaml").read_text()
    Path("call.cpp").write_text(Path("call.cpp").read_text().replace("acme::scale", "acme::other"))
    assert imported("call.cpp", "--force") == 0
    assert "forward does more than" in Path("derivatives.yaml").read_text()


def test_formulas_name_operators(library: Path) -> None:
    """A formula names the operator that a function calls through the dispatcher, unless the function does more."""
    Path("scale.h").write_text(
        HEADER.replace("scale_backward", "back")
        + "at::Tensor scale_backward(const at::Tensor& grad, c10::SymInt by);\n"
    )
    call = """
#include "scale.h"
at::Tensor scale_backward(const at::Tensor& grad, c10::SymInt by) {
  C10_LOG_API_USAGE_ONCE("acme");
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::back", "").typed<decltype(scale_backward)>();
  return op.call(grad, by);
}
TORCH_LIBRARY_FRAGMENT(acme, m) { m.def("back(Tensor grad, SymInt by) -> Tensor", &acme_kernels::back); }
"""
    Path("call.cpp").write_text(call)
    assert imported("call.cpp") == 0
    assert yaml.safe_load(Path("derivatives.yaml").read_text())[0]["x"] == "acme::back_symint(grad, by)"
    changes = ("(grad, by)", "(grad, by + 1)"), ("back(", "more("), ("acme_kernels::", "acme::")
    for old, new in changes:
        Path("call.cpp").write_text(call.replace(f"op.call{old}" if old.startswith("(") else old, new))
        assert imported("call.cpp", "--force") == 0
        assert "x: scale_backward(grad, by)" in Path("derivatives.yaml").read_text(), old


def test_kernels_that_record_gradients_stay(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel for a device that applies a class, also by another function, keeps all of its operator by hand."""
    Path("more.cpp").write_text("""
#include "scale.h"
at::Tensor scale_again(const at::Tensor& self, double by);
at::Tensor scale_with_class(const at::Tensor& self, double by) { return Doubled::apply(self, by); }
struct Doubled : torch::autograd::Function<Doubled> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& self, double by) { return self * by; }
  static variable_list backward(AutogradContext* context, variable_list grads) { return {grads[0], at::Tensor()}; }
};
""")
    Path("again.cpp").write_text("""
#include "scale.h"
at::Tensor scale_with_class(const at::Tensor& self, double by);
static at::Tensor scale_again(const at::Tensor& self, double by) {
  TORCH_CHECK(by > 0);
  return scale_with_class(self, by);
}
TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("again(Tensor self, float by) -> Tensor");
  m.impl("again", c10::DispatchKey::CPU, &scale_again);
  m.impl("again", c10::DispatchKey::CUDA, &scale_cpu);
}
""")
    assert imported("again.cpp", "more.cpp") == 0
    entries = yaml.safe_load(Path("acme.yaml").read_text())["operators"]
    (again,) = [entry for entry in entries if "again" in entry["func"]]
    assert again["manual_kernel_registration"] is True
    assert "`scale_again`, which applies `Doubled`, a class of autograd, for CPU" in Path("acme.yaml").read_text()
    assert "in the file: again.cpp: 9\n" in capsys.readouterr().out


@pytest.mark.thorough
def test_sources_that_are_no_cpp(library: Path) -> None:
    """A source that ends anywhere, or lacks any few tokens, is read without an end of the program."""
    words = CLASSES.split(" ")
    for at in range(0, len(words), 3):
        for text in (
            " ".join(words[:at]),
            " ".join([*words[:at], *words[at + 2 :]]),
            CLASSES.replace(words[at], "", 1),
        ):
            Path("cut.cpp").write_text(text)
            read = read_cpp_sources([SourceFile.read("cut.cpp")], {})
            draft_derivatives(read.statements, read.classes)
    call = "return Scale::apply(self, by);"
    for old, new in (('context->saved_data["by"] = by;', "context->;"), (call, f"{call} {{ (")):
        Path("cut.cpp").write_text(CLASSES.replace(old, new, 1))
        read = read_cpp_sources([SourceFile.read("cut.cpp")], {})
        draft_derivatives(read.statements, read.classes)


def test_lambdas_that_hand_on(library: Path) -> None:
    """A lambda that only calls a function with its own arguments is this function; another one stays by hand."""
    Path("more.cpp").write_text("""
#include "scale.h"
int64_t version() noexcept;
static auto registry = torch::RegisterOperators()
    .op("acme::version", [] { return version(); })
    .op("acme::half(Tensor x, float by) -> Tensor", [](const at::Tensor& x, double by) { return scale_cpu(x, by); })
    .op("acme::swapped(float by, Tensor x) -> Tensor", [](double by, const at::Tensor& x) { return scale_cpu(x, by); });
""")
    rows = read_cpp_sources([SourceFile.read("more.cpp")], {}).statements
    assert [(row.schema, row.kernel) for row in rows] == [
        ("version() -> int _0", "version"),
        ("half(Tensor x, float by) -> Tensor", "scale_cpu"),
        ("swapped(float by, Tensor x) -> Tensor", ""),
    ]


def test_the_function_of_the_own_file(library: Path) -> None:
    """A schema is inferred from the function that the registering file has, not from another one of its name."""
    Path("knn.h").write_text("at::Tensor knn(at::Tensor x, int64_t k);\n")
    Path("knn.cpp").write_text("""
at::Tensor knn(at::Tensor x, c10::Dict<std::string, std::vector<int64_t>> sizes, int64_t k) { return x; }
static auto registry = torch::RegisterOperators().op("acme::knn", &knn);
""")
    files = [SourceFile.read("knn.cpp")]
    (row,) = read_cpp_sources(files, {}, [SourceFile.read("knn.h")]).statements
    assert row.schema == "knn(Tensor _0, Dict(str, int[]) _1, int _2) -> Tensor _0"
    assert "`knn.h` declares `knn` with other types: correct the declaration" in row.notes
    assert [*read_cpp_sources(files, {}).undeclared] == ["knn"]


FAKES = """
import torch
lib = torch.library.Library("acme_fakes", "DEF")
def define(schema, kernel):
    lib.define(schema)
    lib.impl(schema.partition("(")[0], kernel, "Meta")
define("scale(Tensor x, float by) -> Tensor", lambda x, by: torch.empty_like(x))
define("flat(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (y.new_empty(y.shape), torch.empty_like(x)))
define("add(Tensor x, Tensor y) -> Tensor", lambda x, y: torch.empty(
    torch.broadcast_shapes(x.shape, y.shape), dtype=torch.promote_types(x.dtype, y.dtype), device="meta"))
define("rows(Tensor x) -> Tensor", lambda x: x.new_empty(x.shape[:1]))
define("rarely(Tensor x) -> Tensor", lambda x: torch.empty_like(x) if x.size(0) < 6 else x.new_empty(1))
define("picky(Tensor x) -> Tensor", lambda x: torch.empty_like(x) if x.shape == (3, 3) else 1 / 0)
"""


def test_outputs_that_samples_prove(library: Path, torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels for Meta are `like` or `broadcast` if they always do the same; one other result is enough for no."""
    monkeypatch.setenv("PYTHONPATH", str(library))
    Path("fakes.py").write_text(FAKES)
    names = [f"acme_fakes::{name}" for name in ("scale", "flat", "add", "rows", "rarely", "picky", "absent")]
    assert proven_outputs(["fakes"], names) == {
        "acme_fakes::scale": "like(x)",
        "acme_fakes::flat": "[{size: y.sizes(), dtype: y.dtype}, like(x)]",
        "acme_fakes::add": "broadcast(x, y)",
    }


def test_proven_outputs_take_the_place_of_kernels(
    library: Path, torch: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fake in Python goes where `outputs` says the same, and the comparison then knows that it is generated."""
    monkeypatch.setenv("PYTHONPATH", str(library))
    Path("acme_fake.py").write_text(
        'import torch\nlib = torch.library.Library("acme", "DEF")\nlib.define("scale(Tensor x, float by) -> Tensor")\n'
    )
    fake = '\n@torch.library.register_fake("acme::scale")\ndef _(x, by):\n    return torch.empty_like(x)\n'
    Path("acme_fake.py").write_text(Path("acme_fake.py").read_text() + fake)
    Path("only_fake.py").write_text("import torch" + fake)
    words = ["only_fake.py", "--outputs-from", "acme_fake"]
    assert imported(*words) == 0
    assert "- func: scale(Tensor x, float by) -> Tensor\n  outputs: like(x)\n" in Path("acme.yaml").read_text()
    assert "in the file: only_fake.py: 2" in capsys.readouterr().out
    assert imported(*words, "--check") == 0
    assert imported("--outputs-from", "acme_absent", "--force") == 1
    assert "E2405" in capsys.readouterr().err
