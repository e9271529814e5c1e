"""Imported first by the fork server alone, so that what pages start and cut loose stays in sight.

On Linux the fork server becomes the parent of such processes, and takes them along when it ends.
"""

import atexit
import gc
import os
import warnings

from driftproof import family

family.adopt_orphans()
atexit.register(family.end_children, os.getpid())
warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
gc.disable()  # it finds nothing while modules are imported; `driftproof.warm` ends this
