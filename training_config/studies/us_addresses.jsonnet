// Remedies for rare labels on US addresses, with 29 labels. Every token has a label.
// Files: `python scripts/experiments/prepare_us_addresses.py`.
(import 'remedies.libsonnet') + {
  tagger:: (import '../us_addresses_bilstm_crf.jsonnet') + {
    // Fewer than in the config, because there are many runs.
    num_epochs:: 16,
    test_data_path: 'data/us_addresses/test.txt',
  },
  seeds: [1, 2, 3, 4, 5],
  resampled_epochs:: { nsCRD: 2 },
  // Ten or more test spans, and at most 109 training spans.
  rare_labels:: [
    'AddressNumberSuffix',
    'BuildingName',
    'IntersectionSeparator',
    'Recipient',
    'StreetNamePostDirectional',
    'StreetNamePreType',
    'SubaddressIdentifier',
    'SubaddressType',
    'USPSBoxGroupID',
    'USPSBoxGroupType',
    'USPSBoxID',
    'USPSBoxType',
  ],
  left_out:: [
    // It penalises missed entities, which do not occur here.
    'CRF, softmax_margin, missing 1',
    'softmax, dice',
    'softmax, dice of each token, alpha .6',
  ],
  // Every token has a label.
  majority_tag:: null,
}
