"""How far back a gradient reaches, and by which factor a step changes it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from onehop.diagnosis.stepped import step_by_step
from onehop.diagnosis.subject import Run, Subject, gradients

LOST = 1e-3
"""The share of its length at lag 0 below which a gradient counts as lost."""
DIRECTIONS = 8
"""At least so many gradients are taken, of several outputs if the sequences are fewer."""
ROUNDING = 1e-12
"""Below this share of the largest gradient, no lag takes part in the fit."""
TINY = 1e-50
"""Below this share of the largest gradient, one that is zero may have been too small to write."""
SCALE = 2.0**100
"""Where float64 is not to be had: float32 then holds gradients down to 1e-68, exactly scaled."""


@dataclass(frozen=True)
class Reach:
    """The gradient of the last output with respect to each input, and the rate at which it fades.

    The last output is weighted by random numbers, since a sum may be constant: that of a layer
    normalisation is.
    """

    profile: tuple[float, ...]
    """Length of the gradient by lag, averaged over sequences; element 0 is the last step."""
    multiplier: float
    """Factor by which a step back changes the gradient; nan if fewer than two lags have one."""
    low: float
    """Lower end of the multiplier's 95% confidence interval over sequences."""
    high: float
    """Upper end of it."""
    fitted: tuple[int, int]
    """First and last lag of the straight line through the gradient's logarithm."""
    horizon: int
    """The farthest lag at which a thousandth of the gradient at lag 0 arrives."""
    growth: float
    """The largest gradient at any lag over that at lag 0."""
    precision: str
    """The type of the numbers in which the gradient was computed."""
    samples: int
    """Gradients that the interval rests on."""

    @property
    def field(self) -> int:
        """The farthest lag from which any gradient arrives at all."""
        return max(lag for lag, length in enumerate(self.profile) if length != 0)

    @property
    def is_cut(self) -> bool:
        """Whether the gradient ends at an edge, as that of a window, and not by being too small."""
        return self.profile[self.field] > TINY * max(self.profile)

    def fades(self, lag: int) -> bool:
        """Whether distance costs the gradient from that lag all but a thousandth.

        A direct path from the last input, such as a residual connection, makes all other gradients
        small beside that at lag 0; they fade only if each step back costs a factor too.
        """
        by_distance = self.field < lag or self.multiplier**lag < LOST
        return self.horizon < lag and by_distance

    @property
    def explodes(self) -> bool:
        """Whether the gradient certainly grows by the step, and to more than a thousandfold."""
        return self.low > 1 and not self.growth <= 1 / LOST


def measure_reach(subject: Subject, *, per_layer: bool) -> tuple[Reach, dict[str, Reach]]:
    """Return the reach of the whole model and, if asked, that into each layer.

    Args:
        subject: the model.
        per_layer: whether to follow the inputs of the layers too: of the children of the model,
            the elements of its lists, and the layers of torch's recurrent stacks, as far as they
            take one vector a step.

    Raises:
        ValueError: the outputs do not depend on the inputs, or are not finite.
    """
    with subject.conditions(precise=True):
        model = subject.fresh(precise=True)
        inputs: dict[str, Tensor] = {}
        hooks = _watch(model, subject, inputs) if per_layer else []
        run = subject.run(subject.batch, precise=True, model=model)
        for hook in hooks:
            hook.remove()
        names = [name for name, tensor in inputs.items() if tensor.requires_grad]
        followed = [run.leaf, *(inputs[name] for name in names)]
        lengths = _lengths(subject, run, followed)
    dtype = str(run.outputs.dtype).removeprefix("torch.")
    if not lengths[0].any():
        raise ValueError(
            "model: expected outputs that depend on the inputs, got a gradient of zero"
        )
    layers = {
        name: _summary(length, dtype)
        for name, length in zip(names, lengths[1:], strict=True)
        if length.any()
    }
    return _summary(lengths[0], dtype), layers


def _lengths(subject: Subject, run: Run, followed: list[Tensor]) -> list[Tensor]:
    """Of each tensor followed, the lengths of its gradient, `(gradients, steps)`, by lag."""
    final = subject.final(run.outputs)
    rng = torch.Generator().manual_seed(0)
    scale = SCALE if run.outputs.dtype in (torch.float32, torch.bfloat16) else 1.0
    lengths: list[list[Tensor]] = [[] for _ in followed]
    for _ in range(math.ceil(DIRECTIONS / len(final))):
        weights = torch.randn(final.shape, generator=rng, dtype=torch.float64)
        weights = weights.to(final.device, final.dtype) * scale
        for tensor, gradient, kept in zip(
            followed, gradients(final, weights, followed), lengths, strict=True
        ):
            swapped = tensor is run.leaf and run.swapped
            time = 1 - subject.time if swapped else subject.time
            kept.append(_norms(gradient.movedim(time, 1)) / scale)
    return [torch.cat(kept) for kept in lengths]


def _norms(gradient: Tensor) -> Tensor:
    """Norms over the features; neither squares of small numbers nor of large ones are formed."""
    gradient = gradient.detach().cpu().double().flatten(2)
    largest = gradient.abs().amax(2, keepdim=True)
    safe = torch.where(largest > 0, largest, 1.0)
    return (largest[..., 0] * (gradient / safe).norm(dim=2)).flip(1)


def _summary(lengths: Tensor, dtype: str) -> Reach:
    lengths = lengths[lengths.any(1)]  # the last output of a shorter sequence is its padding
    profile = lengths.mean(0)
    first = float(profile[0]) or float(profile.max())
    if not math.isfinite(first):
        raise ValueError(f"model: expected a finite gradient at the last step, got {first:g}")
    horizon = int((profile >= LOST * first).nonzero().max())
    multiplier, low, high, fitted = _fit(lengths)
    growth = float(torch.where(profile.isfinite(), profile, math.inf).max()) / first
    return Reach(
        profile=tuple(profile.tolist()),
        multiplier=multiplier,
        low=low,
        high=high,
        fitted=fitted,
        horizon=horizon,
        growth=growth,
        precision=dtype,
        samples=len(lengths),
    )


def _fit(lengths: Tensor) -> tuple[float, float, float, tuple[int, int]]:
    """The factor per lag, its interval, and the lags of a least-squares line through the log.

    Lag 0 is left out: the last output has a path of its own to the last input. So are lags at
    which rounding may be all that is left of a gradient, as it is behind a Fourier transform.
    """
    reached = ((lengths > 0) & lengths.isfinite()).all(0)
    reached[0] = False
    profile = lengths.mean(0)
    usable = reached & (profile > ROUNDING * float(profile.nan_to_num(posinf=0).max()))
    if usable.sum() < 2:
        usable = reached
    lags = usable.nonzero()[:, 0].double()
    if len(lags) < 2:
        return math.nan, math.nan, math.nan, (0, 0)
    centred = lags - lags.mean()
    slopes = lengths[:, usable].log() @ centred / (centred @ centred)
    count = len(slopes)
    half = student(count - 1) * float(slopes.std()) / math.sqrt(count) if count > 1 else math.inf
    mean = float(slopes.mean())
    ends = (int(lags[0]), int(lags[-1]))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half), ends


def student(degrees: int) -> float:
    """Return the 97.5% point of Student's t, to a thousandth from 7 degrees of freedom on.

    The expansion around the normal distribution of Abramowitz and Stegun (1964), 26.7.5.
    """
    z, v = 1.959964, degrees
    third = (z**3 + z) / (4 * v)
    fifth = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
    seventh = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    return z + third + fifth + seventh


def _watch(
    model: nn.Module, subject: Subject, inputs: dict[str, Tensor]
) -> list[torch.utils.hooks.RemovableHandle]:
    """Keep the inputs of the layers as they come."""

    def keep(name: str, found: object) -> None:
        if isinstance(found, Tensor) and found.shape[:2] == subject.batch.shape[:2]:
            inputs[name] = found

    step_by_step(model, keep)
    lists = (nn.ModuleList, nn.Sequential)
    parents = {"": model} | {n: m for n, m in model.named_modules() if n and isinstance(m, lists)}
    hooks = []
    for parent, module in parents.items():
        for child, layer in module.named_children():
            name = f"{parent}.{child}".lstrip(".")
            by_steps = isinstance(layer, nn.RNNBase | nn.ModuleList)
            if not by_steps and any(True for _ in layer.parameters()):
                hooks.append(
                    layer.register_forward_pre_hook(
                        lambda _module, arguments, name=name: keep(
                            name, next(iter(arguments), None)
                        )
                    )
                )
    return hooks
