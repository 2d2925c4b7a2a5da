# SPDX-License-Identifier: MIT
"""Memory of every kind, copies of every shape and between all GPUs, by copy engines and by kernels."""
from vgpu_test import *

MEMORY = os.path.join(BUILD, "vgpu_hip_memory")


def right(what, gpus, *lines, **env):
    r = run("--gpus", str(gpus), "--kernel-ns", "0", "--copy-gbps", "0", "--", MEMORY, what, timeout=300,
            env=clean_env(**env))
    out = r.stdout.splitlines()
    check(what, r.returncode == 0 and all(x in out for x in (*lines, "right")), env, r.returncode, out[-9:], r.stderr[-900:])


right("peers", 8, "56 pairs")
right("peers", 3, "6 pairs", HSA_ENABLE_SDMA="0")
right("host", 1)
right("host", 1, HSA_ENABLE_SDMA="0")
right("shapes", 1)
right("shapes", 1, GPU_FORCE_BLIT_COPY_SIZE="1000000")
right("big", 1)
end()
