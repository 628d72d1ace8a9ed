// Remedies for rare labels on CrossNER's music domain: a hundred training sentences with 648 entities of 13 labels.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'remedies.libsonnet') + {
  tagger:: (import '../crossner_music_bilstm_crf.jsonnet') + $.light + {
    transformer:: 'data/all-MiniLM-L6-v2',
    // This is enough with frozen features.
    num_epochs:: 40,
    test_data_path: 'data/crossner_music/test.txt',
  },
  resampled_epochs:: { sC: 9, sCR: 5, sCRD: 3, nsCRD: 8 },
  // At most 36 training entities each; `musicalinstrument` has two.
  rare_labels:: ['country', 'event', 'location', 'misc', 'musicalinstrument', 'organisation', 'person', 'song'],
}
