// A character-CNN BiLSTM-CRF on labelled US addresses: a street, a house number, a city, ...
// Files: `python scripts/experiments/prepare_us_addresses.py` puts them into data/us_addresses.
// Expect: development F1 0.928, test F1 0.926, macro F1 0.80 over 29 labels, six of which have fewer than ten examples (five runs).
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  // `Chicago,` keeps its comma.
  tokenizer:: { type: 'blanks' },
  hidden_size:: 100,
  // With only about a thousand addresses, small batches give enough steps.
  batch_size:: 8,
  num_epochs:: 40,

  train_data_path: 'data/us_addresses/train.txt',
  validation_data_path: 'data/us_addresses/dev.txt',
}
