// Like conll2003_weights.jsonnet, with GloVe vectors and only the best strategies: 39 runs.
(import 'conll2003_weights.jsonnet') + {
  tagger+:: {
    dataset_reader+: { token_indexers+: { tokens+: { lowercase: true } } },
    model+: { text_field_embedder+: { token_embedders+: { tokens+: {
      pretrained_file: 'data/glove/glove.6B.50d.txt',
    } } } },
  },
  strategies:: ['chain', 'marginal', 'decode_bias'],
  weights:: [0.25, 3],
}
