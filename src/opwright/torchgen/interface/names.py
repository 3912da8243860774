"""Names of operators, as records."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.schema.fault import SchemaFault
from opwright.schema.names import AUGMENTED, parsed_operator_name
from opwright.schema.names import OperatorName as ModelName
from opwright.schema.names import operator_name as model_operator_name
from opwright.schema.parser import read_namespace, read_operator_name
from opwright.torchgen.interface.faults import Invalid, raised
from opwright.torchgen.interface.records import Record, record

#: The augmented assignments of Python.
AUGMENTED_ASSIGNMENT_NAMES: Final = list(AUGMENTED)


@record("base inplace dunder_method functional_overload namespace")
class BaseOperatorName(Record):
    """Parts of an operator's name without its overload."""

    dunder_method: bool
    inplace: bool
    base: str
    namespace: str | None = None
    functional_overload: bool = False

    @staticmethod
    def parse(op: str) -> BaseOperatorName:
        """Parts of a name. Raises AssertionError if PyTorch's operators cannot have it."""
        return OperatorName.parse(op).name

    def __str__(self) -> str:
        name = _model_name(self, "").name
        return name if self.namespace is None else f"{self.namespace}::{name}"


@record("name overload_name")
class OperatorName(Record):
    """An operator's name with its overload."""

    overload_name: str
    name: BaseOperatorName

    @staticmethod
    def parse(op_name: str) -> OperatorName:
        """Parts of a name. Raises AssertionError if PyTorch's operators cannot have it."""
        try:
            namespace, start = read_namespace(op_name)
            return name_of(read_operator_name(op_name, start), namespace)
        except SchemaFault as fault:
            raise Invalid(str(raised(fault, op_name))) from None

    def __str__(self) -> str:
        return f"{self.name}.{self.overload_name}" if self.overload_name else f"{self.name}"

    def unambiguous_name(self) -> str:
        """Name as one identifier."""
        return f"{self.name}_{self.overload_name}" if self.overload_name else f"{self.name}"

    def remove_inplace(self) -> OperatorName:
        """Name of the overload that is not in-place."""
        return self.with_overload(self.overload_name)

    def with_overload(self, overload: str) -> OperatorName:
        """Name of another overload, which is not in-place."""
        base = BaseOperatorName(base=self.name.base, inplace=False, dunder_method=self.name.dunder_method)
        return OperatorName(name=base, overload_name=overload)


@cache
def _base_name(name: str, namespace: str) -> BaseOperatorName:
    parts = parsed_operator_name(name, "")
    return BaseOperatorName(
        inplace=parts.inplace,
        base=parts.base,
        dunder_method=parts.dunder,
        functional_overload=parts.functional_overload,
        namespace=namespace or None,
    )


def name_of(origin: ModelName, namespace: str = "") -> OperatorName:
    """Record of one of Opwright's names."""
    return OperatorName(name=_base_name(origin.name, namespace), overload_name=origin.overload)


def _model_name(name: BaseOperatorName, overload: str) -> ModelName:
    return model_operator_name(
        name.base,
        overload=overload,
        inplace=name.inplace,
        dunder=name.dunder_method,
        functional_overload=name.functional_overload,
    )


def model_name(name: OperatorName) -> ModelName:
    """Opwright's name of a record, which has no namespace."""
    return _model_name(name.name, name.overload_name)
