// Ensembles on CrossNER's music domain. Files: as for crossner_music.jsonnet.
(import 'ensembles.libsonnet')(import 'crossner_music.jsonnet')
