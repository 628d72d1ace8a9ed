// The losses of reuters.jsonnet on tokens, which have the entity types of WNUT-17 as independent labels, and tuned
// thresholds. Metrics are computed over tokens. These commands make the files:
//
//   mkdir -p data/wnut17_types
//   sed -E 's/\t[BI]-/\t/' data/wnut17/wnut17train.conll > data/wnut17_types/train.txt
//   sed -E 's/\t[BI]-/\t/' data/wnut17/emerging.dev.conll > data/wnut17_types/dev.txt
//   sed -E 's/\t[BI]-/\t/' data/wnut17/emerging.test.annotated > data/wnut17_types/test.txt
local folder = 'data/wnut17_types/';

(import 'losses.libsonnet') + {
  trained_with(loss):: (import 'wnut17.jsonnet').tagger {
    source_encoding:: null,
    tag_encoding:: null,
    train_data_path: folder + 'train.txt',
    validation_data_path: folder + 'dev.txt',
    test_data_path: folder + 'test.txt',
    dataset_reader+: { label_separator: '|' },
    model+: { head: { type: 'sigmoid', loss: loss } },
  },
  columns: [
    { title: 'dev macro F1', metrics: ['best_validation_f1-measure-macro'] },
    { title: 'micro F1', metrics: ['test_f1-measure-overall'] },
    { title: 'macro F1', metrics: ['test_f1-measure-macro'] },
    { title: 'precision', metrics: ['test_precision-overall'] },
    { title: 'recall', metrics: ['test_recall-overall'] },
  ],
}
