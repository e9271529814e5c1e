"""What the machine is: the model of a GPU stands where its driver describes it."""

import importlib.metadata

from driftproof import machine


def test_the_model_of_a_gpu_is_read_from_its_driver(tmp_path):
    text = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\nBus Type: \t PCIe\n"
    (tmp_path / "0000:3b:00.0").mkdir()
    (tmp_path / "0000:3b:00.0/information").write_text(text, "utf-8")
    assert machine.accelerator(f"{tmp_path}/*/information") == "NVIDIA H200"


def test_without_a_driver_there_is_no_model(tmp_path):
    assert machine.accelerator(f"{tmp_path}/*/information") == ""


def test_modules_belong_to_the_distributions_that_importlib_names():
    theirs = importlib.metadata.packages_distributions()
    ours = machine.distributions(theirs)
    assert {name for names in theirs.values() for name in names} == ours.keys()
    for module, names in theirs.items():
        assert sorted(set(names)) == [*machine.distributions([module])], module
