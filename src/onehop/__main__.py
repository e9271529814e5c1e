"""`python -m onehop diagnose module:factory`: the report of a model, on the command line.

The one module of this package that reads a command line and prints.
"""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from onehop import roofline
from onehop.diagnosis import diagnose
from onehop.diagnosis.isolation import copied, said

ACCELERATORS = {
    "v100": roofline.V100,
    "a100-40": roofline.A100_40GB,
    "a100-80": roofline.A100_80GB,
    "h100": roofline.H100,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 2 if the model cannot be diagnosed."""
    options = _parser().parse_args(arguments)
    torch.manual_seed(options.seed)
    try:
        model, batch = _made(options.factory, options.steps or 256, options.sequences)
        report = diagnose(
            model,
            batch,
            steps=options.steps,
            recall=options.recall,
            per_layer=options.per_layer,
            accelerator=ACCELERATORS[options.accelerator],
        )
        if options.figure:
            Path(options.figure).write_text(report.figure(), "utf-8")
    except (ValueError, OSError) as error:
        print(f"onehop diagnose: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), indent=2) if options.json else report)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m onehop")
    command = parser.add_subparsers(required=True, metavar="diagnose").add_parser(
        "diagnose", help="which constraint binds a sequence model first"
    )
    add = command.add_argument
    add(
        "factory", metavar="module:factory", help="a model, or what returns one, or one and a batch"
    )
    add("--steps", type=int, help="length of the task (the batch's, or 256)")
    add("--recall", type=int, default=1, help="numbers of the past needed at once (%(default)s)")
    add("--sequences", type=int, default=8, help="batch, where none is given (%(default)s)")
    add("--seed", type=int, default=0, help="torch's, before the factory (%(default)s)")
    add("--accelerator", choices=ACCELERATORS, default="a100-80", help="(%(default)s)")
    add("--per-layer", action="store_true", help="the gradient's reach from each layer too")
    add("--json", action="store_true", help="print data instead of a table")
    add("--figure", metavar="FILE", help="write an SVG")
    return parser


def _made(name: str, steps: int, sequences: int) -> tuple[nn.Module, Tensor]:
    """The model, and its own batch or random inputs of a width that it takes."""
    module, _, factory = name.partition(":")
    if not (module and factory):
        raise ValueError(f"factory: expected module:factory, got {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module), factory)
        made: Any = found if isinstance(found, nn.Module) else found()
    except Exception as error:  # whatever the reader's own code says
        raise ValueError(
            f"factory: expected {name} to return a model, got {said(error)}"
        ) from error
    if isinstance(made, tuple) and len(made) == 2:
        return made
    if not isinstance(made, nn.Module):
        raise ValueError(
            f"factory: expected a torch.nn.Module, or one and a batch, got {type(made).__name__}"
        )
    if sequences < 1:
        raise ValueError(f"sequences: expected at least 1, got {sequences}")
    return made, _random_batch(made, *_axes(made, sequences, steps))


def _random_batch(model: nn.Module, *axes: int) -> Tensor:
    """Inputs for the first layer, in the order they are named, for which the model runs."""
    failed = "none of its layers has one"
    for layer in model.modules():
        batch = _inputs(layer, axes)
        if batch is not None:
            try:
                with torch.no_grad():
                    copied(model).eval()(batch)
            except Exception as error:  # whatever the reader's own code says
                failed = said(error)
            else:
                return batch
    raise ValueError(
        f"factory: expected {type(model).__name__} to run on inputs of the width of a layer, "
        f"got {failed}; let it return the model and a batch"
    )


def _inputs(layer: nn.Module, axes: tuple[int, ...]) -> Tensor | None:
    if isinstance(layer, nn.Embedding):
        return torch.randint(layer.num_embeddings, axes)
    for name in ("input_size", "embed_dim", "in_features"):
        if isinstance(getattr(layer, name, None), int):
            return torch.randn(*axes, getattr(layer, name))
    return None


def _axes(model: nn.Module, sequences: int, steps: int) -> tuple[int, int]:
    layouts = [m.batch_first for m in model.modules() if hasattr(m, "batch_first")]
    return (sequences, steps) if not layouts or layouts[0] else (steps, sequences)


if __name__ == "__main__":
    sys.exit(main())
