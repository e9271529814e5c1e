"""One known state of torch, numpy and `random`, so that a page prints the same wherever it runs."""

import os
import random

import numpy as np
import torch

from onehop import trainings

SEED = 0


def clean_state() -> None:
    """Reset what torch, numpy and `random` remember between two pieces of code.

    Seeds, the default dtype, print options, numpy's error state, gradient mode, the number of
    threads, deterministic algorithms, TF32 and the treatment of subnormal numbers get one fixed
    value each, and trainings are noted anew. Environment, working directory, import path, warning
    filters and patched classes belong to the process: a fresh process is what resets those.
    """
    _seed()
    _print_options()
    _arithmetic()
    trainings.watch()


def _seed() -> None:
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)


def _print_options() -> None:
    # numpy has no name for its defaults; a formatter is dropped by any call that gives none.
    np.set_printoptions(
        precision=8,
        threshold=1000,
        edgeitems=3,
        linewidth=75,
        suppress=False,
        nanstr="nan",
        infstr="inf",
        sign="-",
        floatmode="maxprec",
        legacy=False,
    )
    torch.set_printoptions(profile="default")


def _arithmetic() -> None:
    np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    # More threads sum in another order, and on a busy machine they are slower too.
    torch.set_num_threads(1)
    # cuBLAS is deterministic only with a fixed workspace, which it reads from the environment.
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    # `use_deterministic_algorithms` sets the same flag, but imports torch's compiler: 0.9 s a page.
    torch.set_deterministic_debug_mode("error")
    # TF32 keeps 10 bits of the mantissa: products would be wrong in the fourth digit.
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    # A vanishing gradient passes through the subnormal numbers; flushed, it would print 0.
    torch.set_flush_denormal(False)
