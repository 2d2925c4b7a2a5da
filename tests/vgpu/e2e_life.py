# SPDX-License-Identifier: MIT
"""What is left behind, and who cleans it up; small and missing /dev/shm."""
import signal

from vgpu_test import *

run("--", HIP, "tiny")
check("a clean start", not leftovers(), leftovers())

# ---- kill: the next start cleans, but touches nothing of the living ----
for kill in (signal.SIGKILL, signal.SIGABRT):
    p = [subprocess.Popen([RUN, "--", HIP, "hang"], stdout=subprocess.PIPE, text=True,
                          env=clean_env()) for _ in range(2)]
    for x in p:
        x.stdout.readline()
    check("two directories", sorted(leftovers().values()) == sorted(x.pid for x in p), leftovers())
    p[0].send_signal(kill)
    p[0].wait()
    check("one is stale", p[0].pid in leftovers().values())
    run("--", HIP, "tiny")
    check("the next start cleans it and leaves the other",
          list(leftovers().values()) == [p[1].pid], leftovers())
    p[1].kill()
    p[1].wait()
    run("--", HIP, "tiny")
    check("nothing is left behind", not leftovers(), leftovers())

# ---- a recycled process number, another user's, another namespace's, not even a directory ----
ns = os.stat("/proc/self/ns/pid").st_ino
me = os.getpid()
start = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
mine = STATE + "/vgpu-%d-%d-%d" % (ns, me, start)
recycled = STATE + "/vgpu-%d-%d-%d" % (ns, me, start - 1)
elsewhere = STATE + "/vgpu-%d-%d-%d" % (ns + 1, 999999999, 5)
dead = STATE + "/vgpu-%d-%d-%d" % (ns, 999999999, 5)
link = STATE + "/vgpu-%d-%d-%d" % (ns, 999999998, 5)
victim = TMP + "/victim"
for d in (mine, recycled, elsewhere, dead, victim):
    os.mkdir(d)
    open(d + "/file", "w").close()
os.symlink(victim, link)
os.symlink(victim, dead + "/link")
run("--", HIP, "tiny")
check("a live process's directory stays", os.path.exists(mine + "/file"))
check("a recycled number's goes", not os.path.exists(recycled))
check("another namespace's stays", os.path.exists(elsewhere + "/file"))
check("a dead one's goes", not os.path.exists(dead))
check("links are not followed", os.path.exists(victim + "/file") and os.path.islink(link))
if os.geteuid() == 0:
    os.mkdir(dead)
    os.chown(dead, 12345, 12345)
    run("--", HIP, "tiny")
    check("another user's stays", os.path.exists(dead))
    os.rmdir(dead)
for d in (mine, elsewhere):
    os.unlink(d + "/file")
    os.rmdir(d)
os.unlink(link)

# ---- every other end ----
for args, code in ((["_exit"], 7), (["exec", "true"], 0), (["exec", HIP, "tiny"], 0), (["family"], 0)):
    r = run("--", HIP, *args)
    check("exit code", r.returncode == code, args, r.returncode, r.stdout, r.stderr)
    check("nothing is left behind", not leftovers(), args, leftovers())

# ---- a process that has nothing to do with the GPU gets nothing ----
r = run("--", "strace", "-f", "-e", "trace=mkdir,mkdirat,clone,clone3,memfd_create", "true")
if r.returncode == 0:
    calls = [x for x in r.stderr.splitlines() if "(" in x and not x.startswith("strace")]
    check("no directory, no thread, no file", not calls, calls)

# ---- /dev/shm tiny or absent (in a mount namespace of its own; needs root) ----
if os.geteuid():
    print("skipped: /dev/shm tiny or absent needs root")
    end()
tmp = TMP + "/tmpdir"
os.mkdir(tmp)
for what, mount in (("tiny", "mount -t tmpfs -o size=1M,nr_inodes=40 none /dev/shm"),
                    ("full", "mount -t tmpfs -o size=1M none /dev/shm; "
                             "dd if=/dev/zero of=/dev/shm/full bs=4k 2>/dev/null; true"),
                    ("read-only", "mount -t tmpfs -o ro none /dev/shm")):
    log = TMP + "/log-" + what
    r = subprocess.run(["unshare", "-m", "sh", "-c", "%s; exec %s --gpus 8 --log %s -- %s tiny" % (
        mount, RUN, log, HIP)], capture_output=True, text=True, timeout=100,
        env=clean_env(TMPDIR=tmp, VGPU_DIR=""))
    if "unshare failed" in r.stderr or "mount:" in r.stderr:
        print("skipped: no mount namespace here:", r.stderr.strip())
        continue
    check("/dev/shm " + what, r.returncode == 0, r.stdout, r.stderr)
    check("with its log", os.path.exists(log) and [(x["ended"], x["gpus"]) for x in
                                                   processes(load(log))] == [(True, 8)])
    check("nothing is left behind", not os.listdir(tmp), os.listdir(tmp))
r = subprocess.run(["unshare", "-m", "sh", "-c",
                    "mount -t tmpfs none /dev && mknod /dev/null c 1 3; mkdir /dev/fd; exec %s -- %s tiny"
                    % (RUN, HIP)], capture_output=True, text=True, timeout=100,
                   env=clean_env(TMPDIR=tmp, VGPU_DIR=""))
if "unshare failed" not in r.stderr:
    check("no /dev/shm at all", r.returncode == 0, r.stdout, r.stderr)
    check("nothing is left behind", not os.listdir(tmp), os.listdir(tmp))
end()
