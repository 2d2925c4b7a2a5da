# SPDX-License-Identifier: MIT
"""HIP programs: data is right on 1, 2 and 8 GPUs, again and again, in odd settings; idle is cheap."""
import time

from vgpu_test import *

for gpus, what in ((1, "all"), (2, "all"), (8, "every")):
    r = run("--gpus", str(gpus), "--", HIP, what, timeout=100)
    check("everything on %d GPUs" % gpus, r.returncode == 0 and "%d GPUs" % gpus in r.stdout,
          r.stdout, r.stderr)
for setting in ({"HSA_ENABLE_SDMA": "0"}, {"HSA_ENABLE_INTERRUPT": "0"}, {"VGPU_KFD_MINOR": "13"},
                {"AMD_DIRECT_DISPATCH": "0"}):
    r = run("--", HIP, "all", env=clean_env(**setting), timeout=100)
    check("everything with %s" % setting, r.returncode == 0, r.stdout, r.stderr)
for kernel_ns in ("0", "300000"):
    r = run("--kernel-ns", kernel_ns, "--copy-gbps", "0", "--", HIP, "all", timeout=100)
    check("everything with kernels of %s ns" % kernel_ns, r.returncode == 0, r.stdout, r.stderr)
for i in range(10):
    r = run("--", HIP, "tiny")
    check("again and again", r.returncode == 0, i, r.stderr)
check("nothing is left behind", not leftovers(), leftovers())

# Several queues with nothing to do: CPU time of the whole process, by the kernel's account.
p = subprocess.Popen([RUN, "--", HIP, "hang"], stdout=subprocess.PIPE, text=True, env=clean_env())
p.stdout.readline()
time.sleep(2.5)


def cpu_ticks():
    with open("/proc/%d/stat" % p.pid) as f:
        return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])


before = cpu_ticks()
time.sleep(2)
used = (cpu_ticks() - before) / os.sysconf("SC_CLK_TCK") / 2
check("an idle GPU costs next to no CPU (generous: 5 %)", used < 0.05, used)
names = set()
for task in os.listdir("/proc/%d/task" % p.pid):
    base = "/proc/%d/task/%s/" % (p.pid, task)
    name = open(base + "comm").read().strip()
    names.add(name)
    if name.startswith("vgpu-"):
        blocked = [x.split()[1] for x in open(base + "status") if x.startswith("SigBlk")][0]
        # all but SIGKILL, SIGSTOP and the two that glibc keeps for itself
        check("our threads block all signals", int(blocked, 16) | 0x180040100 | 3 << 31 ==
              0xffffffffffffffff, name, blocked)
check("our threads have names", "vgpu-watch" in names and "vgpu-q1" in names, names)
p.kill()
p.wait()
end()
