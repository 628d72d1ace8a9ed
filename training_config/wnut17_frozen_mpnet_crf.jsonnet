// Like wnut17_frozen_minilm_crf.jsonnet, over the larger transformer all-mpnet-base-v2.
(import 'wnut17_frozen_minilm_crf.jsonnet') + (import 'mpnet.libsonnet')
