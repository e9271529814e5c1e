"""An instrument for any sequence model: which constraint binds first, and what to try first.

The three constraints are those of recurrence: the gradient has to reach, the state has to hold the
past, and the steps have to wait for one another.
"""

from torch import Tensor, nn

from onehop.diagnosis.depth import measure_depth
from onehop.diagnosis.reach import measure_reach
from onehop.diagnosis.recall import FEWEST_PROBES, measure_memory
from onehop.diagnosis.report import Report
from onehop.diagnosis.subject import FEWEST_STEPS, Call, Subject
from onehop.diagnosis.verdict import judge
from onehop.roofline import A100_80GB, Accelerator


def diagnose(
    model: nn.Module,
    batch: Tensor,
    *,
    steps: int | None = None,
    recall: int = 1,
    call: Call | None = None,
    batch_first: bool | None = None,
    per_layer: bool = False,
    probes: int = 384,
    accelerator: Accelerator = A100_80GB,
) -> Report:
    """Return which constraint binds first when a model reads sequences of a stated length.

    The model is copied and measured in evaluation mode; the copy's gradients are in float64 where
    the model runs in float64. The model itself, and torch's random state, are not changed.

    Args:
        model: a module from sequences to outputs, one for each step or one for each sequence. It
            may return a tuple, a mapping or a dataclass that begins with them.
        batch: what `model(batch)` takes: numbers, `(batch, steps, features)`, or token ids,
            `(batch, steps)`; with time first if the model wants that. Full sequences: no gradient
            comes from padding.
        steps: length of the task; the batch's own if not given. The last steps of a longer batch
            are used, and a shorter one is repeated.
        recall: how many numbers of the past (tokens, if it reads tokens) the answer needs at once.
        call: how to call the model, such as `lambda model, x: model(x, mask=mask(x.shape[1]))`. It
            is called with shorter sequences too.
        batch_first: whether the first axis is the batch; found out if not given.
        per_layer: whether to measure the gradient's reach into each layer too.
        probes: random sequences for the linear readout of the state.
        accelerator: on whose data sheet the time is estimated; from `onehop.roofline`.

    Returns:
        The report: printed, it is a table; `figure()` gives an SVG and `to_dict()` what JSON takes.

    Raises:
        ValueError: model or batch are not what can be measured; the message says what was expected
            and what came.
    """
    for name, value, least in (
        ("steps", steps, FEWEST_STEPS),
        ("recall", recall, 1),
        ("probes", probes, FEWEST_PROBES),
    ):
        if value is not None and (not isinstance(value, int) or value < least):
            raise ValueError(f"{name}: expected a whole number from {least} on, got {value!r}")
    if not isinstance(accelerator, Accelerator):
        raise ValueError(
            f"accelerator: expected one of onehop.roofline, such as A100_80GB, got {accelerator!r}"
        )
    subject = Subject(model, batch, call, batch_first)
    length = subject.steps if steps is None else steps
    subject = subject.at(length)
    reach, layers = measure_reach(subject, per_layer=per_layer)
    depth = measure_depth(subject, accelerator)
    memory = measure_memory(subject, probes)
    return Report(
        model=type(model).__name__,
        steps=length,
        sequences=subject.sequences,
        time_first=subject.time == 0,
        reach=reach,
        layers=layers,
        depth=depth,
        memory=memory,
        verdict=judge(reach, depth, memory, steps=length, recall=recall),
    )
