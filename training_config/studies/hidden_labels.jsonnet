// Binary tagging on WNUT-17: is a token part of an entity? Trained on all labels, with 30 % of them unknown, and with
// the same 30 % marked as negative. These commands make the files:
//
//   python scripts/experiments/change_corpus.py hide-tokens data/wnut17/wnut17train.conll data/wnut17_binary/train.txt --share 0
//   python scripts/experiments/change_corpus.py hide-tokens data/wnut17/wnut17train.conll data/wnut17_binary/unknown.txt --share 0.3
//   python scripts/experiments/change_corpus.py hide-tokens data/wnut17/wnut17train.conll data/wnut17_binary/negative.txt --share 0.3 --hide-as O
//   python scripts/experiments/change_corpus.py hide-tokens data/wnut17/emerging.dev.conll data/wnut17_binary/dev.txt --share 0
//   python scripts/experiments/change_corpus.py hide-tokens data/wnut17/emerging.test.annotated data/wnut17_binary/test.txt --share 0
local folder = 'data/wnut17_binary/';
local tagger(train) = (import '../wnut17_bilstm_crf.jsonnet') + {
  source_encoding:: null,
  tag_encoding:: null,
  train_data_path: folder + train,
  validation_data_path: folder + 'dev.txt',
  test_data_path: folder + 'test.txt',
  dataset_reader+: { label_separator: '|', unknown_tag: '?' },
  model+: { head: { type: 'sigmoid' } },
};

{
  seeds: [1, 2, 3],
  variants: {
    'all labels': tagger('train.txt'),
    '30 % unknown': tagger('unknown.txt'),
    '30 % taken for negative': tagger('negative.txt'),
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test F1', metrics: ['test_f1-measure-overall'] },
    { title: 'precision', metrics: ['test_precision-overall'] },
    { title: 'recall', metrics: ['test_recall-overall'] },
  ],
}
