"""Which pretrained parts are on this machine, for the config that the starter writes."""

import os
from pathlib import Path
from typing import Dict, List, NamedTuple

from tagger.transformers.pretrained import FOLDER_VARIABLE, weights_in

#: Where `fetch-encoder` writes them, below the working directory.
_TRANSFORMER = Path("data/all-MiniLM-L6-v2")
_GLOVE = Path("data/glove/glove.6B.50d.txt")


class AtHand(NamedTuple):
    """Fields of the template that use pretrained parts, and lines about what was found and what not."""

    settings: Dict[str, str]
    said: List[str]


def pretrained_at_hand(language: str) -> AtHand:
    """Looks for the transformer and the word vectors that `fetch-encoder` writes, which are English.

    The transformer may also be in the folder that the environment variable TAGGER_TRANSFORMERS names.
    """
    if language != "en":
        advice = "`transformer::` takes a folder with one for this language"
        return AtHand({}, [f"no pretrained transformer, since the texts are not English; {advice}"])
    settings: Dict[str, str] = {}
    said = []
    others = os.environ.get(FOLDER_VARIABLE)
    places = [*([Path(others, _TRANSFORMER.name)] if others else []), _TRANSFORMER]
    transformer = next(filter(_is_transformer, places), None)
    if transformer is not None:
        settings["transformer"] = str(transformer)
        said.append(f"features of the transformer {transformer}, which help most")
    else:
        said.append(
            "no pretrained transformer, which would help most: there is none in "
            f"{' or '.join(map(str, places))}; get it with `allennlp fetch-encoder all-MiniLM-L6-v2`"
        )
    if _GLOVE.is_file():
        settings["glove_file"] = str(_GLOVE)
        said.append(f"word vectors of {_GLOVE}, for words that are not in the training file")
    else:
        said.append(
            f"no pretrained word vectors: there is no {_GLOVE}; "
            "get them with `allennlp fetch-encoder glove`"
        )
    return AtHand(settings, said)


def _is_transformer(folder: Path) -> bool:
    return bool(weights_in(folder)) and (folder / "config.json").is_file()
