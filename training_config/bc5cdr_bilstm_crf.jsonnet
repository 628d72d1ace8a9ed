// A character-CNN BiLSTM-CRF on BC5CDR: chemicals and diseases in abstracts of medical articles.
// Files: see data/README.md; `allennlp fetch-encoder glove` writes the vectors.
// Expect: development F1 0.847, test F1 0.836 (one run).
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,

  train_data_path: 'data/bc5cdr/train.tsv',
  validation_data_path: 'data/bc5cdr/devel.tsv',
}
