"""The page with the figures of one or more trellises."""

import itertools
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from tagger.tools.reports.page import write_page
from tagger.tools.reports.trellis import HEADINGS, LEAST, Trellis, spelled
from tagger_texts.display import num_columns, spell_probability
from tagger_texts.segments import join_words

#: The most tags of a figure.
MOST_TAGS = 12
#: The distances of columns and rows of a figure, and the longest token in it, in characters.
COLUMN, ROW, MOST_COLUMNS = 132, 56, 14


def write_trellis_page(path: Path, trellises: Sequence[Trellis]) -> None:
    """Writes a page with the figure and the table of each trellis; all are of the same tokens."""
    tags, num_others = shown_tags(trellises)
    found: List[Dict[str, Any]] = [
        {
            "name": each.name,
            "summary": each.summary(),
            "drawing": drawing_of(each, tags),
            "table": [HEADINGS, *each.rows()],
        }
        for each in trellises
    ]
    sentence, _ = join_words(trellises[0].tokens)
    has_gold = trellises[0].gold is not None
    values: Dict[str, Any] = {"trellises": found, "num_others": num_others}
    values["least"] = spell_probability(LEAST)
    write_page("trellis.html", path, {}, sentence=sentence, has_gold=has_gold, **values)


def shown_tags(trellises: Sequence[Trellis]) -> Tuple[List[str], int]:
    """Returns the tags to draw, and how many others have a probability of at least `LEAST`.

    Tags of the paths come first, then the most probable ones; the order is that of the vocabularies.
    """
    highest: Dict[str, float] = {}
    for trellis in trellises:
        on_paths = set(itertools.chain(*trellis.paths.values()))
        for k, tag in enumerate(trellis.tags):
            value = float(trellis.marginals[:, k].max()) + 2 * (k in on_paths)
            highest[tag] = max(value, highest.get(tag, 0.0))
    candidates = [tag for tag, value in highest.items() if value >= LEAST]
    kept = set(sorted(candidates, key=highest.__getitem__, reverse=True)[:MOST_TAGS])
    return [tag for tag in candidates if tag in kept], len(candidates) - len(kept)


def drawing_of(trellis: Trellis, tags: Sequence[str]) -> Dict[str, Any]:
    """Returns the places and texts of a figure with a column for each token and a row for each tag.

    Tags that the tagger lacks have an empty row. Paths are drawn between neighbours that are both known.
    """
    index = {tag: k for k, tag in enumerate(trellis.tags)}
    left = 24 + 8 * max(map(num_columns, tags))
    xs = [left + t * COLUMN for t in range(len(trellis.tokens))]
    ys = {index[tag]: 44 + row * ROW for row, tag in enumerate(tags) if tag in index}
    cells = [
        {
            "x": x,
            "y": y,
            "tint": round(100 * float(trellis.marginals[t, k])),
            "probability": spell_probability(float(trellis.marginals[t, k])),
            "emission": spelled(float(trellis.scores.emissions[0, t, k])),
            "paths": [name for name, path in trellis.paths.items() if path[t] == k],
            "title": f"{trellis.tags[k]} at {trellis.tokens[t]}",
        }
        for t, x in enumerate(xs)
        for k, y in ys.items()
        if trellis.marginals[t, k] >= LEAST or k in [path[t] for path in trellis.paths.values()]
    ]
    return {
        "width": left + len(xs) * COLUMN,
        "height": 44 + len(tags) * ROW,
        "tags": [(44 + row * ROW, tag) for row, tag in enumerate(tags)],
        "tokens": [(x, _shortened(token), token) for x, token in zip(xs, trellis.tokens)],
        "cells": cells,
        "edges": [
            edge for t, x in enumerate(xs[1:]) for edge in _edges(trellis, ys, t, x - COLUMN)
        ],
    }


def _edges(trellis: Trellis, ys: Dict[int, int], t: int, x: int) -> List[Dict[str, Any]]:
    """The lines from token t at `x` to the next; `ys` are the places of the tags."""
    on = {name: (path[t], path[t + 1]) for name, path in trellis.paths.items()}
    edges = []
    for i, j in itertools.product(ys, ys):
        probability = float(trellis.transitions[t, i, j])
        own = [name for name, each in on.items() if each == (i, j)]
        if own or probability >= LEAST:
            score, names = spelled(trellis.arrival(t + 1, i, j)), trellis.tags
            title = f"{names[i]} to {names[j]}: {score}, {spell_probability(probability)}"
            edge = {"x": x, "y": ys[i], "to": ys[j], "share": round(probability, 3)}
            edges.append({**edge, "paths": own, "score": score, "title": title})
    return edges


def _shortened(token: str) -> str:
    return token if num_columns(token) <= MOST_COLUMNS else f"{token[: MOST_COLUMNS - 2]}…"
