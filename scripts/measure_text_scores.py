#!/usr/bin/env python
"""Measures F1 from gold tokens and from text, with English rules and with the tokenizer of `start`.

    python scripts/measure_text_scores.py [--addresses FOLDER] [--sentences NUMBER]

Four small corpora are made from templates: biomedical abstracts, clinical notes, French and German news.
Each has the tokens that corpora of its kind have. The fifth are the US addresses of
`scripts/prepare_us_addresses.py`. `allennlp start` writes a config for each; the tagger is trained once,
and tags the test texts twice. It takes some minutes.
"""

import argparse
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model_from_file
from allennlp.models import load_archive

import tagger
from tagger.predictors.saved_tagger import SavedTagger
from tagger.predictors.text_evaluation import (
    GoldText,
    evaluate_joined_tokens,
    evaluate_texts,
    gold_tokens,
)
from tagger.starter.start import start

F1 = "f1-measure-overall"
ADDRESSES = Path(__file__).resolve().parents[1] / "data" / "us_addresses"


class Corpus(NamedTuple):
    """What sentences are made of.

    Attributes:
        token: A regular expression of a token.
        templates: Sentences with labels in braces, in place of which names are put.
        names: By label, names with a bar between two. Words in angle brackets stand for `parts`.
        parts: By word, what it stands for, with a bar between two. Training sentences have the first two
            thirds, test sentences all.
    """

    token: str
    templates: Sequence[str]
    names: dict[str, str]
    parts: dict[str, str]


class Sentence(NamedTuple):
    """A sentence, and its entities: label, first character, and the one behind the last."""

    text: str
    entities: set[tuple[str, int, int]]


class Scores(NamedTuple):
    """F1 on gold tokens; on text split by English rules, and by the tokenizer that `start` has found."""

    tokens: float
    english: float
    found: float


CORPORA = {
    # Split at each punctuation mark, as NCBI-disease and BC5CDR are.
    "biomedical abstracts": Corpus(
        token=r"\w+|[^\w\s]",
        templates=[
            "The {GENE} gene is mutated in {DISEASE}, but not in {DISEASE}.",
            "{GENE}-linked {DISEASE} begins in childhood (see {GENE}).",
            "We screened 21 families with {DISEASE}/{DISEASE} for {GENE}-negative tumours.",
            "In {DISEASE}-affected patients, 1.5-fold {GENE} levels were found.",
            "Loss of {GENE} doesn't cause {DISEASE} in anti-{GENE}-treated mice.",
            "The patient's {DISEASE} was not inherited.",
        ],
        names={
            "GENE": "<GENE><NUMBER>|<GENE>-<NUMBER>|<GENE>",
            "DISEASE": "<FORM> <SITE> cancer|<FORM> <DISEASE>|<SITE> <DISEASE>|<DISEASE>",
        },
        parts={
            "GENE": "BRCA|APC|MLH|PTEN|ATM|TP|RB|NF|VHL|WT|KRAS|MSH",
            "NUMBER": "1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24",
            "FORM": "non-familial|X-linked|late-onset|type-2|sporadic|early-onset",
            "SITE": "breast-ovarian|colorectal|T-cell|renal|small-bowel|B-cell",
            "DISEASE": (
                "lymphoma|ataxia-telangiectasia|Huntington's disease|ataxia|anaemia|Wilms' tumour|"
                "G6PD-deficiency|retinoblastoma|melanoma|polyposis coli"
            ),
        },
    ),
    # Doses and abbreviations are one token; commas and brackets are not part of one.
    "clinical notes": Corpus(
        token=r"[^\s,;()]+|[,;()]",
        templates=[
            "Pt. on {DRUG} {DOSE} p.o. b.i.d. for {PROBLEM}, BP 120/80",
            "h/o {PROBLEM}, {PROBLEM}; d/c {DRUG} ({DOSE})",
            "Start {DRUG} {DOSE} q.6h. p.r.n. {PROBLEM}",
            "{DRUG} held b/c {PROBLEM}, Na+ 135mmol/L",
            "No c/o {PROBLEM} since {DRUG}, cont. {DRUG} {DOSE} q.d.",
            "Neg. for {PROBLEM}; pos. {PROBLEM}, w/u pending",
        ],
        names={
            "DRUG": "<DRUG>|<DRUG>/<DRUG>|<DRUG>-XR",
            "DOSE": "<NUMBER>mg|<NUMBER>mg/d.|<NUMBER>mcg/kg/min|<NUMBER>mL",
            "PROBLEM": "<FORM> <PROBLEM>|<PROBLEM>|<SHORT>|<SHORT>/<SHORT>",
        },
        parts={
            "DRUG": (
                "metoprolol|lisinopril|HCTZ|ASA|warfarin|Lasix|KCl|MgSO4|heparin|amoxicillin|"
                "clavulanate|losartan|digoxin|Vit.-D|Zosyn"
            ),
            "NUMBER": "2.5|5|10|12.5|25|40|81|100|250|500|0.125|50",
            "FORM": "chronic|acute|r/o|L>R|mild-mod.|bilat.|new|s/p",
            "PROBLEM": "afib|chest pain|SOB|edema|pneumonia|wheezing|ST-elev.",
            "SHORT": "HTN|CAD|CHF|COPD|DM2|GERD|UTI|N/V|h.pylori|CKD",
        },
    ),
    # An elided word ends with its apostrophe; compounds keep their hyphens.
    "French news": Corpus(
        token=r"aujourd['’]hui|\w{1,7}['’]|M\.|\d+(?:,\d+)?|\w+(?:-\w+)*|[^\w\s]",
        templates=[
            "L'{ORG} a ouvert un bureau à {LOC}, selon M. {PER}.",
            "Le maire d'{LOC}, {PER}, n'est pas venu aujourd'hui.",
            "{PER} s'est rendu à {LOC} pour l'{ORG} (1,5 million d'euros).",
            "Jusqu'à {LOC}, c'est l'{ORG} qui l'emporte.",
            "Qu'a dit {PER} d'{PER} et de l'{ORG} ?",
            "C'est à {LOC} qu'{PER} l'avait rencontrée.",
        ],
        names={
            "PER": "<FIRST> <LAST>|<FIRST> d'<LAST>|<LAST>",
            "LOC": "<PLACE>|<PLACE>-en-<REGION>|<PLACE>-sur-<RIVER>|L'<PLACE>",
            "ORG": "Union <KIND>|Agence <KIND>|Université d'<PLACE>|Institut <KIND>",
        },
        parts={
            "FIRST": "Anne|Élodie|Jean-Luc|Olivier|Inès|Marie-Ange|Hugo|Éric",
            "LAST": "Ormesson|Aubry|Estaing|Arc|Ozon|Hulot|Essonne|Artagnan",
            "PLACE": "Aix|Étampes|Arles|Évry|Orange|Auray|Isle|Albi|Agde",
            "REGION": "Provence|Othe|Velay|Bresse|Auxois",
            "RIVER": "Oise|Marne|Isère|Aube|Orne",
            "KIND": "européenne|nationale d'Auvergne|de l'eau|d'urbanisme|agricole",
        },
    ),
    # Ordinals and abbreviations keep their full stop, compounds their hyphens.
    "German news": Corpus(
        token=r"\d+\.(?=\s[A-Z])|(?:Dr|St|Nr|ca|z\.B|a\.M|usw|Prof)\.|\d+|\w+(?:-\w*)*|[^\w\s]",
        templates=[
            "{PER} zog am 3. Mai z.B. nach {LOC}, Nr. 5.",
            "Die {ORG} baut in {LOC}, ca. 12 km von {LOC} entfernt.",
            "Laut Prof. {PER} gehört {LOC} zur {ORG}.",
            "Am 21. August traf {PER} die {ORG} in {LOC} usw.",
            "{PER}, {PER} und die {ORG} sagten ab.",
            "Vor- und Nachteile für {LOC} nannte die {ORG} nicht.",
        ],
        names={
            "PER": "<FIRST> <LAST>|Dr. <LAST>|<FIRST> <LAST>-<LAST>",
            "LOC": "<PLACE>|<PLACE> a.M.|<LAND>-<LAND>|St. <PLACE>|<LAST>-Allee",
            "ORG": "<FIRM> <PLACE>|<FIRM>-<KIND>|<LAST>-<KIND>",
        },
        parts={
            "FIRST": "Anna-Lena|Karl-Heinz|Jürgen|Ute|Hans-Peter|Zoë|Änne",
            "LAST": "Müller|Lüdenscheidt|Schröder|Öztürk|Böll|Groß|Adenauer|Marx",
            "PLACE": "Frankfurt|Pauli|Gallen|Offenbach|Höchst|Ingbert|Moritz",
            "LAND": "Baden|Württemberg|Schleswig|Holstein|Sachsen|Anhalt|Pfalz",
            "FIRM": "AOK|DAK|TU|IHK|AWO|DRK|LBS",
            "KIND": "Stiftung|Verlag|Gruppe|Werke|Verein|Bank",
        },
    ),
}


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--addresses", type=Path, default=ADDRESSES, metavar="FOLDER")
    parser.add_argument(
        "--sentences",
        type=int,
        default=300,
        metavar="NUMBER",
        help="for training, and for the test",
    )
    options = parser.parse_args(arguments)
    rows = [
        "| corpus | gold tokens | text, English rules | text, tokenizer of `start` | that tokenizer |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in CORPORA.items():
            of_corpus = Path(folder, name.replace(" ", "_"))
            of_corpus.mkdir()
            test = write_corpus(corpus, options.sentences, of_corpus)
            rows.append(_row(name, *measure(of_corpus, of_corpus / "run", test)))
        if (options.addresses / "test.txt").is_file():
            rows.append(
                _row("US addresses", *measure(options.addresses, Path(folder, "addresses")))
            )
        else:
            rows.append("No US addresses: run `python scripts/prepare_us_addresses.py` first")
    print("\n".join(rows))


def _row(name: str, tokenizer: str, scores: Scores) -> str:
    shares = " | ".join(f"{100 * score:.1f}" for score in scores)
    # A bar would end the cell.
    shown = tokenizer.replace("|", "\\|")
    return f"| {name} | {shares} | {shown} |"


def make_sentences(corpus: Corpus, number: int, seed: int, is_test: bool) -> Iterator[Sentence]:
    """Yields sentences with drawn names.

    Args:
        corpus: What they are made of.
        number: How many.
        seed: The seed of the draws.
        is_test: Whether names have parts that training sentences do not have.
    """
    draw = random.Random(seed)

    def part(found: re.Match[str]) -> str:
        parts = corpus.parts[found[1]].split("|")
        return draw.choice(parts if is_test else parts[: 2 * len(parts) // 3])

    for _ in range(number):
        text, entities = "", set()
        # Text and labels by turns.
        for i, piece in enumerate(re.split(r"\{(\w+)\}", draw.choice(corpus.templates))):
            begin = len(text)
            if i % 2:
                text += re.sub("<([A-Z]+)>", part, draw.choice(corpus.names[piece].split("|")))
                entities.add((piece, begin, len(text)))
            else:
                text += piece
        yield Sentence(text, entities)


def to_columns(sentence: Sentence, token: str) -> str:
    r"""Returns the lines of a column file, with BIO tags.

    Example:
        >>> to_columns(Sentence("d'Anne", {("PER", 2, 6)}), r"\w'|\w+")
        "d' O\nAnne B-PER\n"
    """
    lines = []
    for found in re.finditer(token, sentence.text):
        tag = "O"
        for label, first, end in sentence.entities:
            if first <= found.start() and found.end() <= end:
                tag = f"{'B' if found.start() == first else 'I'}-{label}"
        lines.append(f"{found[0]} {tag}\n")
    return "".join(lines)


def write_corpus(corpus: Corpus, number: int, folder: Path) -> list[GoldText]:
    """Writes `train.txt`, `dev.txt` and `test.txt`, and returns the texts of the last."""
    sizes = {"train.txt": number, "dev.txt": number // 5, "test.txt": number}
    for seed, (name, size) in enumerate(sizes.items()):
        sentences = list(make_sentences(corpus, size, seed, is_test=name == "test.txt"))
        columns = (to_columns(sentence, corpus.token) for sentence in sentences)
        (folder / name).write_text("\n".join(columns), encoding="utf-8")
    return [GoldText([sentence.text], sentence.entities) for sentence in sentences]


def measure(
    corpus: Path, run: Path, test: Optional[Sequence[GoldText]] = None
) -> tuple[str, Scores]:
    """Trains a tagger as `start` proposes it, and measures F1 on the test data.

    Args:
        corpus: The folder of the corpus.
        run: The folder of the run.
        test: The test texts; None to join the tokens of `test.txt`.

    Returns:
        The tokenizer, and F1.
    """
    config = run.with_suffix(".jsonnet")
    for path, text in start([corpus / "train.txt", corpus / "dev.txt"], config).files.items():
        path.write_text(text, encoding="utf-8")
    train_model_from_file(config, run)
    test_file, archive = str(corpus / "test.txt"), run / "model.tar.gz"
    of_tokens = evaluate_from_archive(archive, test_file)[F1]
    found = tagger.load(archive)
    taggers = (tagger.load(archive, language="en"), found)
    return str(found.tokenizer), Scores(
        of_tokens, *(_f1_on_text(each, archive, test, test_file) for each in taggers)
    )


def _f1_on_text(
    model: SavedTagger, archive: Path, texts: Optional[Sequence[GoldText]], test_file: str
) -> float:
    if texts is not None:
        return evaluate_texts(model, texts)[F1]
    instances = load_archive(archive).validation_dataset_reader.read(test_file)
    return evaluate_joined_tokens(model, map(gold_tokens, instances))[F1]


if __name__ == "__main__":
    main()
