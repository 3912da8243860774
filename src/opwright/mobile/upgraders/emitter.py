"""`upgrader_mobile.cpp`: the bytecode of all upgraders, and which of them each operator needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final

from opwright.mobile.upgrader_tables import Constant, Upgrader, UpgraderRange, UpgraderTables
from opwright.mobile.upgraders.fields import LEFT_OUT_UPGRADERS, is_left_out

FILE_NAME: Final = "upgrader_mobile.cpp"

_FILE: Final = """\
/**
 * @generated
 * This is an auto-generated file. Please do not modify it by hand.
 * To re-generate, please run:
 * cd ~/pytorch && python torchgen/operator_versions/gen_mobile_upgraders.py
 */

#include <caffe2/serialize/versions.h>
#include <torch/csrc/jit/mobile/type_parser.h>
#include <torch/csrc/jit/mobile/upgrader_mobile.h>

namespace torch {{
namespace jit {{

// clang-format off

// From operator_versions_map

const std::unordered_map<std::string, std::vector<Upgrader>>
getOperatorVersionMapForMobile() {{
  static std::unordered_map<std::string, std::vector<Upgrader>>
        operatorVersionMapForMobile({{
{versions}
      }});
  return operatorVersionMapForMobile;
}}

const std::vector<ByteCodeFunctionWithOperator>& getUpgraderBytecodeList() {{
  auto generate_upgrader_bytecode_list = []() {{
    std::vector<ByteCodeFunctionWithOperator> upgrader_function_list({{
{functions}
            }});
    for (const auto& upgrader_function : upgrader_function_list) {{
      for (const auto& op : upgrader_function.operators) {{
        upgrader_function.function.append_operator(
            op.name,
            op.overload_name,
            op.num_specified_args);
      }}
    }}
    return upgrader_function_list;
  }};
  static std::vector<ByteCodeFunctionWithOperator> upgraderBytecodeList =
      generate_upgrader_bytecode_list();
  return upgraderBytecodeList;
}}

// clang-format on

}} // namespace jit
}} // namespace torch
"""

#: The columns at which the reference's nested templates put the parts of a function.
_FUNCTION: Final = " " * 19
_PART: Final = " " * 27
_TABLE: Final = " " * 31
_TABLE_END: Final = " " * 35
_ROW: Final = " " * 43


def upgrader_source(tables: UpgraderTables) -> str:
    """Text of the file. Upgraders and operators are in the order of their names."""
    upgraders = sorted(tables.upgraders, key=attrgetter("name"))
    listed = [upgrader for upgrader in upgraders if upgrader.name not in LEFT_OUT_UPGRADERS]
    positions = {upgrader.name: position for position, upgrader in enumerate(listed)}
    versions = [
        _operator_versions(operator, ranges, positions)
        for operator, ranges in sorted(tables.operators.items())
        if not is_left_out(operator)
    ]
    return _FILE.format(versions="\n".join(versions), functions="\n".join(map(_function, listed)))


def _operator_versions(operator: str, ranges: Iterable[UpgraderRange], positions: Mapping[str, int]) -> str:
    """Entry of an operator, with the position of each of its upgraders in the other table."""
    rows = [
        f'{" " * 24}Upgrader({{{row.first}, {row.last}, "{row.upgrader}", {positions[row.upgrader]}}})'
        for row in ranges
    ]
    joined = ",\n".join(rows)
    return f"""\
                {{std::string("{operator}"),
                    std::vector<Upgrader>({{
{joined}
                    }})}},"""


def _function(upgrader: Upgrader) -> str:
    instructions = [
        f"{_ROW}Instruction{{OpCode::{code}, {first}, {second}}}," for code, first, second in upgrader.instructions
    ]
    constants = [f"{_ROW}c10::IValue({_constant(constant)})," for constant in upgrader.constants]
    types = "".join(f'c10::parseType("{name}"),' for name in upgrader.types)
    operators = "\n".join(
        [
            f'{_TABLE_END}OperatorString({{"{name}", "{overload}", {count}}}),'
            for name, overload, count in upgrader.operators
        ]
    )
    return f"""\
{_FUNCTION}ByteCodeFunctionWithOperator({{
{_PART}mobile::Function::registerFunc(
{_TABLE}"{upgrader.name}",
{_table("Instruction", instructions, "instructions", has_empty_form=False)}
{_table("c10::IValue", constants, "constants")}
{_table("c10::TypePtr", [f"{_ROW[4:]}{types}"] if types else [], "types")}
{_TABLE}{upgrader.register_size}
{_PART}),
{_PART}std::vector<OperatorString>({{
{operators}
{_PART}}}), // operators list
{_FUNCTION}}}),"""


def _table(element: str, rows: list[str], noun: str, *, has_empty_form: bool = True) -> str:
    """The C++ vector of a table. The comment takes the comma in, as the reference's does."""
    if not rows and has_empty_form:
        return f"{_TABLE}std::vector<{element}>(), // {noun} list,"
    lines = "\n".join(rows)
    return f"{_TABLE}std::vector<{element}>({{\n{lines}\n{_TABLE_END}}}), // {noun} list,"


def _constant(constant: Constant) -> str:
    """The C++ text of a constant; that of nothing is empty."""
    if constant is None:
        return ""
    if isinstance(constant, bool):
        return "true" if constant else "false"
    return f'"{constant}"' if isinstance(constant, str) else str(constant)
