// Documents of CoNLL-2003 instead of sentences, to be added to a config, which sets `batch_size` and `document_contexts`.
// Instances, and so the batches, are of documents: pieces of some five sentences in training, whole documents else.
{
  dataset_reader+: { documents: 'docstart', max_document_tokens: 100 },
  validation_dataset_reader: $.dataset_reader + { max_document_tokens: 1000 },
  validation_data_loader+: { batch_size: 8 },
}
