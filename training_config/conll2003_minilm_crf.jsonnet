// MiniLM-L6 fine-tuned under a CRF on CoNLL-2003 English.
// Files: `python scripts/experiments/prepare_conll2003.py SOURCE` and `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'tagger/training/transformer.libsonnet') + {
  transformer:: 'data/all-MiniLM-L6-v2',
  source_encoding:: 'IOB1',

  train_data_path: 'data/conll2003/eng.train',
  validation_data_path: 'data/conll2003/eng.testa',
}
