// As conll2003_bilstm_crf_glove.jsonnet, trained on gold tags and on a teacher's probabilities: docs/how_to/distillation.md.
// Files: also `allennlp soft-labels TEACHER data/conll2003/eng.train -o runs/soft/eng.train.npz`.
// Prediction costs what it costs without a teacher.
local soft_labels = 'runs/soft/eng.train.npz';
// The share of the teacher in the loss.
local distillation_weight = 0.5;

(import 'conll2003_bilstm_crf_glove.jsonnet') + {
  local reader = super.dataset_reader,
  dataset_reader: { type: 'soft_labelled', reader: reader, soft_labels: soft_labels },
  // Validation and the saved tagger need no teacher.
  validation_dataset_reader: reader,
  model+: { head+: { distillation_weight: distillation_weight } },
}
