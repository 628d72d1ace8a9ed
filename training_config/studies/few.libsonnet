// The remedies that studies of larger corpora leave out.
[
  'CRF, chain, balanced',
  'softmax, dice',
  'softmax, dice of each token, alpha .6',
  'softmax, focal',
  'softmax, inverse_sqrt',
]
