"""Families of one file, and families of a few files that are one text each."""

from __future__ import annotations

from opwright.emit.emitter import AnyEmitter, Job
from opwright.emit.family import Family
from opwright.plugins.file_family import file_family, text_family
from tests.emit.emitting import job_of, paths_of, slots_of

ENTRIES = "- func: sinh(Tensor self) -> Tensor\n- func: cosh(Tensor self) -> Tensor\n"


def emitters_of(family: Family, job: Job) -> list[AnyEmitter]:
    """The emitters of a family whose emitters are functions."""
    return [emitter for source in family.emitters if not isinstance(source, str) for emitter in source(job)]


def test_a_file_has_a_head_units_and_an_end() -> None:
    """Head, units and end follow each other; path and head may be functions of the job."""
    job = job_of(ENTRIES)
    plain = file_family(
        "names",
        "the names of all operators",
        path="names.txt",
        units=lambda job: job.catalog.functions,
        text=lambda function, context: f"{function.name}\n",
        head="# names\n",
        end="# end\n",
    )
    assert slots_of(lambda job: emitters_of(plain, job), "names.txt", job) == {
        "text": ["# names\n", "sinh\n", "cosh\n", "# end\n"]
    }
    derived = file_family(
        "count",
        "how many operators there are",
        path=lambda job: f"count_{len(job.catalog)}.txt",
        units=lambda job: (),
        text=lambda unit, context: "",
        head=lambda job: f"{len(job.catalog)} operators\n",
    )
    assert slots_of(lambda job: emitters_of(derived, job), "count_2.txt", job) == {"text": ["2 operators\n"]}


def test_a_family_of_one_file_says_what_it_is() -> None:
    """Checks, dialects and choices of the family, and whether users keep the file in their sources, are passed on."""
    job, called = job_of(ENTRIES), []
    family = file_family(
        "names",
        "the names",
        path="names.txt",
        units=lambda job: (),
        text=lambda unit, context: "",
        checks=[lambda job, sink: called.append(job)],
        dialects=["costs"],
        serves_backends=True,
        by_default=True,
        belongs_to_sources=True,
    )
    assert (family.name, family.help, family.folders) == ("names", "the names", {"names": "."})
    assert (family.dialects, family.serves_backends, family.by_default) == (("costs",), True, True)
    for check in family.checks:
        check.load()(job, None)  # type: ignore[arg-type]
    assert called == [job]
    (emitter,) = emitters_of(family, job)
    assert (emitter.name, emitter.family, emitter.folder, emitter.belong_to_sources) == (
        *("names_file", "names", "names"),
        True,
    )
    usual = file_family("names", "", path="names.txt", units=lambda job: (), text=lambda unit, context: "")
    assert (usual.by_default, usual.serves_backends, usual.checks, usual.dialects) == (False, False, (), ())
    assert not emitters_of(usual, job)[0].belong_to_sources


def test_a_family_of_texts() -> None:
    """Each file is the text of its function, and has an emitter of its own."""
    job = job_of(ENTRIES)
    texts = {"a.txt": lambda job: f"{len(job.catalog)}\n", "b/c.txt": lambda job: "b\n"}
    family = text_family("texts", "some texts", texts, dialects=["costs"], serves_backends=True)
    emitters = emitters_of(family, job)
    assert paths_of(emitters, job) == ["texts/a.txt", "texts/b/c.txt"]
    assert [emitter.name for emitter in emitters] == ["texts_a.txt", "texts_b/c.txt"]
    assert {emitter.family for emitter in emitters} == {family.name} == {"texts"}
    assert slots_of(lambda job: emitters, "a.txt", job) == {"text": ["2\n"]}
    assert (family.dialects, family.serves_backends, family.by_default) == (("costs",), True, False)
    assert (family.help, family.folders) == ("some texts", {"texts": "."})
    assert not text_family("texts", "", {}).serves_backends
