// Augmentation on the first 200 training sentences of WNUT-17. Development and test data are complete.
// Files: as for wnut17.jsonnet.
local whole = import 'wnut17.jsonnet';

(import 'augmentation.libsonnet')(whole {
  num_sentences:: 200,
  tagger:: whole.tagger {
    num_epochs:: 80,
    dataset_reader+: { max_instances: $.num_sentences },
    validation_dataset_reader: whole.tagger.dataset_reader,
  },
})
