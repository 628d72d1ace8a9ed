"""The service's endpoints, as an ASGI application."""

import base64
import hashlib
import json
import re
import time
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from tagger.common.version import __version__
from tagger.integrations.service import schemas
from tagger.integrations.service.batcher import Batcher, Job
from tagger.integrations.service.guard import App, Guard
from tagger.integrations.service.label_studio import add_label_studio
from tagger.integrations.service.limits import (
    Limits,
    RequestError,
    check_biases,
    check_extras,
    check_sizes,
    inputs_of,
    set_thresholds_of,
)
from tagger.integrations.service.retraining import Retraining
from tagger.integrations.service.service_metrics import CONTENT_TYPE, ServiceMetrics
from tagger.predictors.saved_tagger import SavedTagger, TaggedText
from tagger.tools.reports.page import render
from tagger.tools.tuning.curves import DecodingCurves
from tagger.tools.tuning.decoding import LARGEST_BIAS
from tagger.tools.tuning.promise_record import Promise
from tagger_texts.display import LABELS
from tagger_texts.inputs import InputError, parse_json
from tagger_texts.tagged_text import Extras

#: Names under which every machine can reach itself.
LOCAL_HOSTS = ("localhost",)
_REFUSED: Dict[Union[int, str], Dict[str, Any]] = {
    status: {"model": schemas.ErrorResponse, "description": description}
    for status, description in {
        400: "The body is not valid JSON.",
        403: "The request comes from a page of another site.",
        408: "The body arrives too slowly.",
        413: "Too many bytes, texts, characters or tokens.",
        421: "The service is not known by this name.",
        422: "The body does not match the schema, or a label is unknown.",
        503: "Too many requests are waiting for the model.",
    }.items()
}


class Served(NamedTuple):
    """A tagger, for the service's exclusive use, and facts about it."""

    model: SavedTagger
    name: str
    curves: Optional[DecodingCurves] = None
    promises: Sequence[Promise] = ()


class _StrictRequest(Request):
    async def json(self) -> Any:
        """Returns the body; refuses a field that occurs twice."""
        try:
            return parse_json(await self.body())
        except InputError as error:
            raise RequestError(422, "invalid", str(error)) from None
        except RecursionError:
            raise RequestError(400, "no_json", "the body is nested too deeply") from None
        except UnicodeDecodeError as error:
            raise RequestError(400, "no_json", f"the body is not UTF-8 ({error})") from None


class _StrictRoute(APIRoute):
    def get_route_handler(self) -> Any:
        answer = super().get_route_handler()

        async def answer_strictly(request: Request) -> Response:
            return await answer(_StrictRequest(request.scope, request.receive))

        return answer_strictly


def create_app(
    served: Served,
    limits: Limits = Limits(),  # noqa: B008  (immutable)
    hosts: Optional[Sequence[str]] = LOCAL_HOSTS,
    retraining: Optional[Retraining] = None,
) -> App:
    """Returns the service as an ASGI application; `hosts` are its names, or None to allow any.

    With `retraining`, it is a machine learning backend for Label Studio, too.
    """
    metrics = ServiceMetrics()
    batcher = Batcher(served.model, limits, metrics)
    metrics.waiting.set_function(lambda: batcher.num_waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if retraining is not None:
            retraining.close()
        await batcher.close()

    app = FastAPI(
        title="allennlp serve",
        version=__version__,
        description="Tags texts with a trained sequence tagger.",
        # FastAPI's own pages load scripts from other sites.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.router.route_class = _StrictRoute
    _add_error_handlers(app)
    _add_tagging(app, limits, batcher, metrics)
    _add_information(app, served, limits, batcher, metrics)
    if retraining is not None:
        add_label_studio(app, batcher, limits, retraining)
    return Guard(app, limits, None if hosts is None else frozenset(hosts), metrics)


def render_page(model: str) -> Tuple[str, Dict[str, str]]:
    """Returns the page and its headers.

    The headers keep browsers from loading anything from other sites and from running other scripts.
    """
    page = render(
        "tagger.integrations.service",
        "page.html",
        model=model,
        num_colours=len(LABELS),
        largest_bias=LARGEST_BIAS,
    )
    hashes = {tag: _hash_of(page, tag) for tag in ("script", "style")}
    policy = (
        f"default-src 'none'; script-src '{hashes['script']}'; style-src '{hashes['style']}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page, {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def _add_tagging(app: FastAPI, limits: Limits, batcher: Batcher, metrics: ServiceMetrics) -> None:
    @app.post("/tag", response_model=schemas.TagResponse, responses=_REFUSED)
    async def tag(request: schemas.TagRequest) -> Response:
        """Tags one or several texts, batched with other requests."""
        started = time.perf_counter()
        inputs = inputs_of(request)
        check_sizes(inputs, limits)
        model = batcher.model
        check_biases(request.decode_bias, model.biases)
        biases = tuple(sorted(request.decode_bias.items()))
        extras = Extras(
            request.probabilities,
            tuple(sorted(set(request.leak_labels))),
            request.candidates,
            set_thresholds_of(model) if request.sets else None,
        )
        check_extras(extras, model)
        results = await batcher.tag(Job(model, inputs, extras, biases))
        metrics.count(results)
        metrics.seconds.observe(time.perf_counter() - started)
        content = {"results": [_as_dict(result) for result in results]}
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return Response(text.encode(), media_type="application/json")


def _add_information(
    app: FastAPI, served: Served, limits: Limits, batcher: Batcher, metrics: ServiceMetrics
) -> None:
    page, headers = render_page(served.name)
    started = time.monotonic()

    @app.get("/", include_in_schema=False)
    async def show_page() -> HTMLResponse:
        return HTMLResponse(page, headers=headers)

    @app.get("/labels")
    async def labels() -> schemas.Labels:
        """Returns the labels, their biases, and if known, precision and recall at each bias."""
        now = served
        if batcher.model is not served.model:  # Promises are those of one tagger.
            now = Served(batcher.model, served.name)
        return schemas.Labels(
            labels=_labels(now),
            promises=[
                schemas.PromiseKept(labels=list(each.goal.labels), text=str(each), date=each.date)
                for each in now.promises
            ],
            curves_data=None if now.curves is None else now.curves.data,
            limits=limits._asdict(),
        )

    @app.get("/health")
    async def health() -> schemas.Health:
        """Reports that the service is up."""
        return schemas.Health(
            status="ok",
            model=served.name,
            waiting_requests=batcher.num_waiting,
            seconds=round(time.monotonic() - started, 3),
        )

    @app.get("/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE: {}}}})
    async def show_metrics() -> Response:
        """Returns counters in Prometheus' text format."""
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _add_error_handlers(app: FastAPI) -> None:
    async def refused(_: Request, error: Any) -> Response:
        return error.response()

    async def invalid(request: Request, error: Any) -> Response:
        kind = request.headers.get("content-type", "")
        if "json" not in kind and error.errors()[0]["loc"] == ("body",):
            message = (
                f"the body must be JSON, and its header must say so; got {kind[:100] or 'no type'!r}; "
                "send `Content-Type: application/json`"
            )
            return RequestError(422, "invalid", message).response()
        # The input is left out, since it could be anything.
        problems = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5]
        ]
        if error.errors()[0]["type"] == "json_invalid":
            return RequestError(400, "no_json", f"the body is no JSON ({problems[0]})").response()
        message = f"{'; '.join(problems)[:1000]}; /openapi.json describes what is expected"
        return RequestError(422, "invalid", message).response()

    async def other(request: Request, error: Any) -> Response:
        path, status = request.url.path[:100], error.status_code
        code, message = {
            400: ("no_json", "the body is no JSON"),
            404: (
                "not_found",
                f"there is no {path}; there are /, /tag, /labels, /health, /metrics",
            ),
            405: ("wrong_method", f"{path} does not take {request.method[:20]}"),
        }.get(status, ("refused", str(error.detail)))
        return RequestError(status, code, message, headers=error.headers).response()

    async def failed(_: Request, error: Exception) -> Response:
        message = f"the service failed ({type(error).__name__}); its log has more"
        return RequestError(500, "failed", message).response()

    app.add_exception_handler(RequestError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)
    app.add_exception_handler(Exception, failed)


def _labels(served: Served) -> List[schemas.Label]:
    biases = served.model.biases
    curves = {} if served.curves is None else served.curves.labels
    return [
        schemas.Label(
            name=label,
            bias=biases.get(label),
            curve=schemas.LabelCurve(**curves[label]._asdict()) if label in curves else None,
        )
        for label in biases or served.model.labels
    ]


def _as_dict(result: TaggedText) -> Dict[str, Any]:
    entities, candidates = (
        [entity._asdict() for entity in each] for each in (result.entities, result.candidates)
    )
    sets = [
        {**each._asdict(), "alternatives": [entity._asdict() for entity in each.alternatives]}
        for each in result.sets
    ]
    sequences = [
        {
            **each._asdict(),
            "sequences": [dict(zip(("tags", "probability"), s)) for s in each.sequences],
        }
        for each in result.sequences
    ]
    fields = {name: getattr(result, name) for name in schemas.TextTagged.model_fields}
    lists = {"entities": entities, "candidates": candidates, "sets": sets, "sequences": sequences}
    return {**fields, **lists}


def _hash_of(page: str, tag: str) -> str:
    """Returns the hash by which browsers identify the only element of this kind."""
    (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
