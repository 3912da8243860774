"""Nodes of the backward graph: the names of `torchgen.packaged.autograd.gen_autograd_functions`.

Programs may replace `process_function`: `gen_autograd_functions_lib` looks it up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.emit.autograd.functions import DECLARATIONS, DEFINITIONS, declaration, definition
from opwright.emit.autograd.nodes import GraphNode
from opwright.emit.autograd.python_functions import initializer, property_entries, property_getters, property_table
from opwright.files.template import template_comment
from opwright.torchgen.code_template import CodeTemplate
from opwright.torchgen.interface.derivatives import DifferentiabilityInfo, model_info
from opwright.torchgen.interface.faults import faults_as_assertions
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.matching import Infos
from opwright.torchgen.utils import FileManager

#: The class of a node, and its functions.
FUNCTION_DECLARATION: Final = CodeTemplate("${declaration}\n")
FUNCTION_DEFINITION: Final = CodeTemplate("${definition}\n\n")
#: The statements that make the Python type of a node, and its properties with the functions behind them.
PY_FUNCTION_DEFINITION: Final = CodeTemplate(initializer("${op}"))
PY_FUNCTION_PROPS_AND_GETTERS: Final = CodeTemplate(
    property_table("${op}", "${all_getter_definitions}", "  ${all_getsetdef_structs}\n")
)

#: What a node puts into the slots of these templates.
_SLOTS: Final[dict[str, Callable[[GraphNode], str | list[str]]]] = {
    "op": lambda node: node.name,
    "declaration": lambda node: declaration(node, installed_rules()),
    "definition": lambda node: definition(node, installed_rules()),
    "all_getter_definitions": property_getters,
    "all_getsetdef_structs": property_entries,
}


class _NodeSlots(dict[str, "str | list[str]"]):
    """What a node puts into slots, made when a template asks for it."""

    def __init__(self, node: GraphNode) -> None:
        super().__init__()
        self._node = node

    def __missing__(self, name: str) -> str | list[str]:
        return _SLOTS[name](self._node)


def process_function(info: DifferentiabilityInfo, template: CodeTemplate) -> str:
    """Text of one of the templates for a node. Raises AssertionError for what no node can save."""
    with faults_as_assertions():
        return template.substitute(_NodeSlots(GraphNode(model_info(info), installed_rules())))


def get_infos_with_derivatives_list(differentiability_infos: Infos) -> list[DifferentiabilityInfo]:
    """Derivatives that have a gradient, of all functions and dispatch keys."""
    listed = [info for by_key in differentiability_infos.values() for info in by_key.values()]
    return [info for info in listed if info.args_with_derivatives]


def gen_autograd_functions_lib(out: str, differentiability_infos: Infos, template_path: str) -> None:
    """Write `Functions.h` and `Functions.cpp` into a folder, from the templates in another one."""
    infos = get_infos_with_derivatives_list(differentiability_infos)
    files = FileManager(out, template_path, dry_run=False)
    for name, slot, template in (
        ("Functions.h", DECLARATIONS, FUNCTION_DECLARATION),
        ("Functions.cpp", DEFINITIONS, FUNCTION_DEFINITION),
    ):
        slots = {
            "generated_comment": template_comment(name, files.template_dir_for_comments()),
            slot: [process_function(info, template) for info in infos],
        }
        files.write(name, slots.copy)
