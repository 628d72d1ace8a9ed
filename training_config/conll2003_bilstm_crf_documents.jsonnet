// Like conll2003_bilstm_crf_glove.jsonnet, with lists of names and the document around each sentence as context.
// Files: also `python scripts/experiments/prepare_lexicons.py`, which puts the lists into data/lexicons.
// Expect: development F1 0.950, test F1 0.913 (five runs).
(import 'conll2003_bilstm_crf_glove.jsonnet') + (import 'lexicons.libsonnet') + (import 'documents.libsonnet') + {
  batch_size:: 3,
  num_epochs:: 8,
  model+: { document_contexts: ['same_words', 'pooled_states'] },
}
