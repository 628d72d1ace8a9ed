"""2,000 sentences, odd ones among them, by all routes, and `predict-file` killed at random moments."""

import random
import signal
import time

import pytest
from scripts.forked_command import ForkedCommand, run_command, without_settings

import tagger
from tests.kinds import KINDS, sentences, train
from tests.routes import check_python_and_windows, plain

pytestmark = pytest.mark.system

#: The runtime of ONNX sums in another order than PyTorch.
ONNX_TOLERANCE = 1e-4
NUM_SENTENCES = 2_000
WINDOW = 32


@pytest.fixture(scope="module", params=KINDS)
def archive(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        from tests.conftest import ROOT

        monkeypatch.chdir(ROOT)
        return train(request.param, tmp_path_factory.mktemp("kind"))


@pytest.fixture(scope="module")
def lines():
    return sentences(NUM_SENTENCES)


def test_windows_and_batches_change_nothing(archive, lines, tmp_path):
    check_python_and_windows(archive, lines, tmp_path, (13, 2048))


def test_spacy_finds_the_same_entities(archive, lines):
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("allennlp_tagger", config={"model": str(archive)})
    # spaCy's own tokens hold byte order marks; ours do not.
    lines = [line for line in lines if "\ufeff" not in line]
    for doc, tagged in zip(nlp.pipe(lines), tagger.load(archive).tag(lines)):
        group = doc.spans["allennlp_tagger"]
        assert [(span.label_, span.start_char, span.end_char) for span in group] == [
            (entity.label, entity.start, entity.end) for entity in tagged.entities
        ]
        assert group.attrs["probabilities"] == [each.probability for each in tagged.entities]


@pytest.mark.parametrize("archive", ["word vectors", "fine-tuned"], indirect=True)
def test_onnx_gives_the_same_tags(archive, lines, tmp_path):
    from allennlp.models import load_archive

    import tagger_onnx
    from tagger.commands.export import export

    export(load_archive(archive), tmp_path / "tagger.onnx")
    found = tagger_onnx.load(tmp_path / "tagger.onnx").tag(lines)
    for given, tagged in zip(found, tagger.load(archive).tag(lines)):
        (tokens, tags, own), (*expected, probabilities) = plain(given), plain(tagged)
        assert [tokens, tags] == expected
        assert own == pytest.approx(probabilities, abs=ONNX_TOLERANCE)


def test_a_killed_run_ends_with_the_same_bytes(archive, lines, tmp_path):
    draw = random.Random(0)
    (tmp_path / "texts.txt").write_text("".join(f"{line}\n" for line in lines[:600]))
    options = [str(archive), "texts.txt", "--plain", "--window", str(WINDOW), "-o"]
    with without_settings():
        assert run_command(["predict-file", *options, "unbroken.jsonl"], tmp_path).status == 0
        for _ in range(3):
            num_windows = draw.randrange(1, 600 // WINDOW)
            killed = ForkedCommand(["predict-file", *options, "out.jsonl"], tmp_path)
            record = tmp_path / ".out.jsonl.predict-file"
            while not killed.has_ended():
                if record.exists() and record.read_bytes().count(b'{"window"') >= num_windows:
                    time.sleep(draw.uniform(0, 0.05))
                    killed.send(signal.SIGKILL)
                    break
                time.sleep(0.001)
            assert killed.wait().status == -signal.SIGKILL
            outcome = run_command(["predict-file", *options, "out.jsonl"], tmp_path)
            assert outcome.status == 0, outcome.last_line
            written = tmp_path / "out.jsonl"
            assert written.read_bytes() == (tmp_path / "unbroken.jsonl").read_bytes()
            written.unlink()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("archive", ["frozen", "documents"], indirect=True)
def test_rays_parts_are_those_of_predict_file(archive, lines, tmp_path):
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'allennlp-tagger[ray]'")

    from examples.predict_with_ray import predict
    from tagger.commands.command_line import load_model, make_predictor
    from tagger.commands.predict_file import predict_file

    texts, expected, output = (tmp_path / name for name in ("in.txt", "out.jsonl", "parts"))
    texts.write_text("".join(f"{line}\n" for line in lines[:500]))
    predict_file(make_predictor(load_model(archive), {"plain": True}), str(texts), expected, 32)
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        options = {"window": 50, "windows_per_part": 2, "predictor_args": {"plain": True}}
        predict(str(archive), [str(texts)], str(output), num_workers=2, **options)
    finally:
        ray.shutdown()
    parts = sorted(output.glob("part-*.jsonl"))
    assert len(parts) == 5
    assert b"".join(part.read_bytes() for part in parts) == expected.read_bytes()
