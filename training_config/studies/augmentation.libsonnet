// Does augmentation help rare labels, alone or with the remedies that helped most? The argument is a study of remedies.
// None of the probabilities was tuned.
function(remedies) remedies {
  // The share of the entities up to which a label is rare.
  augmentation_threshold:: 0.1,
  local augmented(probabilities) = {
    augmentation:: { type: 'augmentation', threshold: $.augmentation_threshold } + probabilities,
  },
  local mentions = augmented({ mention_replacement: 0.5 }),

  seeds: [1, 2, 3],
  tuned: ['CRF', 'CRF, mention_replacement'],
  variants: {
    [name]: remedies.variants[name]
    for name in ['CRF', 'CRF, chain, effective_number', 'CRF, oversampling']
    if std.objectHas(remedies.variants, name)
  } + {
    'CRF, mention_replacement': remedies.tagger + mentions,
    'CRF, token_replacement': remedies.tagger + augmented({ token_replacement: 0.2 }),
    'CRF, segment_shuffling': remedies.tagger + augmented({ segment_shuffling: 0.5 }),
    'CRF, mention_replacement, chain, effective_number': remedies.tagger + mentions {
      weighting:: { type: 'chain', weight_rule: 'effective_number' },
    },
    'CRF, mention_replacement, oversampling': remedies.tagger + mentions + {
      data_loader: {
        type: 'bucketed',
        batch_sampler: { type: 'oversampling', threshold: 0.1, batch_size: remedies.tagger.batch_size },
      },
    },
  } + $.more_augmented,
  // Additional variants.
  more_augmented:: {},
}
