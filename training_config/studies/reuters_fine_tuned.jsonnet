// Four losses on Reuters-21578 with a fine-tuned transformer: the upper two layers are trained on stored states of the
// lower four. Texts are cut after 64 words, so that a run takes less than half an hour on one core.
// Files: `python scripts/experiments/prepare_reuters.py SOURCE` and `allennlp fetch-encoder all-MiniLM-L6-v2`.
local transformer = 'data/all-MiniLM-L6-v2';
local num_epochs = 6;
local cnn = import '../reuters_cnn.jsonnet';
local classifier(loss) = cnn + {
  loss:: { type: loss },
  test_data_path: 'data/reuters/test.jsonl',
  dataset_reader+: {
    max_tokens: 64,
    token_indexers: { tokens: { type: 'transformer', model_name: transformer } },
  },
  // The transformer has its own vocabulary of word pieces.
  vocabulary: { tokens_to_add: cnn.vocabulary.tokens_to_add },
  model+: {
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'transformer', model_name: transformer, num_frozen_layers: 4, dropout: 0.1 },
      },
    },
    encoder: { type: 'bag_of_embeddings', averaged: true },
    dropout: 0.1,
  },
  trainer+: {
    optimizer: { type: 'layerwise_adamw', lr: 0.005, transformer_lr: 3e-4, layer_decay: 0.9, weight_decay: 0.01 },
    learning_rate_scheduler: { type: 'slanted_triangular', num_epochs: num_epochs, cut_frac: 0.1 },
    num_epochs: num_epochs,
    grad_norm: 1,
  },
};

{
  seeds: [1, 2, 3],
  baseline: 'binary_cross_entropy',
  variants: {
    [loss]: classifier(loss)
    for loss in [
      'binary_cross_entropy',
      'negative_tolerant',
      'distribution_balanced',
      'class_balanced_negative_tolerant',
    ]
  },
  columns: (import 'reuters.jsonnet').columns,
}
