// Like reuters_cnn.jsonnet, but fine-tunes the transformer all-MiniLM-L6-v2 (22.7 million parameters) on a GPU.
// Files: `python scripts/experiments/prepare_reuters.py SOURCE` and `allennlp fetch-encoder all-MiniLM-L6-v2`.
local cnn = import 'reuters_cnn.jsonnet';
local transformer = 'data/all-MiniLM-L6-v2';
local max_tokens = 256;

cnn + {
  dataset_reader+: {
    max_tokens: max_tokens,
    tokenizer: { type: 'pretrained_transformer', model_name: transformer, max_length: max_tokens },
    token_indexers: { tokens: { type: 'pretrained_transformer', model_name: transformer } },
  },
  // The transformer has its own vocabulary of subwords.
  vocabulary: { tokens_to_add: cnn.vocabulary.tokens_to_add },
  model+: {
    text_field_embedder: {
      token_embedders: { tokens: { type: 'pretrained_transformer', model_name: transformer } },
    },
    encoder: { type: 'bag_of_embeddings', averaged: true },
  },
  trainer+: {
    optimizer: {
      type: 'huggingface_adamw',
      lr: 5e-5,
      // The new layer has a higher learning rate than the pretrained ones.
      parameter_groups: [[['^projection'], { lr: 1e-3 }]],
    },
    learning_rate_scheduler: { type: 'slanted_triangular', num_epochs: 20, cut_frac: 0.1 },
    num_epochs: 20,
    grad_norm: 1,
    use_amp: true,
  },
}
