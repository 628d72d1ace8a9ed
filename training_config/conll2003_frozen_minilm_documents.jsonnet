// As conll2003_frozen_minilm_crf.jsonnet, but each word also sees where else its document names it.
// Better, but slower: the rows of a batch are sentences of unlike length.
// Expect: development F1 .954, test F1 .920 (five runs).
(import 'conll2003_frozen_minilm_crf.jsonnet') + {
  // Instances, and so the batches, are of documents: pieces of some five sentences in training, whole documents else.
  batch_size:: 6,
  num_epochs:: 6,
  dataset_reader+: { instances: 'documents', max_document_tokens: 100 },
  validation_dataset_reader: $.dataset_reader + { max_document_tokens: 1000 },
  validation_data_loader+: { batch_size: 8 },
  model+: { document_contexts: ['same_words'] },
}
