// Like reuters_frozen_minilm.jsonnet, over the larger transformer all-mpnet-base-v2.
(import 'reuters_frozen_minilm.jsonnet') + (import 'mpnet.libsonnet') + {
  transformer_layers:: [6, 12],
}
