// Like conll2003_frozen_minilm_crf.jsonnet, over the multilingual transformer multilingual-e5-small.
// Expect: development F1 0.954, test F1 0.921 (one run).
(import 'conll2003_frozen_minilm_crf.jsonnet') + (import 'e5.libsonnet')
