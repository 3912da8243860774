"""Stub files of torch itself: functions, methods of tensors, classes of named results, `torch.nn.functional`."""

from __future__ import annotations
