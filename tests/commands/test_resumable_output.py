import errno
import os
from contextlib import suppress

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.commands import resumable_output
from tagger.commands.prediction_outputs import Output
from tagger.commands.resumable_output import ResumableOutput

RUN = {"window": 2, "model": "a"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out.jsonl"


def write(output, num_windows, run=RUN, **options):
    """Writes windows of two lines and stops as if killed: nothing is closed or finished."""
    unfinished = ResumableOutput(output, run, **options)
    for number in range(len(unfinished.windows), num_windows):
        lines = [b"%d\n" % (2 * number), b"%d\n" % (2 * number + 1)]
        unfinished.write(lines, 1, f"{number:04x}")
    return unfinished


def kill(unfinished):
    """Releases what the system releases when a process is killed."""
    unfinished.__exit__()


def folder_of(output):
    return output.with_name(f".{output.name}.predict-file")


def parts_of(output):
    return sorted(folder_of(output).glob("0*"))


@pytest.mark.parametrize("lost", [None, 0, 1])
def test_windows_up_to_a_lost_one_are_kept(output, lost):
    kill(write(output, 2))
    if lost is not None:
        parts_of(output)[lost].unlink()
    with ResumableOutput(output, RUN) as unfinished:
        assert len(unfinished.windows) == (2 if lost is None else lost)
        assert unfinished.num_errors == len(unfinished.windows)
        assert unfinished.num_lines == 2 * len(unfinished.windows)
    with write(output, 3) as unfinished:
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n2\n3\n4\n5\n"
    assert not folder_of(output).exists()


def test_a_partly_written_window_is_written_again(output, monkeypatch):
    def dies(*arguments):
        raise KeyboardInterrupt

    unfinished = write(output, 1)
    with monkeypatch.context() as dying:
        dying.setattr("tagger.common.files.publish", dies)
        with pytest.raises(KeyboardInterrupt):
            unfinished.write([b"half\n"], 0, "")
    (folder_of(output) / ".000000000000000001-2-1-0001.ab12.unfinished").write_text("half")
    kill(unfinished)
    with write(output, 2) as unfinished:
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n2\n3\n"
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "was not made by `predict-file`.*move the file"),
        ("mine\n", "was not made by `predict-file`.*move the file"),
        (None, "holds `mine`, which `predict-file` did not write"),
    ],
)
def test_a_users_file_with_the_name_of_our_folder_is_left_alone(output, content, message):
    if content is None:
        folder_of(output).mkdir()
        (folder_of(output) / "mine").touch()
    else:
        folder_of(output).write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        ResumableOutput(output, RUN, overwrite=True)
    assert (folder_of(output) / "mine").exists() or folder_of(output).read_text() == content


def test_only_a_run_with_the_same_settings_resumes(output):
    kill(write(output, 1))
    other = {"window": 3, "model": "a", "more": 1}
    message = "begun by a run with another `more`, `window`; .* discard its 2 predictions"
    with pytest.raises(ConfigurationError, match=message):
        ResumableOutput(output, other)
    with ResumableOutput(output, RUN) as unfinished:
        assert unfinished.num_lines == 2
    with ResumableOutput(output, other, overwrite=True) as unfinished:
        assert unfinished.windows == []
    assert parts_of(output) == []


def test_a_run_that_wrote_nothing_does_not_block_others(output):
    kill(write(output, 0))
    with ResumableOutput(output, {"window": 3}) as unfinished:
        unfinished.finish()
    assert list(output.parent.iterdir()) == [output]


def test_truncated_windows_are_written_again(output):
    unfinished = write(output, 3)
    unfinished.keep(1)
    unfinished.write([b"new\n", b"er\n"], 0, "ffff")
    kill(unfinished)
    with ResumableOutput(output, RUN) as unfinished:
        assert [window.digest for window in unfinished.windows] == ["0000", "ffff"]
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\nnew\ner\n"


def test_a_run_killed_at_the_end_leaves_its_output_unchanged(output, monkeypatch):
    unfinished = write(output, 2)
    monkeypatch.setattr(resumable_output, "remove_run", lambda folder: None)
    unfinished.finish()
    monkeypatch.undo()
    kill(unfinished)
    content = output.read_bytes()
    with ResumableOutput(output, {"other": 1}, overwrite=True) as unfinished:
        unfinished.write([b"other\n"], 0, "")
        assert output.read_bytes() == content
        unfinished.finish()
    assert output.read_bytes() == b"other\n"
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize("end", ["killed", "full disk"])
def test_a_run_killed_while_copying_its_windows_resumes(output, end, in_forked_process):
    kill(write(output, 2))

    def stop(lines, file):
        file.write(next(lines))
        file.flush()
        if end == "killed":
            os._exit(137)
        raise OSError(errno.ENOSPC, "No space left on device")

    def finish():
        unfinished = ResumableOutput(output, RUN)
        with unfinished, pytest.raises(OSError, match="No space left"):
            unfinished.finish(Output(stop))

    with suppress(EOFError):
        in_forked_process(finish)
    assert list(output.parent.iterdir()) == [folder_of(output)]
    left = len(list(folder_of(output).glob(".*.unfinished")))
    assert left == (1 if end == "killed" else 0)
    with ResumableOutput(output, RUN) as unfinished:
        assert unfinished.num_lines == 4
        assert not list(folder_of(output).glob(".*.unfinished"))
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n2\n3\n"
    assert list(output.parent.iterdir()) == [output]


def test_an_output_that_appears_meanwhile_is_kept(output):
    with write(output, 1) as unfinished:
        output.write_text("mine")
        with pytest.raises(ConfigurationError, match="another program has created .* meanwhile"):
            unfinished.finish()
    assert output.read_text() == "mine"
    output.unlink()
    with ResumableOutput(output, RUN) as unfinished:
        assert unfinished.num_lines == 2
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n"
