"""A run whose inputs are loaded: what it plans, checks and writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from os.path import basename, dirname, exists, isfile, join
from typing import TYPE_CHECKING, Final

from opwright import run
from opwright.dialects.table import DIALECTS
from opwright.emit.registry import (
    FAMILIES,
    dialects_of,
    emitters,
    families_with,
    serves_libraries,
)
from opwright.emit.registry import import_modules as import_family_modules
from opwright.files.plan import Plan
from opwright.files.staging import remove_old_staging
from opwright.files.template import (
    LAUNCHER,
    PLUGIN_LAUNCHER,
    STUBS_LAUNCHER,
    Templates,
    generated_comment,
    template_comment,
    template_kind,
)
from opwright.files.writer import file_holds
from opwright.guests import guest_rows
from opwright.incremental.emitter_files import EmitterFiles, JobFiles, named_emitters
from opwright.model.catalog import PartialCatalog
from opwright.release.generator_digests import check_generator
from opwright.release.rules import Rules
from opwright.release.store import STUB_TEMPLATES
from opwright.release.tree import rules_of
from opwright.release.version import Version
from opwright.run.loading import check_job, check_release, launcher, load_deferred_dialects, load_job, with_libraries
from opwright.run.output_writer import Outcome, OutputWriter, Report, Summary, Task
from opwright.run.request import Request, run_plugins
from opwright.source.codes import SHIM_CHANGED, SHIM_MISSING
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.emit.emitter import AnyEmitter, Job, Slots
    from opwright.files.plan import FileSpec, PlannedFile
    from opwright.files.staging import Journal
    from opwright.incremental.previous_build import PreviousBuild
    from opwright.source.items import ChosenItems


def template_path(name: str) -> str:
    """Input that is the template of a name: ATen's by its file name, others with their folder.

    >>> template_path("Functions.h"), template_path("autograd/Functions.h")
    ('templates/Functions.h', 'autograd/templates/Functions.h')
    """
    if name in STUB_TEMPLATES:
        return name
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}templates/{file}"


#: Templates that are made from another: name -> that one, and the module whose `template_slots` fill it, if any does.
#: The folder of a name decides which program the comments of its files name.
_MADE_TEMPLATES: Final = {
    "autograd/shards/VariableType.cpp": ("autograd/VariableType.cpp", "opwright.emit.autograd.variable_type"),
    **{name: template for rows in guest_rows() for name, template in rows.MADE_TEMPLATES.items()},
}


def own_template(name: str) -> str | None:
    """Path of a template that is Opwright's own, such as `library/ops.h`; None for PyTorch's."""
    folder, _, file = name.rpartition("/")
    packages = {name: package for rows in guest_rows() for name, package in rows.TEMPLATE_PACKAGES.items()}
    package = packages.get(folder)
    path = join(dirname(dirname(run.__file__)), package or "", "templates", file)
    return path if package and isfile(path) else None


def made_template(name: str, job: Job) -> tuple[str, Slots | None]:
    """PyTorch's template behind a name, and the slots that make the template of the name from it, if it is made."""
    if name not in _MADE_TEMPLATES:
        return name, None
    plain, module = _MADE_TEMPLATES[name]
    slots: Slots | None = import_module(module).template_slots(job) if module else None
    return plain, slots


#: The slots that stand beside other text in PyTorch's templates. Others have the lines of several operators, between
#: which its generator then puts commas.
_INLINE_SLOTS: Final = ("class_name", "dispatch_namespace", "generated_comment", "name", "shard_id")
#: Modules that every run that writes files uses.
_MODULES: Final = (
    "opwright.incremental.fingerprints",
    "opwright.incremental.previous_build",
    "opwright.incremental.output_folders",
    "opwright.files.workers",
)


def import_modules(families: Iterable[str]) -> None:
    """Import the modules that a run of these families uses, before forked processes import them one by one.

    A deferred dialect is left out, because only one of the processes loads it.
    """
    for name in _MODULES:
        import_module(name)
    names = dialects_of(families, deferred=False)
    for dialect in DIALECTS:
        if dialect.name in names:
            dialect.import_loader()
    import_family_modules(families)


#: Folder of templates -> the program that comments name, where that does not depend on the run.
_LAUNCHERS: Final = {"executorch": "gen.py"}

#: The product of emitters and functions from which a second process saves time: starting it costs some 20 ms.
_WORTH_SHARING: Final = 30_000

#: How much longer making a fragment takes than finding that the previous build has it. Two processes both compute the
#: units and fingerprints that emitters share.
_MAKING: Final = 3


def _load_job(
    request: Request, rules: Rules, sink: Diagnostics, chosen_items: Mapping[str, ChosenItems], *, defer: bool
) -> Job:
    check_release(request, rules)
    job = load_job(request, rules, sink, chosen_items)
    check_job(job, request, sink)
    load_deferred_dialects(job, request, sink, defer=defer)
    return job


def _load_partial_job(
    load: Callable[[Diagnostics, Mapping[str, ChosenItems]], Job],
    sink: Diagnostics,
    chosen_items: Mapping[str, ChosenItems],
) -> Job | None:
    """Job with the operators in the scope of the run; None if the run has no scope, or needs all operators.

    It needs them to report errors, so that a run with errors reports all those of the inputs.
    """
    if not chosen_items:
        return None
    scope_sink = Diagnostics()
    try:
        job = load(scope_sink, chosen_items)
    except (PartialCatalog, Fault, FaultsFound):
        return None
    if scope_sink.has_errors:
        return None
    sink.extend(scope_sink)
    return job


class Generation:
    """A run with its inputs loaded, which can plan and write its outputs.

    `sink` has the warnings and notes of loading. Construction raises FaultsFound with every fault of the inputs. With
    `defer`, the processes that make the Python files load and check what only these files need. Of the dialects among
    the `chosen_items`, it loads only these, if they are enough. A run whose `job` is loaded already loads nothing.
    `rules` replace those that the inputs follow.

    >>> import opwright
    >>> request = Request(opwright.open_inputs(), opwright.build_folders("build"), families=("declarations_yaml",))
    >>> [output.path for output in Generation(request).plan().outputs]
    ['Declarations.yaml']
    """

    def __init__(
        self,
        request: Request,
        sink: Diagnostics | None = None,
        *,
        defer: bool = False,
        chosen_items: Mapping[str, ChosenItems] | None = None,
        job: Job | None = None,
        rules: Rules | None = None,
    ) -> None:
        run_plugins().activate(request.plugins)
        self.request: Final = request
        self.sink: Final = sink if sink is not None else Diagnostics()
        if rules is None:
            rules = rules_of(request.inputs, request.release, self.sink, are_written=True)
            if not serves_libraries(request.families):
                refuse = request.refuses_edits and not request.release
                families = request.families
                check_generator(
                    request.inputs, rules, self.sink, families=families, strict=request.strict, refuse=refuse
                )
        self.version: Final[Version] = rules.version
        if job is None:
            load = partial(_load_job, request, rules, defer=defer)
            job = _load_partial_job(load, self.sink, chosen_items or {}) or load(self.sink, {})
        self.sink.raise_if_errors()
        self.job: Final = with_libraries(job, request, self.sink)
        self._templates: Final = Templates(self.read_template, self._comment, template_kind(rules))
        shard = request.shard
        is_chosen = None if shard is None else shard.has
        self._writer: Final = OutputWriter(request.folders, self.sink, is_chosen, request.format_file)

    def read_template(self, name: str) -> SourceFile:
        """Template of a name, read from the inputs or from Opwright's own. Raises Fault if it cannot be read."""
        if ":" in name:
            return run_plugins().template(name)
        request, own = self.request, own_template(name)
        if own is not None:
            return SourceFile.read(own if request.templates is None else f"{request.templates}/{basename(own)}")
        plain, slots = made_template(name, self.job)
        source = request.inputs.read_text(template_path(plain))
        template = template_kind(self.job.rules)(source)
        if plain not in STUB_TEMPLATES:
            template.check_lines(_INLINE_SLOTS)
        return source if slots is None else SourceFile(source.path, template.render(slots))

    def _comment(self, template: str) -> str:
        """Comment of files with the program that made them, which is not the same for all of PyTorch's files."""
        folder, _, name = template.rpartition("/")
        if folder == "autograd":
            return template_comment(name, self.request.options.autograd_templates)
        if not self.job.rules.comments_name_program:
            return generated_comment(basename(template), LAUNCHER)
        if template in STUB_TEMPLATES:
            return generated_comment(template, STUBS_LAUNCHER)
        if ":" in template:
            return generated_comment(template, PLUGIN_LAUNCHER)
        if not folder:
            return generated_comment(name, LAUNCHER)
        if folder in _LAUNCHERS:
            return generated_comment(name, _LAUNCHERS[folder])
        is_external = folder in FAMILIES and FAMILIES[folder].serves_backends
        program = launcher(self.request) if is_external else self.request.options.autograd_program
        return generated_comment(name, program)

    def _tasks(self, build: JobFiles | None = None) -> Iterator[Task]:
        """Tasks that make the files of each emitter, without a previous build unless `build` has one."""
        return (build or JobFiles(self.job, self._templates)).tasks(emitters(self.job, self.request.families))

    def check_shims(self, *, note_missing: bool = False) -> None:
        """Compare the headers of C shims with those in their output folder, unless the run updates them.

        Notes operators that cannot have a shim, and, with `note_missing`, missing headers. Raises FaultsFound if a
        header differs.
        """
        from opwright.emit.aten.c_shim import check_c_forms, check_names, check_versions, headers

        if not set(self.request.families).intersection(families_with("aoti")):
            return
        check_names(self.job, self.sink)
        check_c_forms(self.job, self.sink)
        check_versions(self.job, partial(kept_header, self.request.folders["aoti"]), self.sink)
        if not self.request.options.update_c_shim:
            check_kept_headers(headers(self.job), self.request.folders["aoti"], self.sink, note_missing=note_missing)
        self.sink.raise_if_errors()

    def plan(self) -> Plan:
        """Every output with its path; nothing is rendered."""
        return self._writer.plan(self._tasks())

    def planned_files(self) -> Iterator[tuple[PlannedFile, EmitterFiles, FileSpec]]:
        """Every output with the files of its emitter and its spec; nothing is rendered."""
        sink = Diagnostics()
        yield from self._writer.plan_files(self._tasks(), Plan(self.request.folders), sink)
        sink.raise_if_errors()

    def write(self, report: Report | None = None, chosen: Iterable[AnyEmitter] | None = None) -> Summary:
        """Write the outputs that differ from what is on disk; no state is kept for later runs.

        The `chosen` emitters take the place of those of the run's families.
        """
        remove_old_staging(self.request.folders.values())
        tasks = self._tasks() if chosen is None else JobFiles(self.job, self._templates).tasks(chosen)
        return self._writer.write(tasks, None, report).summary

    def write_after(
        self,
        previous: PreviousBuild | None,
        report: Report | None = None,
        processes: int = 1,
        journal: Journal | None = None,
    ) -> Outcome:
        """Write the outputs that differ, rendering only what changed since the previous build.

        If there is much to do, or much to compare with the previous build, several processes share the work. The
        journal gets the staging folders.
        """
        self._writer.journal = journal
        # Formatted files do not have the chunks of their units: neither this run nor the next one patches them.
        is_formatted = self.request.format_file is not None
        build = JobFiles(self.job, self._templates, None if is_formatted else previous)
        tasks = list(self._tasks(build))
        if len(tasks) * len(self.job.catalog) < _WORTH_SHARING * (1 if build.previous is None else _MAKING):
            processes = 1
        outcome = self._writer.write(tasks, build.previous, report, processes)
        return outcome._replace(emitters={}) if is_formatted else outcome

    def write_edit(self, before: Job, previous: PreviousBuild, journal: Journal) -> Outcome:
        """Write the outputs that an edit changed.

        The job has the operations of the edit alone, and `before` has them as the previous build had them. The summary
        counts the files that may have units of these operations. Raises NotLocal if the edit may have changed more.
        """
        from opwright.incremental.edit import EditedFiles, NotLocal

        self._writer.journal = journal
        build, build_before = (JobFiles(job, self._templates, previous) for job in (self.job, before))
        chosen, chosen_before = (
            dict(named_emitters(emitters(job, self.request.families))) for job in (self.job, before)
        )
        # Some emitters are there only for the operators of a dispatch key, which the edit may have none of.
        if chosen.keys() != chosen_before.keys():
            raise NotLocal("emitters")
        tasks = [
            partial(EditedFiles, EmitterFiles(name, chosen_before[name], build_before), emitter, build)
            for name, emitter in chosen.items()
        ]
        outcome = self._writer.write(tasks, previous)
        return outcome._replace(emitters={**previous.emitters, **outcome.emitters})

    def keep_sources(self, known_outputs: Collection[str]) -> None:
        """Let writing end with a fault (E1212) before it replaces a file that somebody wrote.

        The known outputs are files that earlier runs wrote. What other families make replaces whatever has the names,
        as that of PyTorch's generator does.
        """
        if any(FAMILIES[name].serves_libraries or FAMILIES[name].serves_backends for name in self.request.families):
            self._writer.known_outputs = known_outputs

    def render_files(self) -> Iterator[tuple[PlannedFile, FileSpec, str | None]]:
        """Each output with its spec and the name of its template, once it is rendered; nothing is written.

        When all are rendered, the run has read everything that it reads.
        """
        for planned, spec, template, _ in self._writer.rendered_files(self._tasks()):
            yield planned, spec, template

    def differing(self) -> list[str]:
        """Paths of the outputs that are missing on disk or differ; writes nothing."""
        rendered = self._writer.rendered_files(self._tasks())
        return [file.target for file, _, _, data in rendered if data is not None and not file_holds(file.target, data)]

    def source_outputs(self) -> list[str]:
        """Paths of the outputs that belong to the user's sources, which no later run removes."""
        chosen = [emitter for emitter in emitters(self.job, self.request.families) if emitter.belong_to_sources]
        return [
            planned.target for planned in self._writer.plan(JobFiles(self.job, self._templates).tasks(chosen)).outputs
        ]

    def template_text(self, name: str) -> str:
        """Text of a template that the outputs are made with."""
        return self._templates[name].template.text


def kept_header(folder: str, name: str) -> str | None:
    """Text of a header in a folder; None if it does not exist or cannot be read, which is reported elsewhere."""
    path = join(folder, name)
    try:
        return SourceFile.read(path).text if exists(path) else None
    except Fault:
        return None


def check_kept_headers(
    headers: Iterable[tuple[str, str]], folder: str, sink: Diagnostics, *, note_missing: bool = True
) -> None:
    """Report every header, given by name and text, that differs from the file of that name in the folder.

    A difference is an error. Missing files are noted, all in one note, if `note_missing` is true.
    """
    missing: list[str] = []
    for name, text in headers:
        path = join(folder, name)
        if not exists(path):
            missing.append(name)
            continue
        try:
            existing = SourceFile.read(path)
        except Fault as fault:
            sink.add(fault.diagnostic)
            continue
        if existing.text.replace("\r\n", "\n") != text:
            _report(name, existing, text, sink)
    if missing and note_missing:
        names = ", ".join(f"`{name}`" for name in missing)
        sink.note(SHIM_MISSING, f"no header to compare with in `{folder}` for {names}")


def _report(name: str, existing: SourceFile, text: str, sink: Diagnostics) -> None:
    from opwright.source.line_diff import unified_lines

    old, new = existing.text.splitlines(), text.splitlines()
    difference = "\n".join(unified_lines(old, new, ("kept", "generated"), end=""))
    differing = (line for line, (before, now) in enumerate(zip(old, new, strict=False)) if before != now)
    same = next(differing, min(len(old), len(new)))
    start = sum(map(len, existing.text.splitlines(keepends=True)[:same]))
    length = len(old[same]) if same < len(old) else 0
    sink.error(
        SHIM_CHANGED,
        f"C shim `{name}` differs from the header that is kept",
        existing.span(start, start + length),
        label="from here on",
        notes=[difference],
        help="if compiled code may rely on the new header, write it with `--update-aoti-c-shim`",
    )
