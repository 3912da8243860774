"""`torchgen.yaml_utils`: a loader for PyYAML that refuses repeated keys."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from yaml import SafeLoader as _Loader
else:
    _Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlLoader(_Loader):
    """PyYAML's safe loader, in which no mapping has a key twice.

    >>> yaml.load("a: 1\\na: 2", YamlLoader)
    Traceback (most recent call last):
    ...
    AssertionError: the key `a` stands twice in the mapping in line 1 (Found a duplicate key in the yaml)
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """Dictionary that a mapping stands for."""
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                line = node.start_mark.line + 1
                message = f"the key `{key}` stands twice in the mapping in line {line}"
                raise AssertionError(f"{message} (Found a duplicate key in the yaml)")
        return super().construct_mapping(node, deep=deep)
