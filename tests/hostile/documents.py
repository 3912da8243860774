"""Sound files with all fields of the dialects that people outside PyTorch write, and the fields that are code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

ROOT: Final = Path(__file__).parents[2]

#: A value in a file: the name of the file, and the keys and numbers that lead to the value. An empty text at the end
#: stands for the key itself.
Place = tuple[str | int, ...]


class Document(NamedTuple):
    """The files of a run by name, of which `main` is the one that the run names, and what the run makes.

    `code` are the last names of places that are code by design.
    """

    name: str
    family: str
    main: str
    files: Mapping[str, Any]
    code: frozenset[str] = frozenset()

    def places(self) -> list[Place]:
        """The places of all texts, in values and in keys."""
        return [(name, *place) for name, content in self.files.items() for place in _places(content)]

    def original(self, place: Place) -> str:
        """The text at a place."""
        return str(place[-2] if place[-1] == "" else _value(self.files, place))

    def is_code(self, place: Place) -> bool:
        """Whether a place has code by design."""
        return any(part in self.code for part in place)

    def with_value(self, place: Place, text: str) -> dict[str, str]:
        """The texts of the files with another text at a place."""
        files = deepcopy(dict(self.files))
        *above, last = place
        if last == "":
            *above, last = above
            holder = _value(files, above)
            entries = [(text if key == last else key, value) for key, value in holder.items()]
            holder.clear()
            holder.update(entries)
        else:
            _value(files, above)[last] = text
        return {name: _dump(content) for name, content in files.items()}

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the files as they are."""
        return {name: _dump(content) for name, content in self.files.items()}


def _places(content: object) -> Iterator[Place]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield (key, "")
            yield from [(key, *place) for place in _places(value)]
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from [(number, *place) for place in _places(value)]
    else:
        yield ()


def _value(content: Mapping[str, Any], place: Sequence[str | int]) -> Any:  # noqa: ANN401
    value: Any = content
    for part in place:
        value = value[part]
    return value


def _dump(content: object) -> str:
    # A text is in double quotes, in which YAML can escape every character.
    return str(yaml.dump(content, Dumper=_Dumper, default_style=None, allow_unicode=False, sort_keys=False, width=9999))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        """Nothing is an alias of another value."""
        return True


def _text_in_quotes(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Dumper.add_representer(str, _text_in_quotes)


_LIBRARY: Final = """\
namespace: acme
doc: Operators of Acme.
torch: ">=2.10, <3.0"
abi: native
cpp_namespace: acme::deep
kernel_namespace: acme::kernels
kernel_signatures: schema
python_package: acme.ops
includes: [acme/kernels.h, acme/more.h]
derivatives: derivatives.yaml
derivative_includes: [acme/derivatives.h]
c_shims: [cpu]
operators:
- func: scale(Tensor self, float factor=2, *, str mode="a", ScalarType? dtype=None) -> Tensor
  doc: Scales a tensor.
  dispatch: {CPU: scale, CUDA: {kernel: "fast::scale", if: "defined(FAST)"}}
  autocast: {CPU: fp32_set_opt_dtype, CUDA: lower_precision_fp}
  batch_rule: rules::scale
  outputs: [{size: "self.sizes()", dtype: self.dtype, device: self.device}]
  samples: ["torch.randn(3, 4), 2.0"]
  deprecated: since 1.4, use twice
  tags: [pointwise]
- func: twice(Tensor self) -> (Tensor low, Tensor high)
  outputs: [like(self), "[self.size(0), 2]"]
  autocast: promote
  dispatch: {CompositeExplicitAutograd: twice}
- func: mix(Tensor self, Tensor other) -> Tensor
  structured_delegate: mix.out
- func: mix_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  structured_delegate: mix.out
- func: mix.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: true
  structured_inherits: TensorIteratorBase
  precomputed: ["other -> int order"]
  dispatch: {CPU: mix_out}
- func: rows(Tensor(a) self, SymInt start) -> Tensor(a)
  variants: function
  python_module: nn
  device_check: NoCheck
  device_guard: false
  category_override: factory
  dispatch: {CompositeExplicitAutograd: rows_symint}
- func: norm(Tensor! result, Tensor self, float eps) -> ()
  contracts: [functional, out]
  overlap: allowed
  outputs: like(self)
  dispatch: {CPU: norm}
- func: counted(Tensor self) -> (Tensor mean, Tensor count)
  saved: count
  outputs: [like(self), like(self)]
  dispatch: {CPU: counted}
- func: rms(Tensor x, Tensor weight, float eps=1e-6) -> Tensor
  dims: {x: "*b d", weight: d, return: "*b d"}
  dtypes: {x: floating, weight: x}
  layout: {x: contiguous}
  requires: ["eps > 0", "d % 2 == 0"]
  samples: {calls: ["torch.ones(2, 2), torch.ones(2)"], drawn: true, generator: "acme.samples:rms"}
  linear: weight
  reference: {function: "acme.reference:rms", tolerances: {float32: 0.1}, fallback: false}
  alias_analysis: conservative
  dispatch: {CPU: rms}
- func: total(Tensor x) -> Tensor
  dims: {x: "*b d", return: d}
  reduction: return
  dispatch: {CPU: total}
- func: picked(Tensor x, Tensor index, *, str mode="sum", int block=64) -> Tensor
  dims: {x: "n d", index: m, return: "m d"}
  dtypes: {index: int64}
  values: {x: finite, index: "0 <= index < n", mode: [sum, mean], block: [power_of_two, "block <= 1024"]}
  dispatch: {CPU: picked}
- func: rows_copy(Tensor self, SymInt start) -> Tensor
  tags: view_copy
  dispatch: {CompositeExplicitAutogradNonFunctional: rows_copy_symint}
"""

_LIBRARY_DERIVATIVES: Final = """\
- name: scale(Tensor self, float factor=2, *, str mode="a", ScalarType? dtype=None) -> Tensor
  self: grad * factor
  result: self_t * factor
- name: mix(Tensor self, Tensor other) -> Tensor
  self: grad
  other: not_implemented("mix")
  output_differentiability: [true]
"""

_STABLE: Final = """\
namespace: acme
doc: Operators of Acme.
torch: ">=2.12"
abi: stable
python_package: acme_ops
includes: [acme/kernels.h]
operators:
- func: scale(Tensor self, float factor=2, *, str mode="a") -> Tensor
  doc: Scales a tensor.
  dispatch: {CPU: scale}
  outputs: like(self)
  samples: torch.ones(2), 3
- if: "!defined(USE_ROCM)"
  dispatch: {CUDA: "::twice"}
  tags: pointwise
  operators:
  - func: twice(Tensor self) -> Tensor
"""

_BORROWED: Final = """\
namespace: acme
doc: Operators of Acme.
torch: ">=2.12"
abi: dlpack
frameworks: [torch, jax, tvm_ffi]
cpp_namespace: acme::deep
kernel_namespace: acme::kernels
python_package: acme_ops
includes: [acme/kernels.h]
operators:
- func: scale(Tensor x, float factor=2, *, str mode="a") -> Tensor
  doc: Scales a tensor.
  deprecated: use twice
  dispatch: {CPU: scale, CUDA: "fast::scale"}
  dims: {x: "*b d", return: "*b d"}
  dtypes: {x: [float32, float64]}
  layout: {x: contiguous}
  requires: "d % 2 == 0"
  samples: {calls: "torch.ones(2, 2)", drawn: false}
"""

_OF_OTHERS: Final = """\
namespace: acme_npu
implements: owner.yaml
operators:
- name: scale
  dispatch: {PrivateUse1: "fast::scale"}
  dims: {x: "*b d"}
  requires: "d % 2 == 0"
"""

_OWNER: Final = """\
namespace: acme
operators:
- func: scale(Tensor x, float factor=2) -> Tensor
  dispatch: {CPU: scale}
"""

_BACKEND: Final = """\
backend: PrivateUse1
cpp_namespace: acme::native
class_name: Kernels
display_name: Acme
torch: ">=2.10, <3.0"
includes: [acme/runtime.h]
export_macro: ACME_API
default_args: true
use_out_as_primary: true
derived_overloads: true
override_composite: false
device_guard: true
guard: {type: "acme::OptionalGuard", header: acme/guard.h}
allocation: {empty: "acme::make", empty_strided: "acme::make_strided", header: acme/empty.h}
lazy_init: "acme::lazy_init();"
register_macro: ACME_REGISTER
fallback: {to: cpu, warn: once, error: [gcd.out], generator: "acme::generator", sections: [sparse]}
fallback_views: error
autocast_fallthrough: true
kernel_name: "{name}"
dispatch_headers: true
families: {fast: {namespace: "acme::fast", kernel_name: "{name}_fast"}, slow: {class: Slow, cpp_namespace: "acme::s"}}
inherit_kernels: [{from: CPU, match: "cos*", section: supported, since: 2.10}]
hooks:
- {at: before, call: "acme::profile", pass: [name, tensors], where: {kind: [kernel, structured], key: PrivateUse1}}
- {at: after, text: "acme::done({name}, {result});", where: {name: "add*", key: [Acme]}}
- {at: around, call: "acme::around"}
manual: [empty.memory_format]
symint: [view]
supported:
- add.out: {structured: true}
- mul.out: {structured: true, define_meta: true, register_meta: true}
- div.out: {stub: true}
- linear: {override_composite: true}
- view: {kernel: "at::native::view"}
- unfold: {inherit: shared}
- sort.stable: {fallback: cpu}
- bmm.out: {fallback: cpu_on_error}
- abs.out: {family: fast}
- exp.out: {family: slow, kernel_name: exp_special}
- mm.out: {since: 2.11, until: 2.99, register_if: "acme::has_mm()", device_check: false}
- "other::twice": {func: "twice(Tensor self) -> Tensor"}
autograd: [max_pool2d]
sparse: [mm]
sparse_csr: [mm]
quantized: [q_scale]
nested_tensor: [mm]
autocast: [matmul: {policy: lower_precision_fp}]
namespace: acme
doc: Own operators.
python_package: acme_ops
library: more.yaml
derivatives: derivatives.yaml
derivative_includes: [acme/derivatives.h]
operators:
- func: gamma(Tensor self, str mode="x") -> Tensor
  doc: Own.
  outputs: like(self)
  samples: torch.ones(2)
"""

_MORE: Final = """\
namespace: acme
includes: [acme/more.h]
operators:
- func: delta(Tensor self) -> Tensor
  dispatch: {PrivateUse1: "acme::fast::delta"}
"""

_OWN_DERIVATIVES: Final = """\
- name: gamma(Tensor self, str mode="x") -> Tensor
  self: grad
"""

_PLAIN_BACKEND: Final = """\
backend: XLA
cpp_namespace: torch_xla
class_name: XLANativeFunctions
use_out_as_primary: false
device_guard: false
supported: [abs, add.Tensor, view]
autograd: [max_pool2d]
symint: [view]
"""

_LAZY: Final = """\
backend: Lazy
cpp_namespace: acme::lazy
class_name: LazyFunctions
full_codegen: [abs, add.Tensor, expand_copy]
supported: [as_strided, empty.memory_format]
autograd: [max_pool3d]
symint: [expand_copy]
ir_gen: [selu]
non_native:
- func: scalar(Scalar value, ScalarType type) -> Tensor
  opkind: at::prim::Constant
  properties: [ShapeCompute, TreatScalarsAsConstants]
- func: cast(Tensor? input, SymInt[] size, str? text, *, Generator? generator) -> (Tensor, Tensor)
  properties: [Lower, CreateFn, CanBeReusedDeclOnly]
"""

_FUNCTIONS: Final = """\
- op: add.out
  type_alias: {T0: [Float, Int]}
  dim_order_alias: {D0: [0, 1]}
  kernels:
  - {arg_meta: null, kernel_name: "mine::add_out"}
  - {arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}, kernel_name: "yours::add_out"}
- func: mine::pick.out(Tensor self, str mode="a", *, Tensor(a!) out) -> Tensor(a!)
  variants: function
  dispatch: {CPU: "mine::pick_out"}
"""

_CUSTOM: Final = """\
- func: mine::send.out(Tensor self, str mode="a", *, Tensor(a!) out) -> Tensor(a!)
  dispatch: {CPU: "mine::send_out"}
- func: mine::take(Tensor self, str mode="a") -> Tensor
  kernels:
  - {arg_meta: null, kernel_name: "mine::take"}
"""


def _document(name: str, family: str, code: tuple[str, ...] = (), **texts: str) -> Document:
    files = {f"{stem}.yaml": yaml.safe_load(text) for stem, text in texts.items()}
    return Document(name, family, next(iter(files)), files, frozenset(code))


#: The fields of derivative files that are C++.
_FORMULAS: Final = ("self", "other", "result", "output_differentiability")

DOCUMENTS: Final = (
    _document(
        "library", "library", ("samples", "if", *_FORMULAS), operators=_LIBRARY, derivatives=_LIBRARY_DERIVATIVES
    ),
    _document("stable library", "library", ("samples", "if"), operators=_STABLE),
    _document("library of borrowed tensors", "library", ("samples",), operators=_BORROWED),
    _document("kernels for another library", "library", (), operators=_OF_OTHERS, owner=_OWNER),
    _document(
        "backend",
        "backend",
        ("lazy_init", "register_if", "text", "samples", *_FORMULAS),
        backend=_BACKEND,
        more=_MORE,
        derivatives=_OWN_DERIVATIVES,
    ),
    _document("plain backend", "backend", backend=_PLAIN_BACKEND),
    _document("lazy", "lazy", ("opkind",), backend=_LAZY),
    _document("executorch", "executorch", functions=_FUNCTIONS, custom=_CUSTOM),
)
