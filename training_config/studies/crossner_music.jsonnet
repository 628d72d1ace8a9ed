// Remedies for rare labels on CrossNER's music domain: a hundred training sentences with 648 entities of 13 labels.
(import 'rare_labels.libsonnet') + {
  tagger:: import '../crossner_music_bilstm_crf.jsonnet',
  // At most 36 training entities each; `musicalinstrument` has two.
  rare_labels:: ['country', 'event', 'location', 'misc', 'musicalinstrument', 'organisation', 'person', 'song'],
}
