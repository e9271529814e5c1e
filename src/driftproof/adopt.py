"""Imported by the fork server alone, so that what a page starts and cuts loose stays in sight.

On Linux the fork server becomes the parent of such processes, and takes them along when it ends.
"""

import atexit
import os
import warnings

from driftproof import family

family.adopt_orphans()
atexit.register(family.end_children, os.getpid())
warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
