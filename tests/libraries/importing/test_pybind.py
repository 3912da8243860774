"""Functions of pybind11 modules become operators that behave as they do, for callers of the old names too."""

from __future__ import annotations

import importlib.util
import inspect
import operator
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from opwright import inline
from opwright.cli.main import main
from tests.compile.compiler import Compiler, compiler_program, torch_folder

#: Functions of the forms that libraries have: of operators alone, with memory, with numbers of less than 64 bits.
KERNELS = r"""
#include <ATen/ATen.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

static void add_scaled(float* out, const float* x, float by, int64_t count) {
  for (int64_t i = 0; i < count; i++) out[i] += x[i] * by;
}

namespace pyb {
at::Tensor scale(const at::Tensor& x, double by, const std::optional<at::Tensor>& bias) {
  auto scaled = x * by;
  return bias.has_value() ? scaled + *bias : scaled;
}
void accumulate(at::Tensor out, at::Tensor x, float by) {
  auto flat = x.contiguous();
  add_scaled(out.data_ptr<float>(), flat.data_ptr<float>(), by, x.numel());
}
at::Tensor& twice_(at::Tensor& x) {
  x.mul_(2);
  return x;
}
std::tuple<at::Tensor, int> sized(at::Tensor x, const std::vector<int>& sizes) {
  int count = 0;
  for (int size : sizes) count += size;
  return {x.clone(), count};
}
std::pair<at::Tensor, float> halved(at::Tensor x, float by) { return {x / 2, by / 2}; }
std::vector<at::Tensor> reversed(std::vector<at::Tensor> xs) { return {xs.rbegin(), xs.rend()}; }
std::string named(unsigned count, bool flag, std::string name) {
  return name + std::to_string(count) + (flag ? "!" : "?");
}
at::Tensor as_type(at::Tensor x, at::ScalarType dtype) { return x.to(dtype); }
int area(const std::tuple<int, int> sides, float by) { return std::get<0>(sides) * std::get<1>(sides) * by; }
}  // namespace pyb
"""
HEADER = """
#pragma once
#include <ATen/ATen.h>
#include <optional>
#include <string>
#include <vector>
namespace pyb {
at::Tensor scale(const at::Tensor& x, double by, const std::optional<at::Tensor>& bias);
void accumulate(at::Tensor out, at::Tensor x, float by);
}
"""
BINDINGS = """
#include <torch/extension.h>
#include "kernels.h"
namespace pyb {
at::Tensor& twice_(at::Tensor& x);
std::tuple<at::Tensor, int> sized(at::Tensor x, const std::vector<int>& sizes);
std::pair<at::Tensor, float> halved(at::Tensor x, float by);
std::vector<at::Tensor> reversed(std::vector<at::Tensor> xs);
std::string named(unsigned count, bool flag, std::string name);
at::Tensor as_type(at::Tensor x, at::ScalarType dtype);
int area(const std::tuple<int, int> sides, float by);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "Functions of tensors";
  m.attr("version") = 3;
  m.def("scale", &pyb::scale, "Scale \\"x\\"", py::arg("x"), py::arg("by") = 1.5, py::kw_only(),
        py::arg("bias") = py::none());
  m.def("accumulate", &pyb::accumulate, py::call_guard<py::gil_scoped_release>());
  m.def("twice_", &pyb::twice_);
  m.def("sized", &pyb::sized, py::arg("x"), py::arg("sizes") = std::vector<int>{1, 2});
  m.def("halved", &pyb::halved);
  m.def("reversed", [](std::vector<at::Tensor> xs) { return pyb::reversed(xs); });
  auto texts = m.def_submodule("texts", "Texts");
  texts.def("named", &pyb::named, py::arg("count"), py::arg("flag") = false, py::arg("name") = "n");
  m.def("as_type", &pyb::as_type);
  m.def("area", &pyb::area);
}
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the sources of a library."""
    monkeypatch.chdir(tmp_path)
    Path("csrc").mkdir()
    for name, text in (("kernels.cpp", KERNELS), ("kernels.h", HEADER), ("bindings.cpp", BINDINGS)):
        Path("csrc", name).write_text(text)
    return tmp_path


def imported(*words: str) -> dict[str, str]:
    """The schemas of an import with their keys, for functions without parameters by name."""
    assert main(["import", *words, "--out", "pyb_C.yaml", "--force"]) == 0
    written = yaml.safe_load(Path("pyb_C.yaml").read_text())
    entries = [
        {**{key: value for key, value in entry.items() if key != "operators"}, **inner}
        for entry in written["operators"]
        for inner in entry.get("operators", [entry])
    ]
    return {entry["func"]: str(entry.get("dispatch", "")) for entry in entries}


def module_at(path: Path) -> ModuleType:
    """The Python module in a file."""
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_becomes_operators(library: Path, torch: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Schemas have the names and defaults of the module, and say what is written; the whole module can be deleted."""
    entries = imported("csrc")
    assert entries == {
        "scale(Tensor x, float by=1.5, *, Tensor? bias=None) -> Tensor": "",
        "accumulate(Tensor(a!) out, Tensor x, float by) -> ()": "CPU",
        "twice_(Tensor(a!) x) -> Tensor(a!)": "",
        "sized(Tensor x, int[] sizes=[1, 2]) -> (Tensor, int)": "",
        "halved(Tensor x, float by) -> (Tensor, float)": "",
        "reversed(Tensor[] xs) -> Tensor[]": "",
        'texts_named(int count, bool flag=False, str name="n") -> str': "{'CompositeImplicitAutograd': 'named'}",
        "as_type(Tensor x, ScalarType dtype) -> Tensor": "",
        "area((int, int) sides, float by) -> int": "",
    }
    for schema in entries:
        assert str(torch._C.parse_schema(schema)).replace(" _0", "").replace(" _1", "").replace('"n"', "n")
    printed = capsys.readouterr().out
    assert "stays" not in printed
    first = BINDINGS.splitlines().index("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {") + 1
    assert f"in the file: csrc/bindings.cpp: {first}-{len(BINDINGS.splitlines())}\n" in printed
    assert main(["check", "pyb_C.yaml"]) == 0
    assert main(["import", "csrc", "--out", "pyb_C.yaml", "--check"]) == 0


@pytest.mark.thorough
def test_operators_do_what_the_module_did(library: Path, torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls through the Python module give what those of the extension give: values, writes, gradients and errors."""
    program = compiler_program()
    if program is None:
        pytest.skip("there is no C++ compiler")
    imported("csrc")
    Path("all.cpp").write_text(KERNELS + BINDINGS)
    Path("old").mkdir()
    flags = Compiler(program, library, [library / "csrc"], per_operator_headers=False).flags()
    python = torch_folder() / "lib/libtorch_python.so"
    command = [program, *flags, "-DTORCH_EXTENSION_NAME=pyb_C", "-shared", "all.cpp", "-o", "old/pyb_C.so", str(python)]
    subprocess.run(command, check=True)
    # Both put their submodules into `sys.modules`, where pybind11 would add to one that exists.
    old = module_at(library / "old/pyb_C.so")
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", f"{library / 'csrc'}:{library}")
    inline(Path("pyb_C.yaml").read_text(), KERNELS)
    new = module_at(library / "pyb_C.py")

    x, bias = torch.arange(6.0).reshape(2, 3), torch.ones(3)
    calls: tuple[tuple[str, tuple[object, ...], dict[str, object]], ...] = (
        ("scale", (x,), {}),
        ("scale", (), {"by": 2, "x": x, "bias": bias}),
        ("scale", (x, 2.0, bias), {}),
        ("sized", (x,), {}),
        ("sized", (x, [4, 1 << 40]), {}),
        ("halved", (x, 3.0), {}),
        ("halved", (x,), {}),
        ("reversed", ([x, bias],), {}),
        ("reversed", (), {"xs": [x]}),
        ("texts.named", (3,), {"name": "a"}),
        ("texts.named", (-1,), {}),
        ("as_type", (x, torch.int64), {}),
        ("area", ((3, 4), 0.5), {}),
        ("area", ((3, 1 << 40), 1.0), {}),
    )
    for name, given, named in calls:
        assert outcome(old, name, given, named) == outcome(new, name, given, named), (name, given, named)
    for module in (old, new):
        out = torch.zeros(2, 3)
        assert module.accumulate(out, x.t().contiguous().t(), 0.5) is None
        assert torch.equal(out, x / 2)
        changed = x.clone()
        assert module.twice_(changed).data_ptr() == changed.data_ptr()
        assert torch.equal(changed, x * 2)
        leaf = x.clone().requires_grad_()
        module.scale(leaf, 3).sum().backward()
        assert torch.equal(leaf.grad, torch.full_like(x, 3))
    assert (new.__doc__, new.version, new.texts.__doc__) == (old.__doc__, old.version, old.texts.__doc__)
    assert (new.scale.__doc__ or "") in (old.scale.__doc__ or "")
    assert str(inspect.signature(new.scale)) == "(x, by=1.5, *, bias=None)"


def outcome(module: ModuleType, name: str, given: tuple[object, ...], named: dict[str, object]) -> object:
    """What a call gives, as a text; for one that fails, that it does."""
    function: object = module
    for part in name.split("."):
        function = getattr(function, part)
    try:
        return repr(function(*given, **named))  # type: ignore[operator]
    except (TypeError, RuntimeError):
        return "an error"


def test_what_is_written_is_found(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Writes are found through calls, launches, members and macros; what cannot be decided is said, or told."""
    Path("csrc/bindings.cpp").write_text("""
#include <torch/extension.h>
#define LAUNCH(n) kernel<n><<<1, n>>>(hidden)
void opaque(float* memory);
struct Params { void* x_ptr; void* y_ptr; };
void fill(Params& params, const at::Tensor& x, at::Tensor y) {
  params.x_ptr = x.data_ptr(); params.y_ptr = y.data_ptr(); }
void by_launch(at::Tensor a, at::Tensor b, at::Tensor c) { run(a, b, c); }
void by_accessor(const at::Tensor& x, at::Tensor y, at::Tensor z) { run_with(x, y, z); }
void by_member(const at::Tensor& x, at::Tensor y) {
  Params params; fill(params, x, y); member_kernel<<<1, 1>>>(params); }
void by_macro(at::Tensor x) { auto hidden = x.data_ptr<float>(); LAUNCH(2); }
void by_opaque(at::Tensor x, const at::Tensor& y) { opaque(x.data_ptr<float>()); opaque(y.data_ptr<float>()); }
void by_methods(at::Tensor x, at::Tensor y, at::Tensor z, at::Tensor w, at::Tensor v) {
  TORCH_CHECK(y.is_contiguous());
  x[0] = 1; z.view({-1}).copy_(y); at::add_out(w, y, y); auto t = v.contiguous(); t += 1;
}
at::Tensor nothing(at::Tensor x, at::Tensor y) { auto z = x * y; z.add_(1); x = x.contiguous(); return z; }
PYBIND11_MODULE(acme, m) {
  m.def("by_launch", &by_launch);
  m.def("by_accessor", &by_accessor);
  m.def("by_member", &by_member);
  m.def("by_macro", &by_macro);
  m.def("by_opaque", &by_opaque);
  m.def("by_methods", &by_methods);
  m.def("nothing", &nothing);
}
""")
    Path("csrc/kernels.cu").write_text("""
template <typename T>
__global__ __launch_bounds__(256) void kernel_of(T* __restrict__ a, const T* b, T* c) {
  T value = c[0]; if (value > 0) { *a = value; } else a[1] += b[0];
}
__global__ void member_kernel(Params params) {
  float* y = reinterpret_cast<float*>(params.y_ptr) + 1; float x = ((float*)params.x_ptr)[0];
  *reinterpret_cast<float2*>(y) = make_float2(x, x);
}
__global__ void accessor_kernel(at::PackedTensorAccessor64<float, 1> x, at::PackedTensorAccessor64<float, 1> y, int n,
                                at::PackedTensorAccessor64<float, 1> z) {
  z[0] = x[0] + y[n];
}
void run_with(const at::Tensor& x, at::Tensor y, at::Tensor z) {
  accessor_kernel<<<1, 1>>>(x.packed_accessor64<float, 1>(), y.packed_accessor64<float, 1>(), 2,
                            z.packed_accessor64<float, 1>());
}
void run(at::Tensor a, at::Tensor b, at::Tensor c) {
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "run", [&] {
    kernel_of<scalar_t><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(), (scalar_t*)c.data_ptr());
  });
}
""")
    entries = imported("csrc")
    assert entries == {
        "by_launch(Tensor(a!) a, Tensor b, Tensor c) -> ()": "CUDA",
        "by_accessor(Tensor x, Tensor y, Tensor(a!) z) -> ()": "CUDA",
        "by_member(Tensor x, Tensor(a!) y) -> ()": "CUDA",
        "by_macro(Tensor(a!) x) -> ()": "CUDA",
        "by_opaque(Tensor(a!) x, Tensor y) -> ()": "CPU",
        "by_methods(Tensor(a!) x, Tensor y, Tensor(b!) z, Tensor(c!) w, Tensor(d!) v) -> ()": "",
        "nothing(Tensor x, Tensor y) -> Tensor": "",
    }
    text = Path("pyb_C.yaml").read_text()
    assert "`a` is written at csrc/kernels.cu:4\n" in text
    assert "`x` may be written: its memory goes to `opaque` at csrc/bindings.cpp:13\n" in text
    assert "`y`: const, and taken as not written" in text
    assert "`x` may be written: its memory goes to the macro `LAUNCH`" in text
    told = imported("csrc", "--mutates", "by_opaque=y", "--mutates", "by_macro=")
    assert told["by_opaque(Tensor x, Tensor(a!) y) -> ()"] == "CPU"
    assert told["by_macro(Tensor x) -> ()"] == "CUDA"


def test_what_a_reader_cannot_follow_is_written(library: Path) -> None:
    """Tensors of lists that loops go through, of objects, and of calls of what calls give may be written."""
    Path("csrc/bindings.cpp").write_text("""
#include <torch/extension.h>
struct Args { at::Tensor x; at::Tensor y; };
void by_loop(at::Tensor x, std::vector<at::Tensor> ys) { for (auto& y : ys) Queue::get()->push(y); }
void by_object(const at::Tensor& x, at::Tensor y) { Args all{x, y}; run(all); }
void by_call(const at::Tensor& x, at::Tensor y) { table("run")(x, y); }
void by_list(at::Tensor x, at::Tensor y) {
  std::vector<at::Tensor> all{x, y}; at::cat(all); for (auto& z : all) z.sum(); }
void by_loop_of_sums(at::Tensor x, std::vector<at::Tensor> ys) { for (const auto& y : ys) x.add_(y); }
void by_table(const at::Tensor& x, at::Tensor y) { table[x.dim()](x, y); }
void by_choice(const at::Tensor& x, at::Tensor y) { (x.dim() ? y : other).zero_(); }
void by_cast(const at::Tensor& x, const at::Tensor& y) { const_cast<at::Tensor&>(y).zero_(); }
void by_tie(const at::Tensor& x, at::Tensor y) { auto [a, b] = std::tie(x, y); b.zero_(); }
void by_struct(const at::Tensor& x, at::Tensor y) { at::_ops::copy_::call(y, x, false); }
void by_last(const at::Tensor& x, at::Tensor y) { at::_ops::sin_out::call(x, y); }
void by_storage(const at::Tensor& x, at::Tensor y) { std::memset(y.storage().mutable_data(), 0, 4); }
void by_iterator(const at::Tensor& x, at::Tensor y) { at::TensorIteratorConfig().add_output(y).add_input(x).build(); }
void by_sum(const at::Tensor& x, at::Tensor y) { (x + y).zero_(); std::make_tuple(x, y); at::_ops::sin::call(y); }
PYBIND11_MODULE(acme, m) {
  m.def("by_table", &by_table);
  m.def("by_choice", &by_choice);
  m.def("by_cast", &by_cast);
  m.def("by_tie", &by_tie);
  m.def("by_struct", &by_struct);
  m.def("by_last", &by_last);
  m.def("by_storage", &by_storage);
  m.def("by_iterator", &by_iterator);
  m.def("by_sum", &by_sum);
  m.def("by_loop", &by_loop);
  m.def("by_object", &by_object);
  m.def("by_call", &by_call);
  m.def("by_list", &by_list);
  m.def("by_loop_of_sums", &by_loop_of_sums);
}
""")
    one = ("table", "choice", "cast", "tie", "struct", "last", "storage", "iterator")
    assert [*imported("csrc")] == [
        *[f"by_{name}(Tensor x, Tensor(a!) y) -> ()" for name in one],
        "by_sum(Tensor x, Tensor y) -> ()",
        "by_loop(Tensor x, Tensor(a!)[] ys) -> ()",
        "by_object(Tensor x, Tensor(a!) y) -> ()",
        "by_call(Tensor x, Tensor(a!) y) -> ()",
        "by_list(Tensor x, Tensor y) -> ()",
        "by_loop_of_sums(Tensor(a!) x, Tensor[] ys) -> ()",
    ]


def test_what_stays_is_named(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other types, defaults, classes and statements are named with their places, and keep the module's lines."""
    Path("csrc/bindings.cpp").write_text("""
#include <torch/extension.h>
uintptr_t handle(at::Tensor x);
at::Tensor power(at::Tensor x, int64_t by) { return at::pow(x, by); }
at::Tensor power(at::Tensor x, at::Tensor by) { return at::pow(x, by); }
at::Tensor late(at::Tensor x, int n) { return x; }
class Counter {};
PYBIND11_MODULE(acme, m) {
  py::class_<Counter>(m, "Counter")
      .def(py::init<>());
  m.def("handle", &handle);
  m.def("power", static_cast<at::Tensor (*)(at::Tensor, int64_t)>(&power));
  m.def("power", py::overload_cast<at::Tensor, at::Tensor>(&power));
  m.def("late", &late, py::arg("x"), py::arg("n") = default_count());
  m.def("unknown", &unknown);
  m.def("closed", [](at::Tensor x) -> at::Tensor { return x + 1; });
  if (true) { m.def("never", &late); }
}
""")
    entries = imported("csrc", "--namespace", "mine")
    assert [*entries] == [
        "power(Tensor x, int by) -> Tensor",
        "power.overload2(Tensor x, Tensor by) -> Tensor",
        "closed(Tensor x) -> Tensor",
    ]
    assert "namespace: mine\n" in Path("pyb_C.yaml").read_text()
    printed = capsys.readouterr().out
    for line, told in (
        (9, "`py::class_<Counter>"),
        (11, "`handle`, because schemas have no `uintptr_t`, of the module"),
        (12, "the schema of `power` is generated: register its kernel in a `TORCH_LIBRARY_IMPL(mine, CompositeImp"),
        (14, "`late` with the default `default_count()` of the module"),
        (15, "`unknown`, whose types were not found"),
        (16, "the schema of `closed` is generated"),
        (17, "`if(true)"),
    ):
        assert f"stays: csrc/bindings.cpp:{line}: {told}" in printed, (line, printed)
    assert "in the file: " not in printed
    module = Path("acme.py").read_text()
    assert "# csrc/bindings.cpp:11: `handle`" in module
    assert "def power(*arguments, **named):" in module


def test_what_stands_behind_a_lambda_is_read(library: Path) -> None:
    """A lambda that returns leaves nothing but itself; a function that a header defines once is said to be so."""
    more = "C10_ALWAYS_INLINE at::Tensor fast(at::Tensor x) { return x; } namespace { int own() { return 1; } }"
    more += " at::Tensor late(at::Tensor x) { return x; }"
    Path("csrc/kernels.h").write_text(f"{HEADER}namespace pyb {{ {more} }}\n")
    Path("csrc/bindings.cpp").write_text("""
#include "kernels.h"
PYBIND11_MODULE(acme, m) {
  py::class_<Counter>(m, "Counter").def("__eq__", [](const Counter& a, const Counter& b) { return a == b; });
  m.def("late", &pyb::late);
  m.def("fast", &pyb::fast);
}
""")
    assert [*imported("csrc")] == ["late(Tensor x) -> Tensor", "fast(Tensor x) -> Tensor"]
    told = "`kernels.h` defines `pyb::late`, and several generated sources include it: write `inline` before each"
    assert told in Path("pyb_C.yaml").read_text()


def test_other_forms(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Modules of nanobind and literals for arguments are read; a second module of one name is named."""
    Path("csrc/bindings.cpp").write_text("""
#include "kernels.h"
using namespace pybind11::literals;
NB_MODULE(acme, module) {
  module.def("scale", &pyb::scale, "x"_a, "by"_a = .5f, pybind11::arg("bias").none() = nullptr)
      .def("again", &pyb::accumulate, nb::arg("out"), nb::arg("x"), nb::arg("by") = -1);
}
""")
    Path("csrc/more.cpp").write_text('NB_MODULE(acme, m) { m.def("scale", &pyb::scale); }\n')
    assert imported("csrc") == {
        "scale(Tensor x, float by=.5, Tensor? bias=None) -> Tensor": "",
        "again(Tensor(a!) out, Tensor x, float by=-1) -> ()": "{'CPU': 'accumulate'}",
    }
    assert "stays: csrc/more.cpp:1: another module has the name `acme`" in capsys.readouterr().out
    Path("csrc/stable.cpp").write_text('STABLE_TORCH_LIBRARY(stable, m) { m.def("f(Tensor x) -> Tensor"); }\n')
    assert [*imported("csrc")] == ["f(Tensor x) -> Tensor"]
    assert "stays: csrc/bindings.cpp:4: operators of the stable C++ API" in capsys.readouterr().out


def test_functions_of_some_builds_are_found_where_they_are(library: Path, torch: ModuleType) -> None:
    """A function under a condition is in the Python module if the library that is loaded has its operator."""
    Path("csrc/bindings.cpp").write_text("""
#include "kernels.h"
PYBIND11_MODULE(some_builds, m) {
  auto sub = m.def_submodule("sub");
  m.def("area", &pyb::area);
#ifdef WITH_MORE
  m.def("as_type", &pyb::as_type);
  m.def("more", &pyb::area);
  sub.def("inner", &pyb::area);
  sub.def("lost", &pyb::area);
#endif
}
""")
    assert len(imported("csrc")) == 5
    module = module_at(Path("some_builds.py"))
    parts = ("area", "as_type", "more", "sub.inner", "sub.lost")
    assert [has(module, name) for name in parts] == [True, False, False, False, False]
    library_of_build = torch.library.Library("some_builds", "DEF")
    for name in ("more", "sub_inner"):
        library_of_build.define(f"{name}(int a, float b) -> int")
        library_of_build.impl(name, lambda a, b: a + int(b), "CompositeImplicitAutograd")
    assert [has(module, name) for name in parts] == [True, False, True, True, False]
    assert (module.more(2, 3.0), module.sub.inner(1, 2.0)) == (5, 3)
    with pytest.raises(AttributeError, match=r"this build of some_builds has no sub\.lost"):
        module.sub.lost(1, 2.0)


def has(module: ModuleType, path: str) -> bool:
    """Whether a module has what a path of names leads to."""
    try:
        operator.attrgetter(path)(module)
    except AttributeError:
        return False
    return True


def test_files_of_users_stay(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--force` replaces no Python module that an import did not write."""
    Path("pyb_C.py").write_text("mine")
    assert main(["import", "csrc", "--out", "pyb_C.yaml", "--force"]) == 1
    assert "E2402" in capsys.readouterr().err
    assert Path("pyb_C.py").read_text() == "mine"
