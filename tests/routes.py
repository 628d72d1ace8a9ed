"""One tagger asked by all routes; they must answer alike."""

import json

import tagger
from tagger.commands.command_line import load_model, make_predictor
from tagger.commands.predict_file import predict_file


def answers_of_predict_file(archive, lines, folder, window):
    """The lines that `predict-file` writes, in a fresh model, which remembers nothing."""
    texts, output = folder / "texts.txt", folder / f"window-{window}.jsonl"
    texts.write_text("".join(f"{line}\n" for line in lines))
    predictor = make_predictor(load_model(archive), {"plain": True})
    predict_file(predictor, str(texts), output, window)
    return [json.loads(line) for line in output.read_text().splitlines()]


def plain(tagged):
    """A `TaggedText`, or a prediction, as what is compared."""
    if isinstance(tagged, dict):
        return (
            tagged["tokens"],
            tagged["tags"],
            [each["probability"] for each in tagged["entities"]],
        )
    return tagged.tokens, tagged.tags, [each.probability for each in tagged.entities]


def check_python_and_windows(archive, lines, folder, windows):
    """`predict-file` with any window, and `tagger.load` with any batch, give the same bits."""
    model = tagger.load(archive)
    wanted = [plain(model.tag(line)) for line in lines]
    assert [plain(tagged) for tagged in model.tag(lines)] == wanted
    assert [plain(tagged) for tagged in model.stream(reversed(lines))] == wanted[::-1]
    for window in windows:
        found = answers_of_predict_file(archive, lines, folder, window)
        assert [plain(prediction) for prediction in found] == wanted, window
    return wanted
