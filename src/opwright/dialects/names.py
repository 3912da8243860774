"""Names in entries: C++ identifiers, kernels with their namespaces, and policies and devices of autocast."""

from __future__ import annotations

from typing import Final

from opwright.model.library import PYTORCH, Library
from opwright.release.tables import cpp_global_names, cpp_macros
from opwright.schema.function import FunctionSchema
from opwright.source.lazy import lazy_pattern

#: A C++ identifier.
IDENTIFIER: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")

#: The keywords of C++20, with the alternative operators: they cannot be names.
_WORDS_OF_CPP: Final = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
CPP_WORDS: Final = frozenset(_WORDS_OF_CPP.split())

#: C++ namespaces of PyTorch and of the language, in which nobody else defines anything.
FOREIGN_NAMESPACES: Final = frozenset(("at", "c10", "caffe2", "std", "torch"))

#: The most namespaces that the name of a kernel of PyTorch's may have.
KERNEL_NAMESPACES: Final = 2


def namespace_conflict(name: str, *, is_outermost: bool = True) -> str:
    """What a name is in C++ already, so that it cannot be a namespace of a library; empty if it can.

    >>> [namespace_conflict(name) for name in ("double", "errno", "index", "std", "acme")]
    ['a word of C++', 'a macro of C++', 'declared by headers of C++', 'a namespace of PyTorch or of C++', '']
    >>> namespace_conflict("index", is_outermost=False)
    ''
    """
    if name in CPP_WORDS:
        return "a word of C++"
    if name in cpp_macros():
        return "a macro of C++"
    if is_outermost and name in cpp_global_names():
        return "declared by headers of C++"
    if is_outermost and name in FOREIGN_NAMESPACES:
        return "a namespace of PyTorch or of C++"
    return ""


def default_kernel_name(schema: FunctionSchema) -> str:
    """Kernel name of an entry without `dispatch`, which is the operator's C++ name.

    >>> from opwright.schema import parse_schema
    >>> default_kernel_name(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"))
    'add_out'
    """
    return f"{schema.name.name}_out" if schema.is_out else schema.name.name


def split_kernel(text: str, library: Library = PYTORCH) -> tuple[str, str]:
    """The C++ namespace and the name of a kernel.

    In PyTorch's entries, a kernel is in the namespace `native` inside the one that its name has. In those of other
    libraries, the name says where the kernel is; `::scale` is in the global namespace.

    >>> split_kernel("add_cpu"), split_kernel("mine::deep::add_cpu")
    (('at::native', 'add_cpu'), ('mine::deep::native', 'add_cpu'))
    >>> acme = Library("acme", "acme", "acme/ops", "ACME_API")
    >>> split_kernel("add_cpu", acme), split_kernel("mine::deep::add_cpu", acme)
    (('acme::native', 'add_cpu'), ('mine::deep', 'add_cpu'))
    """
    namespace, colons, name = text.rpartition("::")
    if not colons:
        return library.native, name
    return (f"{namespace}::native" if library.kernels_in_native else namespace.removeprefix("::")), name


def unread_message(name: str) -> str:
    """What is said of a field that is ignored.

    >>> unread_message("new")
    'Opwright does not read the field `new`, which the generator in the tree knows'
    """
    return f"Opwright does not read the field `{name}`, which the generator in the tree knows"


#: The policies that PyTorch has for operators under autocast, with their help.
AUTOCAST_POLICIES: Final = {
    "lower_precision_fp": "Cast tensors to the dtype of autocast, such as float16 or bfloat16.",
    "fp32": "Cast tensors to float32.",
    "fp32_set_opt_dtype": "Set the argument of type `ScalarType?` to float32 where the caller left it out.",
    "fp32_append_dtype": "Call the overload with a further, last argument of type `ScalarType`, which is float32.",
    "promote": "Cast tensors to the widest dtype among them.",
}
