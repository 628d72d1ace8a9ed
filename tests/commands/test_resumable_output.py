import json
import os
import socket
import sys

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.commands import resumable_output
from tagger.commands.resumable_output import ResumableOutput

RUN = {"window": 2, "model": "a"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out.jsonl"


def write(output, num_windows, run=RUN, **options):
    """Writes windows of two lines, and is then killed: nothing is closed or finished."""
    unfinished = ResumableOutput(output, run, **options)
    for number in range(len(unfinished.windows), num_windows):
        lines = [b"%d\n" % (2 * number), b"%d\n" % (2 * number + 1)]
        unfinished.write(lines, 1, f"digest {number}")
    return unfinished


def kill(unfinished):
    """Gives back what the system takes back from a killed process."""
    unfinished.__exit__()


def hidden(output):
    return sorted(path.name for path in output.parent.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("num_bytes_lost", range(8))
def test_whole_windows_are_kept_whatever_is_cut_off(output, num_bytes_lost):
    kill(write(output, 2))
    (part,) = output.parent.glob("*.unfinished")
    part.write_bytes(part.read_bytes()[: 8 - num_bytes_lost])
    with ResumableOutput(output, RUN) as unfinished:
        assert len(unfinished.windows) == (2, 1, 1, 1, 1, 0, 0, 0)[num_bytes_lost]
        assert unfinished.num_errors == len(unfinished.windows)
    with write(output, 3) as unfinished:
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n2\n3\n4\n5\n"
    assert hidden(output) == []


@pytest.mark.parametrize("num_bytes_lost", [1, 20, 60])
def test_a_record_that_was_not_written_whole_is_no_trouble(output, num_bytes_lost):
    kill(write(output, 2))
    record = output.with_name(".out.jsonl.predict-file")
    record.write_bytes(record.read_bytes()[:-num_bytes_lost])
    with ResumableOutput(output, RUN) as unfinished:
        assert resumable_output._notes(unfinished._record)[-1]["process"] == os.getpid()
    with write(output, 3) as unfinished:
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n2\n3\n4\n5\n"


def test_the_part_has_a_name_that_nobody_can_guess(output, tmp_path):
    for name in ("out.jsonl.unfinished", ".out.jsonl.unfinished"):
        (tmp_path / name).write_text("mine")
    with write(output, 1) as unfinished:
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n"
    for name in ("out.jsonl.unfinished", ".out.jsonl.unfinished"):
        assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("content", ["", "mine\n", '{"predict-file": 1}', '{"token": "../../x"}'])
def test_a_file_of_the_user_with_the_records_name_is_left_alone(output, content):
    record = output.with_name(".out.jsonl.predict-file")
    record.write_text(content)
    with pytest.raises(ConfigurationError, match="was not made by `predict-file`.*move the file"):
        ResumableOutput(output, RUN, overwrite=True)
    assert record.read_text() == content


def test_of_two_processes_the_second_is_told_who_writes(output, in_forked_process):
    def claim():
        try:
            ResumableOutput(output, RUN)
        except ConfigurationError as error:
            return str(error)

    with write(output, 1):
        message = in_forked_process(claim)
    expected = f"is being written by process {os.getpid()} on {socket.gethostname()} since 2"
    assert expected in message
    assert "wait for it, or give another name" in message


@pytest.mark.parametrize(
    ("holder", "message"),
    [
        ({"process": 2**22 + 1, "host": socket.gethostname()}, None),
        ({"process": os.getpid(), "host": socket.gethostname()}, f"process {os.getpid()} on"),
        ({"process": 1, "host": "elsewhere"}, "process 1 on elsewhere since noon"),
    ],
    ids=["dead", "alive", "elsewhere"],
)
def test_without_locks_a_process_counts_as_long_as_it_may_live(
    output, monkeypatch, holder, message
):
    unfinished = write(output, 1)
    unfinished._note(**holder, since="noon")
    kill(unfinished)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    if message is None:
        with ResumableOutput(output, RUN) as unfinished:
            assert unfinished.num_lines == 2
    else:
        with pytest.raises(ConfigurationError, match=message):
            ResumableOutput(output, RUN)


def test_only_an_equal_run_goes_on(output):
    kill(write(output, 1))
    other = {"window": 3, "model": "a", "more": 1}
    message = "begun by a run with another `more`, `window`; .* discard its 2 predictions"
    with pytest.raises(ConfigurationError, match=message):
        ResumableOutput(output, other)
    with ResumableOutput(output, RUN) as unfinished:
        assert unfinished.num_lines == 2
    with ResumableOutput(output, other, overwrite=True) as unfinished:
        assert unfinished.windows == []
    assert len(hidden(output)) == 2


def test_a_run_that_has_written_nothing_is_in_nobodys_way(output):
    kill(write(output, 0))
    with ResumableOutput(output, {"window": 3}) as unfinished:
        unfinished.finish()
    assert hidden(output) == []


def test_windows_that_are_cut_off_are_written_anew(output):
    unfinished = write(output, 3)
    unfinished.keep(1)
    unfinished.write([b"new\n", b"er\n"], 0, "other digest")
    kill(unfinished)
    with ResumableOutput(output, RUN) as unfinished:
        assert [window.digest for window in unfinished.windows] == ["digest 0", "other digest"]
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\nnew\ner\n"


def test_a_run_killed_while_it_renames_does_not_write_to_its_output(output, monkeypatch):
    unfinished = write(output, 2)
    monkeypatch.setattr(
        resumable_output, "publish", lambda part, path, overwrite: os.link(part, path)
    )
    monkeypatch.setattr(type(unfinished._record_path), "unlink", lambda path, **options: None)
    unfinished.finish()
    monkeypatch.undo()
    kill(unfinished)
    content = output.read_bytes()
    with ResumableOutput(output, RUN, overwrite=True) as unfinished:
        assert unfinished.windows == []
        unfinished.write([b"other\n"], 0, "digest")
        assert output.read_bytes() == content
        unfinished.finish()
    assert output.read_bytes() == b"other\n"
    assert hidden(output) == []


def test_an_output_that_appears_meanwhile_is_kept(output):
    with write(output, 1) as unfinished:
        output.write_text("mine")
        with pytest.raises(ConfigurationError, match="made by another program meanwhile"):
            unfinished.finish()
    assert output.read_text() == "mine"
    output.unlink()
    with ResumableOutput(output, RUN) as unfinished:
        assert unfinished.num_lines == 2
        unfinished.finish()
    assert output.read_bytes() == b"0\n1\n"


def test_the_record_is_one_object_a_line(output):
    with write(output, 1):
        lines = output.with_name(".out.jsonl.predict-file").read_text().split("\n")
    notes = [json.loads(line) for line in lines if line]
    assert [list(note) for note in notes] == [
        ["predict-file", "token", "run"],
        ["process", "host", "since"],
        ["window", "num_lines", "num_errors", "digest"],
    ]
