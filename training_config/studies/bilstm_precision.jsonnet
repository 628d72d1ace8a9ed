// What a BiLSTM in bfloat16 costs: the recipe of conll2003_bilstm_crf_glove.jsonnet on a part of the training data.
// Files: scripts/experiments/prepare_conll2003.py, and `allennlp fetch-encoder glove`.
// The processor must have instructions for bfloat16, or training is slow.
local variant(precision) = (import '../conll2003_bilstm_crf_glove.jsonnet') + {
  // For many runs.
  num_epochs:: 8,
  dataset_reader+: { max_instances: 6000 },
  model+: { encoder+: { precision: precision } },
};
{
  seeds: [1, 2, 3, 4, 5],
  variants: { float32: variant('float32'), bfloat16: variant('bfloat16') },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
  ],
}
