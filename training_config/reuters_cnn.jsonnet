// A CNN over GloVe vectors of the words (Kim 2014) on Reuters-21578: 90 labels, several for each document.
// docs/how_to/several_labels.md lists the other losses.
// Files: `python scripts/experiments/prepare_reuters.py SOURCE` and `allennlp fetch-encoder glove`.
local loss = 'binary_cross_entropy';
local num_filters = 64;
local dropout = 0.5;
local learning_rate = 0.003;

{
  loss:: { type: loss },

  dataset_reader: {
    type: 'document',
    text_keys: ['title', 'text'],
    max_tokens: 150,
    token_indexers: { tokens: { type: 'word_forms', lowercase: true } },
  },
  train_data_path: 'data/reuters/train.jsonl',
  validation_data_path: 'data/reuters/dev.jsonl',
  // Words that occur only in other files keep their GloVe vectors, which are not trained.
  datasets_for_vocab_creation: ['train'],
  // Two labels have no training documents but occur in the other files.
  vocabulary: { min_count: { tokens: 3 }, tokens_to_add: { labels: ['lin-oil', 'sun-meal'] } },

  model: {
    type: 'document_classifier',
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'word_vectors', embedding_dim: 50, pretrained_file: 'data/glove/glove.6B.50d.txt' },
      },
    },
    encoder: { type: 'masked_cnn', num_filters: num_filters, ngram_filter_sizes: [1, 2, 3] },
    dropout: dropout,
    loss: $.loss,
  },

  data_loader: { type: 'bucketed', batch_size: 32 },
  validation_data_loader: { type: 'bucketed', batch_size: 128, shuffle: false },

  trainer: {
    optimizer: { type: 'fused_adam', lr: learning_rate },
    num_epochs: 12,
    patience: null,
    validation_metric: '+f1-measure-overall',
    checkpointer: { keep_most_recent_by_count: 1 },
    callbacks: ['show_metrics'],
  },
}
