"""Label Studio's machine learning backend: predictions for tasks, and annotations to train on.

Label Studio calls `/setup` when it is connected, `/predict` with tasks, and `/webhook` with what people
did. It makes the webhook by itself.
"""

import logging
import math
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple
from xml.etree import ElementTree

from fastapi import FastAPI

from tagger.data.formats.annotated_text import AnnotatedText, Annotation
from tagger.data.formats.label_studio import annotated_task, results_of
from tagger.integrations.service.batcher import Batcher, Job
from tagger.integrations.service.limits import Limits, RequestError, check_extras, check_sizes
from tagger.integrations.service.retraining import Retraining
from tagger.predictors.saved_tagger import SavedTagger, TaggedText, load
from tagger_texts.tagged_text import NO_EXTRAS, Extras

logger = logging.getLogger(__name__)

#: Actions of Label Studio that bring or remove annotations, or ask for a training.
_SAVED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
_DELETED, _START = "ANNOTATIONS_DELETED", "START_TRAINING"


class Controls(NamedTuple):
    """The part of a labelling config that concerns entities."""

    from_name: str  # The name of the labels' control
    to_name: str  # The name of the text
    key: str  # The key of the text in a task's data
    labels: Tuple[str, ...]


def controls_of(config: Any) -> Controls:
    """Finds the labels and the text in a labelling config, XML.

    Raises:
        RequestError: If there is no such pair.
    """
    try:
        if not isinstance(config, str) or "<!" in config.replace("<!--", ""):
            raise ElementTree.ParseError
        root = ElementTree.fromstring(config)
    except ElementTree.ParseError:
        raise RequestError(
            422,
            "invalid",
            f"the labelling config must be XML without declarations, got {config!r:.80}",
        ) from None
    texts = {each.get("name"): each.get("value", "") for each in root.iter("Text")}
    for control in root.iter("Labels"):
        to_name = control.get("toName", "")
        if to_name in texts and texts[to_name].startswith("$"):
            labels = tuple(each.get("value", "") for each in control.iter("Label"))
            return Controls(control.get("name", ""), to_name, texts[to_name][1:], labels)
    raise RequestError(
        422,
        "invalid",
        "the labelling config must have labels of a text, such as "
        '<Labels name="label" toName="text"> and <Text name="text" value="$text"/>',
    )


def add_label_studio(
    app: FastAPI, batcher: Batcher, limits: Limits, retraining: Retraining
) -> None:
    """Adds the paths that Label Studio calls; a new tagger takes the place of the old one."""

    def use(archive: Path) -> None:
        batcher.model = load(archive)

    retraining.loaded = use

    @app.post("/setup")
    async def setup(body: Dict[str, Any]) -> Dict[str, str]:
        """Says which version of the tagger answers, when Label Studio connects."""
        controls = controls_of(body.get("schema"))
        lacking = sorted(set(batcher.model.labels) - set(controls.labels))
        if lacking:
            logger.warning(
                "the Label Studio project lacks these labels of the tagger: %s; they are not suggested",
                ", ".join(lacking),
            )
        return {"model_version": retraining.version}

    @app.post("/predict")
    async def predict(body: Dict[str, Any]) -> Dict[str, Any]:
        """Tags tasks; the score of a task says which to ask about: the lowest first."""
        controls = controls_of(body.get("label_config"))
        texts = _texts_of(body.get("tasks"), controls)
        check_sizes(texts, limits)
        model, version = batcher.model, retraining.version
        extras = _extras_for(model)
        found = await batcher.tag(Job(model, list(texts), extras, ())) if texts else []
        results = [{**_prediction(each, controls), "model_version": version} for each in found]
        return {"results": results, "model_version": version}

    @app.post("/webhook")
    async def webhook(body: Dict[str, Any]) -> Dict[str, Any]:
        """Keeps annotations, and trains when there are enough new ones."""
        action = body.get("action")
        if action in _SAVED:
            for task, annotation in _pairs_of(body):
                controls = controls_of(_of(body.get("project"), "project").get("label_config"))
                retraining.keep(*_annotated(task, annotation, controls))
        elif action == _DELETED:
            for each in _listed(body.get("annotation", body.get("annotations"))):
                retraining.drop(_of(each, "annotation").get("id"))
        started = retraining.start(at_once=action == _START)
        return {"status": "training" if started else "ok", "annotations": retraining.num_texts}

    @app.get("/versions")
    async def versions() -> Dict[str, List[str]]:
        """Names the version that answers."""
        return {"versions": [retraining.version]}


def doubt_of(text: TaggedText) -> float:
    """Returns the uncertain share of a text's words.

    Each entity counts by the probability that it is wrong, and entities that may be missed count by
    their expected number.
    """
    wrong = sum(1 - each.probability for each in text.entities if each.probability is not None)
    return min(1.0, (wrong + (text.expected_missed or 0.0)) / max(len(text.tokens), 1))


def _prediction(text: TaggedText, controls: Controls) -> Dict[str, Any]:
    """Returns Label Studio's form of a tagged text, with the entities of the project's labels."""
    kept = [each for each in text.entities if not controls.labels or each.label in controls.labels]
    annotated = AnnotatedText(
        text.text,
        [Annotation(each.label, each.start, each.end) for each in kept],
        None,
        None,
        "",
        {},
        [math.nan if each.probability is None else each.probability for each in kept],
    )
    results = results_of(annotated, controls.from_name, controls.to_name)
    return {"result": results, "score": round(1 - doubt_of(text), 6)}


def _extras_for(model: SavedTagger) -> Extras:
    """Returns the extras by which doubt is measured, as far as the tagger has them."""
    extras = Extras(False, tuple(model.labels), None)
    try:
        check_extras(extras, model)
    except RequestError:
        return NO_EXTRAS
    return extras


def _texts_of(tasks: Any, controls: Controls) -> List[str]:
    texts = []
    for number, task in enumerate(_listed(tasks)):
        text = _of(_of(task, "task").get("data"), "data").get(controls.key)
        if not isinstance(text, str):
            raise RequestError(
                422,
                "invalid",
                f"task {number} must have the text as data.{controls.key}, got {text!r:.80}",
            )
        texts.append(text)
    return texts


def _pairs_of(body: Dict[str, Any]) -> Sequence[Tuple[Any, Any]]:
    """Returns the tasks and annotations of an event, which has one of each, or lists of them."""
    tasks, annotations = _listed(body.get("task")), _listed(body.get("annotation"))
    if len(tasks) != len(annotations):
        raise RequestError(
            422,
            "invalid",
            f"got {len(tasks)} tasks with {len(annotations)} annotations; send pairs",
        )
    return list(zip(tasks, annotations))


def _annotated(
    task: Any, annotation: Any, controls: Controls
) -> Tuple[Any, Any, Optional[AnnotatedText]]:
    """Returns the identities of a task and an annotation, and the text; None if it was cancelled."""
    task, annotation = _of(task, "task"), _of(annotation, "annotation")
    if annotation.get("was_cancelled"):
        return task.get("id"), annotation.get("id"), None
    try:
        found = annotated_task(task, annotation, controls.key, f"task {task.get('id')}")
    except ValueError as error:
        raise RequestError(422, "invalid", str(error)) from None
    return task.get("id"), annotation.get("id"), found


def _listed(value: Any) -> List[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _of(value: Any, name: str) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(422, "invalid", f"`{name}` must be an object, got {value!r:.80}")
    return value
