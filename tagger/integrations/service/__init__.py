"""A tagger as a service over HTTP, with a page: what `allennlp serve` runs.

It needs FastAPI, uvicorn, httptools and prometheus_client: `pip install '.[serve]'`.

Page in `docs/how_to`: `service`.
"""
