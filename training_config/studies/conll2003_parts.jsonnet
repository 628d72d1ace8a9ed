// Do the parts that make training fast lower the F1? CoNLL-2003 with them, and with AllenNLP's own parts instead.
// Files: those of `conll2003_bilstm_crf_glove.jsonnet`.
local fast = (import '../conll2003_bilstm_crf_glove.jsonnet') + {
  num_epochs:: 10,
  test_data_path: 'data/conll2003/eng.testb',
};

{
  seeds: [1, 2, 3],
  variants: {
    fast: fast,
    "AllenNLP's": fast {
      dataset_reader+: { token_indexers+: { token_characters+: { type: 'characters' } } },
      model+: { text_field_embedder+: { token_embedders+: { token_characters+: {
        type: 'character_encoding',
        character_dropout:: null,
        encoder+: { type: 'cnn' },
      } } } },
      data_loader: {
        batch_sampler: { type: 'bucket', batch_size: $.variants.fast.batch_size, sorting_keys: ['tokens'] },
      },
      validation_data_loader: { batch_size: 128, shuffle: false },
      trainer+: { optimizer+: { type: 'adamw' }, moving_average+: { type: 'exponential' } },
    },
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test F1', metrics: ['test_f1-measure-overall'] },
    { title: 'test macro F1', metrics: ['test_f1-measure-macro'] },
  ],
}
