// An ablation on Reuters-21578 after Huang et al. (2021): threshold, learning rate, decay groups, batch and schedule, one at
// a time, of the fine-tuned classifier of reuters_fine_tuned.jsonnet with `distribution_balanced`.
// Files: as there. A run takes about 25 minutes on one core.
local study = import 'reuters_fine_tuned.jsonnet';
local plain = study.variants.distribution_balanced;

local tuned(settings) = plain { trainer+: { callbacks+: [{ type: 'tune_thresholds' } + settings] } };
local optimized(settings) = plain { trainer+: { optimizer+: settings } };
local scheduled(scheduler) = plain { trainer+: { learning_rate_scheduler: scheduler } };

{
  seeds: [1, 2, 3],
  baseline: 'plain',
  variants: {
    // Threshold 0.5, learning rates 0.005 and 3e-4, decay of 0.9 by layer, batches of 32, and a slanted triangle.
    plain: plain,

    'common threshold': tuned({ target: 'micro', common: true }),
    'threshold for each label': tuned({ target: 'macro' }),

    'transformer_lr 1e-4': optimized({ transformer_lr: 1e-4 }),
    'transformer_lr 1e-3': optimized({ transformer_lr: 1e-3 }),

    'no decay by layer': optimized({ layer_decay: 1 }),
    'no weight decay': optimized({ weight_decay: 0 }),
    'weight decay 0.1': optimized({ weight_decay: 0.1 }),

    'batches of 16': plain { data_loader+: { batch_size: 16 } },
    'batches of 64': plain { data_loader+: { batch_size: 64 } },

    'no warm-up': scheduled({ type: 'slanted_triangular', num_epochs: 6, cut_frac: 0 }),
    'constant learning rate': scheduled(null),
    'cosine': scheduled({ type: 'cosine', t_initial: 6 }),
  },
  columns: (import 'reuters.jsonnet').columns,
}
