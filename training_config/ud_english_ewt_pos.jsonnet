// Parts of speech: a BiLSTM-CRF with characters and GloVe on the English Web Treebank of Universal Dependencies, 17 tags.
// Files: `python scripts/experiments/prepare_ud_english_ewt.py UD_English-EWT` puts them into data/ud_english_ewt, and
// `allennlp fetch-encoder glove` puts the vectors into data/glove.
// Expect: development accuracy 0.959, test accuracy 0.958 (three seeds, at most 0.001 apart). spaCy's
// en_udv25_englishewt_trf, over a transformer and from raw text, reports 0.969.
(import 'tagger/training/template.libsonnet') + {
  // Tags are plain labels, one for each word.
  source_encoding:: null,
  tag_encoding:: null,
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
  num_epochs:: 10,

  train_data_path: 'data/ud_english_ewt/train.txt',
  validation_data_path: 'data/ud_english_ewt/dev.txt',
  trainer+: { validation_metric: '+accuracy' },
}
