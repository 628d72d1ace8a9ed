// Remedies for rare labels on WNUT-17. Of 1,975 training entities 660 are persons; each rare label has 140 to 264.
(import 'rare_labels.libsonnet') + {
  tagger:: (import '../wnut17_bilstm_crf.jsonnet') + {
    // A smaller tagger than the config's, for many runs.
    hidden_size:: 100,
    test_data_path: 'data/wnut17/emerging.test.annotated',
  },
  rare_labels:: ['corporation', 'creative-work', 'group', 'product'],
}
