// A BiLSTM-CRF on WNUT-17 over frozen features of the transformer all-mpnet-base-v2 and characters. It is smaller than
// wnut17_frozen_minilm_crf.jsonnet, and has no word vectors.
// Expect: development F1 0.688, test F1 0.550 (three runs).
(import 'wnut17_frozen_minilm_crf.jsonnet') + (import 'mpnet.libsonnet') + {
  glove_file:: null,
  hidden_size:: 128,
  num_epochs:: 8,
}
