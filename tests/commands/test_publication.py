"""Two outputs are published together: a run that dies at any step is completed by the next one."""

import gzip
import os
import sys
from pathlib import Path

import fsspec
import pytest
from allennlp.common.checks import ConfigurationError
from filelock import FileLock

from tagger.commands import publication, resumable_output
from tagger.commands.prediction_outputs import Output
from tagger.commands.resumable_output import ResumableOutput, is_left_by_killed_run
from tagger.common.files import new_folder
from tagger.common.outputs import new_output

RUN = {"window": 1}
LINES = [b"secret Ada\n", b"secret Bob\n"]
#: The changes of files at which a process may die.
_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.link", "os.mkdir"}


class _Death(BaseException):
    """Stands for the end of a process, after which it changes no file."""


class _Deaths:
    """Lets a function die just before its change of a file of some number, from 1."""

    def __init__(self):
        self._left, self._locks = None, []
        sys.addaudithook(self._hook)

    def __call__(self, number, function):
        """Whether the function changed that many files, and died."""
        self._left = number
        try:
            function()
        except _Death:
            return True
        finally:
            self._left = None
            for lock in self._locks:  # The system releases those of a dead process.
                lock.release(force=True)
        return False

    def lock(self, *arguments, **options):
        self._locks.append(FileLock(*arguments, **options))
        return self._locks[-1]

    def sync(self, file):
        self._count()

    def _hook(self, event, arguments):
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if self._left is not None and (writes or event in _CHANGES):
            self._count()

    def _count(self):
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise _Death


@pytest.fixture(scope="module")
def dies():
    return _Deaths()


def _masked(lines, output, sidecar):
    for number, _ in enumerate(lines):
        sidecar.write(b"%d\n" % number)
        if isinstance(output, Path):
            (output / f"{number}.txt").write_bytes(b"***\n")
        else:
            output.write(b"***\n")


class _Run:
    """What `predict-file --mask` does with files, without a tagger."""

    def __init__(self, folder, is_folder, force=False):
        self.output = folder / ("out" if is_folder else "out.txt")
        self.sidecar = folder / "out.offsets"
        self._force = force
        open_new = new_folder if is_folder else new_output
        self.made = Output(_masked, open_new, sidecar=self.sidecar)

    def __call__(self):
        for one in (self.output, self.sidecar):
            is_own = is_left_by_killed_run(self.output, one)
            if one.exists() and not self._force and not is_own:
                raise ConfigurationError(f"{one.name} already exists")
        with ResumableOutput(self.output, RUN, self._force) as unfinished:
            for line in LINES[len(unfinished.windows) :]:
                unfinished.write([line], 0, "")
            unfinished.finish(self.made)

    def check(self, folder):
        assert {path.name for path in folder.iterdir()} == {self.output.name, self.sidecar.name}
        assert self.sidecar.read_bytes() == b"0\n1\n"
        texts = sorted(self.output.iterdir()) if self.output.is_dir() else [self.output]
        assert b"".join(path.read_bytes() for path in texts) == b"***\n" * 2


def _is_left(run):
    hidden = run.output.with_name(f".{run.output.name}.predict-file")
    names = {path.name for path in hidden.iterdir()} if hidden.exists() else set()
    return names - {"lock", "process.json"}


@pytest.mark.parametrize("kind", ["file", "old file", "folder"])
def test_a_run_killed_at_any_step_is_completed_by_the_next(kind, tmp_path, dies, monkeypatch):
    monkeypatch.setattr(os, "fsync", dies.sync)
    monkeypatch.setattr(resumable_output, "FileLock", dies.lock)
    force = kind == "old file"
    for number in range(1, 200):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = _Run(folder, kind == "folder", force)
        if force:
            run.output.write_text("old\n")
            run.sidecar.write_text("old\n")
        if not dies(number, run):
            break
        for again in (number * 7 % 40, number * 11 % 40):  # The repeat may be killed, too.
            if _is_left(run):
                dies(1 + again, run)
        if _is_left(run) or force or not run.output.exists():
            run()
        else:
            with pytest.raises(ConfigurationError, match="already exists"):
                run()
        run.check(folder)
    assert number > 30


@pytest.mark.parametrize("left", [{"out.offsets"}, {"out.offsets", "out.txt"}])
def test_a_killed_process_is_completed(left, tmp_path, monkeypatch, in_forked_process):
    """As above, but the process ends at once, without any `finally`."""
    run = _Run(tmp_path, is_folder=False)
    publish = publication._publish

    def killed(finished, output, overwrite):
        publish(finished, output, overwrite)
        if {path.name for path in tmp_path.iterdir() if path.name[0] != "."} == left:
            os._exit(137)

    with monkeypatch.context() as dying:
        dying.setattr(publication, "_publish", killed)
        with pytest.raises(EOFError):
            in_forked_process(run)
    assert {path.name for path in tmp_path.iterdir()} == {".out.txt.predict-file", *left}
    run()
    run.check(tmp_path)


@pytest.mark.parametrize("num_published", [1, 2])
def test_objects_in_stores_are_completed_too(num_published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = f"memory://{tmp_path.name}"
    names = [f"{folder}/out.txt.gz", f"{folder}/out.offsets"]
    store, publish, published = fsspec.filesystem("memory"), publication._publish, []

    def run():
        with ResumableOutput(names[0], RUN) as unfinished:
            if not unfinished.windows:
                unfinished.write(LINES, 0, "")
            unfinished.finish(Output(_masked, sidecar=names[1]))

    def dies(*of_output):
        publish(*of_output)
        published.append(of_output)
        if len(published) == num_published:
            raise _Death

    with monkeypatch.context() as dying:
        dying.setattr(publication, "_publish", dies)
        with pytest.raises(_Death):
            run()
    assert is_left_by_killed_run(names[0], names[1])
    assert is_left_by_killed_run(names[0], names[0]) == (num_published == 2)
    run()
    assert gzip.decompress(store.cat(names[0])) == b"***\n" * 2
    assert store.cat(names[1]) == b"0\n1\n"
    assert not [*tmp_path.iterdir()]
    with pytest.raises(ConfigurationError, match="another program has created"):
        run()


@pytest.mark.parametrize("name", ["output", "sidecar"])
def test_what_another_program_has_created_meanwhile_is_kept(name, tmp_path):
    run = _Run(tmp_path, is_folder=False)
    created = getattr(run, name)

    def encode(*arguments):
        _masked(*arguments)
        created.write_text("mine\n")

    whole, run.made = run.made, run.made._replace(encode=encode)
    with pytest.raises(ConfigurationError, match=f"another program has created .*{created.name}"):
        run()
    assert created.read_text() == "mine\n"
    assert {path.name for path in tmp_path.iterdir()} == {created.name, ".out.txt.predict-file"}
    created.unlink()
    run.made = whole
    run()
    run.check(tmp_path)


def test_a_finished_run_says_that_it_could_not_remove_texts(tmp_path, monkeypatch):
    run = _Run(tmp_path, is_folder=False)
    unlink = Path.unlink

    def fails(path, **options):
        if path.name.startswith("0"):
            raise PermissionError(f"busy: {path.name}")
        unlink(path, **options)

    with monkeypatch.context() as failing:
        failing.setattr(Path, "unlink", fails)
        with pytest.raises(ConfigurationError, match=r"complete, but .* cannot be removed.*busy"):
            run()
    run()
    run.check(tmp_path)


@pytest.mark.parametrize("is_folder", [False, True])
def test_outputs_are_on_disk_before_they_have_their_names(is_folder, tmp_path, monkeypatch):
    """Otherwise a power failure may leave empty outputs, and nothing to make them of."""
    run, synced, sync = _Run(tmp_path, is_folder), set(), os.fsync

    def fsync(file):
        synced.add(os.fstat(file).st_ino)
        sync(file)

    monkeypatch.setattr(os, "fsync", fsync)
    run()
    texts = [*run.output.iterdir()] if is_folder else [run.output]
    assert {path.stat().st_ino for path in (*texts, run.sidecar)} <= synced
