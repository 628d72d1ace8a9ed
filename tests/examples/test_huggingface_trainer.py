import json

import pytest

from tests.configs import WORDS, save_small_transformer
from tests.conftest import ROOT

TOY = ROOT / "data/toy"

# Fails without accelerate, which `pip install '.[huggingface]'` installs.
pytestmark = pytest.mark.filterwarnings(
    # The trainer warns where there is no GPU.
    "ignore:.*pin_memory:UserWarning"
)


def write_transformer(folder):
    """Writes a tiny transformer that knows the words of the toy corpus."""
    lines = [line.split() for line in (TOY / "train.txt").read_text().splitlines()]
    words = sorted({line[0].lower() for line in lines if line and line[0].isalpha()})
    folder.mkdir()
    save_small_transformer(folder, [*WORDS, *words, "."], size=32, num_layers=1)


def run(folder, *more):
    from examples.huggingface_trainer import main

    write_transformer(folder / "transformer")
    main(
        [
            *("--model", str(folder / "transformer"), "--output", str(folder / "run")),
            *("--train", str(TOY / "train.txt"), "--dev", str(TOY / "dev.txt")),
            *("--learning-rate", "0.01", "--batch-size", "8", *more),
        ]
    )


def test_the_example_learns_the_toy_corpus_and_its_model_can_be_loaded(tmp_path, capsys):
    from tagger.integrations.huggingface import WordPieceTagger

    weighting = {"type": "chain", "weight_rule": {"type": "inverse_sqrt"}}
    run(tmp_path, "--weighting", json.dumps(weighting), "--epochs", "4")
    output = capsys.readouterr().out
    metrics = json.loads(output[output.rindex("{") :])
    assert metrics["eval_f1"] > 0.8
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert len(set(config["weighting"]["tag_weights"])) > 2
    sentence = (TOY / "dev.txt").read_text().split("\n\n")[0]
    words = [line.split()[0] for line in sentence.splitlines() if line]
    tagged = WordPieceTagger.from_pretrained(tmp_path / "run").tag(tokens=words)
    assert f"\n{' '.join(words)}\n" in f"\n{output}"
    for entity in tagged.entities:
        assert f"{entity.start}-{entity.end} {entity.text}\n" in output


def test_a_line_with_one_column_is_an_error_that_names_it(tmp_path):
    from examples.huggingface_trainer import read_sentences

    path = tmp_path / "bad.txt"
    path.write_text("Ada I-PER\n\nleft\n")
    with pytest.raises(ValueError, match=r"bad.txt:3: expected a token and its tag, got 'left'"):
        read_sentences(path, "IOB1")
    path.write_text("-DOCSTART- -X- O O\n\nAda NNP I-PER\nleft VBD O\n \n")
    (sentence,) = read_sentences(path, "IOB1")
    assert sentence == (["Ada", "left"], ["B-PER", "O"])
    path.write_text("\n\n")
    with pytest.raises(ValueError, match="bad.txt: expected a token and its tag on each line"):
        read_sentences(path, "BIO")
