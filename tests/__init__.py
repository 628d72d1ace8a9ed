import os

import torch

if not torch.cuda.is_available():
    # Triton kernels are interpreted. Triton asks when it is first imported, which AllenNLP may do.
    os.environ.setdefault("TRITON_INTERPRET", "1")
