"""What the arguments of registering calls mean: texts, keys, tags, and functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

from opwright.backends.dispatch.runtime_keys import runtime_keys
from opwright.syntax.cpp_functions import forwarded_to, typed_parameters
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, cpp_tokens

#: The names of keys that libraries write as constants of devices, such as `torch::kCUDA`.
_DEVICES: Final = {f"k{key.name}": key.name for key in runtime_keys()}
#: What only wraps a name or a text.
_WRAPPERS: Final = frozenset(
    ("TORCH_FN", "TORCH_BOX", "TORCH_SELECTIVE_NAME", "TORCH_SELECTIVE_SCHEMA", "TORCH_FN_TYPE", "static_cast")
)
_ESCAPE: Final = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_RAW: Final = re.compile(r'\w*"([^(]*)\((.*)\)\1"', re.DOTALL)
#: How generated code passes a kernel of an author.
_OWN_SIGNATURE: Final = re.compile(r"::opwright::own_signature<&((?:::)?[A-Za-z_]\w*(?:::\w+)*)>")
#: The same with further arguments of the template, of which a reader of calls sees the first alone.
_DECLARED_KERNEL: Final = re.compile(
    r"(?:&::opwright::declared_kernel|::opwright::checked_own_signature)<&((?:::)?[A-Za-z_]\w*(?:::\w+)*)(?:,.*)?"
)
#: Tokens of an argument that passes a function by its name.
_LONGEST_KERNEL: Final = 500


def text_value(tokens: Sequence[Token], macros: Mapping[str, str]) -> str | None:
    """The value of quotations that stand beside each other, in what only wraps them; None for anything else."""
    while len(tokens) > 2 and tokens[-1].text == ")" and tokens[0].kind == "name":
        opening = next(index for index, token in enumerate(tokens) if token.text == "(")
        name = tokens[opening - 1].text
        if name not in _WRAPPERS and name != "schema":
            return None
        given = arguments(tokens, opening)
        tokens = given[0] if given else ()
    pieces = [cpp_tokens(macros[token.text]) if token.text in macros else (token,) for token in tokens]
    tokens = [token for piece in pieces for token in piece]
    if not tokens or any(token.kind not in ("text", "raw") for token in tokens):
        return None
    values = list(map(_quoted_text, tokens))
    return None if None in values else "".join(map(str, values))


def _quoted_text(token: Token) -> str | None:
    """The value of a quotation; None if it has none, or one that is not UTF-8."""
    if token.kind == "raw":
        raw = _RAW.fullmatch(token.text)
        return raw[2] if raw is not None else None
    inside = token.text[token.text.index('"') + 1 : -1].replace("\\\n", "")
    value, end = bytearray(), 0
    try:
        for escape in _ESCAPE.finditer(inside):
            octal, hexadecimal, short, long, other = escape.groups()
            value += inside[end : escape.start()].encode()
            if octal or hexadecimal:
                value.append(int(octal, 8) if octal else int(hexadecimal, 16))
            else:
                value += (chr(int(short or long, 16)) if short or long else _ESCAPED.get(other, str(other))).encode()
            end = escape.end()
        return (value + inside[end:].encode()).decode()
    except (ValueError, OverflowError):
        return None


def tags_of(tokens: Sequence[Token]) -> list[str]:
    """The tags that an argument lists, as in `{at::Tag::core}`."""
    texts = [token.text for token in tokens]
    return [texts[index + 2] for index in range(len(texts) - 2) if texts[index : index + 2] == ["Tag", "::"]]


def tag_variables(body: Sequence[Token]) -> dict[str, list[str]]:
    """The variables of a block that list tags, such as `std::vector<at::Tag> tags = {at::Tag::core}`."""
    variables = {
        body[index - 1].text: tags_of(body[index : closing_index(body, index + 1)])
        for index in range(1, len(body) - 1)
        if body[index].text == "=" and body[index + 1].text == "{" and body[index - 1].kind == "name"
    }
    return {name: tags for name, tags in variables.items() if tags}


def key_of(tokens: Sequence[Token]) -> str:
    """The dispatch key that an argument names; empty if it names none."""
    texts = [token.text for token in tokens]
    if not texts or any(token.kind != "name" and token.text != "::" for token in tokens):
        return ""
    if len(texts) >= 3 and texts[-3] == "DispatchKey":
        return texts[-1]
    return _DEVICES.get(texts[-1], "")


def dispatch_parts(tokens: Sequence[Token], keys: list[str]) -> tuple[list[str] | None, Sequence[Token]]:
    """The keys and the kernel of `torch::dispatch(key, kernel)`, or of options; no keys if these are not known."""
    opening = next((index for index, token in enumerate(tokens) if token.text == "("), -1)
    if opening > 0 and tokens[opening - 1].text == "dispatch":
        given = arguments(tokens, opening)
        if len(given) == 2:
            key = key_of(given[0])
            return [key] if key else None, given[1]
    if opening > 0 and tokens[opening - 1].text == "options":
        named = [key for token, key in zip(tokens, tokens[2:], strict=False) if token.text == "DispatchKey"]
        keys = [key.text for key in named] or keys
    return keys, tokens


def forwarded_name(tokens: Sequence[Token]) -> tuple[str, tuple[str, ...]]:
    """The function to which a lambda only hands its arguments, and their types; empty for anything else."""
    texts = [token.text for token in tokens]
    if texts[:2] != ["[", "]"] or "{" not in texts:
        return "", ()
    parameters = typed_parameters(tokens, 2) if texts[2] == "(" else []
    callee = forwarded_to(tokens[texts.index("{") + 1 : -1], [name for _, name in parameters])
    return callee, tuple([type for type, _ in parameters])


def function_name(tokens: Sequence[Token]) -> str | None:
    """The name of the function that an argument passes; None if it passes something else."""
    if len(tokens) > _LONGEST_KERNEL:
        return None
    if len(tokens) > 2 and tokens[-1].text == ")":
        depths = accumulate((token.text == ")") - (token.text == "(") for token in reversed(tokens))
        opening = len(tokens) - 1 - next((at for at, depth in enumerate(depths) if not depth), 0)
        if not opening:
            return function_name(tokens[1:-1])
        before = [token.text for token in tokens[:opening]]
        given = arguments(tokens, opening)
        if before and before[0] in _WRAPPERS and len(given) == 1:
            return function_name(given[0])
        boxed = _OWN_SIGNATURE.fullmatch("".join(before))
        return boxed[1] if boxed is not None and not given else None
    declared = _DECLARED_KERNEL.fullmatch("".join([token.text for token in tokens]))
    if declared is not None:
        return declared[1]
    plain = tokens[1:] if tokens and tokens[0].text == "&" else tokens
    if not plain or any(token.kind != "name" and token.text != "::" for token in plain):
        return None
    return "".join([token.text for token in plain])
