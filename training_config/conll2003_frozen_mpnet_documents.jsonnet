// Like conll2003_frozen_minilm_documents.jsonnet, over the larger transformer all-mpnet-base-v2.
(import 'conll2003_frozen_minilm_documents.jsonnet') + (import 'mpnet.libsonnet')
