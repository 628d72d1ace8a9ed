// What helps rare labels? One tagger, trained without and with each remedy. The importing config names the corpus.
local balanced = { weight_rule: 'balanced' };
local inverse_sqrt = { weight_rule: 'inverse_sqrt' };

{
  tagger:: error 'set `tagger`, the plain config',
  // For taggers over a transformer. Without word vectors and a copy of the transformer, runs start and end faster.
  light:: { glove_file:: null, carry_transformer:: false },
  rare_labels:: error 'set `rare_labels`, the labels to show in the table',
  // The tag of most tokens, or null if there is no such tag.
  majority_tag:: 'O',
  // Epochs by form of sentence resampling. They are longer, so fewer epochs give about as many steps.
  resampled_epochs:: error 'set `resampled_epochs`, such as { sC: 5 }',
  // Remedies to leave out, for larger corpora.
  left_out:: [],

  local crf(weighting) = $.tagger { weighting:: weighting },
  local softmax(loss) = $.tagger {
    model+: { head: { type: 'softmax', loss: loss, constrain_decoding: true } },
  },
  local sampled(sampler) = {
    data_loader: {
      type: 'bucketed',
      batch_sampler: { batch_size: $.tagger.batch_size } + sampler,
    },
  },
  local all = {
    'CRF': $.tagger,
    'CRF, chain, inverse_sqrt': crf({ type: 'chain' } + inverse_sqrt),
    'CRF, chain, balanced': crf({ type: 'chain' } + balanced),
    'CRF, chain, effective_number': crf({ type: 'chain', weight_rule: 'effective_number' }),
    'CRF, marginal, gamma 2': crf({ type: 'marginal', gamma: 2 }),
    'CRF, softmax_margin, missing 1': crf({ type: 'softmax_margin', missing: 1 }),
    'CRF, oversampling': $.tagger + sampled({ type: 'oversampling', threshold: 0.1 }),
    'softmax': softmax({ type: 'cross_entropy' }),
    'softmax, inverse_sqrt': softmax({ type: 'cross_entropy' } + inverse_sqrt),
    'softmax, focal': softmax({ type: 'focal' }),
    'softmax, class_balanced': softmax({ type: 'class_balanced' }),
    'softmax, logit_adjusted': softmax({ type: 'logit_adjusted' }),
    'softmax, dice': softmax({ type: 'dice' }),
    // As in Li et al. (2020).
    'softmax, dice of each token, alpha .6': softmax({ type: 'dice', of_each_token: true, alpha: 0.6 }),
  } + {
    ['CRF, sentence_resampling, ' + form]:
      $.tagger { num_epochs:: $.resampled_epochs[form] } + sampled({ type: 'sentence_resampling', form: form })
    for form in std.objectFields($.resampled_epochs)
  } + if $.majority_tag == null then {} else {
    // Majority-or-minority learning (Nemoto et al. 2024) adds a second loss for the tokens with the majority tag.
    // Up to the learning rate, this equals weighting the tag, here with 2.
    'softmax, majority or minority': softmax({ type: 'cross_entropy', label_weights: { [$.majority_tag]: 2 } }),
  },

  seeds: [1, 2, 3],
  baseline: 'CRF',
  // The controls, and the best remedies in addition to tuning.
  tuned: [
    name
    for name in [
      'CRF',
      'CRF, chain, inverse_sqrt',
      'CRF, chain, effective_number',
      'CRF, sentence_resampling, nsCRD',
      'softmax',
      'softmax, class_balanced',
      'softmax, inverse_sqrt',
    ]
    if std.objectHas($.variants, name)
  ],
  // Additional variants of the importing config.
  more:: {},
  variants: { [name]: all[name] for name in std.objectFields(all) if !std.member($.left_out, name) } + $.more,
  columns: [
    { title: 'dev macro F1', metrics: ['best_validation_f1-measure-macro'] },
    { title: 'micro F1', metrics: ['test_f1-measure-overall'] },
    { title: 'macro F1', metrics: ['test_f1-measure-macro'] },
    { title: 'rare F1', metrics: ['test_f1-measure-' + label for label in $.rare_labels] },
    { title: 'rare recall', metrics: ['test_recall-' + label for label in $.rare_labels] },
  ],
}
