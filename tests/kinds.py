"""Taggers of every kind that train in seconds, and odd sentences.

The transformers have random weights.
"""

import random
import shutil

from tests.conftest import CONFIGS, ROOT
from tests.documents import text_of_documents
from tests.transformers.small import save_word_pieces

TOY = CONFIGS / "toy_bilstm_crf.jsonnet"
FINE_TUNED = ROOT / "tagger/training/transformer.libsonnet"
#: Sentences that break common assumptions. None has a line break, so each is a line.
ODD = [
    "x",
    ".",
    "?!… — ,,;;",
    "Maria \U0001f469\u200d\U0001f4bb met \U0001f1eb\U0001f1ee Paulo \U0001f600\U0001f600 in Lisbon",
    "Zoe\u0308 a\u0301\u0302\u0303 n\u0303o",
    "מריה פגשה את פאולו בליסבון",
    "التقت ماريا Paulo في لشبونة",
    "a\x07b \x01\x02 c\x7f",
    "Ada\u00a0Lovelace\u2003lives\u200bin\u3000Oslo",
    "\ufeffMaria met \ufeff Paulo",
    "\ufeff",
    "",
    " \t\u3000",
    "w" * 400,
    " ".join(["Maria", "said", "the"] * 100),
    " ".join(["Maria met Paulo (in Lisbon).", "Oslo said: a 12!"] * 15),
    "東京でパウロに会った。",
    "\ufffd \u00ad soft\u00adhyphen",
    "12 Elm St., Salem: L'Oise, 5mg/d. (x-ray) aujourd'hui M. d'Arc",
]


def sentences(number, seed=0):
    """Returns sentences of 1 to 40 words, including the odd ones."""
    draw = random.Random(seed)
    words = "Maria Lindqvist met Paulo in Lisbon , the said Oslo a 12".split()
    plain = [
        " ".join(draw.choices(words, k=draw.randint(1, 40))) + draw.choice([".", ""])
        for _ in range(number - len(ODD))
    ]
    both = [*plain, *ODD]
    draw.shuffle(both)
    return both


def _with_vectors(folder):
    vectors = folder / "vectors.txt"
    draw = random.Random(0)
    words = ("maria", "paulo", "lisbon", "the", "said", "in")
    rows = [[f"{draw.gauss(0, 1):.3f}" for _ in range(20)] for _ in words]
    lines = [" ".join([word, *row]) for word, row in zip(words, rows)]
    vectors.write_text("\n".join(lines))
    settings = f"glove_file:: '{vectors}', lowercase_words:: true, num_epochs:: 1"
    return f"(import '{TOY}') + {{ {settings} }}"


def _frozen(precision):
    def config(folder):
        transformer = save_word_pieces(folder / "transformer")
        return f"""(import '{TOY}') + {{
            transformer:: '{transformer}', transformer_dim:: 6, num_epochs:: 1,
            model+: {{ text_field_embedder+: {{ token_embedders+: {{
              transformer+: {{ cache_folder: '{folder / "cache"}', precision: '{precision}' }},
            }} }} }},
        }}"""

    return config


def _documents(folder):
    """A config in which sentences share the features of their document's passages."""
    data = folder / "documents.txt"
    data.write_text(text_of_documents())
    return f"""{_frozen("auto")(folder)} + {{
        train_data_path: '{data}', validation_data_path: '{data}',
        dataset_reader+: {{ documents: 'docstart', instances: 'sentences' }},
    }}"""


def _fine_tuned(folder):
    transformer = save_word_pieces(folder / "transformer")
    return f"""(import '{FINE_TUNED}') + {{
        transformer:: '{transformer}', source_encoding:: 'BIO', num_epochs:: 1, max_pieces:: 100,
        train_data_path: 'data/toy/train.txt', validation_data_path: 'data/toy/dev.txt',
    }}"""


def _with(settings):
    return lambda folder: f"(import '{TOY}') + {{ {settings}, num_epochs:: 5 }}"


#: Taggers that do not split texts by the rules of English.
TOKENIZERS = {
    "blanks": _with("tokenizer:: { type: 'blanks' }"),
    "punctuation": _with("tokenizer:: { type: 'punctuation' }"),
    "regular expression": _with(
        "tokenizer:: { type: 'regular_expression', pattern: '[^\\\\s,()]+|[,()]' }"
    ),
    # The rules of French take seconds to load.
    "Italian": _with("language:: 'it'"),
}
#: A tagger with the settings that `tune-decoding` writes.
TUNED = _with(
    "model+: { head+: { decode_bias: { PER: 0.5 }, entity_thresholds: { ORG: 0.3 }, "
    "recalibration: { PER: [0.6, 0.4, -0.8], LOC: [1.5, 0.7, 0.2] } } }"
)
#: By kind, a function that writes files into a folder and returns the config.
CONFIGS_OF_KINDS = {
    "word vectors": _with_vectors,
    "frozen": _frozen("auto"),
    "frozen in float32": _frozen("float32"),
    "frozen in bfloat16": _frozen("bfloat16"),
    "documents": _documents,
    "fine-tuned": _fine_tuned,
    "tuned": TUNED,
    "label chains": _with(
        "label_chains:: true, model+: { head+: { decode_bias: { PER: 2, ORG: 2 } } }"
    ),
    **TOKENIZERS,
}
KINDS = [*CONFIGS_OF_KINDS, "ensemble"]


def train(kind, folder, toy=None):
    """Trains a tagger of a kind in the project's root and returns its archive.

    If only settings of prediction differ, `toy`, the folder of a run of the toy config, has the weights.
    """
    from allennlp.commands.train import train_model
    from allennlp.common import Params
    from allennlp.models.archival import archive_model

    if kind == "ensemble":
        return _ensemble(folder)
    config = folder / "config.jsonnet"
    config.write_text(CONFIGS_OF_KINDS[kind](folder))
    if toy is not None and kind in (*TOKENIZERS, "tuned"):
        shutil.copytree(toy, folder / "run")
        Params.from_file(config).to_file(str(folder / "run" / "config.json"))
        archive_model(str(folder / "run"))
    else:
        train_model(Params.from_file(config), str(folder / "run"))
    return folder / "run" / "model.tar.gz"


def _ensemble(folder):
    from allennlp.models import load_archive

    from tagger.tools.studies.ensemble_archive import write_ensemble

    paths = []
    for name in "ab":
        (folder / name).mkdir()
        paths.append(train("word vectors", folder / name))
    output = folder / "ensemble.tar.gz"
    write_ensemble(paths, [load_archive(path) for path in paths], output, "marginals")
    return output
