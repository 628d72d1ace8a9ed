// Do the parts that make training fast lower the F1? CoNLL-2003 with them, and with AllenNLP's own parts instead.
// Files: those of `conll2003_bilstm_crf_glove.jsonnet`. docs/studies.md says why `test_data_path` is too kind.
local fast = (import '../conll2003_bilstm_crf_glove.jsonnet') + {
  num_epochs:: 10,
  patience:: 10,
  test_data_path: 'data/conll2003/eng.testb',
  evaluate_on_test: true,
};

{
  seeds: [1, 2, 3],
  variants: {
    fast: fast,
    "AllenNLP's": fast {
      dataset_reader+: { token_indexers+: { token_characters+: { type: 'characters' } } },
      model+: { text_field_embedder+: { token_embedders+: { token_characters+: {
        type: 'character_encoding',
        encoder+: { type: 'cnn' },
      } } } },
      data_loader: {
        batch_sampler: { type: 'bucket', batch_size: $.variants.fast.batch_size, sorting_keys: ['tokens'] },
      },
      validation_data_loader: { batch_size: 128, shuffle: false },
      trainer+: { optimizer+: { type: 'adam' } },
    },
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test F1', metrics: ['test_f1-measure-overall'] },
    { title: 'test macro F1', metrics: ['test_f1-measure-macro'] },
  ],
}
