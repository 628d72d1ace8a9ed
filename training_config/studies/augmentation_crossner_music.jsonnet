// Augmentation on CrossNER's music domain: a hundred training sentences.
// Files: as for crossner_music.jsonnet.
(import 'augmentation.libsonnet')(import 'crossner_music.jsonnet')
