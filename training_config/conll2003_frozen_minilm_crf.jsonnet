// A BiLSTM-CRF on CoNLL-2003 over frozen features of the transformer all-MiniLM-L6-v2, GloVe 50 and characters.
// The transformer reads up to 250 word pieces of a document together. Batches consist of sentences.
// Expect: development F1 0.949, test F1 0.916 (five runs).
// Files: see data/README.md; `allennlp fetch-encoder glove` and `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'IOB1',
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
  transformer:: 'data/all-MiniLM-L6-v2',
  // As good as batches of 16, with half as many steps.
  batch_size:: 32,
  learning_rate:: 0.003,
  num_epochs:: 9,

  train_data_path: 'data/conll2003/eng.train',
  validation_data_path: 'data/conll2003/eng.testa',

  dataset_reader+: { documents: 'docstart', instances: 'sentences' },
}
