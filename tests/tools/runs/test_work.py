import json

from allennlp.common import Params
from allennlp.models import load_archive

from tagger.tools.runs import work
from tests.conftest import CONFIGS


def test_training_never_sees_the_test_file(allennlp, at_root, tmp_path):
    test_file = tmp_path / "test.txt"
    test_file.write_text("Xylografia B-LOC\nlies O\n\n" * 3 + "Maria B-PER\nleft O\n\n")
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    # AllenNLP's own default, which takes the words of all files.
    config.pop("datasets_for_vocab_creation", None)
    config["trainer"]["num_epochs"] = 2
    config.update({"test_data_path": str(test_file), "evaluate_on_test": True})
    work.train(config, tmp_path / "run")
    vocab = load_archive(tmp_path / "run/model.tar.gz").model.vocab
    words = vocab.get_token_to_index_vocabulary("tokens")
    assert "Maria" in words
    assert not {"Xylografia", "xylografia"} & set(words)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["test_num-gold-LOC"] == 3
    archive, output = tmp_path / "run/model.tar.gz", tmp_path / "metrics.json"
    allennlp("evaluate", archive, test_file, "--output-file", output)
    for name, value in json.loads(output.read_text()).items():
        assert metrics[f"test_{name}"] == value
    assert config["test_data_path"] == str(test_file)
