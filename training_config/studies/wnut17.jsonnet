// Remedies for rare labels on WNUT-17. Of the 1,975 training entities, 660 are persons; each rare label has 140 to 264.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'remedies.libsonnet') + {
  tagger:: (import '../wnut17_frozen_minilm_crf.jsonnet') + $.light + {
    // Less than in the config, because there are many runs.
    hidden_size:: 128,
    num_epochs:: 8,
    test_data_path: 'data/wnut17/emerging.test.annotated',
  },
  seeds: [1, 2, 3, 4, 5],
  resampled_epochs:: { nsCRD: 4 },
  rare_labels:: ['corporation', 'creative-work', 'group', 'product'],
  left_out:: [
    'CRF, chain, balanced',
    'softmax, dice',
    'softmax, dice of each token, alpha .6',
    'softmax, focal',
  ],
}
