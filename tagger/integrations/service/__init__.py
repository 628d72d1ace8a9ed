"""A tagger as a service over HTTP, with a page: what `allennlp serve` runs.

It needs FastAPI, uvicorn, httptools and prometheus_client: `pip install '.[serve]'`.

- `app`: the paths and the page (from `templates`), as an ASGI application; `schemas`: what they take and
  give;
- `limits`, `guard`: which requests are refused, and how;
- `batcher`: tags the texts of several requests together; `service_metrics`: what is counted;
- `server`: the process, its port, and its end; `bounded_protocol`: its connections.
"""
