// The published strategies for weights in a CRF, on the protocol of another study, the first argument.
// `choice` compares weights for the rare labels on development data, with a separate seed. `rows` compares the best of
// each strategy, `chosen`, and the weights of a rule with the plain CRF, on test data.
function(study, rule, chosen) {
  local strategies = {
    emission: { type: 'emission' },
    'emission_transition, to': { type: 'emission_transition' },
    'emission_transition, from': { type: 'emission_transition', transition_weight: 'from' },
    lannoy: { type: 'lannoy' },
  },
  local trained(weighting) = study.tagger { weighting:: weighting },
  local multiplied(strategy, factor) = trained(strategies[strategy] {
    label_weights: { [label]: factor for label in study.rare_labels },
  }),
  local without_test_data(config) = {
    [key]: config[key]
    for key in std.objectFields(config)
    if key != 'test_data_path'
  },

  choice: {
    seeds: [13],
    columns: [study.columns[0], { title: 'dev micro F1', metrics: ['best_validation_f1-measure-overall'] }],
    variants: {
      ['%s, rare %s' % [strategy, factor]]: without_test_data(multiplied(strategy, factor))
      for strategy in std.objectFields(strategies)
      for factor in [0.5, 2]
    },
  },

  rows: {
    seeds: [1, 2, 3],
    baseline: 'CRF',
    tuned: std.objectFields(self.variants),
    columns: study.columns,
    variants: { CRF: study.tagger } + {
      ['%s, %s' % [strategy, rule]]: trained(strategies[strategy] { weight_rule: rule })
      for strategy in std.objectFields(strategies)
    } + {
      [strategy + ', chosen']: multiplied(strategy, chosen[strategy])
      for strategy in std.objectFields(strategies)
    },
  },
}
