# SPDX-License-Identifier: MIT
"""Streams wait for words of memory; kernels that reach beyond the program's memory fault."""
from vgpu_test import *

WAITS = os.path.join(BUILD, "vgpu_hip_waits")
LOG = os.path.join(TMP, "log")

for what in "values", "batch":
    r = run("--kernel-ns", "0", "--", WAITS, what, timeout=300)
    check(what, r.returncode == 0 and "right" in r.stdout.splitlines(), r.returncode, r.stdout, r.stderr[-900:])

# HIP 5.2.3 counts the rest of such a fill below 0: its kernel leaves the buffer, on a real GPU too.
def byte():
    r = run("--log", LOG, "--", WAITS, "byte", timeout=60)
    faults = [line for line in load(LOG) if line["kind"] == "fault"]
    if not faults:
        check("a fill of one byte", r.returncode == 0, r.returncode, r.stdout, r.stderr[-900:])
        return
    check("a fill beyond the buffer is a memory fault", "Memory access fault" in r.stderr, r.stderr[-900:])
    check("and ends the program", r.returncode == -6, r.returncode)
    check("the log says that nobody asked for it", [f["rule"] for f in faults] == [None] and
          faults[0]["fault"] == "memory", faults)


for left in reversed(range(4)):
    try:
        byte()
        break
    except subprocess.TimeoutExpired:  # ROCr 5.2, now and then: its threads spin and never ask for the fault
        check("the runtime hears of the fault in one of four runs", left)
end()
