// MiniLM-L6 fine-tuned under a CRF on WNUT-17: emerging entities in noisy text, six labels, four of them rare.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2` writes the transformer.
// Expect: development F1 0.60, test F1 0.41 (one run).
(import 'tagger/training/transformer.libsonnet') + {
  transformer:: 'data/all-MiniLM-L6-v2',
  source_encoding:: 'BIO',

  train_data_path: 'data/wnut17/wnut17train.conll',
  validation_data_path: 'data/wnut17/emerging.dev.conll',
}
