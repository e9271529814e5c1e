from typing import TypeVar

import numpy as np
import pytest
import torch
from torch import nn

from onehop.convolutional import Convolution, NGramNetwork, field_size, kernel_mask
from onehop.initialisation import uniform_
from onehop.paths import receptive_field

WIDTH = 3


Layer = TypeVar("Layer", bound=nn.Module)


def draw(layer: Layer, steps: int) -> tuple[Layer, torch.Tensor]:
    rng = np.random.default_rng(0)
    uniform_(layer.double(), WIDTH, rng)
    return layer, torch.from_numpy(rng.standard_normal((2, steps, WIDTH)))


def written_out(layer: Convolution, inputs: torch.Tensor, before: int, dilation: int):
    """The sum over the kernel, position by position."""
    W, b = layer.convolution.weight, layer.convolution.bias
    assert b is not None
    steps, outputs = inputs.shape[1], []
    for t in range(steps):
        total = b.expand(len(inputs), -1)
        for i in range(W.shape[2]):
            read = t - before + i * dilation
            if 0 <= read < steps:
                total = total + inputs[:, read] @ W[:, :, i].T
        outputs.append(torch.tanh(total))
    return torch.stack(outputs, 1)


KINDS = [
    pytest.param(kernel, dilation, causal, id=f"{kernel}-{dilation}-{causal}")
    for kernel, dilation, causal in [
        (1, 1, True),
        (2, 1, True),
        (3, 1, True),
        (2, 4, True),
        (3, 2, True),
        (3, 1, False),
        (5, 1, False),
        (3, 2, False),
    ]
]


@pytest.mark.parametrize(("kernel", "dilation", "causal"), KINDS)
def test_a_convolution_is_a_sum_over_its_kernel(kernel, dilation, causal):
    layer, inputs = draw(Convolution(WIDTH, kernel, dilation, causal=causal), 11)
    before = (kernel - 1) * dilation if causal else kernel // 2 * dilation
    torch.testing.assert_close(written_out(layer, inputs, before, dilation), layer(inputs))


@pytest.mark.parametrize(("kernel", "dilation", "causal"), KINDS)
def test_the_gradient_reaches_what_the_mask_says(kernel, dilation, causal):
    layer, inputs = draw(Convolution(WIDTH, kernel, dilation, causal=causal), 11)
    measured = torch.stack([receptive_field(layer, inputs, step) for step in range(11)])
    assert torch.equal(kernel_mask(11, kernel, dilation, causal=causal), measured)


def test_masks_written_by_hand():
    assert [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]] == kernel_mask(4, 2, 2).tolist()
    centred = kernel_mask(4, 3, causal=False).tolist()
    assert [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]] == centred


@pytest.mark.parametrize(
    ("kernel", "dilations", "causal", "field"),
    [
        (3, [1] * 5, True, 11),
        (3, [1] * 5, False, 11),
        (2, [1, 2, 4, 8, 16, 32, 64], True, 128),
        (3, [1, 2, 4, 8], True, 31),
        (3, [1, 2, 4, 8], False, 31),
        (3, [1, 3, 9, 27], True, 81),
        (2, [1, 2, 4, 1, 2, 4], True, 15),
    ],
)
def test_a_stack_reads_as_many_inputs_as_its_formula_says(kernel, dilations, causal, field):
    layers = [Convolution(WIDTH, kernel, dilation, causal=causal) for dilation in dilations]
    stack, inputs = draw(nn.Sequential(*layers), 2 * field + 1)
    measured = receptive_field(stack, inputs, field).sum().item()
    assert field == field_size(kernel, dilations) == measured


@pytest.mark.parametrize("n", [2, 3, 6])
def test_an_n_gram_network_reads_n_minus_one_inputs(n):
    network, inputs = draw(NGramNetwork(WIDTH, n), 9)
    measured = torch.stack([receptive_field(network, inputs, step) for step in range(9)])
    assert torch.equal(kernel_mask(9, n - 1), measured)


def test_an_n_gram_network_is_one_causal_convolution_and_one_product():
    network, inputs = draw(NGramNetwork(WIDTH, 4), 9)
    convolution, _ = draw(Convolution(WIDTH, 3), 9)
    bias = convolution.convolution.bias
    assert bias is not None
    with torch.no_grad():
        bias.zero_()
        # One block of columns for each position of the window.
        blocks = network.hidden.weight.unflatten(1, (3, WIDTH))
        convolution.convolution.weight.copy_(blocks.transpose(1, 2))
    torch.testing.assert_close(network.output(convolution(inputs)), network(inputs))


@pytest.mark.parametrize("arguments", [(0, 1), (2, 0)])
def test_kernels_and_dilations_below_one_are_refused(arguments):
    for build in (lambda: kernel_mask(4, *arguments), lambda: Convolution(WIDTH, *arguments)):
        with pytest.raises(ValueError, match=r"^kernel, dilation: expected at least 1"):
            build()


def test_a_centred_kernel_without_a_middle_is_refused():
    with pytest.raises(ValueError, match=r"^kernel: expected an odd number"):
        kernel_mask(4, 2, causal=False)
    with pytest.raises(ValueError, match=r"^kernel: expected an odd number"):
        Convolution(WIDTH, 4, causal=False)


def test_a_unigram_network_is_refused():
    with pytest.raises(ValueError, match=r"^n: expected at least 2, got 1"):
        NGramNetwork(WIDTH, 1)


@pytest.mark.parametrize("layer", [Convolution(WIDTH, 2), NGramNetwork(WIDTH, 3)])
@pytest.mark.parametrize("shape", [(5, WIDTH), (2, 5, WIDTH + 1)])
def test_inputs_of_other_axes_are_refused(layer, shape):
    with pytest.raises(ValueError, match=r"^inputs: expected the axes \(batch, steps, width = 3\)"):
        layer(torch.ones(shape))


@pytest.mark.parametrize("layer", [Convolution(WIDTH, 2, 2), NGramNetwork(WIDTH, 3)])
def test_sequences_of_a_batch_do_not_touch_each_other(layer):
    inputs, order = torch.randn(4, 6, WIDTH), [2, 0, 3, 1]
    torch.testing.assert_close(layer(inputs)[order], layer(inputs[order]))
