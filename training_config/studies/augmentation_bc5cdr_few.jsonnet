// Augmentation on BC5CDR with 5 % of its training sentences, 228, and 500 development sentences. Both labels are frequent;
// with a threshold of 1, both get the full probability.
// Files: as for bc5cdr.jsonnet.
local whole = import 'bc5cdr.jsonnet';

(import 'augmentation.libsonnet')(whole {
  num_sentences:: 228,
  tagger:: whole.tagger {
    num_epochs:: 40,
    dataset_reader+: { max_instances: $.num_sentences },
    validation_dataset_reader: whole.tagger.dataset_reader { max_instances: 500 },
  },
}) + { augmentation_threshold:: 1 }
