# SPDX-License-Identifier: MIT
"""A kernel that refuses some of ringside's BPF programs."""
import atexit
import functools
import os
import pathlib
import subprocess
import tempfile

from testing import TESTS_DIR


@functools.cache
def preload():
    """tests/lib/refuse_preload.c as a library."""
    folder = tempfile.TemporaryDirectory(prefix="ringside-test-")
    atexit.register(folder.cleanup)
    library = pathlib.Path(folder.name) / "refuse_preload.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library,
                    TESTS_DIR / "lib" / "refuse_preload.c", "-ldl"], check=True)
    return library


def kernel_that_refuses(load="", attach=""):
    """For Popen: an environment in which these programs are refused, "NAME=HOW,..." each."""
    return {"env": {**os.environ, "LD_PRELOAD": str(preload()), "REFUSE_LOAD": load, "REFUSE_ATTACH": attach}}
