"""Names files that are not column files, or not read at all, with what to do about them."""

import re
from collections import Counter
from itertools import islice, pairwise
from statistics import mean, median
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

from tagger.data.survey.spellings import OUTSIDE
from tagger_texts.segments import num_words

SPANS = 'write `{"text": "Ada left", "label": [[0, 3, "PER"]]}` on each line of a .jsonl file'
#: What files hold if their first line begins like this, and what to do.
_OPENINGS = {
    re.compile(
        r"(HTTP\S* )?(40\d|50\d)\b:? ?\D*$|(Entry|Repository) not found|Access to .* restricted",
        re.I,
    ): "what a server answers in place of a file; download it again",
    re.compile(r"\d+\|[ta]\|"): f"PubTator, which is not read; {SPANS}",
    re.compile(r"\S+(\t\w+\[-?\d+\]\S*=\S+){2,}"): (
        "features of words, as for CRFsuite; give the file of words and tags that they were made of"
    ),
    re.compile(r'c=".*" \d+:\d+ \d+:\d+\|\|'): (
        f"annotations of i2b2 without the texts, which are in other files; join both: {SPANS}"
    ),
    re.compile("File,Line,Begin Offset,End Offset,Type", re.IGNORECASE): (
        f"annotations of AWS Comprehend without the texts, which are in other files; join both: {SPANS}"
    ),
}
#: The end of a line in a column file with span tags.
_LAST_TAG = re.compile(r"[\s,;](O|[BIOESLUM]-\S+)\s*$")
_TAG = re.compile(r"O|[BIESLUM]-\S+")
#: A line of tags, of which one begins a span or is outside of spans.
_TAG_LINE = re.compile(r"\s*((O|[BIESLUM][-_]\S+)\s+)*(O|[BIESLUM][-_]\S+)\s*")
#: A word with its label in texts that are marked inside.
_INLINE = {
    "<START:person> Ada <END>": re.compile(r"<START(:[^<>\s]+)?>.*<END>"),
    "[Ada](person)": re.compile(r"\[[^\[\]]+\](\([^()\s]+\)|\{\s*\"entity\".*\})"),
    "<person>Ada</person>": re.compile(r"<(\w+)(\s[^<>]*)?>[^<>]+</\1>"),
    '<b_enamex type="PERSON">Ada<e_enamex>': re.compile(r"<[be]_\w+(\s[^<>]*)?>"),
    "{{person:Ada}}": re.compile(r"\{\{?\w+:[^{}]+\}\}?"),
}
#: A line of mark-up around texts, such as `<DOC>` or `<DOCID>wsj-1</DOCID>`.
_MARK_UP = re.compile(r"\s*</?\w+[^<>]*>(\S*</\w+>)?\s*")
_PYTHON = re.compile(
    r"(import \w+|from [\w.]+ import |[A-Za-z_]\w*\s*=\s*[\[({]).*|.*\{\s*['\"]entities['\"]\s*:.*"
)
_YAML = re.compile(r"\s*(- )?[\w. #-]+:(\s[^\t]*)?|\s*- .*|---|\s*#.*")
_YAML_KEY = re.compile(r"---|[\w-]+:\s*(\".*\"|'.*'|[|>][+-]?|[\d.]+)?\s*$")
#: The number of lines to examine.
_MOST_LINES = 1_000
#: The share of lines, or of words, that must have a form for the file to have it.
_SHARE, _LEAST_SHARE = 0.9, 0.5
#: Texts with labels may hold a little mark-up, in this share of their lines.
_FEW_MARKS = 0.02
#: Fewer lines do not show that each one has a word.
_FEWEST_LINES = 10
#: Few labels begin lines, in relation to these, and sentences begin with many words.
_FEW_LABELS = 0.05
#: Running text has more words on a line on average than files have columns.
_MOST_COLUMNS = 100
#: Cells beside tokens, such as glosses, have fewer words than this on average, and texts have more.
_MANY_WORDS = 5
#: So few numbers may be tokens of spans.
_FEWEST_NUMBERS = 5
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)*")
#: A cell of a table of numbers; and the first lines of two kinds of files with recordings.
_MEASURED = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|\?", re.IGNORECASE)
_ARCHIVED = re.compile(r"\s*@(relation|problemname)\b", re.IGNORECASE)
_RECORDINGS = (
    "write recordings as CSV with a row for each time step: the first line names the columns, and "
    "one of them has labels"
)
_ONE_TOKEN = "write one token and its tag on each line, and a blank line after each sentence"
_UNLABELLED = "label it in an annotation tool, or with a tagger by `allennlp predict-file`"
_JSON = re.compile(r'\s*(\{\s*("|\}|$)|\[\s*(\{|\[|"|\]|\d+\s*,|$))')
_TEXTS = (
    f"a text and a label on each line, and not all entities of a text with it; {SPANS}, or, if it is a "
    "label of the whole text, name its column by `allennlp start --tag-column`"
)
_SENTENCE_END = re.compile(r"[\w'\"”)][.!?…][\"'”’)]*$")
_TAGGED_WORD = re.compile(
    r"(?:[^\s,;]+|[,;])(?:[/_|][A-Z0-9$.,:#'`()?!;-]+|/[a-z$*.,:'-]+|#{2,}\S+|:(O|[BIES]-\S+))"
)


def looks_like_json(text: str) -> bool:
    """Whether a text starts like JSON, and not like a column file with a bracket as its first token.

    Example:
        >>> looks_like_json('{"text": 1}'), looks_like_json("[ O"), looks_like_json("[")
        (True, False, True)
    """
    return _JSON.match(text) is not None


def what_else(lines: Iterable[str], opening: str = "") -> Optional[str]:
    """Says what a file looks like and what to do; returns None if it may be a column file.

    `lines` are without comments; `opening` is the first line, comment or not.

    Example:
        >>> print(what_else(["Ada/NNP left/VBD", "Why/WRB not/RB ?/."]))
        one sentence a line, with a tag behind each word (`Ada/NNP`); write one token and its tag on ...
    """
    first = list(islice((line for line in lines if line.strip()), _MOST_LINES))
    text = "\n".join(first)
    if looks_like_json(text):
        return f"JSON of an unknown layout; {SPANS}"
    if "\0" in text:
        return "no text, but a binary file; export it as text, such as CSV"
    if opening.startswith("#FORMAT=WebAnno"):
        return "an old version of WebAnno's TSV, which is not read; export WebAnno TSV 3"
    if text.lstrip().startswith(("<?xml", "<!DOCTYPE")):
        return f"XML, which is not read; {SPANS}"
    ways = (
        (named_text, _numbers, _tags_alone, _sentences, _labelled_lines, _one_column, _running_text)
        if first
        else ()
    )
    return next((found for way in ways if (found := way(first)) is not None), None)


def _numbers(lines: Sequence[str]) -> Optional[str]:
    """Recognises tables of measured numbers, with or without names in the first line."""
    if any(map(_ARCHIVED.match, lines)):
        return f"ARFF or the .ts of the UCR archive, which are not read; {_RECORDINGS}"
    rows = [re.split(r"[\s,;]+", line.strip()) for line in lines]
    measured = [row for row in rows if all(map(_MEASURED.fullmatch, row))]
    if len(measured) < max(2, _SHARE * len(rows)):
        return None
    # Words may be numbers in one column, and have numbers as tags in another.
    if mean(map(len, measured)) <= 2 and not any("." in cell for row in measured for cell in row):
        return None
    return f"numbers alone, such as {measured[0][0]!r}; {_RECORDINGS}"


def _sentences(lines: Sequence[str]) -> Optional[str]:
    """Recognises one sentence a line: tagged words, or words and then their tags."""
    words = [line.split() for line in lines]
    tagged = sum(bool(_TAGGED_WORD.fullmatch(word)) for line in words for word in line)
    if tagged >= _SHARE * sum(map(len, words)) and median(map(len, words)) > 1:
        return f"one sentence a line, with a tag behind each word (`{words[0][0]}`); {_ONE_TOKEN}"
    for mark, name in (("\t", "a tab"), ("|||", "`|||`")):
        found = [_parallel([cell.split() for cell in line.split(mark)]) for line in lines]
        pairs = [pair for pair in found if pair is not None]
        lengths = [len(one) for one, _ in pairs]
        if len(pairs) < _SHARE * len(lines) or mean(lengths) < 2:
            continue
        # If all lines have the same number of words, these may be blank-separated columns.
        tags = [tag for _, other in pairs for tag in other]
        num_spans = sum(tag in OUTSIDE or tag[1:2] == "-" for tag in tags)
        if len(set(lengths)) > 1 or num_spans > _LEAST_SHARE * len(tags):
            return f"one sentence a line: its words, {name}, and their tags; {_ONE_TOKEN}"
    return None


def _labelled_lines(lines: Sequence[str]) -> Optional[str]:
    """Recognises a label and then a text on each line, with only a blank between them."""
    words = [line.split() for line in lines]
    lengths, labels = [*map(len, words)], {each[0] for each in words}
    if len(lines) < 5 * _FEWEST_LINES or len(labels) > _FEW_LABELS * len(lines):
        return None
    has_columns = any("\t" in line for line in lines) or len({*lengths}) < _MANY_WORDS
    if has_columns or mean(lengths) < _MANY_WORDS or len(labels) < 2:
        return None
    return (
        f"a label, such as {words[0][0]!r}, and a text on each line; if labels are those of whole "
        f"texts, write `__label__{words[0][0]}`, as in files of fastText"
    )


def _tags_alone(lines: Sequence[str]) -> Optional[str]:
    """Recognises the tags of a sentence on each line, with the words in another file."""
    if len(lines) < _FEWEST_LINES or not all(map(_TAG_LINE.fullmatch, lines)):
        return None
    if mean(len(line.split()) for line in lines) <= 2:
        return None
    return (
        "the tags of a sentence on each line, without its words; if another file has them line by line, "
        "join both with `paste`, words first, and read the result"
    )


def _parallel(cells: List[List[str]]) -> Optional[Tuple[List[str], List[str]]]:
    """Returns two neighbouring cells with equally many words; one more may be the sentence's tag."""
    for one, other in pairwise(cells):
        if len(other) == len(one) > 0 or len(other) == len(one) + 1 > 2:
            return one, other
    return None


class Found(NamedTuple):
    """What was found in a file: sentences and columns, and how sure that is."""

    num_sentences: int
    num_columns: int
    is_plain: bool
    has_delimiter: bool
    tokens_are_known: bool
    tags_are_known: bool
    #: The words of a cell, on average, in the column with most; 0 if tags are not plain labels.
    most_words: float


def check_tokens(path: str, rows: Sequence[Tuple[str, str]], found: Found) -> None:
    """Raises an error if columns that seem to be tokens and tags are something else."""
    ways = [_holds_sentences] + ([] if found.tokens_are_known else [_holds_numbers])
    if found.is_plain:
        ways += [_holds_texts] + ([] if found.tags_are_known else [_holds_words_alone])
    reason = next((said for way in ways if (said := way(rows, found)) is not None), None)
    if reason is not None:
        raise ValueError(f"{path}: expected a column file, got {reason}")


def _holds_sentences(rows: Sequence[Tuple[str, str]], found: Found) -> Optional[str]:
    """Recognises two columns of whole sentences and their tags."""
    lengths = [(len(tokens.split()), len(tags.split())) for tokens, tags in rows]
    parallel = [words for words, others in lengths if words == others]
    if not found.has_delimiter or len(parallel) < _SHARE * len(lengths) or mean(parallel) < 2:
        return None
    return f"one sentence a line: its words in one column, and their tags in another; {_ONE_TOKEN}"


def _holds_words_alone(rows: Sequence[Tuple[str, str]], found: Found) -> Optional[str]:
    """Recognises columns without tags, given the tokens and the plain labels that they seem to have."""
    tokens, tags = [token for token, _ in rows], [tag for _, tag in rows]
    words = [tag for tag in {*tags} if tag.isalpha() and not tag.isupper()]
    are_words = 2 * len(words) >= len({*tags}) and len(tokens) > 2
    known = {token.lower() for token in tokens}
    is_shared = 2 * sum(word.lower() in known for word in words) >= len(words)
    if are_words and found.num_sentences == 1 and (found.num_columns > 2 or is_shared):
        return (
            f"running text, with equally many words on each line: there are no tags; {_ONE_TOKEN}"
        )
    return None


def _holds_numbers(rows: Sequence[Tuple[str, str]], found: Found) -> Optional[str]:
    """Recognises columns of numbers, such as offsets, beside tags."""
    numbers = [token for token, _ in rows if _NUMBER.fullmatch(token)]
    fewest = 1 if found.is_plain else _FEWEST_NUMBERS
    if len(numbers) < _SHARE * len(rows) or len(rows) <= fewest:
        return None
    if all(tag.isdecimal() for _, tag in rows):
        return None
    return (
        f"numbers, such as {numbers[0]!r}, and no column of words beside tags; {_ONE_TOKEN}, or name "
        "the column of tokens by `token_column` (`--token-column`)"
    )


def _holds_texts(rows: Sequence[Tuple[str, str]], found: Found) -> Optional[str]:
    """Recognises a text on each line, given the tokens that a file with plain labels seems to have."""
    are_texts = mean(num_words(token) for token, _ in rows) > 2 or found.most_words > _MANY_WORDS
    return _TEXTS if len(rows) > 2 and are_texts else None


def _one_column(lines: Sequence[str]) -> Optional[str]:
    """Recognises single words, and texts without tags."""
    has_marks = any(m in line.strip()[1:-1] for line in lines for m in (*",;|\u00a0", "\\t"))
    num_single = sum(len(line.split()) == 1 for line in lines)
    if not has_marks and num_single >= _SHARE * len(lines):
        return f"one column: there are no tags; {_ONE_TOKEN}"
    return None


def _running_text(lines: Sequence[str]) -> Optional[str]:
    ending = sum(bool(_SENTENCE_END.search(line.rstrip()[-4:])) for line in lines)
    length = mean(len(line.split()) for line in lines)
    if length > _MOST_COLUMNS or (ending >= _LEAST_SHARE * len(lines) and length > 2):
        return f"running text: there are no tags; {_UNLABELLED}, or {_ONE_TOKEN}"
    return None


def are_tagged(lines: Sequence[str]) -> bool:
    r"""Whether lines, of which none is blank, have a column of `O` and tags such as `B-PER`.

    Example:
        >>> are_tagged(["Ada B-PER", "left O"]), are_tagged(["Vitamin B-12", "Type O"])
        (True, False)
        >>> are_tagged(["# id = 1", "Ada\tB-PER\tada", "left\tO\tleave"])
        True
    """
    lines = [line for line in lines if not line.startswith("#")]
    last = [found[1] for line in lines if (found := _LAST_TAG.search(line))]
    columns: List[Sequence[str]] = [last]
    for delimiter in ("\t", None, ","):
        rows = [[cell.strip() for cell in line.split(delimiter)] for line in lines]
        width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
        columns += zip(*(row for row in rows if len(row) == width > 1))
    return any(_mark_spans(column, len(lines)) for column in columns)


def _mark_spans(cells: Sequence[str], num_lines: int) -> bool:
    """Whether cells of nearly all lines are `O` or tags, of which one begins a span."""
    tags = [cell for cell in cells if _TAG.fullmatch(cell)]
    begins = any(tag[0] == "B" and not tag[2:].isdecimal() for tag in tags)
    return len(tags) >= _SHARE * num_lines and begins and "O" in tags


def no_texts(lines: Sequence[str]) -> Optional[str]:
    """Says why lines, of which none is blank, are no texts, and what to do; None if they may be."""
    if lines and lines[0].startswith(("<?xml", "<!DOCTYPE", "<html")):
        return "expected a text on each line, got XML or HTML; extract its texts"
    single = [line.strip() for line in lines if len(line.split()) == 1]
    marks = [each for each in single if not any(map(str.isalnum, each))]
    if len(lines) < _FEWEST_LINES or len(single) < _SHARE * len(lines) or not marks:
        return None
    return (
        f"expected a text on each line, got a word on each, such as {single[0]!r} and {marks[0]!r}; "
        "write each sentence on one line"
    )


def named_text(lines: Sequence[str]) -> Optional[str]:
    """Says what lines of text hold that are not read, and what to do; None if they may be read.

    Example:
        >>> print(named_text(["9|t|Ann left", "9|a|Ann is in Rome."])[:28])
        PubTator, which is not read;
    """
    first = lines[0] if lines else ""
    named = next((said for opening, said in _OPENINGS.items() if opening.match(first)), None)
    if named is not None:
        return named
    if any(line.startswith("<<<<<<< ") for line in lines) and any(
        line.startswith(">>>>>>> ") for line in lines
    ):
        return "conflict marks of Git, such as `<<<<<<<`; resolve the conflicts"
    if sum(bool(_LAST_TAG.search(line)) for line in lines) >= _SHARE * len(lines):
        return None
    texts = [line for line in lines if not _MARK_UP.fullmatch(line)]
    if sum(" " in line.strip() for line in texts) >= _LEAST_SHARE * len(texts) > 0:
        for example, mark in _INLINE.items():
            # An entity may go on in the next line.
            marked = [each[0] for each in mark.finditer("\n".join(texts))]
            if len(marked) > _FEW_MARKS * len(texts):
                return (
                    f"texts with inline tags, such as {marked[0][:60]!r} (like `{example}`), which are "
                    f"not read; {SPANS}"
                )
    is_yaml = _YAML_KEY.match(first) and all(map(_YAML.fullmatch, lines))
    if any(_PYTHON.fullmatch(line.strip()) for line in lines[:20]):
        return f"Python, which is not run; save its list of texts with `json.dump`, or {SPANS}"
    return f"YAML, which is not read; {SPANS}" if is_yaml else None
