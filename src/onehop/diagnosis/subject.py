"""The model under diagnosis: sequences of several lengths go in, the last outputs come out."""

import copy
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from onehop.diagnosis.isolation import conditions, copied, said
from onehop.diagnosis.outputs import carried, tensor_of

Call = Callable[[nn.Module, Tensor], Any]
FEWEST_STEPS = 8
"""Below this a length cannot be quartered, and two lags tell nothing about a rate."""


@dataclass(frozen=True)
class Run:
    """One call: what it was differentiated by, and what came out."""

    leaf: Tensor
    """The inputs, or the embedded tokens: `(batch, steps, features)` or with time first."""
    swapped: bool
    """Whether the model exchanged both axes of the token ids before it embedded them."""
    outputs: Tensor
    """As the model returned them."""
    raw: Any
    """All that the model returned."""


class Subject:
    """A model that can be run on sequences of several lengths, in its own layout."""

    def __init__(
        self, model: nn.Module, batch: Tensor, call: Call | None, batch_first: bool | None
    ) -> None:
        """Copy the model and find out which axis of the batch is time.

        Args:
            model: any module; it is not changed.
            batch: numbers, three axes, or token ids, two axes, as the model takes them.
            call: how to call the model; `model(batch)` without it.
            batch_first: the layout of model and batch; found out without it.

        Raises:
            ValueError: the model or the batch is not what the instrument can measure; the message
                says what was expected and what came.
        """
        _check(model, batch)
        self.call: Call = call or (lambda module, sequences: module(sequences))
        self.batch = batch.detach()
        self.model = copied(model).eval()
        for parameter in self.model.parameters():  # a scripted module has no requires_grad_
            parameter.requires_grad_(parameter.is_floating_point() or parameter.is_complex())
        self.time = 1 if batch_first is None else int(batch_first)
        self.precise = False
        self.carries = False  # whether the second thing it returns is a state
        self.precise = self._in_float64()
        if batch_first is None:
            self.time = self._time_axis()
        self.steps_axis = self._steps_axis()
        if self.steps < FEWEST_STEPS:
            raise ValueError(
                f"batch: expected at least {FEWEST_STEPS} steps, got {self.steps} on axis "
                f"{self.time} of shape {tuple(batch.shape)}"
            )

    @property
    def steps(self) -> int:
        """How long the sequences of the batch are."""
        return self.batch.shape[self.time]

    @property
    def sequences(self) -> int:
        """How many sequences the batch holds."""
        return self.batch.shape[1 - self.time]

    @property
    def is_tokens(self) -> bool:
        """Whether the batch holds token ids."""
        return not self.batch.is_floating_point()

    def at(self, steps: int) -> "Subject":
        """Return the same model with the last `steps` steps of the batch, repeated if need be.

        Raises:
            ValueError: the model does not run at that length.
        """
        subject = copy.copy(self)
        times = [1] * self.batch.ndim
        times[self.time] = -(-steps // self.steps)
        subject.batch = self.batch.repeat(times)
        subject.batch = subject.last(steps)
        try:
            with self.conditions():
                subject.run(subject.batch)
        except Exception as error:  # whatever a model says to another length
            raise ValueError(
                f"steps: expected a length that the model takes, got {steps}: {said(error)}"
            ) from error
        return subject

    def last(self, steps: int) -> Tensor:
        """Return the last `steps` steps of the batch, in its layout and in memory of their own."""
        return self.batch.narrow(self.time, self.steps - steps, steps).clone()

    def run(self, batch: Tensor, *, precise: bool = False, model: nn.Module | None = None) -> Run:
        """Call the model once, on a leaf that a gradient can be taken by.

        Args:
            batch: sequences in the model's layout.
            precise: in float64, where the model can do that.
            model: another copy than the subject's own.
        """
        precise = precise and self.precise
        model = model or self.fresh(precise=precise)
        leaves: list[tuple[Tensor, bool]] = []
        if batch.is_floating_point():
            batch = batch.double() if precise else batch
            leaf = batch.detach().clone().requires_grad_()
            leaves.append((leaf, False))
            raw = self.call(model, leaf.clone())  # a model may write into its inputs
        else:
            with _embedding(model, batch, leaves):
                raw = self.call(model, batch.clone())
        if not leaves:
            raise ValueError(
                "model: expected token ids to be read by an nn.Embedding, "
                "got a model that reads them in another way"
            )
        return Run(*leaves[0], tensor_of(raw, time_first=self.time == 0), raw)

    def final(self, outputs: Tensor) -> Tensor:
        """Return what stands at the last step, `(batch, numbers)`."""
        if self.steps_axis is not None:
            outputs = outputs.select(self.steps_axis, -1)
        return outputs.flatten(1) if outputs.ndim > 1 else outputs[:, None]

    def fresh(self, *, precise: bool) -> nn.Module:
        """Return a copy of the model, in float64 where that is asked for and possible."""
        model = copied(self.model)
        return model.double() if precise and self.precise else model

    def conditions(
        self, *, unfused: bool = True, precise: bool = False
    ) -> AbstractContextManager[None]:
        """Return what `isolation.conditions` sets for this model; `precise` means float64."""
        dtype = torch.float64 if precise and self.precise else None
        return conditions(self.batch.device, unfused=unfused, dtype=dtype)

    def _in_float64(self) -> bool:
        """Whether the model runs in float64; some fix another type inside."""
        try:
            with self.conditions():
                outputs = self.run(self.batch).outputs
        except Exception as error:
            if isinstance(error, ValueError) and str(error).startswith("model: expected"):
                raise
            raise ValueError(
                f"model: expected to run on a batch of shape {tuple(self.batch.shape)}, "
                f"got {said(error)}; call= says how to call it"
            ) from error
        if not outputs.isfinite().all():
            raise ValueError(
                "model: expected finite outputs, got nan or infinity from finite inputs and weights"
            )
        self.precise = True
        try:
            with self.conditions(precise=True):
                return self.run(self.batch, precise=True).outputs.dtype == torch.float64
        except Exception:  # whatever a model says to float64
            return False

    def _time_axis(self) -> int:
        """The axis along which steps depend on one another while sequences do not."""
        with self.conditions(precise=True):
            run = self.run(self.batch, precise=True)
            for axis in (0, 1):
                if _independent(run, axis):
                    return 1 - axis
        raise ValueError(
            "batch: expected sequences that do not influence one another along axis 0 or axis 1 of "
            f"the batch, got a model that mixes both axes of {tuple(self.batch.shape)} in outputs "
            f"of shape {tuple(run.outputs.shape)}; call= can pick others, batch_first= settles it"
        )

    def _steps_axis(self) -> int | None:
        """The axis of the outputs that is as long as the sequences are; None without one."""
        with self.conditions():
            run = self.run(self.batch)
            shape, states = run.outputs.shape, [part.shape for part in carried(run.raw)]
            try:
                shorter = self.run(self.last(self.steps // 2))
                half = shorter.outputs.shape
                follow = [axis for axis, size in enumerate(shape) if size != half[axis]]
                same = states == [part.shape for part in carried(shorter.raw)]
                self.carries = (
                    same and states != [] and all(self.sequences in state for state in states)
                )
            except Exception:  # whatever a model says to another length
                follow = [axis for axis, size in enumerate(shape) if size == self.steps]
        axis = self.time if self.time in follow else next(iter(follow), None)
        of_sequences = 0 if axis is None else 1 - self.time
        if axis == of_sequences or shape[of_sequences] != self.sequences:
            raise ValueError(
                f"model: expected outputs for {self.sequences} sequences along axis "
                f"{of_sequences}, got shape {tuple(shape)}"
            )
        return axis


def _check(model: Any, batch: Any) -> None:
    """Say what is wrong with either before anything is run."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model: expected a torch.nn.Module, got {type(model).__name__}")
    if not isinstance(batch, Tensor):
        raise ValueError(f"batch: expected a tensor, got {type(batch).__name__}")
    is_numbers = batch.is_floating_point() and batch.ndim == 3
    is_ids = batch.dtype in (torch.int64, torch.int32) and batch.ndim == 2
    if not (is_numbers or is_ids) or batch.numel() == 0:
        raise ValueError(
            "batch: expected numbers with the axes (batch, steps, features) or token ids with "
            f"(batch, steps), got {batch.dtype} of shape {tuple(batch.shape)}"
        )
    if not batch.isfinite().all():
        raise ValueError("batch: expected finite numbers, got nan or infinity")
    for name, parameter in model.named_parameters():
        if isinstance(parameter, nn.UninitializedParameter):
            raise ValueError(f"model: expected weights, got none in {name}: call the model once")
        if not parameter.isfinite().all():
            raise ValueError(f"model: expected finite weights, got nan or infinity in {name}")


@contextmanager
def _embedding(model: nn.Module, ids: Tensor, leaves: list[tuple[Tensor, bool]]) -> Generator[None]:
    """Make the first embedding of the batch's own ids hand out a leaf."""

    def replace(
        module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], output: Tensor
    ) -> Tensor | None:
        read = next(iter((*arguments, *named.values()))).flatten()
        for swapped, layout in ((False, ids), (True, ids.T)):
            if not leaves and torch.equal(read, layout.flatten()):
                leaf = output.detach().reshape(*layout.shape, -1).requires_grad_()
                leaves.append((leaf, swapped))
                return leaf.clone().view_as(output)
        return None

    found = [module for module in model.modules() if isinstance(module, nn.Embedding)]
    hooks = [module.register_forward_hook(replace, with_kwargs=True) for module in found]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _independent(run: Run, axis: int) -> bool:
    """Whether the outputs at either end of an axis depend on the inputs there alone."""
    leaf_axis = 1 - axis if run.swapped else axis
    outputs = run.outputs
    if outputs.ndim < 3:
        axis = 0
    if outputs.shape[axis] != run.leaf.shape[leaf_axis]:
        return False
    for end in (0, -1):
        one = outputs.select(axis, end)
        weights = torch.linspace(1, 2, one.numel(), device=one.device).view_as(one).to(one)
        gradient = gradients(one, weights, [run.leaf])[0]
        others = gradient.abs().amax([i for i in range(gradient.ndim) if i != leaf_axis])
        if others.count_nonzero() > others.narrow(0, 0 if end == 0 else -1, 1).count_nonzero():
            return False
    return True


def gradients(outputs: Tensor, weights: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Return the gradients of a weighted sum of outputs; zeros where nothing leads.

    Raises:
        ValueError: the outputs were computed without a graph, or it cannot be gone back through.
    """
    if not outputs.requires_grad:
        raise ValueError(
            "model: expected outputs that depend on the inputs differentiably, "
            "got outputs without a gradient"
        )
    total = (outputs * weights).sum()
    try:
        found = _found(total, inputs)
    except Exception as error:  # whatever an autograd.Function says
        raise ValueError(
            f"model: expected a backward pass to the inputs, got {said(error)}"
        ) from error
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def _found(total: Tensor, inputs: list[Tensor]) -> Sequence[Tensor | None]:
    try:
        return torch.autograd.grad(total, inputs, retain_graph=True, allow_unused=True)
    except RuntimeError:  # a reentrant checkpoint knows no other way than backward()
        for x in inputs:
            x.retain_grad()
            x.grad = None
        total.backward(retain_graph=True)
        return [x.grad for x in inputs]
