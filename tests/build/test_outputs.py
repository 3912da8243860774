"""Emitters become outputs as their layouts say, and no fragment is made before it is needed, or twice."""

from __future__ import annotations

from typing import cast

import pytest

from opwright.build.outputs import emitted, outputs_of
from opwright.build.plan import Output
from opwright.emit.emitter import Emitter, FilePerUnit, Job, OneFile, Sharded, Slots

NO_JOB = cast(Job, None)
UNITS = ("add", "mul", "sub")


class Recorder:
    """An emitter of a few names, which remembers what it was asked for."""

    def __init__(self, layout: OneFile | FilePerUnit[str] | Sharded[str], *, finish: bool = False) -> None:
        self.asked: list[str] = []
        self.emitter: Emitter[str] = Emitter(
            name="recorder",
            family="tests",
            template="Template.h",
            folder="ops",
            units=lambda _: UNITS,
            fragment=self.fragment,
            layout=layout,
            frame=self.frame,
            finish=self.finished if finish else None,
        )

    def fragment(self, unit: str, _job: Job) -> Slots:
        """A declaration."""
        self.asked.append(unit)
        return {"body": [f"{unit}();"]}

    def frame(self, _job: Job) -> Slots:
        """What all files have."""
        self.asked.append("frame")
        return {"ns": "at", "body": [], "table": []}

    @staticmethod
    def finished(slots: dict[str, str | list[str]], _job: Job) -> Slots:
        """The declarations the other way round."""
        return {**slots, "body": list(slots["body"])[::-1]}


def slots_of(output: Output) -> Slots:
    """The slots of an output, made now."""
    assert callable(output.slots)
    return output.slots()


def test_one_file_has_all_units() -> None:
    """Its slots are the frame's with the units' joined in order."""
    recorder = Recorder(OneFile("All.h"))
    [output] = outputs_of(recorder.emitter, NO_JOB)
    assert output[:3] == ("ops", "All.h", "Template.h")
    assert recorder.asked == []
    assert slots_of(output) == {"ns": "at", "body": ["add();", "mul();", "sub();"], "table": []}


def test_each_unit_has_its_file() -> None:
    """One frame serves all files, and each fragment is made with its file's slots."""
    recorder = Recorder(FilePerUnit(lambda unit: f"{unit}.h"))
    outputs = list(outputs_of(recorder.emitter, NO_JOB))
    assert [output.path for output in outputs] == ["add.h", "mul.h", "sub.h"]
    assert recorder.asked == []
    assert slots_of(outputs[1]) == {"ns": "at", "body": ["mul();"], "table": []}
    assert slots_of(outputs[0])["body"] == ["add();"]
    assert recorder.asked == ["frame", "mul", "add"]


def test_fragments_of_shards_are_made_once() -> None:
    """Planning makes none; after that each unit's is made once for all files, which together hold each text twice."""
    recorder = Recorder(Sharded("Part.cpp", 2, lambda unit: unit))
    outputs = list(outputs_of(recorder.emitter, NO_JOB))
    assert [output.path for output in outputs] == ["PartEverything.cpp", "Part_0.cpp", "Part_1.cpp"]
    assert recorder.asked == []
    everything, *shards = [slots_of(output) for output in outputs]
    assert sorted(recorder.asked) == ["add", "frame", "mul", "sub"]
    assert everything["body"] == ["add();", "mul();", "sub();"]
    assert sorted([*shards[0]["body"], *shards[1]["body"]]) == sorted(everything["body"])
    assert [slots["shard_id"] for slots in (everything, *shards)] == ["Everything", "_0", "_1"]
    assert all(slots["table"] == [] for slots in shards)


@pytest.mark.parametrize(
    "layout",
    [OneFile("All.h"), FilePerUnit(lambda unit: f"{unit}.h"), Sharded("All.cpp", 1, lambda unit: unit)],
)
def test_finishing_comes_last(layout: OneFile | FilePerUnit[str] | Sharded[str]) -> None:
    """Whatever the layout, `finish` has the joined slots, and what it gives is what the template gets."""
    plain = [slots_of(output) for output in outputs_of(Recorder(layout).emitter, NO_JOB)]
    finished = [slots_of(output) for output in outputs_of(Recorder(layout, finish=True).emitter, NO_JOB)]
    assert [list(slots["body"]) for slots in finished] == [list(slots["body"])[::-1] for slots in plain]


def test_outputs_come_with_their_emitter_s_name() -> None:
    """The engine learns who makes what."""
    recorder = Recorder(OneFile("All.h"))
    found = [(name, [output.path for output in made]) for name, made in emitted([recorder.emitter], NO_JOB)]
    assert found == [("recorder", ["All.h"])]
