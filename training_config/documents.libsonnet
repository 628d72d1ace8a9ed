// Documents of CoNLL-2003 instead of sentences. Add it to a config that sets `batch_size` and `document_contexts`.
// Instances are pieces of about five sentences in training and whole documents in evaluation.
{
  dataset_reader+: { documents: 'docstart', max_document_tokens: 100 },
  validation_dataset_reader: $.dataset_reader + { max_document_tokens: 1000 },
  validation_data_loader+: { batch_size: 8 },
}
