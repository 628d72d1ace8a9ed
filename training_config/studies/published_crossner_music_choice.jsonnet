// Which weights the strategies of published_crossner_music.jsonnet get: chosen on development data, with one other seed.
(import 'published.libsonnet')(import 'crossner_music.jsonnet', 'effective_number', {}).choice
