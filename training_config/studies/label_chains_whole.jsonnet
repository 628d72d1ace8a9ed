// A chain for each label against one chain for all, on all of CoNLL-2003 and BC5CDR, over GloVe and frozen features.
// Files: those of `conll2003_frozen_minilm_crf.jsonnet` and `bc5cdr_bilstm_crf.jsonnet`.
// The recipe over GloVe has 8 epochs instead of 24, to save time.
local glove = { num_epochs:: 8 };
local minilm = import '../conll2003_frozen_minilm_crf.jsonnet';
local bc5cdr = (import '../bc5cdr_bilstm_crf.jsonnet') + { test_data_path: 'data/bc5cdr/test.tsv' };
local conll2003 = { test_data_path: 'data/conll2003/eng.testb' };
local corpora = {
  'BC5CDR, GloVe': bc5cdr + glove,
  'BC5CDR, MiniLM': bc5cdr + {
    transformer:: minilm.transformer,
    batch_size:: minilm.batch_size,
    learning_rate:: minilm.learning_rate,
    num_epochs:: minilm.num_epochs,
  },
  'CoNLL-2003, GloVe': (import '../conll2003_bilstm_crf_glove.jsonnet') + conll2003 + glove,
  'CoNLL-2003, MiniLM': minilm + conll2003,
};
{
  seeds: [1, 2, 3],
  variants: {
    ['%s, %s' % [name, if chains then 'label_chains' else 'crf']]: corpora[name] + { label_chains:: chains }
    for name in std.objectFields(corpora)
    for chains in [false, true]
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test F1', metrics: ['test_f1-measure-overall'] },
    { title: 'precision', metrics: ['test_precision-overall'] },
    { title: 'recall', metrics: ['test_recall-overall'] },
  ],
}
