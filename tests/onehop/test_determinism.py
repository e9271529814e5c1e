import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from onehop.determinism import clean_state


def draws() -> tuple[float, float, float]:
    numpys = np.random.rand()  # noqa: NPY002 (the shared generator is the subject)
    return random.random(), numpys, torch.rand(()).item()


def output_of(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return run.stdout.strip()


def change_everything() -> None:
    """What a page might do to the libraries that all pages share."""
    torch.set_default_dtype(torch.float64)
    torch.set_printoptions(precision=2, sci_mode=False, linewidth=20)
    np.set_printoptions(precision=2, suppress=True, formatter={"float": lambda _: "x"})
    np.seterr(all="ignore")
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(2)
    torch.set_flush_denormal(True)
    torch.set_float32_matmul_precision("medium")
    torch.backends.cudnn.allow_tf32 = True


@pytest.fixture
def cleaned_after_changes() -> None:
    change_everything()
    clean_state()


def test_draws_start_again_for_all_three_generators():
    first = draws()
    assert first != draws()
    clean_state()
    assert first == draws()


def test_a_page_does_not_pay_for_loading_a_compiler():
    program = "import sys, onehop.determinism as d; d.clean_state(); print(sorted(sys.modules))"
    loaded = output_of(program)
    assert "'onehop.determinism'" in loaded
    assert "'torch._inductor'" not in loaded


@pytest.mark.usefixtures("cleaned_after_changes")
class TestAfterAPageChangedEverything:
    def test_numbers_print_as_by_default(self):
        assert "tensor([0.3333])" == str(torch.tensor([1 / 3]))
        assert "tensor([1.0000e-10])" == str(torch.tensor([1e-10]))
        assert "[0.33333333]" == str(np.array([1 / 3]))
        assert "[1.e-10]" == str(np.array([1e-10]))

    def test_every_print_option_of_numpy_is_its_default(self):
        # A fresh interpreter is the second opinion about what the defaults are.
        fresh = output_of("import numpy; print(numpy.get_printoptions())")
        assert fresh == str(np.get_printoptions())

    def test_tensors_are_float32_and_carry_gradients(self):
        assert torch.float32 == torch.tensor([1 / 3]).dtype
        assert torch.ones(1, requires_grad=True).mul(2).requires_grad

    def test_algorithms_are_deterministic_on_one_thread(self):
        assert torch.are_deterministic_algorithms_enabled()
        assert ":4096:8" == os.environ["CUBLAS_WORKSPACE_CONFIG"]
        assert 1 == torch.get_num_threads()

    def test_float32_products_keep_all_their_bits(self):
        assert "highest" == torch.get_float32_matmul_precision()
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
        assert 1024.5 == (torch.tensor([1024.5]) @ torch.tensor([[1.0]])).item()

    def test_subnormal_numbers_survive(self):
        assert 1e-40 == pytest.approx((torch.tensor(1e-40) * 1.0).item(), rel=1e-4, abs=0)

    def test_numpy_warns_again(self):
        with pytest.warns(RuntimeWarning, match="divide"):
            np.ones(1) / np.zeros(1)
