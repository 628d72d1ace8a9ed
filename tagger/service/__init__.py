"""A tagger as a service over HTTP, with a page: what `allennlp serve` runs.

It needs FastAPI, uvicorn, httptools and prometheus_client: `pip install 'allennlp-tagger[serve]'`.

- `app`: the paths, as an ASGI application; `schemas`: what they take and give;
- `guard`, `checks`, `limits`, `request_error`: which requests are refused, and how;
- `batcher`: tags the texts of several requests together;
- `page`: the page, from `templates`;
- `server`: the process: its port, and its end; `bounded_protocol`: its HTTP.
"""
