// Like reuters_frozen_minilm.jsonnet, over the larger transformer all-mpnet-base-v2.
// Its F1 has not been measured yet.
(import 'reuters_frozen_minilm.jsonnet') + (import 'mpnet.libsonnet') + {
  transformer_layers:: [6, 12],
}
