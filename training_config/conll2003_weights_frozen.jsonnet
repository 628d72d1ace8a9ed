// As conll2003_frozen_minilm_crf.jsonnet, but smaller, for a study of many runs on a CPU: 3,000 sentences of each file,
// a BiLSTM of 100, and 6 epochs at a higher learning rate.
(import 'conll2003_frozen_minilm_crf.jsonnet') + {
  hidden_size:: 100,
  num_epochs:: 6,
  learning_rate:: 0.003,

  dataset_reader+: { max_instances: 3000 },
}
