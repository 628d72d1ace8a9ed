"""Workers import this module; it imports nothing that loads slowly."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs Ray: pip install '.[ray]'")

import tagger  # noqa: E402
from examples import predict_with_ray  # noqa: E402
from examples.predict_with_ray import Worker, predict  # noqa: E402
from tests.kinds import TOKENIZERS, sentences, train  # noqa: E402
from tests.routes import plain  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # Of Ray and what it brings, as its processes start and end.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True, scope="module")
def _environment_as_before():
    """Ray sets `PYTHONBREAKPOINT`, with which no process would start warm."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


@pytest.fixture(scope="module")
def one_core():
    """A cluster that has room for one worker at a time."""
    ray.init(num_cpus=1, include_dashboard=False)
    yield
    ray.shutdown()


class KilledOnce(Worker):
    """Is killed in the middle of the second part, unless another worker has been."""

    def predict_window(self, path, lines):
        trace = Path(path).with_suffix(".trace")
        if lines[0][1].startswith("line 11") and not trace.exists():
            trace.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict_window(path, lines)


class Echo(Worker):
    """Predicts the number and the text of each line; notes which parts it has begun."""

    def load(self):
        pass

    def predict(self, part, output):
        with open(self._archive + ".begun", "a") as file:
            file.write(f"{part.file}\n")
        return super().predict(part, output)

    def predict_window(self, path, lines):
        assert len(lines) <= self._window
        if any("killer" in text for _, text in lines):
            os.kill(os.getpid(), signal.SIGKILL)
        wrong = [number for number, text in lines if "wrong" in text]
        if wrong and self._on_error == "stop":
            raise ValueError(f"{path}:{wrong[0]}: wrong")
        return [f"{number} {text.rstrip()}\n".encode() for number, text in lines], len(wrong)


@pytest.fixture
def archive(tmp_path):
    """What `Echo` takes for an archive."""
    path = tmp_path / "echo"
    path.write_text("model")
    return str(path)


@pytest.fixture
def begun(archive):
    """Returns the parts that workers have begun since the last call."""

    def begun():
        path = Path(archive + ".begun")
        names = re.findall(r"part-0*(\d+)", path.read_text()) if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(map(int, names))

    return begun


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"line {number}\n" for number in range(12)))
    return path


def echo(archive, texts, output, **options):
    options = {"num_workers": 1, "window": 2, "windows_per_part": 1, "worker": Echo, **options}
    # So that the next worker need not wait for the core of a killed one, which Ray gives back late.
    options.setdefault("cpus", 0.2)
    predict(archive, [str(texts)], str(output), **options)


def joined(output):
    return b"".join(path.read_bytes() for path in sorted(output.glob("part-*.jsonl")))


@pytest.fixture
def predictor(trained):
    from allennlp.models import load_archive
    from allennlp.predictors import Predictor

    return Predictor.from_archive(load_archive(trained / "model.tar.gz"))


def test_parts_hold_what_predict_file_writes_even_if_a_worker_is_killed(
    one_core, trained, predictor, tmp_path, capfd
):
    from tagger.commands.predict_file import predict_file

    texts, expected, output = (tmp_path / name for name in ("in.txt", "out.jsonl", "predictions"))
    lines = [f"line {number} of {'Ada ' * (number % 5)}".encode() for number in range(40)]
    lines[7] = b"no \xff text"
    lines[9] = b'{"tokens": 3}'
    lines[22] = "Zoë met Łukasz\u2028in Kraków".encode()
    texts.write_bytes(
        b"\xef\xbb\xbf\n" + b"\r\n".join(lines[:20]) + b"\r\r" + b"\n \n".join(lines[20:])
    )
    predict_file(predictor, str(texts), expected, window=4, on_error="skip")
    # The second worker waits until the first one is killed.
    options = {"window": 4, "windows_per_part": 2, "on_error": "skip", "worker": KilledOnce}
    predict(str(trained / "model.tar.gz"), [str(texts)], str(output), num_workers=2, **options)
    assert texts.with_suffix(".trace").exists()
    assert joined(output) == expected.read_bytes()
    assert expected.read_bytes().count(b'{"error"') == 2
    manifest = json.loads((output / "manifest.json").read_text())
    assert (manifest["num_inputs"], manifest["num_errors"]) == (61, 2)
    assert [part["num_inputs"] for part in manifest["parts"]] == [8] * 7 + [5]
    assert {path.name for path in output.iterdir()} == {
        "manifest.json",
        *(part["file"] for part in manifest["parts"]),
    }
    messages = capfd.readouterr().err
    assert "the workers need 2 CPUs in all, and the cluster has 1 CPU\n" in messages
    assert "A worker died at part-000001.jsonl (line 9 of " in messages


def test_a_run_that_has_ended_early_keeps_its_finished_parts(
    one_core, archive, texts, tmp_path, begun
):
    output = tmp_path / "predictions"
    text = texts.read_text()
    texts.write_text(text.replace("line 6", "wrong 6"))
    with pytest.raises(ValueError, match="texts.txt:7: wrong"):
        echo(archive, texts, output)
    assert begun() == [0, 1, 2, 3]
    # A file that was cut short when its machine went down, and a record that is not whole.
    (output / "part-000001.jsonl").write_bytes(b"")
    with open(output / "progress.jsonl", "a") as progress:
        progress.write('{"file": "part-0000')
    with pytest.raises(ValueError, match="texts.txt:7: wrong"):
        echo(archive, texts, output)
    assert begun() == [1, 3]
    with pytest.raises(ValueError, match="was begun with another `window`; repeat that command"):
        echo(archive, texts, output, window=1)
    # Parts of changed lines are predicted again.
    texts.write_text(texts.read_text().replace("line 4", "LINE 4"))
    echo(archive, texts, output, on_error="skip")
    assert begun() == [2, 3, 4, 5]
    words = {4: "LINE", 6: "wrong"}
    assert joined(output).decode().splitlines() == [
        f"{number + 1} {words.get(number, 'line')} {number}" for number in range(12)
    ]
    with pytest.raises(ValueError, match="is complete; name another folder, or add --force"):
        echo(archive, texts, output)
    texts.write_text(text[: text.index("line 3")])
    echo(archive, texts, output, overwrite=True)
    assert begun() == [0, 1]
    assert joined(output) == b"1 line 0\n2 line 1\n3 line 2\n"


def test_a_part_that_kills_every_worker_ends_the_run(
    one_core, archive, texts, tmp_path, begun, monkeypatch
):
    monkeypatch.setattr(predict_with_ray, "MAX_DEATHS", 2)
    texts.write_text(texts.read_text().replace("line 5", "killer"))
    message = r"2 workers died at part-000002.jsonl \(line 5 of .*texts.txt and after\)"
    with pytest.raises(RuntimeError, match=message):
        echo(archive, texts, tmp_path / "predictions")
    assert begun().count(2) == 2


def test_a_worker_without_a_machine_holds_nothing_up(one_core, archive, texts, tmp_path, capfd):
    echo(archive, texts, tmp_path / "predictions", num_gpu_workers=1, cpus=1)
    assert (
        "the workers need 2 CPUs and 1 GPU in all, and the cluster has 1 CPU\n"
        in capfd.readouterr().err
    )
    assert joined(tmp_path / "predictions").count(b"\n") == 12


def test_a_cluster_that_never_has_room_is_an_error(one_core, archive, texts, tmp_path):
    message = "No worker can start: the workers need 2 CPUs in all, and the cluster has 1 CPU$"
    with pytest.raises(ValueError, match=message):
        echo(archive, texts, tmp_path / "predictions", cpus=2, can_grow=False)


def test_waiting_for_room_is_reported(one_core, archive, texts, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(predict_with_ray, "PATIENCE", 0.1)

    def say(message):
        if "No worker is ready yet" in message:
            raise InterruptedError(message)

    monkeypatch.setattr(predict_with_ray, "_say", say)
    with pytest.raises(
        InterruptedError, match="No worker is ready yet: the workers need 2 CPUs in all, and the"
    ):
        echo(archive, texts, tmp_path / "predictions", cpus=2)


def test_a_folder_of_other_files_is_left_alone(one_core, archive, texts, tmp_path):
    with pytest.raises(ValueError, match="holds other files; name another folder"):
        echo(archive, texts, tmp_path)


def test_compressed_files_and_empty_folders_are_refused(one_core, archive, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts.gz").touch()
    with pytest.raises(ValueError, match="names the folder .*empty, which has no files"):
        echo(archive, tmp_path / "empty", tmp_path / "predictions")
    with pytest.raises(ValueError, match="texts.gz is compressed; unpack it"):
        echo(archive, tmp_path / "texts.gz", tmp_path / "predictions")


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_worker_splits_texts_as_the_archive_says(kind, at_root, tmp_path):
    archive, lines = train(kind, tmp_path), sentences(40)
    worker = Worker(str(archive), 32, "stop", {"plain": True}, uses_gpu=False)
    worker.load()
    written, num_skipped = worker.predict_window("in.txt", list(enumerate(lines, 1)))
    assert num_skipped == 0
    assert [plain(json.loads(line)) for line in written] == list(
        map(plain, tagger.load(archive).tag(lines))
    )
