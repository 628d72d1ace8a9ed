// An ablation on Reuters-21578 after Huang et al. (2021): threshold, learning rate, weight decay, batch and schedule, one at a
// time, of the classifier in reuters_frozen_minilm.jsonnet with the loss `negative_tolerant`.
// Files: as there.
local plain = (import '../reuters_frozen_minilm.jsonnet') + { test_data_path: 'data/reuters/test.jsonl' };

local tuned(settings) = plain { trainer+: { callbacks+: [{ type: 'tune_thresholds' } + settings] } };
local optimized(settings) = plain { trainer+: { optimizer+: settings } };
local scheduled(scheduler) = plain { trainer+: { learning_rate_scheduler: scheduler } };
// The same parameters as in the config, and the biases without decay.
local groups = plain.trainer.optimizer.parameter_groups;

{
  seeds: [1, 2, 3],
  baseline: 'plain',
  variants: {
    // Threshold 0.5, learning rate 0.001, weight decay 0.1 of all parameters, batches of 64, and a rate that falls to 0.
    plain: plain,

    'common threshold': tuned({ target: 'micro', common: true }),
    'threshold for each label': tuned({ target: 'macro' }),

    'learning rate 0.0003': optimized({ lr: 0.0003 }),
    'learning rate 0.003': optimized({ lr: 0.003 }),

    'no weight decay': optimized({ weight_decay: 0 }),
    'weight decay 0.01': optimized({ weight_decay: 0.01 }),
    'no decay of biases': optimized({ parameter_groups: groups + [[['bias$'], { weight_decay: 0 }]] }),

    'batches of 16': plain { data_loader+: { batch_size: 16 } },
    'batches of 256': plain { data_loader+: { batch_size: 256 } },

    'warm-up': scheduled(plain.trainer.learning_rate_scheduler { cut_frac: 0.1 }),
    'constant learning rate': scheduled(null),
    cosine: scheduled({ type: 'cosine', t_initial: 10 }),
  },
  columns: (import 'reuters.jsonnet').columns,
}
