"""Imported first by the fork server alone, so that what pages start and cut loose stays in sight.

On Linux the fork server becomes the parent of such processes, and takes them along when it ends.
"""

import atexit
import gc
import os
import sys
import warnings

from driftproof import family


def _end(server: int) -> None:
    """End with all children, and at once: to take apart what is imported takes a while."""
    family.end_children(server)
    if os.getpid() == server:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(0)


family.adopt_orphans()
atexit.register(_end, os.getpid())
warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
gc.disable()  # it finds nothing while modules are imported; `driftproof.warm` ends this
