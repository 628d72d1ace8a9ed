"""Serves a tagger over HTTP, with a web page; run by `allennlp serve`.

It needs FastAPI, uvicorn, httptools and prometheus_client: `pip install '.[serve]'`.

Page in `docs/how_to`: `service`.
"""
