"""Random operators of a library, and random changes of them: their entries and their kernels."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

__all__ = ["CHANGES", "Argument", "Operator", "changed", "drawn"]

#: How a kernel gets a value of each type, and the number that it computes from it.
_TYPES: Final = {
    "Tensor": ("const at::Tensor& {0}", "sum_of({0})"),
    "Tensor?": ("const std::optional<at::Tensor>& {0}", "({0} ? sum_of(*{0}) : 0.0)"),
    "Tensor[]": ("at::TensorList {0}", "sums_of({0})"),
    "int": ("int64_t {0}", "double({0})"),
    "int?": ("std::optional<int64_t> {0}", "({0} ? double(*{0}) : -7.0)"),
    "float": ("double {0}", "{0}"),
    "float?": ("std::optional<double> {0}", "({0} ? *{0} : -7.0)"),
    "Scalar": ("const at::Scalar& {0}", "{0}.to<double>()"),
    "bool": ("bool {0}", "({0} ? 1.0 : 0.0)"),
    "str": ("std::string_view {0}", "double({0}.size())"),
}
#: Values of each type, as entries write them; tensors have none.
VALUES: Final = {
    "int": ("1", "2", "4", "-1", "0"),
    "int?": ("None", "1", "3"),
    "float": ("0.5", "1.0", "1e-6", "-2.0"),
    "float?": ("None", "0.5"),
    "Scalar": ("1", "0.5"),
    "bool": ("False", "True"),
    "str": ('"sum"', '"mean"'),
    "Tensor?": ("None",),
}
#: The type -> the types that take each of its values, and more.
_WIDER: Final = {"int": ("int?", "Scalar"), "float": ("float?", "Scalar"), "Tensor": ("Tensor?",)}
_RESULTS: Final = {
    "like(x)": "at::empty(x.sizes(), x.options())",
    "[x.size(0)]": "at::empty({x.size(0)}, x.options())",
    "x.sizes()": "at::empty(x.sizes(), x.options())",
    "[x.size(0), 3]": "at::empty({x.size(0), 3}, x.options())",
    "float64": "at::empty(x.sizes(), x.options().dtype(at::kDouble))",
    "": "at::empty(x.sizes(), x.options())",
}


class Argument(NamedTuple):
    """An argument of an operator. A kernel adds its value, times a weight, to what it computes.

    `neutral` is the value that adds nothing: an argument that is new has its first default there.
    """

    name: str
    type: str
    weight: int
    default: str = ""
    keyword: bool = False
    neutral: str = ""

    def text(self) -> str:
        """The argument in a schema."""
        return f"{self.type} {self.name}" + (f"={self.default}" if self.default else "")


class Operator(NamedTuple):
    """An operator: what its entry says, and what its kernel does."""

    name: str
    arguments: tuple[Argument, ...]
    #: What each result is, by the key of `_RESULTS`; none for an operator that writes `x`.
    results: tuple[str, ...] = ("like(x)",)
    #: Other fields of the entry, as they are written.
    fields: tuple[tuple[str, str], ...] = ()
    #: The factor of the gradient of `x`, 0 if there is none.
    gradient: int = 0
    kernel: str = ""
    keys: tuple[str, ...] = ("CPU",)

    @property
    def is_written(self) -> bool:
        """Whether the operator writes `x` and returns nothing."""
        return not self.results

    def field(self, name: str) -> str:
        """A field of the entry, empty if it has none."""
        return dict(self.fields).get(name, "")

    def with_field(self, name: str, text: str) -> Operator:
        """The operator with a field, or without it if it is empty."""
        fields = {**dict(self.fields), name: text}
        return self._replace(fields=tuple((key, value) for key, value in fields.items() if value))

    def schema(self) -> str:
        """The schema."""
        texts = [argument.text() for argument in self.ordered() if not argument.keyword]
        if any(argument.keyword for argument in self.arguments):
            texts += ["*", *[argument.text() for argument in self.ordered() if argument.keyword]]
        inner = ", ".join(texts)
        if self.is_written:
            return f"{self.name}({inner.replace('Tensor x', 'Tensor(a!) x', 1)}) -> ()"
        count = len(self.results)
        return f"{self.name}({inner}) -> {'Tensor' if count == 1 else '(' + ', '.join(['Tensor'] * count) + ')'}"

    def ordered(self) -> list[Argument]:
        """The arguments as schemas have them: those by keyword last."""
        return sorted(self.arguments, key=lambda argument: argument.keyword)

    def entry(self) -> str:
        """The entry of the operator in a library file."""
        keys = ", ".join([f"{key}: {self.kernel or self.cpp_name}" for key in self.keys])
        lines = [f"- func: {self.schema()}", f"  dispatch: {{{keys}}}"]
        outputs = self._outputs()
        lines += [f"  outputs: {outputs}"] if outputs else []
        lines += [f"  {name}: {text}" for name, text in self.fields]
        return "\n".join(lines) + "\n"

    def _outputs(self) -> str:
        if "" in self.results or self.is_written:
            return ""
        texts = [f"{{size: x.sizes(), dtype: {each}}}" if each == "float64" else f"'{each}'" for each in self.results]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

    def derivatives(self) -> str:
        """The formulas of the operator."""
        return f"- name: {self.schema()}\n  x: grad * {self.gradient}\n" if self.gradient else ""

    def text(self) -> str:
        """All that is written of the operator."""
        return self.entry() + self.derivatives()

    @property
    def cpp_name(self) -> str:
        """The name of the kernel unless the entry says another one."""
        return self.name.replace(".", "_")

    def definition(self) -> str:
        """The kernel in C++."""
        parameters = [_TYPES[argument.type][0].format(argument.name) for argument in self.ordered()]
        terms = ["1.0"]
        # In an order that does not depend on the schema, as sums of floating-point numbers do.
        for argument in sorted(self.arguments, key=lambda argument: argument.weight):
            term = _TYPES[argument.type][1].format(argument.name)
            if argument.neutral:
                term = f"({term} - {_number(argument.type, argument.neutral)})"
            terms.append(f"{argument.weight} * {term}")
        value = " + ".join(terms)
        name = self.kernel or self.cpp_name
        if self.is_written:
            parameters = [each.replace("const at::Tensor& x", "at::Tensor& x") for each in parameters]
            return f"void {name}({', '.join(parameters)}) {{ x.fill_({value}); }}\n"
        results = [f"{_RESULTS[each]}.fill_({value} + {index})" for index, each in enumerate(self.results)]
        count = len(results)
        type = "at::Tensor" if count == 1 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"
        body = results[0] if count == 1 else f"std::make_tuple({', '.join(results)})"
        return f"{type} {name}({', '.join(parameters)}) {{ return {body}; }}\n"


def _number(type: str, value: str) -> str:
    """The number that a kernel computes from a value of a type."""
    if value == "None":
        return "0.0" if type == "Tensor?" else "-7.0"
    return {"True": "1.0", "False": "0.0", '"sum"': "3.0", '"mean"': "4.0"}.get(value, value)


#: Fields of entries: the arguments that each text needs, and the text.
_FIELDS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "dims": (
        ("x", '{x: "n d"}'),
        ("x", '{x: "*b d"}'),
        ("x", '{x: "rows cols"}'),
        ("x", '{x: "*b 3"}'),
        ("xw", '{x: "n d", w: "d"}'),
        ("xw", '{x: "*b d", w: "*b d"}'),
        ("xw", '{x: "n d", w: "#n d"}'),
    ),
    "dtypes": (
        ("x", "{x: floating}"),
        ("x", "{x: [float32, float64]}"),
        ("x", "{x: float32}"),
        ("x", "{x: [float32, int64]}"),
        ("xw", "{x: floating, w: x}"),
        ("xw", "{w: x}"),
        ("xw", "{w: integral}"),
    ),
    "layout": (("x", "{x: contiguous}"), ("x", "{x: contiguous!}"), ("xw", "{x: contiguous!, w: contiguous!}")),
    "requires": (
        ("n", "n > 0"),
        ("n", "n >= 0"),
        ("n", "[n > 0, n < 4]"),
        ("n", "n < 4 and n > -1"),
        ("n", "not (n <= 0)"),
        ("n", "n % 2 == 0"),
        ("n", "n != 2"),
        ("eps", "eps > 0"),
        ("eps", "eps >= 0"),
        ("eps", "not (eps < 0)"),
        ("eps", "[eps > 0, eps < 1]"),
        ("eps n", "eps < n"),
        ("x", "x.dim() > 1"),
        ("x", "x.dim() >= 2"),
        ("x", "x.numel() > 0"),
        ("x", "x.size(-1) % 3 == 0"),
        ("x w", "x.numel() >= w.numel()"),
        ("x w", "x.dim() == w.dim()"),
    ),
    "values": (("mode", "{mode: [sum, mean]}"), ("mode", "{mode: [sum]}"), ("mode", "{mode: [sum, mean, max]}")),
    "autocast": (("x", "fp32"), ("x", "lower_precision_fp"), ("xw", "promote")),
    "overlap": (("x", "allowed"),),
    "doc": (("x", "Adds all arguments."), ("x", "Adds.")),
    "tags": (("x", "pointwise"), ("x", "core")),
    "deprecated": (("x", "since 1.4, use another one"),),
    "if": (("x", "defined(OF_NO_BUILD)"), ("x", "defined(__cplusplus)")),
}
_CONTRACTS: Final = ("dims", "dtypes", "layout", "requires", "values")


def _choices(operator: Operator, field: str) -> list[str]:
    """What the entry of an operator may say in a field."""
    names = {argument.name for argument in operator.arguments}
    return [
        text
        for needed, text in _FIELDS[field]
        if ({"x", "w"} if needed == "xw" else set(needed.split())) <= names
        and not (field == "overlap" and not operator.is_written)
    ]


def drawn(number: int, chance: random.Random) -> Operator:
    """An operator with some arguments and some conditions."""
    types = {"w": "Tensor", "n": "int", "eps": "float", "flag": "bool", "mode": "str", "k": "int?", "items": "Tensor[]"}
    arguments = [Argument("x", "Tensor", 1)]
    names = [name for name in types if chance.random() < {"w": 0.6, "n": 0.6, "eps": 0.5}.get(name, 0.25)]
    may_default = False
    for weight, name in enumerate(names, 2):
        may_default = types[name] in VALUES and (may_default or chance.random() < 0.5)
        default = chance.choice(VALUES[types[name]]) if may_default else ""
        arguments.append(Argument(name, types[name], weight, default))
    if arguments[-1].type in VALUES and chance.random() < 0.3:
        arguments[-1] = arguments[-1]._replace(keyword=True)
    results = chance.choice([("like(x)",)] * 4 + [("[x.size(0)]",), ("",), ("like(x)", "x.sizes()"), ()])
    operator = Operator(f"op_{number}", tuple(arguments), results)
    if results == ("like(x)",) and chance.random() < 0.4:
        operator = operator._replace(gradient=chance.choice((2, 3)))
    for field in _CONTRACTS:
        texts = _choices(operator, field)
        if texts and chance.random() < 0.35:
            operator = operator.with_field(field, chance.choice(texts))
    if chance.random() < 0.1:
        operator = operator.with_field("autocast", chance.choice(_choices(operator, "autocast")))
    return operator


_Change = Callable[[Operator, random.Random], "Operator | None"]


def _new_argument(operator: Operator, chance: random.Random) -> Operator | None:
    """An argument more, somewhere, with a default or without."""
    type = chance.choice(list(VALUES))
    default = chance.choice(VALUES[type])
    has_default, keyword = chance.random() < 0.8, chance.random() < 0.4
    new = Argument("more", type, 11, default if has_default else "", keyword, neutral=default)
    place = chance.choice((len(operator.arguments), len(operator.arguments), 1))
    arguments = [*operator.arguments]
    arguments.insert(place, new)
    return _ordered_defaults(operator._replace(arguments=tuple(arguments)))


def _ordered_defaults(operator: Operator) -> Operator | None:
    """The operator, None if an argument without a default follows one that has one."""
    had = False
    for argument in operator.ordered():
        if argument.keyword:
            continue
        if had and not argument.default:
            return None
        had = had or bool(argument.default)
    return operator


def _lost_argument(operator: Operator, chance: random.Random) -> Operator | None:
    candidates = [argument for argument in operator.arguments if argument.name != "x"]
    if not candidates:
        return None
    gone = chance.choice(candidates)
    return operator._replace(arguments=tuple([each for each in operator.arguments if each is not gone]))


def _with_argument(
    operator: Operator, chance: random.Random, change: Callable[[Argument], Argument | None]
) -> Operator | None:
    """The operator with one of its arguments changed."""
    place = chance.randrange(1, len(operator.arguments)) if len(operator.arguments) > 1 else 0
    new = change(operator.arguments[place]) if place else None
    if new is None:
        return None
    arguments = [*operator.arguments]
    arguments[place] = new
    return _ordered_defaults(operator._replace(arguments=tuple(arguments)))


def _other_name(operator: Operator, chance: random.Random) -> Operator | None:
    return _with_argument(operator, chance, lambda argument: argument._replace(name=f"{argument.name}_value"))


def _other_default(operator: Operator, chance: random.Random) -> Operator | None:
    def change(argument: Argument) -> Argument | None:
        if argument.type not in VALUES:
            return None
        return argument._replace(default=chance.choice(["", *VALUES[argument.type]]))

    return _with_argument(operator, chance, change)


def _keyword(operator: Operator, chance: random.Random) -> Operator | None:
    return _with_argument(operator, chance, lambda argument: argument._replace(keyword=not argument.keyword))


def _other_type(operator: Operator, chance: random.Random) -> Operator | None:
    """A wider type, or a narrower one."""
    pairs = [(narrow, wide) for narrow, wides in _WIDER.items() for wide in wides]
    pairs += [(wide, narrow) for narrow, wide in pairs]

    def change(argument: Argument) -> Argument | None:
        types = [new for old, new in pairs if old == argument.type]
        if not types or (argument.default and argument.default not in VALUES[new := chance.choice(types)]):
            return None
        return argument._replace(type=chance.choice(types) if not argument.default else new)

    return _with_argument(operator, chance, change)


def _order(operator: Operator, chance: random.Random) -> Operator | None:
    if len(operator.arguments) < 3:
        return None
    places = chance.sample(range(1, len(operator.arguments)), 2)
    arguments = [*operator.arguments]
    arguments[places[0]], arguments[places[1]] = arguments[places[1]], arguments[places[0]]
    return _ordered_defaults(operator._replace(arguments=tuple(arguments)))


def _results(operator: Operator, chance: random.Random) -> Operator | None:
    if operator.gradient:
        return None
    if operator.results == ("",):
        # What an entry does not say, a change of the kernel alone would change without a trace.
        return operator._replace(results=("x.sizes()",))
    new: tuple[str, ...] = chance.choice(
        [("like(x)",), ("x.sizes()",), ("[x.size(0)]",), ("[x.size(0), 3]",), ("float64",), ("",)]
    )
    if chance.random() < 0.2:
        new = (*operator.results, "like(x)") if "" not in operator.results else ("like(x)", "like(x)")
    return operator._replace(results=new)


def _field(operator: Operator, chance: random.Random) -> Operator | None:
    """Another text of a field, its first one, or none."""
    field = chance.choice([*_CONTRACTS * 3, *_FIELDS])
    texts = _choices(operator, field)
    old = operator.field(field)
    return operator.with_field(field, chance.choice(["", *texts, *texts])) if texts or old else None


def _gradient(operator: Operator, chance: random.Random) -> Operator | None:
    if operator.results != ("like(x)",):
        return None
    # Another factor would be another gradient under the same name: the formula alone does not say which was meant.
    return operator._replace(gradient=0 if operator.gradient else 2)


def _kernel(operator: Operator, chance: random.Random) -> Operator | None:
    return operator._replace(kernel=f"{operator.cpp_name}_kernel")


def _keys(operator: Operator, chance: random.Random) -> Operator | None:
    return operator._replace(keys=("CompositeExplicitAutograd",) if operator.keys == ("CPU",) else ("CPU",))


def _name(operator: Operator, chance: random.Random) -> Operator | None:
    return operator._replace(name=f"{operator.name}{chance.choice(('_new', '.over'))}")


#: Changes by what they change, those of contracts and schemas more often.
CHANGES: Final[dict[str, tuple[_Change, int]]] = {
    "field": (_field, 10),
    "new argument": (_new_argument, 4),
    "lost argument": (_lost_argument, 1),
    "name of an argument": (_other_name, 1),
    "default": (_other_default, 2),
    "keyword": (_keyword, 1),
    "type": (_other_type, 2),
    "order": (_order, 1),
    "results": (_results, 2),
    "gradient": (_gradient, 1),
    "name of the kernel": (_kernel, 1),
    "keys": (_keys, 1),
    "name": (_name, 1),
}


def changed(operator: Operator, chance: random.Random) -> tuple[str, Operator] | None:
    """What one random change, or two, are called, and the operator that they make; None if they make no other one."""
    names: Sequence[str] = [name for name, (_, share) in CHANGES.items() for _ in range(share)]
    new, done = operator, []
    for _ in range(chance.choice((1, 1, 2))):
        name = chance.choice(names)
        next_one = CHANGES[name][0](new, chance)
        if next_one is not None and next_one.text() != new.text():
            new = next_one
            done.append(name)
    return (" and ".join(done), new) if new.text() != operator.text() else None
