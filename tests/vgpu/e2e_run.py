# SPDX-License-Identifier: MIT
"""vgpu-run: options, exit codes, signals, errors with a hint; and what paths look like inside."""
import signal

from vgpu_test import *


def fails(code, hint, *args):
    r = run(*args)
    lines = r.stderr.splitlines()
    check("exit code", r.returncode == code, args, r.returncode, r.stderr)
    check("one line and a hint", len(lines) == 2 and lines[0].startswith("vgpu-run: ") and
          lines[1].startswith("hint: ") and hint in lines[1], args, r.stderr)


fails(125, "--help")
fails(125, "--help", "--nonsense", "--", "true")
fails(125, "--help", "--gpus")
fails(125, "--gpus 2", "--gpus", "9", "--", "true")
fails(125, "--gpus 2", "--gpus", "x", "--", "true")
fails(125, "gfx90a", "--arch", "gfx1", "--", "true")
fails(125, "gemm*=20000~15%", "--kernel-ns", "a=b", "--", "true")
fails(125, "--copy-gbps", "--copy-gbps", "fast", "--", "true")
fails(125, "write to", "--log", "/nonexistent/x", "--", "true")
for log in ([], ["--log", TMP + "/l"]):
    fails(127, "PATH", *log, "--", "no-such-program")
    fails(126, "executable", *log, "--", "/etc/passwd")
    check("exit code", run(*log, "--", "sh", "-c", "exit 42").returncode == 42)
    check("success", run(*log, "--", "true").returncode == 0)
    for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        r = run(*log, "--", "sh", "-c", "kill -%d $$" % sig)
        check("the same signal", r.returncode == -sig, sig, r.returncode)
help_text = run("--help")
check("help", help_text.returncode == 0 and "Examples:" in help_text.stdout and
      all(o in help_text.stdout for o in ("--gpus", "--arch", "--kernel-ns", "--copy-gbps", "--log")))
check("an existing preload stays",
      run("--", "sh", "-c", "echo $LD_PRELOAD", env=clean_env(LD_PRELOAD="libm.so.6"))
      .stdout.strip() == os.path.join(BUILD, "libvgpu.so") + ":libm.so.6")

# a signal to vgpu-run reaches the command
p = subprocess.Popen([RUN, "--log", TMP + "/s", "--", "sh", "-c",
                      "trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done"],
                     stdout=subprocess.PIPE, text=True, env=clean_env())
p.stdout.readline()
p.send_signal(signal.SIGTERM)
check("a signal is passed on", p.wait(timeout=20) == 9, p.returncode)

# what a program sees of the emulated paths, through many different libc calls
inside = r"""
import os, stat
def same(a, b): assert a == b, (a, b)
st = os.stat('/dev/kfd'); assert stat.S_ISCHR(st.st_mode)
st = os.stat('/dev/dri/renderD128'); assert stat.S_ISCHR(st.st_mode)
same((os.major(st.st_rdev), os.minor(st.st_rdev)), (226, 128))
fd = os.open('/dev/dri/renderD129', os.O_RDWR)
st = os.fstat(fd); same(os.minor(st.st_rdev), 129); assert stat.S_ISCHR(st.st_mode)
same(os.get_inheritable(fd), False)
try: os.open('/dev/dri/renderD130', os.O_RDWR); assert False
except FileNotFoundError: pass
same(sorted(x for x in os.listdir('/dev/dri') if x[0] != '.'), ['card0', 'card1', 'renderD128', 'renderD129'])
same(os.listdir('/sys/class/kfd'), ['kfd'])
T = '/sys/class/kfd/kfd/topology'
same(sorted(os.listdir(T + '/nodes')), ['0', '1', '2'])
same(open(T + '/nodes/1/gpu_id').read(), '22017\n')
same(os.path.realpath(T), '/sys/devices/virtual/kfd/kfd/topology')
same(os.readlink('/sys/class/kfd/kfd'), '../../devices/virtual/kfd/kfd')
same(os.readlink('/sys/dev/char/226:128/device/subsystem'), '../../../bus/pci')
assert os.access('/dev/kfd', os.R_OK | os.W_OK) and not os.access('/dev/dri/nothing', os.F_OK)
assert 'amdgpu' in open('/proc/modules').read()
d = os.open(T, os.O_RDONLY | os.O_DIRECTORY)
same(os.stat('generation_id', dir_fd=d).st_size, 2)
same(os.read(os.open('generation_id', os.O_RDONLY, dir_fd=d), 9), b'2\n')
assert os.path.exists('/proc/self/status') and os.path.exists('/dev/null')
"""
r = run("--gpus", "2", "--", sys.executable, "-c", inside)
check("paths inside", r.returncode == 0, r.stderr)
r = run("--", "sh", "-c", "ls /sys/class/drm/ | sort | tr '\\n' ' '; realpath /sys/class/drm/card0; "
        "find /sys/class/kfd/kfd/topology/nodes/ -name gpu_id | wc -l; stat -c %F /dev/kfd")
check("shell tools", r.stdout == "card0 renderD128 version "
      "/sys/devices/pci0000:03/0000:03:00.0/drm/card0\n2\ncharacter special file\n", r.stdout, r.stderr)
check("nothing is left behind", not leftovers(), leftovers())
end()
