import pytest
import torch

from onehop.device import device


def test_the_device_is_the_cpu_unless_a_run_asks(monkeypatch):
    monkeypatch.delenv("ONEHOP_DEVICE", raising=False)
    assert torch.device("cpu") == device()
    monkeypatch.setenv("ONEHOP_DEVICE", "")
    assert torch.device("cpu") == device()


def test_a_gpu_alone_changes_nothing(monkeypatch):
    monkeypatch.delenv("ONEHOP_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch.device("cpu") == device()


def test_cuda_is_used_when_asked_for_and_there(monkeypatch):
    monkeypatch.setenv("ONEHOP_DEVICE", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch.device("cuda") == device()


def test_float64_stays_on_the_cpu_where_mps_was_asked_for(monkeypatch):
    monkeypatch.setenv("ONEHOP_DEVICE", "mps")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert torch.device("cpu") == device()
    assert torch.device("cpu") == device(torch.float64)
    assert torch.device("mps") == device(torch.float32)


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_an_absent_device_is_named(monkeypatch, name):
    monkeypatch.setenv("ONEHOP_DEVICE", name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=f"ONEHOP_DEVICE={name}, but torch sees no"):
        device()


def test_an_unknown_device_is_an_error(monkeypatch):
    monkeypatch.setenv("ONEHOP_DEVICE", "gpu")
    with pytest.raises(ValueError, match="expected one of cpu, cuda, mps, got 'gpu'"):
        device()
