"""Random documents of sentences with entities, in several scripts."""

import itertools
from random import Random
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from tests.data.layouts.reading import Content, content_of, content_of_tokens

#: The label, the first and the last token of an entity.
TokenSpan = Tuple[str, Tuple[int, int]]


class Sentence(NamedTuple):
    """Tokens with their spans; those of one label do not overlap."""

    tokens: List[str]
    spans: List[TokenSpan]

    @property
    def content(self) -> Content:
        return content_of_tokens(self.tokens, self.spans)

    def merged(self) -> "Sentence":
        """Joins entities of one label that touch, which IO cannot tell apart."""
        spans: List[TokenSpan] = []
        for label, (first, last) in sorted(self.spans, key=lambda span: span[1]):
            before = [
                at for at, (own, (_, end)) in enumerate(spans) if (own, end + 1) == (label, first)
            ]
            if before:
                spans[before[0]] = (label, (spans[before[0]][1][0], last))
            else:
                spans.append((label, (first, last)))
        return Sentence(self.tokens, spans)

    def behind(self, token: str) -> "Sentence":
        """Puts another token first."""
        return Sentence([token, *self.tokens], [(a, (i + 1, j + 1)) for a, (i, j) in self.spans])


class Corpus(NamedTuple):
    """Documents of sentences; texts of their script have a blank between tokens, or `joint` is empty.

    Documents have a name, and those of one name are one document.
    """

    script: str
    joint: str
    labels: List[str]
    documents: List[List[Sentence]]
    names: List[str]

    @property
    def sentences(self) -> List[Sentence]:
        return [sentence for document in self.documents for sentence in document]

    @property
    def is_nested(self) -> bool:
        """Whether some entities are inside others."""
        pairs = (pair for each in self.sentences for pair in itertools.combinations(each.spans, 2))
        return any(one[0] <= other[1] and other[0] <= one[1] for (_, one), (_, other) in pairs)

    @property
    def document_of(self) -> List[str]:
        """The name of each sentence's document."""
        return [name for name, own in zip(self.names, self.documents) for _ in own]

    def with_names(self, rng: Random, may_return: bool) -> "Corpus":
        """Gives documents names, of which some come back if they may."""
        names = [f"d{number}" for number in range(len(self.documents))]
        if may_return and len(names) > 3 and rng.random() < 0.5:
            names[rng.randrange(2, len(names))] = names[0]
        return self._replace(names=names)

    def mapped(self, change: Callable[[Sentence, int], Sentence]) -> "Corpus":
        """Changes each sentence, given its number."""
        numbers = itertools.count()
        return self._replace(
            documents=[[change(each, next(numbers)) for each in own] for own in self.documents]
        )

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
    "thai": (
        "สมชาย มาลี วิชัย",
        "ใจดี ทองคำ ศรีสุข",
        "กรุงเทพ เชียงใหม่ ภูเก็ต",
        "เห็น รัก ออกจาก พบ",
        "ใน กับ เมื่อวาน บ้าน ใหญ่ และ ไม่",
    ),
    "japanese": (
        "太郎 花子 健",
        "田中 鈴木 佐藤",
        "東京 京都 大阪",
        "見た 会った 行った",
        "は が で と 昨日 友達 赤い 家 、 ",
    ),
    "korean": (
        "민수 영희 철수",
        "김 이 박",
        "서울 부산 대구",
        "만났다 보았다 떠났다",
        "어제 친구와 집에서 빨간 그리고 자주 , 7",
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
_END = {"chinese": "。", "japanese": "。", "hindi": "।"}
_UNSPACED = ("chinese", "japanese", "thai")


def random_corpus(rng: Random, may_nest: bool = False) -> Corpus:
    """Makes a corpus of 3 to 6 documents; in some, entities touch, or some are inside others."""
    are_glued, are_nested = rng.random() < 0.2, may_nest and rng.random() < 0.15
    script = rng.choice(["latin"] * 5 + list(WORDS))
    labels = list(rng.choice(_LABELS[:3] * 3 + _LABELS))
    words = [each.split() for each in WORDS[script]]
    documents = [
        [
            _sentence(rng, words, labels, _END.get(script, "."), are_glued)
            for _ in range(rng.randint(3, 9))
        ]
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
    joint = "" if script in _UNSPACED else " "
    corpus = Corpus(script, joint, labels, documents, []).with_names(rng, False)
    return corpus.mapped(lambda sentence, _: _nested(sentence, labels)) if are_nested else corpus


def _nested(sentence: Sentence, labels: List[str]) -> Sentence:
    """Puts an entity of the second label into each one of the first that has several tokens."""
    inner = [
        (labels[1], (j, j)) for label, (i, j) in sentence.spans if label == labels[0] and i < j
    ]
    return Sentence(sentence.tokens, sorted([*sentence.spans, *inner], key=lambda span: span[1]))


def _sentence(
    rng: Random, words: List[List[str]], labels: List[str], end: str, are_glued: bool
) -> Sentence:
    first, last, place, verb, other = words
    tokens: List[str] = []
    spans: List[TokenSpan] = []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.6:
            name = [rng.choice(first), *([rng.choice(last)] if rng.random() < 0.6 else [])]
            spans.append((labels[0], (len(tokens), len(tokens) + len(name) - 1)))
            tokens += name
            if are_glued and rng.random() < 0.5:
                spans.append((labels[0], (len(tokens), len(tokens))))
                tokens += [rng.choice(first)]
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
