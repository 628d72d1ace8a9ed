// Remedies for rare labels on CrossNER's music domain: a hundred training sentences with 648 entities of 13 labels.
(import 'rare_labels.libsonnet') + {
  tagger:: (import '../crossner_music_bilstm_crf.jsonnet') + { test_data_path: 'data/crossner_music/test.txt' },
  // At most 36 training entities each; `musicalinstrument` has two.
  rare_labels:: ['country', 'event', 'location', 'misc', 'musicalinstrument', 'organisation', 'person', 'song'],
}
