// As conll2003_bilstm_crf_glove.jsonnet, on several GPUs: each trains on its share of every epoch, in batches of
// `batch_size` of its own. Name yours in `cuda_devices`; [-1, -1] are two processes without a GPU.
(import 'conll2003_bilstm_crf_glove.jsonnet') + {
  distributed: { cuda_devices: [0, 1] },
}
