# SPDX-License-Identifier: MIT
"""The distribution's rocminfo lists the emulated GPUs."""
from vgpu_test import *

for gpus in (0, 1, 2, 8):
    r = run("--gpus", str(gpus), "--", "rocminfo")
    if gpus:
        check("rocminfo ends well", r.returncode == 0, r.stderr)
    check("number of GPUs", r.stdout.count("Device Type:             GPU") == gpus, gpus)
    check("their name", r.stdout.count("AMD Instinct MI210") == gpus)
    check("their architecture",
          r.stdout.count("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == gpus)
for arch, name in (("gfx908", "AMD Instinct MI100"), ("gfx906", "AMD Instinct MI60 / MI50")):
    r = run("--arch", arch, "--", "rocminfo")
    check("another architecture", "amdgcn-amd-amdhsa--" + arch in r.stdout and name in r.stdout, arch)
    check("rocminfo ends well", r.returncode == 0, r.stderr)
check("nothing is left behind", not leftovers(), leftovers())
end()
