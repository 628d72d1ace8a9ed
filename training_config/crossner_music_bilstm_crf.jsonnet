// A character-CNN BiLSTM-CRF on CrossNER's music domain: thirteen labels and a hundred training sentences.
// Files: see data/README.md; `allennlp fetch-encoder glove` writes the vectors.
// Expect: development F1 0.592, test F1 0.589, macro F1 0.465 (five runs).
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
  hidden_size:: 100,
  // With only a hundred sentences, small batches give enough steps.
  batch_size:: 8,
  num_epochs:: 60,

  train_data_path: 'data/crossner_music/train.txt',
  validation_data_path: 'data/crossner_music/dev.txt',
}
