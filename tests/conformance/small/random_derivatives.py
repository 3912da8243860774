"""Random derivatives for random signatures."""

from __future__ import annotations

import random
from typing import Final

from tests.conformance.small.random_schemas import Argument, Signature

#: What a backward formula may ask of a tensor, with `{}` for its name.
FACTS: Final = (
    "{}",
    "{}",
    "{}",
    "{}.sym_sizes()",
    "{}.options()",
    "{}.scalar_type()",
    "zeros_like({})",
    "{}.sym_size(0)",
    "{}.sym_size(-1)",
    "{}.sym_numel()",
    "{}.numel()",
    "{}.dim()",
    "{}.sym_strides()",
    "{}.layout()",
    "{}.is_conj()",
    "{}.sym_blocksize()",
    "TensorGeometry({})",
    "{}.cos()",
)
LIST_FACTS: Final = ("{}", "to_args_sizes({})", "to_args_sizes_symint({})", "to_args_scalartypes({})", "{}.size()")
OPTIONAL_FACTS: Final = ("{}", "{}->sym_sizes()", "{}.has_value()")


def derivative(draw: random.Random, signature: Signature) -> str:
    """An entry of `derivatives.yaml`; empty where the function cannot have one."""
    tensors = [argument for argument in signature.all_arguments if argument.type.startswith("Tensor")]
    outputs = [place for place, result in enumerate(signature.returns) if result.startswith("Tensor")]
    if not tensors or not outputs:
        return ""
    lines = [f"- name: {signature.schema}"]
    if len(signature.returns) > 1 and draw.random() < 0.5:
        flags = [str(place in outputs and draw.random() < 0.7) for place in range(len(signature.returns))]
        lines.append(f"  output_differentiability: [{', '.join(flags)}]")
    elif draw.random() < 0.05:
        lines.append("  output_differentiability: [False]")
    formulas = drawn_formulas(draw, signature, tensors)
    if draw.random() < 0.15:
        key = draw.choice(("AutogradNestedTensor", "AutogradCUDA"))
        lines += ["  dispatch:", "    Default:", *[f"      {line}" for line in formulas]]
        lines += [f"    {key}:", *[f"      {line}" for line in drawn_formulas(draw, signature, tensors)]]
    else:
        lines += [f"  {line}" for line in formulas]
    return "\n".join(lines) + "\n"


def drawn_formulas(draw: random.Random, signature: Signature, tensors: list[Argument]) -> list[str]:
    """The lines for all arguments, and maybe for the result."""
    lines: list[str] = []
    together = len(tensors) > 1 and draw.random() < 0.3
    if together:
        lines.append(f"{', '.join([tensor.name for tensor in tensors])}: {several(draw, signature)}")
    else:
        kept = [tensor for tensor in tensors if draw.random() < 0.9] or tensors[:1]
        lines += [f"{argument.name}: {formula(draw, signature, argument)}" for argument in kept]
    if len(signature.returns) == 1 and draw.random() < 0.4:
        lines.append(f"result: {forward(draw, signature, tensors)}")
    return lines


def gradient(draw: random.Random, signature: Signature) -> str:
    """The gradient of an output, as formulas name it."""
    if len(signature.returns) == 1:
        return "grad"
    return draw.choice(("grad", "grad", "grad", f"grads[{draw.randrange(len(signature.returns))}]", "grads"))


def asked(draw: random.Random, signature: Signature) -> str:
    """A value that a formula asks for: an argument, a fact of it, or the result."""
    choices = list(signature.all_arguments)
    if draw.random() < 0.2 or not choices:
        names = [result.partition(" ")[2] for result in signature.returns]
        return next((name for name in names if name), "result" if len(names) == 1 else "result0")
    argument = draw.choice(choices)
    if argument.type in ("Tensor", "Tensor(a)", "Tensor(a!)"):
        return draw.choice(FACTS).format(argument.name)
    if argument.type == "Tensor[]":
        return draw.choice(LIST_FACTS).format(argument.name)
    if argument.type == "Tensor?":
        return draw.choice(OPTIONAL_FACTS).format(argument.name)
    return argument.name


def formula(draw: random.Random, signature: Signature, argument: Argument) -> str:
    """A backward formula for one argument."""
    grad = gradient(draw, signature)
    return draw.choice(
        (
            grad,
            f"{grad}.mul(2)",
            f"{grad} * {asked(draw, signature)}",
            f"tree_backward({grad}, {asked(draw, signature)}, {asked(draw, signature)})",
            f"tree_{argument.name}_backward({grad}, {asked(draw, signature)})",
            f"tree_backward({grad}, {asked(draw, signature)}, task_should_compute_output({{ {draw.randrange(2)} }}))",
            "non_differentiable",
            f'not_implemented("{signature.name}")',
            f"{grad}.conj() * {asked(draw, signature)}.sum()",
            f'"{grad} *\\n   {asked(draw, signature)}"',
        )
    )


def several(draw: random.Random, signature: Signature) -> str:
    """A backward formula for all arguments together."""
    grad = gradient(draw, signature)
    mask = draw.choice(("grad_input_mask", "grad_input_mask", "true"))
    return draw.choice(
        (
            f"tree_backward({grad}, {asked(draw, signature)}, {mask})",
            f"tree_backward({grad}, {asked(draw, signature)}, {asked(draw, signature)}, {mask})",
            "non_differentiable",
        )
    )


def forward(draw: random.Random, signature: Signature, tensors: list[Argument]) -> str:
    """A forward formula."""
    tensor = draw.choice(tensors).name
    return draw.choice(
        (
            "auto_linear",
            "auto_element_wise",
            f"{tensor}_t * {tensor}_p",
            f"tree_jvp({tensor}_p, {tensor}_t, result)",
            f"{tensor}_t.cos()",
        )
    )
