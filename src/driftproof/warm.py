"""Imported last by the fork server alone: does once what every page would do for itself."""

import gc
import importlib
import sys

from driftproof import figures, worker
from driftproof.observe import remember_imports

if "matplotlib.figure" in sys.modules:  # the first picture reads fonts and builds parsers
    figure = sys.modules["matplotlib.figure"].Figure()
    axes = figure.subplots()
    axes.semilogy([1, 10], label="$x$")
    axes.legend()
    figures.figure(figure, alt="a line", caption="a line", data={"x": [1, 10]})
    figures.drawn.clear()
    del figure, axes
if "numpy" in sys.modules and "numpy.random" not in sys.modules:  # imported when it is used
    worker.first.append(importlib.import_module("numpy.random").seed)
for path, finder in [*sys.path_importer_cache.items()]:
    if finder is None:  # a folder that is not there yet
        del sys.path_importer_cache[path]
remember_imports(last=__name__)  # where Python puts a module when it has been imported
gc.enable()
gc.freeze()  # or the first collection in each page copies the memory that pages share
