"""Calls with the types that checkers of types must find; a wrong one has a remark that says so."""

from __future__ import annotations

import acme
import torch
from typing_extensions import assert_type

image = torch.rand(4, 6)

assert_type(acme.gamma(image), torch.Tensor)
assert_type(acme.gamma(image, 2.0, out=image), torch.Tensor)
assert_type(acme.mix_(image, image, weight=1), torch.Tensor)
assert_type(acme.tiles(image, 2), list[torch.Tensor])
assert_type(acme.moments(image, keepdim=True).deviation, torch.Tensor)
assert_type(acme.track(image, image), None)
acme.affine(image, None, 2)
acme.weave([image, image], [0.5, 0.5])
acme.sprinkle(image, generator=torch.Generator())

acme.gamma("image")  # wrong
acme.pad_right(image)  # wrong
acme.mix(image, image, 0.5)  # wrong
acme.gama(image)  # wrong
