// A student: as conll2003_bilstm_crf_glove.jsonnet, trained on gold tags and on what a teacher makes of the same text
// and of other text. Prediction costs what it costs without a teacher.
// Files: also two of soft labels; docs/how_to/distillation.md has the commands.
local soft_labels = 'runs/soft_train.npz';
// Of text without gold tags.
local unlabelled = ['runs/soft_news.npz'];
// The share of the teacher in the loss.
local distillation_weight = 0.5;

(import 'conll2003_bilstm_crf_glove.jsonnet') + {
  // Half as many, of epochs that are longer.
  num_epochs:: 12,

  local reader = super.dataset_reader,
  dataset_reader: { type: 'soft_labelled', reader: reader, soft_labels: soft_labels, unlabelled: unlabelled },
  // Validation and the saved tagger need no teacher.
  validation_dataset_reader: reader,
  model+: { head+: { distillation_weight: distillation_weight } },
}
