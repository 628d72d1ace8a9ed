// The model of a published study of class weights on CoNLL-2003: random word vectors, BiGRUs over characters and over
// words, no dropout, an L2 penalty on the transitions, and Adam with a constant learning rate. Only word dropout, which
// trains the vector of unknown words, comes from the template. studies/conll2003_weights.jsonnet repeats the study with
// a smaller model.
// Files: `python scripts/experiments/prepare_conll2003.py SOURCE` puts them into data/conll2003.
local character_hidden_size = 80;

(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'IOB1',
  tag_encoding:: 'BIO',
  min_word_count:: 1,
  character_dim:: 25,
  shape_dim:: 0,
  hidden_size:: 300,
  batch_size:: 32,
  learning_rate:: 0.001,
  average_decay:: 0,
  num_epochs:: 25,
  patience:: 5,

  train_data_path: 'data/conll2003/eng.train',
  validation_data_path: 'data/conll2003/eng.testa',

  model+: {
    text_field_embedder+: { token_embedders+: { token_characters+: { encoder: {
      type: 'gru',
      input_size: $.character_dim,
      hidden_size: character_hidden_size,
      bidirectional: true,
    } } } },
    encoder: { type: 'gru', hidden_size: $.hidden_size, bidirectional: true },
    regularizer: { regexes: [['head\\.crf\\.transitions', { type: 'l2', alpha: 0.01 }]] },
  },
  trainer+: {
    optimizer: { type: 'fused_adam', lr: $.learning_rate },
    learning_rate_scheduler: null,
  },
}
