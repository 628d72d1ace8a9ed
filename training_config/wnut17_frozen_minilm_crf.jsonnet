// A BiLSTM-CRF on WNUT-17 over frozen features of the transformer all-MiniLM-L6-v2, GloVe 50 and characters.
// Expect: development F1 0.617, test F1 0.455 (five runs).
// Files: see data/README.md; `allennlp fetch-encoder glove` and `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
  transformer:: 'data/all-MiniLM-L6-v2',
  learning_rate:: 0.0015,
  num_epochs:: 14,

  train_data_path: 'data/wnut17/wnut17train.conll',
  validation_data_path: 'data/wnut17/emerging.dev.conll',
}
