"""Random documents of sentences with entities, in several scripts."""

from random import Random
from typing import Dict, List, NamedTuple, Sequence, Tuple

from tests.data.layouts.reading import Content, content_of, content_of_tokens

#: The label, the first and the last token of an entity.
TokenSpan = Tuple[str, Tuple[int, int]]


class Sentence(NamedTuple):
    """Tokens with their spans, which neither overlap nor touch others of their label."""

    tokens: List[str]
    spans: List[TokenSpan]

    @property
    def content(self) -> Content:
        return content_of_tokens(self.tokens, self.spans)


class Corpus(NamedTuple):
    """Documents of sentences; texts of their script have a blank between tokens, or `joint` is empty."""

    script: str
    joint: str
    labels: List[str]
    documents: List[List[Sentence]]

    @property
    def sentences(self) -> List[Sentence]:
        return [sentence for document in self.documents for sentence in document]

    def text_of(self, sentence: Sentence) -> Tuple[str, List[Tuple[str, int, int]]]:
        """Returns a sentence's text and the entities at their characters."""
        starts, text = [], ""
        for token in sentence.tokens:
            text += self.joint if text else ""
            starts.append(len(text))
            text += token
        ends = [start + len(token) for start, token in zip(starts, sentence.tokens)]
        return text, [(label, starts[i], ends[j]) for label, (i, j) in sentence.spans]


#: First names, last names, places, verbs and other words by script.
WORDS: Dict[str, Sequence[str]] = {
    "latin": (
        "Ann Bob Cy Dee Eva Finn Gus Ivy Joy Kim",
        "Lee Ray Dow Fox Kerr Marsh O'Neil Smith-Jones",
        "Rome Oslo Lima Kyiv Bern Quito Hanoi",
        "painted liked left visited saw met called sold",
        "the a on in with friends yesterday Monday often never red houses , and ; ( ) # 1999 5",
    ),
    "german": (
        "Jörg Änne Käthe Götz Ulf Zoë",
        "Müller Weiß Schön Groß Löwe",
        "Köln Zürich Graz Fürth Rom",
        "besuchte mag verließ traf grüßte",
        "die ein am in mit Freunden gestern Montag oft nie schöne Häuser , und 12 –",
    ),
    "cyrillic": (
        "Анна Борис Вера Глеб Дина",
        "Иванова Петров Сидоров Ким",
        "Москва Киев Минск Рига",
        "видел любит покинул встретил",
        "в на с друзья вчера часто никогда дом , и 7",
    ),
    "chinese": (
        "王 李 张 刘",
        "明 华 伟 芳",
        "京 沪 港 澳",
        "见 爱 去 说",
        "的 在 和 今 天 人 很 大 ， 不",
    ),
    "hindi": (
        "राम सीता मोहन",
        "शर्मा वर्मा सिंह",
        "दिल्ली मुंबई पुणे",
        "गया देखा मिला",
        "में और कल घर बहुत , नहीं",
    ),
    "arabic": (
        "أحمد ليلى سامي",
        "حداد منصور خليل",
        "بغداد دمشق القاهرة",
        "زار رأى ترك",
        "في مع أمس بيت كبير و",
    ),
    "emoji": (
        "Ann Bob Cy 👩‍👧",
        "Lee Ray 👍🏽",
        "Rome 🇳🇴 Oslo",
        "liked 😀 left",
        "the on 🎉 , often with friends red ❤️",
    ),
}
_LABELS = (
    ("PER", "LOC"),
    ("person", "location"),
    ("PERSON", "GPE"),
    ("Name", "Place-Name"),
    ("B-side", "I_P"),
    ("NAME_STUDENT", "CITY"),
    ("per.ind", "loc"),
    ("Drug", "Reaction"),
)
_END = {"chinese": "。", "hindi": "।"}


def random_corpus(rng: Random) -> Corpus:
    """Makes a corpus of 3 to 6 documents."""
    script = rng.choice(["latin"] * 5 + list(WORDS))
    labels = list(rng.choice(_LABELS[:3] * 3 + _LABELS))
    words = [each.split() for each in WORDS[script]]
    documents = [
        [_sentence(rng, words, labels, _END.get(script, ".")) for _ in range(rng.randint(3, 9))]
        for _ in range(rng.randint(3, 6))
    ]
    # Each label begins and continues somewhere.
    first, last, place, verb, other = words
    whole = [
        first[0],
        last[0],
        verb[0],
        place[0],
        other[0],
        place[1],
        place[0],
        _END.get(script, "."),
    ]
    spans = [(labels[0], (0, 1)), (labels[1], (3, 3)), (labels[1], (5, 6))]
    documents[0].insert(rng.randint(0, 2), Sentence(whole, spans))
    return Corpus(script, "" if script == "chinese" else " ", labels, documents)


def _sentence(rng: Random, words: List[List[str]], labels: List[str], end: str) -> Sentence:
    first, last, place, verb, other = words
    tokens: List[str] = []
    spans: List[TokenSpan] = []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.6:
            name = [rng.choice(first), *([rng.choice(last)] if rng.random() < 0.6 else [])]
            spans.append((labels[0], (len(tokens), len(tokens) + len(name) - 1)))
            tokens += name
        tokens += [rng.choice(verb)]
        tokens += [rng.choice(other) for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.5:
            spans.append((labels[1], (len(tokens), len(tokens))))
            tokens += [rng.choice(place)]
        tokens += [rng.choice(other)]
    return Sentence([*tokens, end], spans)


def contents_of_texts(corpus: Corpus) -> List[Content]:
    """Returns the content of each sentence as a text by itself."""
    return [content_of(*corpus.text_of(sentence)) for sentence in corpus.sentences]
