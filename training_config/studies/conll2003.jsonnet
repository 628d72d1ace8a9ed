// Remedies on all of CoNLL-2003, with four labels, none of them rare. The dice loss was published with a gain here.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'remedies.libsonnet') + {
  tagger:: (import '../conll2003_frozen_minilm_crf.jsonnet') + $.light + {
    // Less than in the config, because there are many runs.
    hidden_size:: 128,
    num_epochs:: 4,
    test_data_path: 'data/conll2003/eng.testb',
  },
  resampled_epochs:: {},
  rare_labels:: ['MISC'],
  left_out:: [
    'CRF, chain, balanced',
    'CRF, marginal, gamma 2',
    'CRF, oversampling',
    'CRF, softmax_margin, missing 1',
    'softmax, dice',
    'softmax, focal',
    'softmax, inverse_sqrt',
    'softmax, logit_adjusted',
  ],
}
