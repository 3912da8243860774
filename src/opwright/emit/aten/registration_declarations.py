"""`RegistrationDeclarations.h`: the kernels that backends outside PyTorch may register, for their generators."""

from __future__ import annotations

import json
from typing import Final

from opwright.convention import dispatcher
from opwright.emit.aten.units import file_emitter, overloads
from opwright.emit.emitter import AnyEmitter, Job
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind

_DECOMPOSED: Final = (
    frozenset((COMPOSITE_IMPLICIT,)),
    frozenset((COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED)),
)


def declaration(function: NativeFunction) -> str:
    """Line of one overload: the kernel's declaration, with facts as JSON in a comment.

    `dispatch` tells that there are kernels other than a decomposition, `default` that a backend need not write one.
    """
    dispatches = function.kernels.keys() not in _DECOMPOSED
    structured = function.in_structured_group and function.kind in (SchemaKind.functional, SchemaKind.inplace)
    default = function.has_composite_kernel or structured
    schema = json.dumps(f"{function.library.namespace}::{function.schema}")
    facts = f'{{"schema": {schema}, "dispatch": "{dispatches}", "default": "{default}"}}'
    return f"{dispatcher.signature(function).definition()}; // {facts}\n"


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the header."""
    slot = "registration_declarations"
    return [
        file_emitter(
            "registration_declarations_header",
            "RegistrationDeclarations.h",
            overloads,
            lambda function, context: {slot: (declaration(function),)},
            (slot,),
            family="headers",
        )
    ]
