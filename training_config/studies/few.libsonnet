// The remedies that are left out on larger corpora.
[
  'CRF, chain, balanced',
  'CRF, emission, inverse_sqrt',
  'CRF, sentence_resampling, sC',
  'CRF, sentence_resampling, sCR',
  'CRF, sentence_resampling, sCRD',
  'softmax, class_balanced',
  'softmax, dice',
  'softmax, dice of each token, alpha .6',
  'softmax, focal',
  'softmax, inverse_sqrt',
]
