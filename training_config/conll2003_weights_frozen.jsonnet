// A smaller version of conll2003_frozen_minilm_crf.jsonnet, for a study of many runs on a CPU: 3,000 sentences of each
// file, a BiLSTM of size 100, and 6 epochs with smaller batches.
(import 'conll2003_frozen_minilm_crf.jsonnet') + {
  hidden_size:: 100,
  batch_size:: 16,
  num_epochs:: 6,

  dataset_reader+: { max_instances: 3000 },
}
