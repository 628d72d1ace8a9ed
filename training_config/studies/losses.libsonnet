// The eleven losses for several labels: those of Huang et al. 2021 and four more.
{
  losses:: [
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
  ],
  seeds: [1, 2, 3],
}
