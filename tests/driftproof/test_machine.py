"""What the machine is: the model of a GPU stands where its driver describes it."""

from driftproof import machine


def test_the_model_of_a_gpu_is_read_from_its_driver(tmp_path):
    text = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\nBus Type: \t PCIe\n"
    (tmp_path / "0000:3b:00.0").mkdir()
    (tmp_path / "0000:3b:00.0/information").write_text(text, "utf-8")
    assert machine.accelerator(f"{tmp_path}/*/information") == "NVIDIA H200"


def test_without_a_driver_there_is_no_model(tmp_path):
    assert machine.accelerator(f"{tmp_path}/*/information") == ""
