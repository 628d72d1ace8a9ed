// The F1 and the training time of a student with five seeds.
// Files: docs/how_to/distillation.md has the commands.
{
  seeds: [1, 2, 3, 4, 5],
  variants: {
    student: (import '../conll2003_bilstm_crf_distilled.jsonnet') + { test_data_path: 'data/conll2003/eng.testb' },
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test F1', metrics: ['test_f1-measure-overall'] },
  ],
}
