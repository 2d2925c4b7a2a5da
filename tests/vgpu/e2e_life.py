# SPDX-License-Identifier: MIT
"""What is left behind, and who cleans it up."""
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

end()
