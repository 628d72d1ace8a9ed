// Like conll2003_frozen_minilm_crf.jsonnet, over the larger transformer all-mpnet-base-v2.
// Expect: development F1 0.967, test F1 0.929 (five runs).
(import 'conll2003_frozen_minilm_crf.jsonnet') + (import 'mpnet.libsonnet')
