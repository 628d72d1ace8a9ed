// A character-CNN BiLSTM-CRF on WNUT-17: emerging entities in noisy text, six labels, four of them rare.
// Files: see data/README.md; `allennlp fetch-encoder glove` writes the vectors.
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
  num_epochs:: 12,

  train_data_path: 'data/wnut17/wnut17train.conll',
  validation_data_path: 'data/wnut17/emerging.dev.conll',
}
