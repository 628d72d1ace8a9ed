// Which weights the strategies of published_wnut17.jsonnet get: chosen on development data, with one other seed.
(import 'published.libsonnet')(import 'wnut17.jsonnet', 'effective_number', {}).choice
