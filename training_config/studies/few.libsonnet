// The remedies that are left out on larger corpora.
[
  'CRF, chain, balanced',
  'CRF, chain, effective_number',
  'softmax, class_balanced',
  'softmax, dice',
  'softmax, dice of each token, alpha .6',
  'softmax, focal',
  'softmax, inverse_sqrt',
]
