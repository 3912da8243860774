"""What plug-ins add to the wrappers of a backend: hooks, chosen kernels, conventions, and changed registrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import pytest

from opwright.backends.backend_codes import NO_SELECTOR, SELECTION, UNKNOWN_CONVENTION, UNTRANSLATABLE
from opwright.backends.emit.checks import check_wrappers
from opwright.backends.emit.sections import registered_units, section_files
from opwright.backends.extensions import (
    EmitExtensions,
    Extension,
    KernelCandidate,
    KernelConvention,
    KernelSelector,
    Registration,
    RegistrationChange,
    WrapperFacts,
    WrapperHook,
)
from opwright.backends.external_backend import RunBackends
from opwright.backends.hooks import Hook, HookPosition, Implementation
from opwright.backends.lazy_backend import LazyBackend, RunLazyBackends
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS, EntryOptions, Fallback, FamilyKernel, HeadOptions
from opwright.convention import dispatcher
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.cpp.translation import TypeConversion
from opwright.emit.emitter import Job
from opwright.incremental.fingerprints import UnitFingerprints
from opwright.model.dispatch_key import key_named
from opwright.model.native_function import Kernel, NativeFunction
from opwright.plugins.cpp_names import usual_signature
from opwright.plugins.safe_rows import hook_problem
from opwright.run.asked_plugins import NO_PLUGINS
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from tests.emit.external_backends import backend_job, files_of, slot

ENTRIES = """
- func: scale(Tensor self, SymInt by=1) -> Tensor
- func: scale_(Tensor(a!) self, SymInt by=1) -> Tensor(a!)
- func: drop(Tensor(a!)[] tensors) -> ()
- func: split(Tensor self, Scalar at) -> (Tensor, Tensor)
- func: mix(Tensor self, Tensor? other) -> Tensor
  dispatch: {CPU: mix}
- func: mix_(Tensor(a!) self, Tensor? other) -> Tensor(a!)
  dispatch: {CPU: mix_}
- func: mix.out(Tensor self, Tensor? other, *, Tensor(a!) out) -> Tensor(a!)
  dispatch: {CPU: mix_out}
- func: blend(Tensor self, Tensor other) -> Tensor
  structured_delegate: blend.out
- func: blend.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: blend_out
"""
PLAIN = EntryOptions()
STRUCTURED = EntryOptions(Implementation.structured)
KEY = key_named("PrivateUse1")

HookCode = Callable[[WrapperFacts], str | None]


def hooks(*rows: tuple[str, HookCode]) -> EmitExtensions:
    """The extensions of a plug-in with hooks."""
    return EmitExtensions(
        wrapper_hooks=tuple([Extension("acme", WrapperHook(position, code)) for position, code in rows])
    )


def checked(job: Job) -> tuple[Diagnostic, ...]:
    """What the check of wrappers reports."""
    sink = Diagnostics()
    check_wrappers(job, sink)
    return sink.sorted()


def wrappers_of(job: Job) -> str:
    """The wrappers of a backend, which has no faults."""
    assert checked(job) == ()
    return slot(files_of(job).source, "dispatch_anonymous_definitions")


def hooked(operators: dict[str, EntryOptions], *rows: tuple[str, HookCode], head: HeadOptions = NO_HEAD_OPTIONS) -> str:
    """The wrappers of operators with hooks of a plug-in."""
    return wrappers_of(backend_job(ENTRIES, operators, hooks(*rows), options=head))


def test_facts_of_a_wrapper() -> None:
    """A hook knows the operator, the C++ function and its arguments, and what it returns."""
    seen: list[WrapperFacts] = []
    hooked({"scale": PLAIN, "drop": PLAIN, "blend.out": STRUCTURED}, ("before", seen.append))
    assert [facts.name for facts in seen] == ["aten::scale", "aten::drop", "aten::blend", "aten::blend.out"]
    scale, drop, _, out = seen
    assert (scale.namespace, scale.operator, scale.overload, out.overload) == ("aten", "scale", "", "out")
    assert (scale.key, scale.display_name, scale.wrapper) == ("PrivateUse1", "Acme", "wrapper_Acme__scale")
    assert [(argument.name, argument.type) for argument in scale.arguments] == [
        ("self", "const at::Tensor &"),
        ("by", "c10::SymInt"),
    ]
    assert [argument.name for argument in scale.tensors] == ["self"]
    assert (scale.returns, scale.has_result, drop.returns, drop.has_result) == ("at::Tensor", True, "void", False)
    assert (scale.kind, out.kind) == (Implementation.kernel, Implementation.structured)
    assert [facts.is_structured for facts in seen] == [False, False, True, True]
    assert str(scale.rules.version) == "2.13.0"
    assert scale.function.name.text == "scale"


def test_hooks_stand_at_their_positions() -> None:
    """Hooks of a plug-in stand before the check, before the call, after it and around it, also in structured ones."""
    text = hooked(
        {"scale": PLAIN},
        ("before_check", lambda facts: "acme::check({tensors});"),
        ("before", lambda facts: 'acme::enter("{name}");'),
        ("after", lambda facts: "acme::leave({result});"),
        ("around", lambda facts: f"if (acme::idle({len(facts.arguments)})) return {{call}};\nreturn {{call}};"),
    )
    lines = [
        "  acme::check(self);",
        "  std::optional<Device> common_device = std::nullopt;",
        "  const OptionalDeviceGuard device_guard(device_of(self));",
        '  acme::enter("aten::scale");',
        "  decltype(auto) opwright_result = [&]() -> at::Tensor {",
        "    if (acme::idle(2)) return acme::native::AcmeNativeFunctions::scale(",
        "  acme::leave(opwright_result);",
    ]
    places = [text.index(line) for line in lines]
    assert all(first < second for first, second in pairwise(places)), text
    structured = hooked({"blend.out": STRUCTURED}, ("around", lambda facts: "return acme::run({call});"))
    assert structured.count("return acme::run([&]() -> at::Tensor") == 2


def test_hooks_of_the_file_are_outside() -> None:
    """Code of the backend file surrounds code of plug-ins, and the plug-ins keep their order."""
    text = hooked(
        {"scale": PLAIN},
        ("around", lambda facts: "return first({call});"),
        ("around", lambda facts: "return second({call});"),
        head=HeadOptions(hooks=(Hook(HookPosition.around, text="return file({call});"),)),
    )
    assert text.index("return file(") < text.index("return first(") < text.index("return second(")


def test_a_hook_passes_a_wrapper_by() -> None:
    """A wrapper for which a hook gives nothing is as without plug-ins."""
    plain = wrappers_of(backend_job(ENTRIES, {"scale": PLAIN, "scale_": PLAIN}))
    code: HookCode = lambda facts: "acme::seen();" if facts.operator == "scale_" else None  # noqa: E731
    text = hooked({"scale": PLAIN, "scale_": PLAIN}, ("before", code))
    assert text.count("acme::seen") == 1
    assert text.replace("  acme::seen();\n", "") == plain


def test_headers_of_hooks_are_included() -> None:
    """A source includes the headers of the hooks in it once, and that of results that do not exist."""
    extensions = EmitExtensions(
        wrapper_hooks=(
            Extension("acme", WrapperHook("after", lambda facts: "f({result});", includes=["acme/f.h"])),
            Extension("acme", WrapperHook("before", lambda facts: None, includes=["acme/unused.h"])),
        )
    )
    files = files_of(backend_job(ENTRIES, {"scale": PLAIN, "drop": PLAIN}, extensions))
    includes = slot(files.source, "external_backend_headers")
    assert includes.count("#include <acme/f.h>") == includes.count("#include <opwright/hooks.h>") == 1
    assert "unused" not in includes


def test_an_unknown_position_is_refused() -> None:
    """A plug-in with a misspelt position does not load."""
    with pytest.raises(ValueError, match="`befor` is not a position of hooks; there are `before_check`, `before`"):
        WrapperHook("befor", lambda facts: None)


def failing(facts: object) -> str:
    """The function of a plug-in that fails, as a guarded one does."""
    raise Fault.at("E2305", "plug-in `acme`: hook raised KeyError")


def test_a_failing_hook_is_reported_once() -> None:
    """The fault of a plug-in shows the first entry that it concerns, and the function is not called again."""
    job = backend_job(ENTRIES, {"scale": PLAIN, "drop": PLAIN}, hooks(("before", failing)))
    (fault,) = checked(job)
    assert (fault.code, fault.labels[0].text) == ("E2305", "for `scale`")


def family_options(*families: str, convention: str = "") -> EntryOptions:
    """The options of an entry with kernels in several families, each in a namespace."""
    kernels = [
        FamilyKernel(
            family, Kernel(KEY, "scale", f"acme::{family}", structured=False), f"acme::{family}::scale", "", convention
        )
        for family in families
    ]
    return EntryOptions(callee=kernels[0].callee, convention=convention, candidates=tuple(kernels))


def selecting(select: Callable[[WrapperFacts, tuple[KernelCandidate, ...]], str | None]) -> EmitExtensions:
    """The extensions of a plug-in with a selector."""
    return EmitExtensions(kernel_selectors=(Extension("acme", KernelSelector("by_mode", select)),))


def by_mode(facts: WrapperFacts, candidates: Sequence[KernelCandidate]) -> str:
    """The first kernel in one mode, the last one otherwise."""
    first, last = candidates[0].family, candidates[-1].family
    return f'if (acme::mode("{{name}}")) return {{{first}}};\nreturn {{{last}}};'


def test_a_selector_chooses_among_kernels() -> None:
    """All kernels are declared, and the statements of the selector call them; hooks are around the statements."""
    job = backend_job(ENTRIES, {"scale": family_options("fast", "exact")}, selecting(by_mode), device_guard=False)
    assert (
        '  if (acme::mode("aten::scale")) return acme::fast::scale(self, by.guard_int(__FILE__, __LINE__));\n'
        "  return acme::exact::scale(self, by.guard_int(__FILE__, __LINE__));\n}"
    ) in wrappers_of(job)
    header = slot(files_of(job).header, "namespace_epilogue")
    for family in ("fast", "exact"):
        assert f"namespace {family} {{\n\nat::Tensor scale(const at::Tensor & self, int64_t by);" in header
    around = selecting(by_mode)._replace(wrapper_hooks=hooks(("around", lambda _: "return run({call});")).wrapper_hooks)
    assert "  return run([&]() -> at::Tensor {\n      if (acme::mode(" in wrappers_of(
        backend_job(ENTRIES, {"scale": family_options("fast", "exact")}, around)
    )


def test_kernels_that_headers_of_the_author_declare() -> None:
    """With headers of the author's, each of several kernels is checked against the type of the operator."""
    head = HeadOptions(includes=("acme.h",))
    job = backend_job(ENTRIES, {"scale": family_options("fast", "exact")}, selecting(by_mode), options=head)
    checks = slot(files_of(job).source, "ops_headers")
    assert "acme::fast" in checks
    assert "acme::exact" in checks
    assert wrappers_of(job).count("::kernels::scale") == 2


def test_selector_of_a_derived_overload() -> None:
    """Overloads that call the kernel of the out overload choose it too."""
    head = HeadOptions(derives_from_out=True)
    text = wrappers_of(
        backend_job(ENTRIES, {"mix.out": family_options("fast", "exact")}, selecting(by_mode), options=head)
    )
    assert text.count("[&]() -> at::Tensor & {\n") == 2
    assert '    if (acme::mode("aten::mix")) return acme::fast::scale(self, other, out);\n' in text
    assert "    return acme::exact::scale(self, other, self);\n  }();\n  return self;\n" in text


@pytest.mark.parametrize(
    ("select", "code", "message"),
    [
        (lambda *_: None, NO_SELECTOR, "no plug-in of the run chooses among the kernels of `aten::scale`: `fast`"),
        (lambda *_: "return {fats};", SELECTION, "selector `by_mode` of plug-in `acme` for `aten::scale`: `{fats}` is"),
        (lambda *_: "return self;", SELECTION, "the statements call none of the kernels"),
        (lambda *_: "return {call};", SELECTION, "`{call}` is no family of the entry"),
    ],
)
def test_faults_of_selectors(select: Callable[..., str | None], code: str, message: str) -> None:
    """A selector that names no kernel of the entry, and none at all, are faults at the entry."""
    job = backend_job(ENTRIES, {"scale": family_options("fast")}, selecting(select))
    (fault,) = checked(job)
    assert fault.code == code
    assert message in fault.message
    assert fault.span == job.of(RunBackends).backends[0].sections[0].entries[0].span


ACME_TENSOR = c_types.base("acme::Tensor")
TO_ACME = TypeConversion(ACME_TENSOR, c_types.const_ref(c_types.TENSOR), "acme::wrap({0})")
FROM_ACME = TypeConversion(c_types.TENSOR, ACME_TENSOR, "acme::unwrap({0})")


def acme_signature(function: NativeFunction) -> Signature:
    """A signature whose tensors are those of the backend."""
    signature = dispatcher.concrete_signature(function)
    tensors: dict[CType, CType] = {
        c_types.const_ref(c_types.TENSOR): ACME_TENSOR,
        c_types.TENSOR: ACME_TENSOR,
        c_types.mut_ref(c_types.TENSOR): ACME_TENSOR,
    }
    bindings = [
        Binding(binding.name, binding.role, tensors.get(binding.type, binding.type), binding.argument)
        for binding in signature.bindings
    ]
    return Signature(signature.name, tensors.get(signature.returns, signature.returns), tuple(bindings))


def converting(
    *conversions: TypeConversion, code: Callable[[NativeFunction], Signature] = acme_signature
) -> EmitExtensions:
    """The extensions of a plug-in with a convention."""
    convention = KernelConvention("acme_tensors", code, conversions=conversions, includes=["acme/tensor.h"])
    return EmitExtensions(kernel_conventions=(Extension("acme", convention),))


def convention_job(operators: Sequence[str], extensions: EmitExtensions) -> Job:
    """The job of operators with the convention of a plug-in."""
    options = EntryOptions(convention="acme_tensors")
    return backend_job(ENTRIES, dict.fromkeys(operators, options), extensions, conventions=["acme_tensors"])


def test_a_convention_declares_and_calls_kernels() -> None:
    """Kernels have the types of the plug-in; wrappers convert arguments and results, and return what is written."""
    job = convention_job(["scale", "scale_", "drop"], converting(TO_ACME, FROM_ACME))
    text = wrappers_of(job)
    call = "acme::native::AcmeNativeFunctions::scale(acme::wrap(self), by.guard_int(__FILE__, __LINE__));\n"
    assert f"  auto opwright_kernel_result = {call}  return acme::unwrap(opwright_kernel_result);\n" in text
    assert f"  {call.replace('::scale(', '::scale_(')}  return self;\n" in text
    files = files_of(job)
    assert "#include <acme/tensor.h>" in slot(files.source, "external_backend_headers")
    assert slot(files.header, "namespace_prologue").startswith("#include <acme/tensor.h>\n")
    assert "static acme::Tensor scale(acme::Tensor self, int64_t by);" in slot(files.header, "dispatch_declarations")
    options = {"scale": EntryOptions(convention="acme_tensors"), "scale_": PLAIN}
    head = HeadOptions(default_args=True)
    extensions = converting(TO_ACME, FROM_ACME)
    mixed = backend_job(ENTRIES, options, extensions, conventions=["acme_tensors"], options=head)
    declared = slot(files_of(mixed).header, "dispatch_declarations")
    # The defaults of a convention's signature are its own.
    assert "scale(acme::Tensor self, int64_t by);" in declared
    assert "scale_(at::Tensor & self, int64_t by=1);" in declared


def test_convention_of_one_family() -> None:
    """Of several kernels, one may have a convention of its own."""
    options = family_options("fast", "exact")
    first, second = options.candidates
    options = options._replace(candidates=(first, second._replace(convention="acme_tensors")))
    extensions = converting(TO_ACME, FROM_ACME)._replace(kernel_selectors=selecting(by_mode).kernel_selectors)
    text = wrappers_of(backend_job(ENTRIES, {"scale": options}, extensions, conventions=["acme_tensors"]))
    assert "return acme::fast::scale(self, by.guard_int(__FILE__, __LINE__));\n" in text
    assert "auto opwright_kernel_result = acme::exact::scale(acme::wrap(self), " in text
    # A kernel with another convention does not have the type of its operator, which the checks compare with.
    declared = backend_job(
        ENTRIES, {"scale": options}, extensions, conventions=["acme_tensors"], options=HeadOptions(includes=("acme.h",))
    )
    assert "acme::exact" not in slot(files_of(declared).source, "ops_headers")
    assert "::kernels::scale(self, " in wrappers_of(declared)
    assert "= acme::exact::scale(acme::wrap(self), " in wrappers_of(declared)


def test_convention_of_an_out_kernel() -> None:
    """Wrappers of derived overloads convert the tensors that they make, and ignore what the kernel returns."""
    extensions = converting(TO_ACME)
    options = EntryOptions(convention="acme_tensors")
    job = backend_job(
        ENTRIES,
        {"mix.out": options},
        extensions,
        conventions=["acme_tensors"],
        options=HeadOptions(derives_from_out=True),
    )
    text = wrappers_of(job)
    assert "mix_out(acme::wrap(self), other, acme::wrap(out));\n    return out;\n  }();\n  return out;" in text
    assert "mix_out(acme::wrap(self), other, acme::wrap(self));\n    return self;\n  }();\n  return self;" in text


def test_faults_of_conventions() -> None:
    """What a wrapper cannot make names the argument, the plug-in and the operator; so does a result."""
    faults = checked(convention_job(["scale"], converting()))
    assert {fault.code for fault in faults} == {UNTRANSLATABLE}
    assert sorted(fault.message for fault in faults) == [
        "the convention `acme_tensors` of plug-in `acme` returns `acme::Tensor`, and no conversion makes the result "
        "`at::Tensor` of `scale`",
        "the convention `acme_tensors` of plug-in `acme` wants `acme::Tensor self` for `scale`, and no conversion "
        "makes it from the argument of type `const at::Tensor &`",
    ]

    def stream_signature(function: NativeFunction) -> Signature:
        return Signature("f", c_types.TENSOR, (Binding("stream", "stream", c_types.base("acme::Stream"), None),))

    (fault,) = checked(convention_job(["scale"], converting(code=stream_signature)))
    assert fault.message.endswith("wants `acme::Stream stream` for `scale`, which has no argument `stream`: there are "
                                  "`self`, `by`")  # fmt: skip


def test_an_unknown_convention() -> None:
    """A convention that no plug-in has is one fault, where the file names it."""
    (fault,) = checked(convention_job(["scale", "drop"], hooks()))
    assert (fault.code, fault.message) == (
        UNKNOWN_CONVENTION,
        "no plug-in of the run has a convention `acme_tensors`",
    )


def test_a_failing_convention_is_reported_once() -> None:
    """A convention that fails is not asked for the signature of the next operator."""
    (fault,) = checked(convention_job(["scale", "drop"], converting(code=failing)))  # type: ignore[arg-type]
    assert fault.code == "E2305"


OPERATORS = {"scale": PLAIN, "drop": PLAIN, "blend.out": STRUCTURED}


def changing(*changes: RegistrationChange) -> EmitExtensions:
    """The extensions of a plug-in that changes registrations."""
    return EmitExtensions(registration_changes=tuple([Extension("acme", change) for change in changes]))


def registered(*changes: RegistrationChange, head: HeadOptions = NO_HEAD_OPTIONS) -> str:
    """The registrations of two operators."""
    job = backend_job(ENTRIES, {"scale": PLAIN, "blend.out": STRUCTURED}, changing(*changes), options=head)
    assert checked(job) == ()
    return slot(files_of(job).source, "static_init_dispatch_registrations")


def test_registrations_are_replaced() -> None:
    """A change may give a registration another macro or condition, and knows the wrapper."""

    def through_macro(registration: Registration, facts: WrapperFacts | None) -> Registration:
        if facts is None:
            return registration
        return registration._replace(macro="ACME_IMPL", kernel=facts.wrapper, condition="acme::enabled()")

    text = registered(through_macro, head=HeadOptions(fallback=Fallback.cpu))
    assert '    if (acme::enabled()) {\n      ACME_IMPL(m, "scale", wrapper_Acme__scale);\n    }\n' in text
    assert text.count("ACME_IMPL(m, ") == 3
    assert "m.fallback(torch::CppFunction" in text


def test_registrations_are_dropped_and_added() -> None:
    """No registration takes the place of one, or several do; the next change sees each of them."""
    plain = registered()

    def without_scale(registration: Registration, facts: WrapperFacts | None) -> Sequence[Registration]:
        return [] if registration.operator == "scale" else [registration]

    def on_autograd_too(registration: Registration, facts: WrapperFacts | None) -> Sequence[Registration]:
        return [registration, registration._replace(key="AutogradPrivateUse1", includes=("acme/autograd.h",))]

    text = registered(without_scale, on_autograd_too)
    assert '"scale"' in plain
    assert '"scale"' not in text
    assert text.count('m.impl("blend"') == 2
    assert "TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {" in text
    job = backend_job(ENTRIES, {"scale": PLAIN}, changing(on_autograd_too))
    assert "#include <acme/autograd.h>" in slot(files_of(job).source, "external_backend_headers")


def test_a_failing_change_is_reported_once() -> None:
    """The registrations stay as they are, and the fault shows the first entry."""

    def change(registration: Registration, facts: WrapperFacts | None) -> Registration:
        raise Fault.at("E2305", "plug-in `acme`: change raised KeyError")

    (fault,) = checked(backend_job(ENTRIES, {"scale": PLAIN, "drop": PLAIN}, changing(change)))
    assert (fault.code, fault.labels[0].text) == ("E2305", "for `scale`")


def fingerprints(extensions: EmitExtensions, operators: Mapping[str, EntryOptions] = OPERATORS) -> dict[str, bytes]:
    """The fingerprint of each unit of a backend."""
    job = backend_job(ENTRIES, operators, extensions)
    (file,) = section_files(job)
    units = registered_units(file, job)
    names = [unit.wrapped[1][0][0].name.text for unit in units]
    return dict(zip(names, UnitFingerprints().of_all(units), strict=True))


def test_fingerprints_cover_what_plug_ins_add() -> None:
    """Only units of wrappers with other code have another fingerprint."""
    plain = fingerprints(EmitExtensions())
    passing = fingerprints(hooks(("before", lambda facts: None)))
    assert passing == plain
    dropping = fingerprints(hooks(("before", lambda facts: "f();" if facts.operator == "drop" else None)))
    assert [name for name in plain if plain[name] != dropping[name]] == ["drop"]
    other = fingerprints(hooks(("before", lambda facts: "g();" if facts.operator == "drop" else None)))
    assert [name for name in plain if dropping[name] != other[name]] == ["drop"]
    structured = fingerprints(hooks(("before", lambda facts: "f();" if facts.is_structured else None)))
    assert [name for name in plain if plain[name] != structured[name]] == ["blend"]


def test_fingerprints_cover_choices_and_conventions() -> None:
    """Other statements of a selector, another signature and another conversion are other fingerprints."""
    operators = {"scale": family_options("fast", "exact")}
    texts = ("return {fast};", "return {exact};")
    first, second = [fingerprints(selecting(lambda *_, text=text: text), operators) for text in texts]
    assert first != second
    operators = {"scale": EntryOptions(convention="acme_tensors")}
    conventions = (
        converting(TO_ACME, FROM_ACME),
        converting(TO_ACME._replace(form="acme::other({0})"), FROM_ACME),
        converting(TO_ACME, FROM_ACME, code=usual_signature),
    )
    assert len({fingerprints(convention, operators)["scale"] for convention in conventions}) == 3


def test_wrappers_of_lazy_tensors_stay() -> None:
    """Plug-ins add nothing to the wrappers of lazy tensors."""
    job = backend_job(ENTRIES, OPERATORS, hooks(("before", lambda facts: "f();")))
    (backend,) = job.of(RunBackends).backends
    lazy = Job(
        job.catalog,
        job.rules,
        job.options,
        guests=[*job.guests, RunLazyBackends((LazyBackend(backend, ()),))],
    )
    added = [
        [any(row.additions for row in unit.choices) for unit in registered_units(section_files(each)[0], each)]
        for each in (job, lazy)
    ]
    assert added == [[True, True, True], [False, False, False]]


def test_plug_ins_that_add_nothing_change_nothing() -> None:
    """The files are the same with plug-ins whose functions give nothing."""
    operators = {"scale": PLAIN, "drop": PLAIN, "mix.out": PLAIN, "blend.out": STRUCTURED}
    extensions = hooks(("around", lambda facts: None))._replace(
        registration_changes=changing(lambda registration, facts: registration).registration_changes
    )
    assert files_of(backend_job(ENTRIES, operators, extensions)) == files_of(backend_job(ENTRIES, operators))


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        (None, "before", ""),
        ("", "around", ""),
        ("acme::log({name}); if (a) { b(); }", "before", ""),
        ("return acme::run({call});", "around", ""),
        ("acme::seen({result});", "after", ""),
        (3, "before", "a `int`, not a text or None"),
        ("acme::log({nmae});", "after", "code with `{nmae}`, which is no value of hooks"),
        ("acme::log({result});", "before_check", "code with `{result}`, which does not exist there"),
        ("{call};", "after", "code with `{call}`, which does not exist there"),
        ("return acme::run();", "around", "code without `{call}`, so that the kernel never runs"),
    ],
)
def test_what_a_hook_may_return(text: object, position: str, problem: str) -> None:
    """A text or None; its placeholders exist at its position, and code around a call has the call."""
    found = hook_problem(text, HookPosition[position])
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_hooks_know_their_positions() -> None:
    """A position that does not exist is a mistake of the plug-in, whose message lists all."""
    hook = WrapperHook("after", lambda wrapper: None, includes=iter(["acme/log.h"]))
    assert (hook.position, hook.includes, repr(hook)) == (HookPosition.after, ("acme/log.h",), "<wrapper hook after>")
    with pytest.raises(ValueError, match="`beside` is not a position of hooks; there are `before_check`, `before`, "):
        WrapperHook("beside", lambda wrapper: None)
    assert repr(Extension("acme", hook)) == "<extension of acme: <wrapper hook after>>"


def test_runs_without_plugins() -> None:
    """Without plug-ins, what a run asks of them changes nothing."""
    context = object()
    assert NO_PLUGINS.with_their_keys(context) is context  # type: ignore[arg-type]
    assert NO_PLUGINS.guests == ()
    assert not NO_PLUGINS.sources([])
    assert not NO_PLUGINS.identities([])
