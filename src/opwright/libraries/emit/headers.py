"""Headers of a library: `ops.h` for its callers, and `kernels.h` for the author of its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Final

from opwright.cpp.namespaces import blocks, enclose
from opwright.cpp.text import guard, include_line, joined_conditions
from opwright.emit.aten import functions, meta_headers, native_headers, operators
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.emit.batching import rule_declarations
from opwright.libraries.emit.build_namespace import cpp_text
from opwright.libraries.emit.checks import author_kernels
from opwright.libraries.emit.kernels import stream_comment
from opwright.libraries.emit.parts import LibraryPart, parts_by_condition, structured_groups, whole_libraries
from opwright.libraries.kernels import condition_of
from opwright.source.lazy import lazy_pattern

#: Types that `ATen/core/Tensor.h` only declares, as they are passed by value.
_HELD: Final = lazy_pattern(r"c10::(?:Dict|IValue|complex|List<(?!::std::optional<at::Tensor>>))")


def _type_headers(text: str) -> list[str]:
    """Headers with the types of values that the dispatcher holds, and with reductions, if a text has them."""
    headers = ["ATen/core/Reduction.h"] if "at::Reduction::" in text else []
    return [*headers, "ATen/core/ivalue.h"] if _HELD.search(text) else headers


def _guarded_texts(part: LibraryPart, lines_of: Callable[[LibraryPart], Iterable[str]]) -> str:
    """Lines for the operators of a part, those of each condition inside `#if`."""
    texts = [
        guard(condition_part.condition, "\n".join(lines_of(condition_part)))
        for condition_part in parts_by_condition(part)
    ]
    return "\n".join([text for text in texts if text])


def _operators_header(part: LibraryPart, context: FragmentContext) -> Slots:
    library = part.library
    classes = _guarded_texts(
        part, lambda condition_part: [operators.declaration(function) for function in condition_part.functions]
    )
    definitions = _guarded_texts(
        part, lambda condition_part: [functions.definition(function) for function in condition_part.functions]
    )
    return {
        "export": library.export,
        "namespace": library.namespace,
        "includes": list(map(include_line, _type_headers(f"{classes}{definitions}"))),
        "classes": enclose(library.operators, cpp_text(classes)),
        "functions": enclose(library.api, definitions),
    }


def _kernels_header(part: LibraryPart, context: FragmentContext) -> Slots:
    groups = structured_groups(part.units)
    shapes = _guarded_texts(
        part,
        lambda condition_part: [meta_headers.meta_class(group) for group in structured_groups(condition_part.units)],
    )
    headers = ["ATen/TensorMeta.h"] if groups else []
    headers += ["ATen/TensorIterator.h"] if any(group.out.structured_inherits for group in groups) else []
    declarations = _kernel_declarations(part, context)
    headers += _type_headers("\n".join(chain.from_iterable(declarations.values())))
    return {
        "export": part.library.export,
        "namespace": part.library.namespace,
        "includes": list(map(include_line, headers)),
        "shapes": enclose(part.library.meta, shapes) if shapes else "",
        "kernels": stream_comment(part.functions, "c10::cuda::getCurrentCUDAStream()", "C10_CUDA_KERNEL_LAUNCH_CHECK")
        + blocks(declarations),
    }


def _kernel_declarations(part: LibraryPart, context: FragmentContext) -> Mapping[str, Iterable[str]]:
    """Declarations of each namespace: classes of structured kernels, and functions unless the author declares them.

    A kernel of several keys or operators is declared once, with the names and defaults of the first one's arguments,
    and without a condition if one of them has none.
    """
    namespaces: dict[str, dict[str, tuple[str, str]]] = {}

    def declare(namespace: str, text: str, condition: str, what: str = "") -> None:
        declared = namespaces.setdefault(namespace, {})
        first, earlier = declared.setdefault(what or text, (text, condition))
        if earlier != condition:
            declared[what or text] = (first, "")

    for condition_part in parts_by_condition(part):
        for group in structured_groups(condition_part.units):
            for kernel in group.out.kernels.values():
                if kernel.structured:
                    text = native_headers.structured_class(group, kernel, context.rules)
                    declare(kernel.namespace, text, joined_conditions((condition_part.condition, condition_of(kernel))))
        for function, kernel in () if part.includes else author_kernels(condition_part):
            signature = kernel_signature(function, kernel)
            text = f"{part.library.export} {signature.declaration(kernel.name)};"
            condition = joined_conditions((condition_part.condition, condition_of(kernel)))
            declare(kernel.namespace, text, condition, f"{kernel.name} {signature.type}")
        for namespace, text in () if part.includes else rule_declarations(condition_part):
            declare(namespace, text, condition_part.condition)
    return {
        namespace: [guard(condition, text) for text, condition in declared.values()]
        for namespace, declared in namespaces.items()
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the headers."""
    return [
        Emitter(
            name="library_operators_headers",
            family="library",
            template="library/ops.h",
            folder="include",
            units=whole_libraries,
            fragment=_operators_header,
            layout=FilePerUnit(lambda part: f"{part.path}/ops.h"),
        ),
        Emitter(
            name="library_kernels_headers",
            family="library",
            template="library/kernels.h",
            folder="include",
            units=whole_libraries,
            fragment=_kernels_header,
            layout=FilePerUnit(lambda part: f"{part.path}/kernels.h"),
        ),
    ]
