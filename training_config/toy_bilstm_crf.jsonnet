// A small BiLSTM-CRF on the corpus of a few sentences in data/toy: seconds to train, and good for nothing else.
(import 'template.libsonnet') + {
  source_encoding:: 'BIO',
  word_dim:: 20,
  min_word_count:: 1,
  character_dim:: 10,
  num_character_filters:: 10,
  hidden_size:: 20,
  dropout:: 0.1,
  batch_size:: 8,
  learning_rate:: 0.01,
  num_epochs:: 15,

  train_data_path: 'data/toy/train.txt',
  validation_data_path: 'data/toy/dev.txt',
}
