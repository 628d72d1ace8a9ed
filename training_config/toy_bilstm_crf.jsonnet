// A small BiLSTM-CRF on the few sentences of data/toy. It trains in seconds and is meant only for trying things out.
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  word_dim:: 20,
  min_word_count:: 1,
  character_dim:: 10,
  num_character_filters:: 10,
  hidden_size:: 20,
  dropout:: 0.1,
  batch_size:: 8,
  learning_rate:: 0.01,
  num_epochs:: 25,

  train_data_path: 'data/toy/train.txt',
  validation_data_path: 'data/toy/dev.txt',
}
