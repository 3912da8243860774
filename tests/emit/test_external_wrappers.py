"""Wrappers of plain kernels of backends outside PyTorch: devices, callees, hooks, and what runs on the CPU."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.backends.hooks import Hook, HookPosition, Implementation
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS, EntryOptions, Guard, HeadOptions
from tests.emit.external_backends import backend_files, slot

ENTRIES = """
- func: scale(Tensor self, SymInt by=1) -> Tensor
- func: scale_(Tensor(a!) self, SymInt by=1) -> Tensor(a!)
- func: near(Tensor self, Tensor? other, Tensor[] more) -> (Tensor, Tensor)
  device_check: NoCheck
- func: fill(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None) -> Tensor
  dispatch:
    CPU: fill
- func: drop(Tensor(a!)[] tensors) -> ()
- func: seen(Tensor self, SymInt[] size) -> Tensor
  device_guard: False
  device_check: NoCheck
  dispatch:
    CPU, CUDA: seen
- func: blend(Tensor self, Tensor other) -> Tensor
  structured_delegate: blend.out
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: blend_out
"""
PLAIN = EntryOptions()


def wrappers(
    operators: Mapping[str, EntryOptions], head: HeadOptions = NO_HEAD_OPTIONS, *, device_guard: bool = True
) -> str:
    """The wrappers of some operators."""
    files = backend_files(ENTRIES, operators, options=head, device_guard=device_guard)
    return slot(files.source, "dispatch_anonymous_definitions")


def hooked(operator: str, *hooks: Hook, options: EntryOptions = PLAIN) -> str:
    """The wrapper of an operator with hooks, without device check and guard."""
    return wrappers({operator: options}, HeadOptions(hooks=hooks), device_guard=False)


def test_guard_of_another_type() -> None:
    """The guard that the file names replaces PyTorch's, around tensors and in functions that make tensors."""
    text = wrappers({"scale": PLAIN, "fill": PLAIN}, HeadOptions(guard=Guard("acme::OptionalGuard", "acme/guard.h")))
    assert "  const acme::OptionalGuard device_guard(device_of(self));" in text
    assert "  const acme::OptionalGuard device_guard(device_or_default(device));" in text


def test_initialization_of_the_device() -> None:
    """The statement stands before the guard in functions that make tensors, and in no others."""
    text = wrappers({"scale": PLAIN, "fill": PLAIN}, HeadOptions(lazy_init="acme::init();"))
    assert "\n  acme::init();\n  const DeviceGuard device_guard(device_or_default(device));" in text
    assert text.count("acme::init") == 1


def test_device_check_of_the_file() -> None:
    """The file turns checks on or off for all operators, unless PyTorch itself does not check an operator."""
    checked = wrappers({"scale": PLAIN, "near": PLAIN}, HeadOptions(device_check=True), device_guard=False)
    assert 'check_and_update_common_device(common_device, self, "wrapper_Acme__scale", "self")' in checked
    assert checked.count("check_and_update_common_device") == 1
    assert checked.count("DeviceGuard omitted") == 2
    unchecked = wrappers({"scale": PLAIN}, HeadOptions(device_check=False))
    assert "No device check" in unchecked
    assert "OptionalDeviceGuard device_guard(device_of(self))" in unchecked


def test_devices_of_one_operator() -> None:
    """An entry turns its check and its guard on or off; without a guard there is no check either."""
    text = wrappers({"scale": EntryOptions(device_check=False)})
    assert "No device check" in text
    assert "device_guard(device_of(self))" in text
    text = wrappers({"near": EntryOptions(device_check=True)})
    assert text.count("check_and_update_common_device") == 3
    text = wrappers({"scale": EntryOptions(device_guard=False)})
    assert "No device check" in text
    assert "DeviceGuard omitted" in text
    text = wrappers({"seen": EntryOptions(Implementation.inherited, "at::native::seen", device_guard=True)})
    assert "device_guard(device_of(self))" in text


def test_structured_kernel_without_a_guard() -> None:
    """The classes of outputs of an entry without a guard have none."""
    structured = EntryOptions(Implementation.structured)
    assert "OptionalDeviceGuard guard_;" in wrappers({"blend.out": structured})
    assert "guard_" not in wrappers({"blend.out": structured._replace(device_guard=False)})


def test_kernels_of_pytorch_have_its_convention() -> None:
    """Numbers that may be symbols are numbers for a kernel of PyTorch, unless its name says otherwise."""
    inherited = EntryOptions(Implementation.inherited)
    assert "return at::native::seen(self, C10_AS_INTARRAYREF_SLOW(size));" in wrappers(
        {"seen": inherited._replace(callee="at::native::seen")}
    )
    assert "return at::native::seen_symint(self, size);" in wrappers(
        {"seen": inherited._replace(callee="at::native::seen_symint")}
    )


def test_kernels_in_other_classes_and_namespaces() -> None:
    """Wrappers call the function or the member of the class that the entry names."""
    text = wrappers({"scale": EntryOptions(callee="acme::fast::scale"), "near": EntryOptions(class_name="AcmeSlow")})
    assert "return acme::fast::scale(self, by.guard_int(__FILE__, __LINE__));" in text
    assert "return acme::native::AcmeSlow::near(self, other, more);" in text


def test_hooks_before_and_after() -> None:
    """Statements stand before the call, and after it with the result in a variable; several keep their order."""
    text = hooked(
        "scale",
        Hook(HookPosition.before, text='acme::enter("{operator}", "{overload}", {tensors});'),
        Hook(HookPosition.after, text="acme::leave({result});"),
        Hook(HookPosition.before, call="acme::profile", passes=("name", "key", "arguments")),
    )
    assert (
        '  acme::enter("scale", "", self);\n'
        '  acme::profile("aten::scale", "PrivateUse1", self, by);\n'
        "  decltype(auto) opwright_result = acme::native::AcmeNativeFunctions::scale(self, "
        "by.guard_int(__FILE__, __LINE__));\n"
        "  acme::leave(opwright_result);\n"
        "  return opwright_result;\n"
    ) in text


def test_hooks_before_the_device_check() -> None:
    """Statements stand before check and guard in wrappers of plain kernels, of structured ones and of out kernels."""
    head = HeadOptions(hooks=(Hook(HookPosition.before_check, text='acme::check("{name}", {tensors});'),))
    plain = wrappers({"scale": PLAIN}, head)
    assert 'c10::SymInt by) {\n  acme::check("aten::scale", self);\n  std::optional<Device> common_device' in plain
    structured = wrappers({"blend.out": EntryOptions(Implementation.structured)}, head)
    assert 'other) {\n  acme::check("aten::blend", self, other);\nstd::optional<Device> common_device' in structured
    derived = wrappers({"blend.out": PLAIN}, head._replace(derives_from_out=True))
    assert 'blend(const at::Tensor & self, const at::Tensor & other) {\n  acme::check("aten::blend"' in derived
    assert derived.count("acme::check") == structured.count("acme::check") == 2


def test_hooks_around_nest() -> None:
    """The first hook of the file is the outermost one; inner statements run as the body of a function object."""
    text = hooked(
        "scale_",
        Hook(HookPosition.around, text="if (acme::traced()) {\n  return {call};\n}\nreturn self;"),
        Hook(HookPosition.around, call="acme::run", passes=("wrapper",)),
    )
    assert (
        "  if (acme::traced()) {\n"
        "    return [&]() -> at::Tensor & {\n"
        '    return acme::run("wrapper_Acme__scale_", [&]() -> at::Tensor & { return '
        "acme::native::AcmeNativeFunctions::scale_(self, by.guard_int(__FILE__, __LINE__)); });\n"
        "  }();\n"
        "  }\n"
        "  return self;\n"
    ) in text


def test_hooks_of_operators_without_result() -> None:
    """There is no variable for the result of an operator that returns nothing, and hooks get a placeholder."""
    text = hooked("drop", Hook(HookPosition.after, call="acme::leave", passes=("tensors", "result")))
    assert (
        "  acme::native::AcmeNativeFunctions::drop(tensors);\n  acme::leave(tensors, ::opwright::no_result);\n}" in text
    )


def test_hooks_choose_wrappers() -> None:
    """Kinds, keys and patterns of names all have to fit a wrapper."""
    inherited = EntryOptions(Implementation.inherited, "at::native::seen")

    def named(text: str, **choices: tuple[str, ...] | tuple[Implementation, ...]) -> str:
        hook = Hook(HookPosition.before, text="HERE;", **choices)  # type: ignore[arg-type]
        operators = {"scale": PLAIN, "scale_": PLAIN, "seen": inherited}
        files = backend_files(ENTRIES, operators, options=HeadOptions(hooks=(hook,)), device_guard=False)
        lines = slot(files.source, "dispatch_anonymous_definitions").splitlines()
        bodies = [lines[index + 1] for index, line in enumerate(lines) if line == "  HERE;"]
        return " ".join(sorted({body.partition("(")[0].rpartition("::")[2] for body in bodies}))

    assert named("") == "scale scale_ seen"
    assert named("", names=("scale*",)) == "scale scale_"
    assert named("", names=("aten::see?", "scale_")) == "scale_ seen"
    assert named("", kinds=(Implementation.inherited,)) == "seen"
    assert named("", keys=("PrivateUse1",), names=("seen",)) == "seen"
    assert named("", keys=("AutogradPrivateUse1",)) == ""


def test_hooks_of_structured_wrappers() -> None:
    """The outputs and the calls of `meta` and `impl` are what a hook of a structured wrapper surrounds."""
    text = hooked(
        "blend.out",
        Hook(HookPosition.around, text="return acme::run({call});", kinds=(Implementation.structured,)),
        options=EntryOptions(Implementation.structured),
    )
    assert "  return acme::run([&]() -> at::Tensor {\n    structured_blend_out_functional op;\n    op.meta(" in text
    assert "    return std::move(op.outputs_[0]);\n  }());" in text
    assert text.count("acme::run") == 2


def test_text_of_hooks_keeps_other_braces() -> None:
    """Braces in C++ are not placeholders."""
    text = hooked("scale", Hook(HookPosition.before, text="{ std::array<int, 1> sizes{by_default}; }"))
    assert "  { std::array<int, 1> sizes{by_default}; }\n" in text


def test_cpu_after_an_error() -> None:
    """If the kernel throws an error of PyTorch's, the wrapper warns once and runs the CPU's kernel."""
    text = hooked("scale", Hook(HookPosition.around, text="return acme::run({call});"), options=PLAIN)
    assert "catch" not in text
    text = hooked("scale", options=EntryOptions(cpu_on_error=True))
    assert "  } catch (const c10::Error& error) {\n    TORCH_WARN_ONCE(" in text
    assert "at::native::call_fallback_fn_symint<&run_on_cpu, at::_ops::scale>::call(self, by);" in text
    structured = EntryOptions(Implementation.structured, cpu_on_error=True)
    assert "at::native::call_fallback_fn<&run_on_cpu, at::_ops::blend>::call(self, other);" in wrappers(
        {"blend.out": structured}
    )


def test_operators_that_are_not_wrapped() -> None:
    """Operators that fall back, or that the author registers, have no wrapper, not even one that copies results."""
    text = wrappers({"scale": EntryOptions(Implementation.fallback), "near": PLAIN})
    assert "wrapper_Acme__near" in text
    assert "scale" not in text
