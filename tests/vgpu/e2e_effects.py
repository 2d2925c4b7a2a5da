# SPDX-License-Identifier: MIT
"""Kernels with effect: results are right, a crash names its kernel, bad files are refused."""
import signal

from vgpu_test import *

EFFECTS = os.path.join(BUILD, "vgpu_effects.so")
PROGRAM = os.path.join(BUILD, "vgpu_hip_effects")


def build(name, text):
    """A shared object from this C text."""
    path = os.path.join(TMP, name)
    with open(path + ".c", "w") as f:
        f.write(text)
    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
    subprocess.run(["cc", "-shared", "-fPIC", "-I", include, "-o", path, path + ".c"], check=True)
    return path


r = run("--", PROGRAM)
check("without the functions the results are wrong", r.returncode == 1 and "WRONG: sums" in r.stdout)
path = TMP + "/effects"
r = run("--gpus", "2", "--kernels", EFFECTS, "--log", path, "--", PROGRAM)
check("results", r.returncode == 0, r.stdout, r.stderr)
log = load(path)
check_queue_order(log)
for gpu in range(2):
    check("kernels of GPU %d" % gpu, [len(packets(log, gpu=gpu, kernel=k)) for k in
          ("_Z10effect_addPKfS0_Pfi", "_Z10effect_sumPKiPxi", "_Z11effect_markPjc5placey")] == [12, 1, 1])
check("their time is simulated", all(k["end"] - k["start"] == 5000 for k in packets(log, kind="dispatch")))

# A relative path, and a program that goes elsewhere before it opens the device.
r = subprocess.run([RUN, "--kernels", "./vgpu_effects.so", "--", "sh", "-c", "cd / && exec " + PROGRAM],
                   cwd=BUILD, env=clean_env(), capture_output=True, text=True, timeout=60)
check("a relative path", r.returncode == 0, r.stdout, r.stderr)

# Several files: the first that has the name.
nothing = build("nothing.so", '#include <vgpu/kernels.h>\nstatic void none(const struct vgpu_dispatch *d)'
                '{ (void)d; puts("none"); }\nstatic const struct vgpu_kernel k[] = '
                '{{"_Z11effect_nonePi", none}};\nVGPU_KERNELS(k)\n')
r = run("--kernels", nothing, "--kernels", EFFECTS, "--", PROGRAM, "none")
check("the first file that has it", r.returncode == 0 and r.stdout == "none\n", r.stdout, r.stderr)
r = run("--kernels", nothing, "--kernels", EFFECTS, "--", PROGRAM)
check("and the others", r.returncode == 0, r.stdout, r.stderr)

path = TMP + "/crash"
r = run("--kernels", EFFECTS, "--log", path, "--", PROGRAM, "crash")
check("a crash ends the program", r.returncode == -signal.SIGSEGV, r.returncode)
check("and names the kernel", "kernel _Z12effect_crashv crashed" in r.stderr, r.stderr)
check("which has no end", [k["end"] for k in packets(load(path), kernel="_Z12effect_crashv")] in ([None], []))
r = run("--kernels", EFFECTS, "--", PROGRAM, "none")
check("a wrong argument", r.returncode == -signal.SIGABRT and "asked for with 4 bytes, it has 8" in r.stderr
      and "_Z11effect_nonePi crashed" in r.stderr, r.stderr)

# ---- files that are no use ----
old = build("old.so", "#include <vgpu/kernels.h>\nconst struct vgpu_kernels vgpu_kernels = {99, 0, 0};\n")
empty = build("empty.so", "#include <vgpu/kernels.h>\nstatic const struct vgpu_kernel k[] = {{0, 0}};\n"
              "VGPU_KERNELS(k)\n")
bare = build("bare.so", "int x;\n")
crash = build("crash.so", "#include <signal.h>\n__attribute__((constructor)) static void f(void) { raise(SIGKILL); }\n")
for file, why in ((TMP + "/missing.so", "No such file"), (old, "version 99"), (empty, "no name"),
                  (bare, "exports no vgpu_kernels"), (crash, "signal 9"), (PROGRAM, "cannot dynamically load")):
    r = run("--kernels", file, "--", "true")
    check("refused", r.returncode == 125 and why in r.stderr and "hint:" in r.stderr, file, r.stderr)
r = subprocess.run([PROGRAM], env=clean_env(LD_PRELOAD=BUILD + "/libvgpu.so", VGPU_KERNELS=bare),
                   capture_output=True, text=True, timeout=60)
check("preloaded by hand: no device", r.returncode == 2 and "exports no vgpu_kernels" in r.stderr, r.stderr)
end()
