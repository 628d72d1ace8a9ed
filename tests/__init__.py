"""What the libraries must find in the environment when they are first imported."""

import os
from pathlib import Path

# Tests run side by side: each process has one thread, which must not spin while it waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _has_gpu() -> bool:
    if not any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg")):
        return False
    import torch

    return torch.cuda.is_available()


# Without a GPU, Triton kernels are interpreted.
if not _has_gpu():
    os.environ.setdefault("TRITON_INTERPRET", "1")
