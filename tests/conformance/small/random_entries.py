"""Random operators that PyTorch's generator may take: an input for each number, the same on every machine.

Most of what is drawn is legal. Some is not, on purpose: then both sides must refuse it.
"""

from __future__ import annotations

import random
from typing import Final

from tests.conformance.small.inputs import SmallInput
from tests.conformance.small.random_derivatives import derivative
from tests.conformance.small.random_schemas import Argument, Signature, arguments, draw_signature, draw_view

#: The flags that inputs are compared under, the usual ones more often.
FLAGS: Final = (
    *("--per-operator-headers",) * 4,
    *("",) * 3,
    "--per-operator-headers --mps --xpu --mtia",
    "--mps --xpu --mtia",
    "--rocm",
    "--per-operator-headers --update-aoti-c-shim",
    "--per-operator-headers --skip-dispatcher-op-registration",
    "--per-operator-headers --backend-whitelist CPU Meta",
    "--op-registration-whitelist aten::anchor",
)

#: Dispatch keys, the usual ones more often.
KEYS: Final = (
    *("CPU", "CUDA") * 6,
    *("MPS", "XPU", "Meta", "MTIA", "MkldnnCPU", "SparseCPU", "SparseCUDA", "SparseMPS", "SparseXPU", "SparseMeta"),
    *("SparseCsrCPU", "SparseCsrCUDA", "SparseCsrMeta", "QuantizedCPU", "QuantizedCUDA", "QuantizedMeta"),
    *("NestedTensorCPU", "NestedTensorCUDA", "NestedTensorHPU", "ZeroTensor"),
)
MODULES: Final = ("nn", "linalg", "fft", "special", "sparse", "nested")
TAGS: Final = ("core", "pointwise", "reduction", "nondeterministic_bitwise", "data_dependent_output", "flexible_layout")
STEMS: Final = ("alder", "birch_leaf", "Cedar", "_date", "elm2", "fir", "_gum_tree", "hazel", "iroko", "juniper")
ENDINGS: Final = ("", "", "", "", "_backward", "_v2", "_forward", "Of")
#: Operators that PyTorch has C shims for.
SHIMMED: Final = ("abs", "angle", "cat", "cummax", "_fft_r2c", "cumsum", "gcd", "convolution", "_to_sparse")
NAMESPACES: Final = ("", "", "", "", "", "", "", "orchard::")
KERNEL_NAMESPACES: Final = ("", "", "", "", "", "", "grove::", "grove::deep::", "at::")


def random_input(number: int) -> SmallInput:
    """The input of that number: one to three operations."""
    draw = random.Random(number)
    writer = Writer(draw)
    for place in range(draw.choice((1, 1, 2, 3))):
        draw.choice(OPERATIONS)(writer, place)
    flags = draw.choice(FLAGS)
    return SmallInput(
        str(number),
        "".join(writer.native),
        "".join(writer.derivatives),
        "".join(writer.deprecated) or "[]\n",
        flags=flags,
    )


class Writer:
    """The entries of one input as they are drawn."""

    def __init__(self, draw: random.Random) -> None:
        self.draw: Final = draw
        self.native: Final[list[str]] = []
        self.derivatives: Final[list[str]] = []
        self.deprecated: Final[list[str]] = []

    def chance(self, share: float) -> bool:
        """Whether something happens that does so in this share of cases."""
        return self.draw.random() < share

    def name(self, place: int) -> str:
        """A name for an operator; no two operations of an input share theirs."""
        if self.chance(0.15):
            return self.draw.choice(SHIMMED[place::3])
        return f"{self.draw.choice(STEMS)}{place or ''}{self.draw.choice(ENDINGS)}"

    def entry(self, schema: str, *fields: str) -> None:
        """Writes an entry; empty fields are left out."""
        lines = [f"- func: {schema}", *[f"  {field}" for field in fields if field]]
        self.native.append("\n".join(lines) + "\n")

    def differentiate(self, signature: Signature, share: float = 0.6) -> None:
        """Gives a function a derivative, in that share of cases."""
        if self.chance(share) and (text := derivative(self.draw, signature)):
            self.derivatives.append(text)

    def variants(self, signature: Signature) -> str:
        """The field of that name; methods where there is a tensor to call them on."""
        if signature.has_self:
            return self.draw.choice(("", "variants: function", "variants: method", "variants: function, method"))
        return self.draw.choice(("", "variants: function"))

    def extras(self, signature: Signature) -> list[str]:
        """Fields that most entries do not have."""
        choices = [
            (0.1, "device_check: NoCheck"),
            (0.05, "device_guard: False"),
            (0.05, "manual_cpp_binding: True"),
            (0.03, "category_override: " + self.draw.choice(("factory", "dummy", "new"))),
            (0.05, "use_const_ref_for_mutable_tensors: True"),
        ]
        fields = [field for share, field in choices if self.chance(share)]
        with_default = [argument.name for argument in signature.arguments if argument.default]
        if with_default and self.chance(0.1):
            fields.append(f"cpp_no_default_args: [{', '.join(with_default[:2])}]")
        return fields

    def tags(self, signature: Signature, *more: str) -> str:
        """The field of that name."""
        tags = list(more)
        if signature.is_random and self.chance(0.95):
            tags.append("nondeterministic_seeded")
        if self.chance(0.2):
            tags.append(self.draw.choice(TAGS))
        if not tags:
            return ""
        return f"tags: {tags[0]}" if len(tags) == 1 and self.chance(0.5) else f"tags: [{', '.join(tags)}]"

    def dispatch(self, name: str, signature: Signature, *, namespace: str = "", composite: bool = True) -> str:
        """The field of that name: kernels for some keys."""
        keys = list(dict.fromkeys(self.draw.choices(KEYS, k=self.draw.choice((1, 1, 2, 2, 3, 5)))))
        if composite and self.chance(0.4):
            keys = [] if self.chance(0.5) else keys
            keys.append(
                self.draw.choice(
                    (
                        *("CompositeExplicitAutograd",) * 4,
                        *("CompositeExplicitAutogradNonFunctional",) * 2,
                        "CompositeImplicitAutograd",
                        "CompositeImplicitAutogradNestedTensor",
                    )
                )
            )
        symint = "_symint" if signature.has_symint and self.chance(0.5) else ""
        lines = ["dispatch:"]
        while keys:
            taken = [keys.pop(0) for _ in range(min(len(keys), self.draw.choice((1, 1, 1, 2))))]
            ending = self.draw.choice(("", "_" + taken[0].lower(), ""))
            lines.append(f"    {', '.join(taken)}: {namespace}{name}{ending}{symint}")
        return "\n".join(lines)


def overload_name(name: str, overload: str) -> str:
    """A name with its overload, which may be empty."""
    return f"{name}.{overload}" if overload else name


def out_overload(overload: str) -> str:
    """The overload of a form with out arguments that goes with another one."""
    return f"{overload}_out" if overload else "out"


def draw_family(writer: Writer, place: int) -> None:
    """A functional operator, maybe with its in-place form and its form with out arguments."""
    draw = writer.draw
    namespace = draw.choice(NAMESPACES)
    name = writer.name(place)
    kernels = draw.choice(KERNEL_NAMESPACES)
    for overload in ("", "Tensor", "dim_IntList")[: draw.choice((1, 1, 1, 2))]:
        signature = draw_signature(draw, overload_name(name, overload))
        inplace = signature.can_be_inplace and writer.chance(0.4)
        out = signature.returns_tensors and writer.chance(0.4)
        composite = writer.chance(0.2 if signature.returns_tensors else 0.9)
        needs_out = not composite and not out and signature.returns_tensors and writer.chance(0.95)
        made = f"autogen: {overload_name(name, out_overload(overload))}" if needs_out else ""
        module = ""
        if not namespace and writer.chance(0.15):
            module = f"python_module: {draw.choice(MODULES)}"
        variants = "variants: function" if module else writer.variants(signature)
        if out and variants == "variants: method":
            variants = "variants: function, method"

        def kernel(name: str, signature: Signature = signature, composite: bool = composite) -> str:
            return "" if composite else writer.dispatch(name, signature, namespace=kernels)

        writer.entry(
            f"{namespace}{signature.schema}",
            variants,
            module,
            kernel(name),
            writer.tags(signature),
            *writer.extras(signature),
            made if not inplace else "",
        )
        if inplace:
            method = "variants: function" if module else writer.variants(signature)
            writer.entry(
                f"{namespace}{signature.inplace}", method, module, kernel(f"{name}_"), writer.tags(signature), made
            )
        if out:
            schema = signature.out(overload_name(name, out_overload(overload)))
            writer.entry(f"{namespace}{schema}", module, kernel(f"{name}_out"), writer.tags(signature))
        writer.differentiate(signature, 0.1 if composite else 0.6)


def draw_structured(writer: Writer, place: int) -> None:
    """A structured operation."""
    draw = writer.draw
    name = writer.name(place)
    overload = draw.choice(("", "", "Tensor"))
    signature = draw_signature(draw, overload_name(name, overload), structured=True)
    out_name = overload_name(name, out_overload(overload))
    delegate = f"structured_delegate: {out_name}"
    sparse = writer.dispatch(f"{name}_sparse", signature, composite=False) if writer.chance(0.0) else ""
    writer.entry(signature.schema, writer.variants(signature), delegate, sparse, writer.tags(signature))
    if signature.can_be_inplace and writer.chance(0.6):
        writer.entry(signature.inplace, writer.variants(signature), delegate, writer.tags(signature))
    inherits = "structured_inherits: TensorIteratorBase" if writer.chance(0.4) else ""
    precomputed = draw_precomputed(draw, signature) if writer.chance(0.5) else ""
    namespace = draw.choice(KERNEL_NAMESPACES)
    kernels = writer.dispatch(f"{name}_out", signature, namespace=namespace, composite=False)
    writer.entry(signature.out(out_name), "structured: True", inherits, precomputed, kernels, writer.tags(signature))
    writer.differentiate(signature)


#: Types of precomputed values.
PRECOMPUTED_TYPES = (
    *("int", "int", "float", "bool", "int[]", "SymInt", "SymInt[]", "int[2]", "float[]", "Scalar", "Scalar?", "Tensor"),
    *("Tensor?", "Tensor[]", "Tensor?[]", "int?", "int[]?", "ScalarType", "ScalarType?", "str", "Device?", "Layout?"),
    *("MemoryFormat", "bool[3]", "Generator?"),
)


def draw_precomputed(draw: random.Random, signature: Signature) -> str:
    """Values in place of some arguments, `self` too, and added ones; some have the name of the replaced argument."""
    chosen = [argument.name for argument in signature.arguments if draw.random() < 0.4]
    lines = []
    for name in chosen:
        values = [f"{draw.choice(PRECOMPUTED_TYPES)} {name}_{number}" for number in range(draw.choice((1, 1, 2, 3)))]
        if draw.random() < 0.5:
            values[0] = f"{draw.choice(PRECOMPUTED_TYPES)} {name}"
        lines.append(f"{name} -> {', '.join(values)}")
    added = [f"{draw.choice(PRECOMPUTED_TYPES)} added_{number}" for number in range(draw.choice((0, 0, 1, 2)))]
    lines += [", ".join(added)] if added else []
    return "precomputed:" + "".join([f"\n  - {line}" for line in lines]) if lines else ""


def draw_ufunc(writer: Writer, place: int) -> None:
    """A structured operation whose kernels are made from a scalar function."""
    name = writer.name(place)
    tensors = writer.draw.choice((1, 2, 2, 3))
    listed = ", ".join([f"Tensor {word}" for word in ("self", "other", "third")[:tensors]])
    scalars = writer.draw.choice(("", ", *, Scalar alpha=1", ", Scalar beta", ", Scalar beta, *, Scalar alpha=2.5"))
    out = f"{listed}{scalars}{'' if '*' in scalars else ', *'}, Tensor(a!) out"
    places = (
        "Generic",
        "ScalarOnly",
        "CPUScalar",
        "CPUVector",
        "CUDAFunctor",
        "CUDAFunctorOnSelf",
        "CUDAFunctorOnOther",
    )
    loops = [place for place in places if writer.chance(0.4)]
    dtypes = ("Bool", "Float, Half", "AllAndComplex, BFloat16", "Integral", "Half")
    lines = [f"    {loop}: {writer.draw.choice(('tree', name))} ({writer.draw.choice(dtypes)})" for loop in loops]
    field = "\n".join(["ufunc_inner_loop:", *lines]) if loops else "ufunc_inner_loop: tree (All)"
    writer.entry(f"{name}({listed}{scalars}) -> Tensor", f"structured_delegate: {name}.out")
    writer.entry(
        f"{name}.out({out}) -> Tensor(a!)",
        "structured: True",
        "structured_inherits: TensorIteratorBase",
        field,
        writer.dispatch(f"{name}_out", Signature(name, (), ()), composite=False) if writer.chance(0.2) else "",
    )


def draw_views(writer: Writer, place: int) -> None:
    """A view, with its copying form and maybe its in-place form."""
    name = writer.name(place).rstrip("_")
    view = draw_view(writer.draw, name)
    composite = writer.chance(0.2)
    writer.entry(
        view.schema,
        writer.variants(view),
        "" if composite else writer.dispatch(name, view),
        *writer.extras(view),
    )
    if view.can_be_inplace and writer.chance(0.5):
        writer.entry(
            view.inplace,
            writer.variants(view),
            "" if composite else writer.dispatch(f"{name}_", view),
            writer.tags(view, "inplace_view"),
        )
    if not composite or writer.chance(0.2):
        ending = "_symint" if view.has_symint and writer.chance(0.5) else ""
        writer.entry(
            view.copying,
            writer.draw.choice(("", "variants: function")),
            f"dispatch:\n    CompositeExplicitAutogradNonFunctional: {name}_copy{ending}",
            writer.tags(view, "view_copy"),
            f"autogen: {name}_copy.out",
        )
    writer.differentiate(view, 0.1 if composite else 0.6)


def draw_mutable(writer: Writer, place: int) -> None:
    """A function that writes to arguments other than `self`, or an in-place function that stands alone."""
    name = writer.name(place).rstrip("_")
    if writer.chance(0.5):
        signature = draw_signature(writer.draw, f"{name}_", returns=("Tensor",), takes_self=True)
        fields = (writer.dispatch(f"{name}_", signature), f"autogen: {name}, {name}.out")
        writer.entry(signature.inplace_alone, writer.variants(signature), *fields, writer.tags(signature))
        writer.differentiate(signature.renamed_inplace, 0.4)
        return
    signature = draw_signature(writer.draw, name, written=True)
    made = [f"{name}_functional"] if signature.writes else []
    writer.entry(
        signature.schema,
        writer.variants(signature),
        writer.dispatch(name, signature),
        f"autogen: {', '.join([*made, f'{name}.out'])}",
        writer.tags(signature),
    )


def draw_factory(writer: Writer, place: int) -> None:
    """A function that takes tensor options."""
    name = writer.name(place)
    draw = writer.draw
    name = draw.choice((name, f"new_{name.strip('_')}", f"{name}_like", name))
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    if writer.chance(0.2):
        options = options.replace("dtype=None", "dtype=long")
    first = ["Tensor self"] if name.startswith("new_") or name.endswith("_like") or writer.chance(0.2) else []
    plain = arguments(draw, draw.choice((0, 1, 2)), plain=True)
    plain = tuple([argument for argument in plain if argument.name not in ("dtype", "dim") or writer.chance(0.1)])
    after = ["MemoryFormat? memory_format=None"] if writer.chance(0.3) else []
    listed = [*first, *[argument.text for argument in plain], "*", options, *after]
    schema = f"{name}({', '.join(listed)}) -> Tensor"
    signature = Signature(name, plain, ("Tensor",), has_self=bool(first))
    out = writer.chance(0.3)
    writer.entry(
        schema,
        writer.variants(signature),
        writer.dispatch(name, signature),
        writer.tags(signature),
        *writer.extras(signature),
        "" if out else f"autogen: {name}.out",
    )
    if out:
        arguments_out = [*first, *[argument.text for argument in plain], "*", *after, "Tensor(a!) out"]
        writer.entry(f"{name}.out({', '.join(arguments_out)}) -> Tensor(a!)", writer.dispatch(f"{name}_out", signature))


def draw_foreach(writer: Writer, place: int) -> None:
    """An operator with one that repeats it over lists."""
    name = writer.name(place).strip("_")
    draw = writer.draw
    listed = {"": "", "Tensor": "Tensor[] other", "Scalar": "Scalar[] scalars", "Scalar?": "Scalar? other=None"}
    second = draw.choice(list(listed))
    given = (Argument(second, "other", "None" if second == "Scalar?" else ""),) if second else ()
    plain = Signature(name, given, ("Tensor",), has_self=True)
    rest = f", {listed[second]}" if second else ""
    if writer.chance(0.8):
        writer.entry(plain.schema, writer.variants(plain), writer.dispatch(name, plain), f"autogen: {name}.out")
        writer.differentiate(plain, 0.8)
    inplace = writer.chance(0.7)
    fields = ("device_check: NoCheck", "variants: function")
    kernels = writer.dispatch(f"foreach_{name}", plain)
    made = f"autogen: _foreach_{name}.out"
    writer.entry(f"_foreach_{name}(Tensor[] self{rest}) -> Tensor[]", *fields, kernels, "" if inplace else made)
    if inplace:
        kernels = writer.dispatch(f"foreach_{name}_", plain)
        writer.entry(f"_foreach_{name}_(Tensor(a!)[] self{rest}) -> ()", *fields, kernels, made)


def draw_dunder(writer: Writer, place: int) -> None:
    """A method that Python's operators call."""
    word = writer.draw.choice(("and", "or", "lshift", "mod", "invert", "frob"))
    name = f"__{word}{place or ''}__"
    kind = writer.draw.choice(("Tensor", "Scalar"))
    writer.entry(f"{name}.{kind}(Tensor self, {kind} other) -> Tensor", "variants: method, function")
    if writer.chance(0.5):
        writer.entry(
            f"__i{word}{place or ''}__.{kind}(Tensor(a!) self, {kind} other) -> Tensor(a!)", "variants: method"
        )


def draw_deprecated(writer: Writer, place: int) -> None:
    """A function with a signature of older days."""
    name = writer.name(place).strip("_")
    writer.entry(
        f"{name}(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "variants: function, method",
        writer.dispatch(name, Signature(name, (), ())),
        f"autogen: {name}.out",
    )
    writer.deprecated.append(
        f"- name: {name}(Tensor self, Scalar alpha, Tensor other) -> Tensor\n  aten: {name}(self, other, alpha)\n"
    )


def draw_hand_registered(writer: Writer, place: int) -> None:
    """An operator whose kernels are registered by hand."""
    signature = draw_signature(writer.draw, writer.name(place))
    writer.entry(
        signature.schema, writer.variants(signature), "manual_kernel_registration: True", writer.tags(signature)
    )


OPERATIONS: Final = (
    *(draw_family,) * 8,
    *(draw_structured,) * 4,
    draw_ufunc,
    *(draw_views,) * 3,
    *(draw_mutable,) * 2,
    *(draw_factory,) * 2,
    *(draw_foreach,) * 2,
    draw_dunder,
    draw_deprecated,
    draw_hand_registered,
)
