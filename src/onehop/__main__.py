"""`python -m onehop diagnose module:factory`: the report of a model, on the command line.

The one module of this package that reads a command line and prints.
"""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from onehop import roofline
from onehop.diagnosis import diagnose

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
    except ValueError as error:
        print(f"onehop diagnose: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), indent=2) if options.json else report)
    if options.figure:
        with open(options.figure, "w", encoding="utf-8") as file:
            file.write(report.figure())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m onehop")
    command = parser.add_subparsers(required=True, metavar="diagnose").add_parser(
        "diagnose", help="which constraint binds a sequence model first"
    )
    add = command.add_argument
    add("factory", metavar="module:factory", help="returns a model, or a model and a batch")
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
    """The model, and its own batch or random inputs of the width that its first layer reads."""
    module, colon, factory = name.partition(":")
    if not colon:
        raise ValueError(f"factory: expected module:factory, got {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        made: Any = getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError) as error:
        raise ValueError(f"factory: {error}") from error
    if isinstance(made, tuple) and len(made) == 2:
        return made
    if not isinstance(made, nn.Module):
        raise ValueError(
            f"factory: expected a torch.nn.Module, or one and a batch, got {type(made).__name__}"
        )
    return made, _random_batch(made, steps, sequences)


def _random_batch(model: nn.Module, steps: int, sequences: int) -> Tensor:
    for layer in model.modules():
        if isinstance(layer, nn.Embedding):
            return torch.randint(layer.num_embeddings, _axes(model, sequences, steps))
        if isinstance(layer, nn.RNNBase):
            return torch.randn(*_axes(model, sequences, steps), layer.input_size)
        if isinstance(layer, nn.MultiheadAttention):
            return torch.randn(*_axes(model, sequences, steps), layer.embed_dim)
        if isinstance(layer, nn.Linear):
            return torch.randn(*_axes(model, sequences, steps), layer.in_features)
    raise ValueError(
        f"factory: expected a first layer with a known width, got {type(model).__name__}; "
        "let it return the model and a batch"
    )


def _axes(model: nn.Module, sequences: int, steps: int) -> tuple[int, int]:
    layouts = [m.batch_first for m in model.modules() if hasattr(m, "batch_first")]
    return (sequences, steps) if not layouts or layouts[0] else (steps, sequences)


if __name__ == "__main__":
    sys.exit(main())
