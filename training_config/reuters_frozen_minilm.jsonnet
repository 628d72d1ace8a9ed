// As reuters_cnn.jsonnet, over frozen features of the transformer all-MiniLM-L6-v2: a learnt mix of its layers, each
// the mean over all word pieces of the document, and one hidden layer. An epoch takes seconds.
// Files: `python scripts/prepare_reuters.py SOURCE` and `python scripts/prepare_minilm.py`.
// Expect: test micro F1 .86, macro F1 .46 (three runs).
local cnn = import 'reuters_cnn.jsonnet';
local transformer = 'data/all-MiniLM-L6-v2';
local hidden_size = 512;

cnn + {
  dataset_reader+: {
    max_tokens: 512,
    token_indexers: { tokens: { type: 'frozen_transformer', model_name: transformer, unit: 'text' } },
  },
  // The transformer has its own vocabulary of word pieces.
  vocabulary: { tokens_to_add: cnn.vocabulary.tokens_to_add },
  model+: {
    text_field_embedder: {
      token_embedders: { tokens: { type: 'frozen_transformer', model_name: transformer } },
    },
    // Of width 1 over the one vector of a document, it is a hidden layer.
    encoder: { type: 'masked_cnn', num_filters: hidden_size, ngram_filter_sizes: [1] },
    dropout: 0.3,
  },
  trainer+: {
    optimizer: { type: 'fused_adam', lr: 0.003 },
    num_epochs: 30,
    callbacks+: ['frozen_features'],
  },
}
