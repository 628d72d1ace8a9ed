// Like conll2003_frozen_minilm_crf.jsonnet, over the larger transformer all-mpnet-base-v2.
// Its F1 has not been measured yet.
(import 'conll2003_frozen_minilm_crf.jsonnet') + (import 'mpnet.libsonnet')
