"""Fields that entries of operator libraries have, and PyTorch's lack, and what they say of functions."""

from __future__ import annotations

from typing import Any, Final

from opwright.dialects.names import AUTOCAST_POLICIES
from opwright.libraries.declared_outputs import DeclaredOutputs
from opwright.libraries.requirements import Requirements
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.model.native_function import UnlinkedFunction
from opwright.schema.function import FunctionSchema, SchemaKind
from opwright.source.records import NamedTuple

#: The policy that also casts results.
CAST_BACK: Final = "fp32_cast_back"
#: Those of libraries.
LIBRARY_POLICIES: Final = AUTOCAST_POLICIES | {
    CAST_BACK: "Cast tensors to float32, and results with real numbers to the dtype that the first tensor had.",
}

#: The policies that single arguments of libraries can have.
ARGUMENT_POLICIES: Final = ("lower_precision_fp", "fp32", CAST_BACK)

_AUTOCAST: Final = "Autocast"

#: The devices with autocast.
AUTOCAST_DEVICES: Final = tuple(
    [name.removeprefix(_AUTOCAST) for name in LIBRARY_KEYS if name.startswith(_AUTOCAST) and name != _AUTOCAST]
)


class Autocast(NamedTuple):
    """Policies of an operator under autocast: one for all devices, empty if there is none, and those of devices.

    Those of arguments hold on all devices; an argument without one stays as it is.
    """

    everywhere: str = ""
    by_device: tuple[tuple[str, str], ...] = ()
    by_argument: tuple[tuple[str, str], ...] = ()


class Reference(NamedTuple):
    """A Python function of PyTorch's operators that computes what an operator does, as the text `module:function`.

    `tolerances` say how far the results of kernels may be from its results, for some dtypes. It computes on devices
    without a kernel if `is_fallback` is true.
    """

    path: str
    tolerances: tuple[tuple[str, float], ...] = ()
    is_fallback: bool = True


class LibraryFields(NamedTuple):
    """Fields of the entries of operator libraries that PyTorch's lack.

    `batch_rule` is the C++ function, with its namespace, that vmap calls. `outputs` are the declared outputs, see
    `outputs_of`. `samples` are the Python texts of the arguments of calls that tests make; `sample_generator` is a
    Python function that gives more, and tests draw others if `draws_samples` is true. The preprocessor tests
    `condition`, such as `!defined(USE_ROCM)`: the operator exists where it holds. `contracts` are the overloads that
    are made from the operator, and `made_tags` their tags. An overload that is made so calls the operator
    `contract_of`. An operator that has `saved` results is internal, and its entry has the schema `written`; the one
    with the name of the entry is `returned_from` it, and `returned` are the places of its results. The kernel of an
    operator that `allows_overlap` gets written arguments that share memory with others, and one that `serves_inplace` a
    result that is its argument `self`. `requirements` are what the operator needs of its arguments, see
    `requirements_of`. `alias_analysis` is what TorchScript assumes of it in place of what the schema says:
    `conservative`, `pure_function`, or empty. `reference` is a function of PyTorch's operators that computes the same.
    What is `deprecated` says since when, and what serves instead; nothing for all others.
    """

    doc: str = ""
    autocast: Autocast = Autocast()
    batch_rule: str = ""
    condition: str = ""
    outputs: DeclaredOutputs = ()
    samples: tuple[str, ...] = ()
    sample_generator: str = ""
    draws_samples: bool = True
    contracts: tuple[str, ...] = ()
    made_tags: frozenset[str] = frozenset()
    contract_of: FunctionSchema | None = None
    saved: tuple[str, ...] = ()
    written: FunctionSchema | None = None
    returned_from: FunctionSchema | None = None
    returned: tuple[int, ...] = ()
    allows_overlap: bool = False
    serves_inplace: bool = False
    requirements: Requirements | None = None
    alias_analysis: str = ""
    reference: Reference | None = None
    deprecated: str = ""

    def made(self, **differing: Any) -> LibraryFields:  # noqa: ANN401
        """The fields of an operator that is made from the one with these, which has all but those of the entry alone.

        `differing` are the fields in which it differs besides.

        >>> fields = LibraryFields(doc="Mean.", batch_rule="acme::mean_rule").made(condition="defined(ACME)")
        >>> fields.doc, fields.batch_rule, fields.condition
        ('Mean.', '', 'defined(ACME)')
        """
        return self._replace(**{**_OF_MADE, **differing})

    def of_form(self) -> LibraryFields:
        """Those of a form that `autogen` asks for: its group has the outputs, and its schema says what is written."""
        return self.made(**_OF_FORMS)


#: The fields of an entry that has none of them.
NO_LIBRARY_FIELDS: Final = LibraryFields()

#: The fields about the kernels, the calls and the forms of the entry alone, with the values of a made operator.
_OF_MADE: Final = {
    name: NO_LIBRARY_FIELDS._asdict()[name]
    for name in (
        *("autocast", "batch_rule", "contracts", "made_tags", "reference", "samples", "sample_generator"),
        *("draws_samples", "saved", "written", "contract_of", "returned_from", "returned"),
    )
}

#: The fields in which a form that `autogen` asks for differs besides.
_OF_FORMS: Final = {
    name: NO_LIBRARY_FIELDS._asdict()[name]
    for name in ("alias_analysis", "allows_overlap", "doc", "outputs", "requirements", "serves_inplace")
}


def library_fields(function: UnlinkedFunction) -> LibraryFields:
    """The fields that PyTorch's entries lack."""
    fields = function.guest_fields
    return fields if isinstance(fields, LibraryFields) else NO_LIBRARY_FIELDS


def entry_schema(function: UnlinkedFunction) -> FunctionSchema:
    """The schema of the entry of a function, which may have another one."""
    return library_fields(function).written or function.schema


def outputs_of(function: UnlinkedFunction) -> DeclaredOutputs:
    """Outputs that the entry declares, or the functional or out overload of its group; empty without any.

    Those of the functional and the out overload are the results of both, and of the in-place overload.
    """
    outputs, group = library_fields(function).outputs, function.group
    if outputs or group is None or function.kind is SchemaKind.mutable:
        return outputs
    return library_fields(group.functional).outputs or library_fields(group.out).outputs


def requirements_of(function: UnlinkedFunction) -> Requirements | None:
    """What the function needs of its arguments: what its entry says, or that of another overload of its group."""
    own, group = library_fields(function).requirements, function.group
    if own is not None or group is None or function.kind is SchemaKind.mutable:
        return own
    shared = library_fields(group.functional).requirements or library_fields(group.out).requirements
    annotated = frozenset([argument.name for argument in function.arguments.all if argument.annotation is not None])
    return None if shared is None else shared.refusing(annotated)


def recording_operator(function: UnlinkedFunction) -> str:
    """Name of the operator that records calls with the gradients and tangents of the reference; empty without one.

    The Python package of a library defines it.
    """
    is_own = function.has_composite_implicit or any(key.name.startswith("Autograd") for key in function.kernels)
    if library_fields(function).reference is None or is_own or function.arguments.writes:
        return ""
    overload = f".{function.name.overload}" if function.name.overload else ""
    return f"_{function.name.name}_reference{overload}"
