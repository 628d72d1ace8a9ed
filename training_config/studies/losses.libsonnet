// The eleven multi-label losses, those of Huang et al. (2021) and four more, and tuned thresholds.
local losses = [
  'binary_cross_entropy',
  'focal',
  'asymmetric',
  'hill',
  'self_paced_correction',
  'zero_bounded_ranking',
  'class_balanced_focal',
  'rebalanced_focal',
  'negative_tolerant',
  'distribution_balanced',
  'class_balanced_negative_tolerant',
];

{
  trained_with(loss):: error 'set `trained_with`, which makes a config of a loss',

  local tuned(settings) = $.trained_with({ type: 'binary_cross_entropy' }) + {
    trainer+: { callbacks+: [{ type: 'tune_thresholds' } + settings] },
  },

  seeds: [1, 2, 3],
  variants: { [loss]: $.trained_with({ type: loss }) for loss in losses } + {
    'binary_cross_entropy, thresholds by label': tuned({ target: 'macro' }),
    'binary_cross_entropy, common threshold': tuned({ target: 'micro', common: true }),
  },
}
