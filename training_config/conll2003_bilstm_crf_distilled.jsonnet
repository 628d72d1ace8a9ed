// A student: like conll2003_bilstm_crf_documents.jsonnet, but trained on gold tags and on a teacher's soft labels for the
// same text and for other text. Prediction is as fast as without a teacher.
// Files: also two files of soft labels; docs/how_to/distillation.md has the commands.
// Expect: development F1 0.949, test F1 0.918 (three runs).
local soft_labels = 'runs/soft_train.npz';
// Soft labels for text without gold tags.
local unlabelled = ['runs/soft_news.npz'];
// The teacher's share of the loss.
local distillation_weight = 0.5;

(import 'conll2003_bilstm_crf_documents.jsonnet') + {
  num_epochs:: 10,

  local reader = super.dataset_reader,
  dataset_reader: { type: 'soft_labelled', reader: reader, soft_labels: soft_labels, unlabelled: unlabelled },
  // Validation and the saved tagger need no teacher.
  validation_dataset_reader: reader + { max_document_tokens: 1000 },
  model+: { head+: { distillation_weight: distillation_weight } },
}
