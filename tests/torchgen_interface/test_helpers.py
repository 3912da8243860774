"""The helpers of `opwright.torchgen` do what those of PyTorch's generator do."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from opwright.torchgen import local, utils
from opwright.torchgen.aoti import fallback_ops
from opwright.torchgen.code_template import CodeTemplate
from opwright.torchgen.context import native_function_manager, with_native_function_and
from opwright.torchgen.selective_build import selector

SELECTIONS: tuple[dict[str, object], ...] = (
    {},
    {"include_all_operators": True},
    {
        "debug_info": ["x", "y"],
        "custom_classes": ["b", "a"],
        "build_features": ["c"],
        "kernel_metadata": {"k": ["float", 3]},
        "et_kernel_metadata": {"aten::add.out": ["v1/6;0,1"]},
        "operators": {
            "aten::add": {},
            "aten::mul.T": {
                "debug_info": ["q"],
                "include_all_overloads": False,
                "is_used_for_training": False,
                "is_root_operator": False,
            },
        },
    },
    {
        "kernel_metadata": {"k": ["int"], "l": ["a"]},
        "operators": {"aten::mul.T": {"include_all_overloads": False, "is_used_for_training": False}},
        "et_kernel_metadata": {"aten::add.out": ["default"]},
    },
)


def reference(name: str) -> ModuleType:
    """A module of the installed PyTorch's generator."""
    return importlib.import_module(f"torchgen.{name}")


@pytest.mark.parametrize("data", SELECTIONS)
def test_selections_answer_alike(data: dict[str, object]) -> None:
    """Questions about a selection have the answers of the reference."""
    own = selector.SelectiveBuilder.from_yaml_dict(data)
    theirs = reference("selective_build.selector").SelectiveBuilder.from_yaml_dict(data)
    assert repr(own.operators) == repr(theirs.operators)
    assert own.to_dict() == theirs.to_dict()
    for name in ("aten::add", "aten::add.Tensor", "aten::mul.T", "aten::mul", "other"):
        for question in ("is_operator_selected", "is_operator_selected_for_training", "is_root_operator"):
            assert getattr(own, question)(name) == getattr(theirs, question)(name), (name, question)
    for tag, dtype in (("k", "float"), ("k", "int"), ("z", "float")):
        assert own.is_kernel_dtype_selected(tag, dtype) == theirs.is_kernel_dtype_selected(tag, dtype)
    for name, key in itertools.product(("aten::add.out", "aten::mul.T"), ("v1/6;0,1", "default")):
        try:
            expected = theirs.et_get_selected_kernels(name, [key, "default"])
        except IndexError:
            continue
        assert own.et_get_selected_kernels(name, [key, "default"]) == expected, (name, key)


@pytest.mark.parametrize(("first", "other"), list(itertools.product(SELECTIONS, repeat=2)))
def test_selections_merge_alike(first: dict[str, object], other: dict[str, object]) -> None:
    """The union of two selections is that of the reference."""
    results = []
    for module in (selector, reference("selective_build.selector")):
        make = module.SelectiveBuilder.from_yaml_dict
        results.append(module.combine_selective_builders(make(first), make(other)).to_dict())
    operators = [result.pop("operators") for result in results]
    assert results[0] == results[1]
    assert str(operators[0]) == str(operators[1])


def test_wrong_selections_are_refused() -> None:
    """The message names the place."""
    with pytest.raises(AssertionError, match=r"2:1: error\[E0702\]: a selection has no field `operator`"):
        selector.SelectiveBuilder.from_yaml_str("operators: {}\noperator: {}\n")
    with pytest.raises(LookupError, match=r"no kernel of `aten::add.out`"):
        selector.SelectiveBuilder.from_yaml_dict(SELECTIONS[2]).et_get_selected_kernels("aten::add.out", ["v1/7;0,1"])


@pytest.mark.parametrize(
    ("pattern", "env"),
    [
        ("a $b c ${d} $1 $$ ${,e} ${e,}", {"b": "B", "d": ["x", "y"], "e": ["p"]}),
        ("  ${x}\nend", {"x": ["a\nb", "c"]}),
        ("f(${x}, ${y})", {"x": [1, 2], "y": None}),
        ("  $x\n", {"x": ("a", "b")}),
        ('"""x"""\ndef f(): ${x}\n', {"x": "p"}),
    ],
)
def test_templates_are_filled_alike(pattern: str, env: dict[str, object]) -> None:
    """Values of all kinds end as the same text."""
    expected = reference("code_template").CodeTemplate(pattern).substitute(env)
    assert CodeTemplate(pattern).substitute(env) == expected
    assert CodeTemplate(pattern).substitute({"x": "other"}, **env) == expected


def test_files_are_written_alike(tmp_path: Path) -> None:
    """Single files, shards and lists have the same texts, names and comments."""
    templates = tmp_path / "templates"
    (templates / "sub").mkdir(parents=True)
    (templates / "sub" / "T.h").write_text("// ${generated_comment}\nint ${name};\n  ${body}\n")
    (templates / "sub" / "S.h").write_text("void list${shard_id}() {\n  ${body}\n}\n${name}\n")
    (templates / "P.pyi").write_text('"""\nA\n"""\nclass A: ...\n${name}\n')
    contents = []
    for name, module in (("own", utils), ("reference", reference("utils"))):
        options = argparse.Namespace(source_path=tmp_path, install_dir=tmp_path / name, dry_run=False)
        manager = module.make_file_manager(options)
        manager.write("sub/T.h", lambda: {"name": "x", "body": ["a", "b"]})
        manager.write_with_template("text.h", "sub/T.h", lambda: "plain")
        manager.write("P.pyi", lambda: {"name": "x"})
        manager.write_sharded_with_template(
            "Shards.h",
            "sub/S.h",
            ["add", "sub", "mul", "div"],
            key_fn=lambda item: item,
            env_callable=lambda item: {"body": [item]},
            num_shards=2,
            base_env={"name": "n", "body": ["first"]},
            sharded_keys={"body"},
        )
        assert "ShardsEverything.h" not in str(manager.filenames)
        manager.write_outputs("GENERATED", tmp_path / name / "list.cmake")
        with pytest.raises(AssertionError, match="duplicate file write"):
            manager.write("P.pyi", lambda: {"name": "x"})
        root = tmp_path / name
        texts = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
        contents.append({path: text.replace(str(root), "") for path, text in texts.items()})
        contents[-1]["templates"] = manager.template_dir_for_comments()
    assert contents[0] == contents[1]


@dataclasses.dataclass
class Record:
    """A dataclass with values to be printed."""

    name: str
    items: object


@pytest.mark.parametrize("width", [20, 80])
def test_texts_of_dataclasses(width: int) -> None:
    """Logs show values as the reference prints them."""
    value = Record("long text " * 9, {"b": [Record("x", (1,)), {3, 4}], "a": "y" * 70})
    assert utils.dataclass_repr(value, 2, width) == reference("utils").dataclass_repr(value, 2, width)


def test_messages_name_the_operator() -> None:
    """Inside a decorated function the operator's choices hold, and exceptions say where it stands."""
    operator = SimpleNamespace(
        use_const_ref_for_mutable_tensors=True, part_of_structured_group=False, loc="ops.yaml:3", func="add()"
    )

    @with_native_function_and
    def fails(_operator: object, other: str) -> None:
        assert local.use_const_ref_for_mutable_tensors()
        assert not local.use_ilistref_for_tensor_lists()
        raise ValueError(other)

    with pytest.raises(ValueError, match=r"text\n  in native_functions.yaml line ops.yaml:3:\n    add\(\)"):
        fails(SimpleNamespace(out=operator), "text")
    with native_function_manager(operator):
        assert local.use_const_ref_for_mutable_tensors()
    with pytest.raises(AssertionError, match="no operator is current"):
        local.use_ilistref_for_tensor_lists()


def test_tables_of_shims() -> None:
    """The tables are those of the installed PyTorch's module."""
    module = reference("aoti.fallback_ops")
    assert list(fallback_ops.inductor_fallback_ops.items()) == list(module.inductor_fallback_ops.items())
    assert fallback_ops.aten_shimified_ops == module.aten_shimified_ops


def test_values_that_nothing_expects() -> None:
    """They raise AssertionError with the value."""
    with pytest.raises(AssertionError, match="'other'"):
        utils.assert_never("other")  # type: ignore[arg-type]


def test_names_and_namespaces() -> None:
    """Names are cut where the reference cuts them."""
    module = reference("utils")
    for entity in ("foo", "a::foo", "a::b::foo"):
        own, theirs = (source.NamespaceHelper.from_namespaced_entity(entity) for source in (utils, module))
        assert vars(own) == vars(theirs)
        assert own.prologue == theirs.prologue
    with pytest.raises(AssertionError, match="more than 2 level"):
        utils.NamespaceHelper("a::b::c")
    for schema in ("foo(Tensor self, int x)", "a.b(Tensor self) -> x"):
        assert utils.split_name_params(schema) == module.split_name_params(schema)
    assert list(utils.mapMaybe(lambda x: x or None, [0, 1, 2])) == [1, 2]
    assert list(utils.concatMap(lambda x: [x, x], [1, 2])) == [1, 1, 2, 2]
