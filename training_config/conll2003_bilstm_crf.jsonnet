// A character-CNN BiLSTM-CRF on CoNLL-2003 English, after Ma & Hovy (2016), with random word vectors.
// Files: `python scripts/experiments/prepare_conll2003.py SOURCE` puts them into data/conll2003.
// Expect: development F1 0.907, test F1 0.848 (five runs); published without pretrained vectors: 0.81 to 0.84.
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'IOB1',

  train_data_path: 'data/conll2003/eng.train',
  validation_data_path: 'data/conll2003/eng.testa',
}
