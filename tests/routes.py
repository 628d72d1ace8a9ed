"""Checks that all routes to a tagger give the same answers."""

import json

import pytest
from allennlp.models import load_archive

import tagger
from tagger.commands.command_line import make_predictor
from tagger.commands.predict_file import predict_file

#: ONNX Runtime sums in another order than PyTorch.
ONNX_TOLERANCE = 1e-4


def answers_of_predict_file(archive, lines, folder, window):
    """The output lines of `predict-file` with a newly loaded model, which has no cached features."""
    texts, output = folder / "texts.txt", folder / f"window-{window}.jsonl"
    texts.write_text("".join(f"{line}\n" for line in lines))
    predictor = make_predictor(load_archive(archive), {"plain": True})
    predict_file(predictor, str(texts), output, window)
    return [json.loads(line) for line in output.read_text().splitlines()]


def plain(tagged):
    """Reduces a `TaggedText` or a prediction to the compared fields."""
    if isinstance(tagged, dict):
        probabilities = [each["probability"] for each in tagged["entities"]]
        return tagged["tokens"], tagged["tags"], probabilities
    return tagged.tokens, tagged.tags, [each.probability for each in tagged.entities]


def check_python_and_windows(archive, lines, folder, windows):
    """`predict-file` with any window and `tagger.load` with any batch agree bit for bit."""
    model = tagger.load(archive)
    wanted = [plain(model.tag(line)) for line in lines]
    assert [plain(tagged) for tagged in model.tag(lines)] == wanted
    assert [plain(tagged) for tagged in model.stream(reversed(lines))] == wanted[::-1]
    for window in windows:
        found = answers_of_predict_file(archive, lines, folder, window)
        assert [plain(prediction) for prediction in found] == wanted, window
    return wanted


def check_spacy(archive, lines):
    """spaCy's component finds the same entities with the same probabilities."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("allennlp_tagger", config={"model": str(archive)})
    for doc, tagged in zip(nlp.pipe(lines), tagger.load(archive).tag(lines), strict=True):
        group = doc.spans["allennlp_tagger"]
        # If the tagger has other tokens, entities are widened to spaCy's tokens.
        places = [(entity.start, entity.end) for entity in tagged.entities]
        whole = [doc.char_span(*each, alignment_mode="expand") for each in places]
        assert [(span.label_, span.start, span.end) for span in group] == [
            (entity.label, span.start, span.end) for entity, span in zip(tagged.entities, whole)
        ]
        assert plain(tagged)[2] == group.attrs["probabilities"]


def check_onnx(archive, lines, folder):
    """The exported tagger has the same tokens and tags, and nearly the same probabilities."""
    from allennlp.models import load_archive

    import tagger_onnx
    from tagger.integrations.onnx.commands.export import export

    export(load_archive(archive), folder / "tagger.onnx")
    exported = tagger_onnx.load(folder / "tagger.onnx")
    taken, refused = [], []
    for line in lines:
        try:
            exported.tag(line)
            taken.append(line)
        except ValueError as error:
            refused.append(str(error))
    # A transformer is exported for texts of one window.
    assert all("word pieces, but the transformer takes at most 102" in each for each in refused)
    assert all(int(each.split()[3]) > 102 for each in refused)
    assert len(taken) > len(lines) / 2
    wanted = tagger.load(archive).tag(taken)
    for given, tagged in zip(exported.tag(taken), wanted, strict=True):
        (tokens, tags, own), (*expected, probabilities) = plain(given), plain(tagged)
        assert [tokens, tags] == expected
        assert own == pytest.approx(probabilities, abs=ONNX_TOLERANCE)
