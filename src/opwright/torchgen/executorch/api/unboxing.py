"""Convention of ExecuTorch's boxed kernels: the names of `torchgen.executorch.api.unboxing`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opwright.mobile.executorch.evalues import ValueChoices, convert
from opwright.schema.function import make_argument
from opwright.torchgen.executorch.api.et_cpp import argumenttype_type
from opwright.torchgen.interface.cpp_types import Binding, CType, NamedCType, current_style
from opwright.torchgen.interface.executorch_types import refusals
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.schema import Argument, SelfArgument
from opwright.torchgen.interface.types import WRITTEN, Type, model_type


def name(f: NativeFunction) -> str:
    """Name of the function that unboxes."""
    return f.func.name.unambiguous_name()


@record()
class Unboxing(Record):
    """Conversions of values of the type `EValue` to the types that `argument_type_gen` gives arguments.

    It is `et_cpp.argumenttype_type`, or `cpp.argumenttype_type` for PyTorch's types.
    """

    argument_type_gen: Callable[..., NamedCType]

    def convert_arguments(self, args: Sequence[Binding]) -> tuple[list[Binding], list[str]]:
        """Converted arguments, and the statements that take them from a stack and convert them.

        Raises AssertionError for a parameter that is not one argument of a schema.
        """
        code = [f"EValue& {binding.name} = *stack[{index}];" for index, binding in enumerate(args)]
        converted: list[Binding] = []
        for binding in args:
            argument = binding.argument.argument if isinstance(binding.argument, SelfArgument) else binding.argument
            if not isinstance(argument, Argument):
                raise Invalid(f"`{binding.name}` is not one argument of a schema")
            new_name, _, declarations, statements = self.argumenttype_evalue_convert(
                argument.type, argument.name, mutable=argument.is_write
            )
            code += [*declarations, *statements]
            converted.append(binding.with_name(new_name))
        return converted, code

    @refusals()
    def argumenttype_evalue_convert(
        self, t: Type, arg_name: str, *, mutable: bool = False
    ) -> tuple[str, CType, list[str], list[str]]:
        """Name and type of a converted value, the declarations that come before all else, and the statements."""
        written = WRITTEN if mutable else None
        choices = ValueChoices(current_style(), aten_mode=self.argument_type_gen is not argumenttype_type)
        value = convert(make_argument(arg_name, model_type(t), None, written), choices)
        ctype = self.argument_type_gen(t, mutable=mutable, binds=arg_name).type
        return value.name, ctype, list(value.declarations), list(value.statements)
