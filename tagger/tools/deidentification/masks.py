"""Replaces entities by masks, and writes the masked texts, with the places of the masks in a sidecar."""

import os
import re
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError

from tagger.commands.prediction_outputs import texts_of_lines
from tagger.common.console import say
from tagger.common.inputs import bare_suffix, without_suffix
from tagger.common.outputs import json_line
from tagger.data.formats import AnnotatedText
from tagger.spans import split_tag
from tagger.spans.places import Place, merged
from tagger.spans.repeats import same_string, with_repeats

STYLES = ("labels", "same-length", "surrogates")


class Mask(NamedTuple):
    """A mask: its label, its start and end in the text, and those in the masked text."""

    label: str
    start: int
    end: int
    masked_start: int
    masked_end: int


def mask_text(text: str, places: Iterable[Place], style: str) -> Tuple[str, List[Mask]]:
    """Replaces the union of places, as `merged` makes it.

    Args:
        text: The text.
        places: What to replace; places may overlap in any way.
        style: `labels` writes `[NAME]`. `same-length` writes a `*` for each character but line ends.
            `surrogates` writes `[NAME_1]`, with the same number for the same string of a label, by
            `same_string`, in order of appearance.

    Example:
        >>> places = [("NAME", 0, 3), ("PLACE", 8, 12), ("NAME", 14, 17)]
        >>> for style in STYLES:
        ...     mask_text("Ada saw Rome. ADA left.", places, style)[0]
        '[NAME] saw [PLACE]. [NAME] left.'
        '*** saw ****. *** left.'
        '[NAME_1] saw [PLACE_1]. [NAME_1] left.'

    Raises:
        ValueError: If a place reaches beyond the text.
    """
    numbers: Dict[str, Dict[Tuple[str, ...], int]] = {}
    parts: List[str] = []
    masks: List[Mask] = []
    end = masked_end = 0
    for label, start, stop in merged(places):
        if start < 0 or stop > len(text):
            raise ValueError(
                f"`places` must lie in the text, from 0 to {len(text)}; got {label!r} from {start} to "
                f"{stop}"
            )
        string = text[start:stop]
        if style == "same-length":
            mask = re.sub(r"[^\r\n]", "*", string)
        elif style == "surrogates":
            of_label = numbers.setdefault(label, {})
            number = of_label.setdefault(same_string(string), len(of_label) + 1)
            mask = f"[{label}_{number}]"
        else:
            mask = f"[{label}]"
        masked_start = masked_end + start - end
        parts += [text[end:start], mask]
        end, masked_end = stop, masked_start + len(mask)
        masks.append(Mask(label, start, stop, masked_start, masked_end))
    return "".join([*parts, text[end:]]), masks


def with_probable(
    places: Sequence[Place],
    tokens: Sequence[Tuple[int, int]],
    probabilities: Sequence[Dict[str, float]],
    threshold: float,
) -> List[Place]:
    """Adds the tokens outside `places` that lie in an entity with more than a probability.

    Adjacent tokens make up one place, with the label that is the most probable at one of them. Where
    entities of different labels may overlap, a token counts if one label exceeds the probability.

    Args:
        places: The predicted entities.
        tokens: The start and end of each token.
        probabilities: The probability of each tag at each token.
        threshold: The probability, as in a promise about masks.

    Example:
        >>> unsure = [{"O": 0.7, "B-NAME": 0.3}, {"O": 0.9, "I-NAME": 0.1}, {"O": 1.0}]
        >>> with_probable([], [(0, 3), (4, 6), (7, 11)], unsure, 0.05)
        [('NAME', 0, 6)]
    """
    ends = (end for _, end in [*tokens, *(place[1:] for place in places)])
    is_masked = bytearray(max(ends, default=0))
    for _, start, end in places:
        is_masked[start:end] = b"\1" * (end - start)
    found: List[Place] = []
    best, is_open = 0.0, False
    for token, by_tag in zip(tokens, probabilities):
        start, end = token
        inside = {tag: value for tag, value in by_tag.items() if tag != "O"}
        if all(is_masked[start:end]) or _most_probable(inside, "O" in by_tag) <= threshold:
            is_open = False
            continue
        tag = max(inside, key=inside.__getitem__)
        label = split_tag(tag)[1] or tag
        if is_open:
            last, start, _ = found.pop()
            label = label if inside[tag] > best else last
        best = max(inside[tag], best) if is_open else inside[tag]
        found.append((label, start, end))
        is_open = True
    return sorted([*places, *found], key=lambda place: place[1:])


def _most_probable(inside: Dict[str, float], is_one_chain: bool) -> float:
    """Returns the probability of all entity tags, or of those of a label if each has its own chain."""
    of_label: Dict[str, float] = {}
    for tag, value in inside.items():
        label = "" if is_one_chain else split_tag(tag)[1] or tag
        of_label[label] = of_label.get(label, 0.0) + value
    return max(of_label.values(), default=0.0)


class MaskWriter:
    """Writes masked texts from lines of predictions, as an encoder of `predict-file`.

    The output is a folder with a file for each text, or a file with a text on each line, in JSON if
    its name ends in `.jsonl`.

    Args:
        output: The path of the output, for a folder with a slash at its end.
        style: One of `STYLES`.
        repeats: Whether to mask other occurrences of what is found, by `with_repeats`.
        above: The threshold of `with_probable`; None to mask only predicted entities.
        input_file: What the predictions are of.
        input_format: Its format; None for lines.
        keep: The keys of the input to write beside the texts.
    """

    def __init__(
        self,
        output: str,
        style: str,
        repeats: bool,
        above: Optional[float],
        input_file: str,
        input_format: Optional[str],
        keep: Sequence[str] = (),
    ) -> None:
        self._is_folder = output.endswith("/")
        self._is_json = bare_suffix(output) == ".jsonl"
        # Next to the file that a link names, which is the file that is written.
        output = os.path.realpath(output) if Path(output).is_symlink() else output
        name = output.rstrip("/") if self._is_folder else without_suffix(output)
        self.sidecar = f"{name}.offsets.jsonl"
        self._style, self._repeats, self._above = style, repeats, above
        self._input_file, self._input_format, self._keep = input_file, input_format, keep

    def __call__(self, lines: Iterable[bytes], output: Any, sidecar: BinaryIO) -> None:
        """Writes to `output`, an open file, or the path of a new folder, and to the file `sidecar`."""
        num_texts = num_masks = 0
        write = self._in_folder if self._is_folder else self._in_file
        texts = texts_of_lines(lines, self._input_file, self._input_format, self._keep)
        for number, (text, found) in enumerate(texts, start=1):
            places: Sequence[Place] = text.entities
            if self._above is not None:
                probabilities = found.probabilities or []
                places = with_probable(places, text.tokens or [], probabilities, self._above)
            if self._repeats:
                places = with_repeats(text.text, places)
            masked, masks = mask_text(text.text, places, self._style)
            name = write(output, masked, text, number)
            record = {"text": name, "masks": [mask._asdict() for mask in masks]}
            sidecar.write(json_line(record).encode(errors="backslashreplace"))
            num_texts, num_masks = number, num_masks + len(masks)
        say(f"Masked {num_masks} places in {num_texts} texts; {self.sidecar} says where")

    def _in_folder(self, folder: Path, masked: str, text: AnnotatedText, number: int) -> str:
        """Writes a text, and returns its name in the folder."""
        source = Path(text.place)
        name = PurePath(f"{number:06}.txt")
        if self._input_format == "brat":
            is_inside = source.is_relative_to(self._input_file) and source != Path(self._input_file)
            name = source.relative_to(self._input_file) if is_inside else PurePath(source.name)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(masked.encode())
        return name.as_posix()

    def _in_file(self, file: BinaryIO, masked: str, text: AnnotatedText, number: int) -> int:
        """Writes a text, and returns its number."""
        if self._is_json:
            kept = text.properties if self._keep else {}
            file.write(json_line({**kept, "text": masked}).encode(errors="backslashreplace"))
        elif masked.splitlines() not in ([masked], []):
            raise ConfigurationError(
                f"{text.place}: the text has line ends; name an `--output` that ends in .jsonl, or a "
                "folder, by a slash at its end"
            )
        else:
            file.write(masked.encode() + b"\n")
        return number
