// Like bc5cdr_bilstm_crf.jsonnet, but also over frozen features of the transformer all-mpnet-base-v2.
// Its F1 has not been measured yet.
(import 'bc5cdr_bilstm_crf.jsonnet') + (import 'mpnet.libsonnet') + {
  batch_size:: 32,
  learning_rate:: 0.003,
  transformer_dim:: 300,
  num_epochs:: 12,
}
