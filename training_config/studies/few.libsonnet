// The remedies that are left out on larger corpora.
[
  'CRF, chain, balanced',
  'softmax, dice',
  'softmax, dice of each token, alpha .6',
  'softmax, focal',
  'softmax, inverse_sqrt',
]
