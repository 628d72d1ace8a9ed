// A smaller version of the model of conll2003_bigru_crf.jsonnet, for a study of many runs on a CPU: fewer sentences,
// a convolution over characters, a BiLSTM over words, and fewer epochs at a higher learning rate.
(import 'conll2003_bigru_crf.jsonnet') + {
  hidden_size:: 100,
  num_epochs:: 6,
  learning_rate:: 0.003,

  dataset_reader+: { max_instances: 3000 },

  model+: {
    text_field_embedder+: { token_embedders+: { token_characters+: { encoder: {
      type: 'masked_cnn',
      embedding_dim: $.character_dim,
      num_filters: 30,
      ngram_filter_sizes: [3],
    } } } },
    encoder: { type: 'bilstm', hidden_size: $.hidden_size },
  },
}
