"""Imported last by the fork server alone: does once what every page would do for itself."""

import gc
import importlib
import sys

from driftproof import figures
from driftproof.observe import remember_imports

if "matplotlib.figure" in sys.modules:  # the first picture reads fonts and builds parsers
    figure = sys.modules["matplotlib.figure"].Figure()
    axes = figure.subplots()
    axes.semilogy([1, 10], label="$x$")
    axes.legend()
    figures.figure(figure, alt="a line", caption="a line", data={"x": [1, 10]})
    figures.drawn.clear()
    del figure, axes
if "numpy" in sys.modules:  # which imports this part when it is used
    importlib.import_module("numpy.random")
remember_imports()
gc.enable()
gc.freeze()  # or the first collection in each page copies the memory that pages share
