// Augmentation on the first 800 training sentences of WNUT-17; with another `num_sentences`, it shows from which size on
// augmentation pays. Development and test data are complete.
// Files: as for wnut17.jsonnet.
local whole = import 'wnut17.jsonnet';

(import 'augmentation.libsonnet')(whole {
  num_sentences:: 800,
  tagger:: whole.tagger {
    // About as many steps for each size, with whole epochs.
    num_epochs:: std.max(8, std.floor(16000 / $.num_sentences)),
    dataset_reader+: { max_instances: $.num_sentences },
    validation_dataset_reader: whole.tagger.dataset_reader,
  },
})
