// Remedies on WNUT-17 over GloVe 50 and characters: is their ranking the same without a transformer?
// Files: see data/README.md; `allennlp fetch-encoder glove`.
local whole = import 'wnut17.jsonnet';

whole {
  tagger:: (import '../wnut17_bilstm_crf.jsonnet') + {
    // As in the study with a transformer.
    hidden_size:: 128,
    num_epochs:: 8,
    test_data_path: 'data/wnut17/emerging.test.annotated',
  },
  seeds: [1, 2, 3],
  left_out:: [
    'CRF, chain, balanced',
    'CRF, marginal, gamma 2',
    'CRF, oversampling',
    'CRF, softmax_margin, missing 1',
    'softmax',
    'softmax, dice',
    'softmax, dice of each token, alpha .6',
    'softmax, focal',
    'softmax, logit_adjusted',
    'softmax, majority or minority',
  ],
}
