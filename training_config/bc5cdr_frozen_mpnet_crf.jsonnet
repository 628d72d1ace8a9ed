// Like bc5cdr_bilstm_crf.jsonnet, but also over frozen features of the transformer all-mpnet-base-v2.
// Expect: development F1 0.883, test F1 0.871 (three runs).
(import 'bc5cdr_bilstm_crf.jsonnet') + (import 'mpnet.libsonnet') + {
  batch_size:: 32,
  learning_rate:: 0.003,
  transformer_dim:: 300,
  num_epochs:: 12,
}
