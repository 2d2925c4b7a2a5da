# SPDX-License-Identifier: MIT
"""The log: exact counts, contents, order and times; process trees; every kind of end."""
import glob
import signal
import time

from vgpu_test import *

# ---- counts and contents ----
N = 60
path = TMP + "/counted"
r = run("--kernel-ns", "5000,work_long=777000", "--copy-gbps", "10", "--log", path, "--", HIP,
        "counted", str(N))
check("program", r.returncode == 0, r.stderr)
log = load(path)
check_queue_order(log)
empty = packets(log, kernel="_Z10work_emptyv")
check("as many kernels as were launched", len(empty) == N, len(empty))
check("each with its own grid", sorted(k["grid"] for k in empty) ==
      [[(i + 1) * 4, 10, 18] for i in range(N)])
check("workgroup and segments", all(k["workgroup"] == [4, 5, 6] and k["group_segment"] == 128 and
                                    k["private_segment"] == 0 for k in empty))
check("one kernel object", len({k["kernel_object"] for k in empty}) == 1)
check("their time", all(k["end"] - k["start"] == 5000 for k in empty))
check("two streams", len({k["queue"] for k in empty}) == 2)
for q in {k["queue"] for k in empty}:
    order = [k["grid"][0] for k in sorted(empty, key=lambda k: k["index"]) if k["queue"] == q]
    check("in the order of launch", order == sorted(order), order)
check("a time by name", [k["end"] - k["start"] for k in packets(log, kernel="_Z9work_longv")] ==
      [777000])
copies = packets(log, kind="copy", engine="sdma", bytes=1000000)
check("copies", len(copies) == N / 10, len(copies))
check("at 10 GB/s", all(c["end"] - c["start"] == 100000 for c in copies))
check("stamped dispatches are those with a signal", all(not k["stamped"] or k["signal"] for k in empty))
p = processes(log)
check("one process", len(p) == 1 and p[0]["ended"] and p[0]["lost"] == 0 and p[0]["bare"] == 0, p)
check("its packets", p[0]["packets"] == len(packets(log)))
check("its CPU time", 0 < p[0]["cpu_ns"] < 10**11)
check("interrupts", p[0]["interrupts"] == sum(x["interrupt"] for x in packets(log)))
check("lines are in the order of start", [x["start"] for x in packets(log)] ==
      sorted(x["start"] for x in packets(log)))
check("no spool is left", not os.path.exists(path + ".spool"))

# ---- code that comes and goes ----
path = TMP + "/modules"
r = run("--log", path, "--", HIP, "modules", BUILD + "/vgpu_kernels.co", BUILD + "/vgpu_kernels_other.co")
check("program", r.returncode == 0, r.stderr)
log = [k for k in load(path) if k["kind"] == "dispatch"]
check("names follow the code", [(k["kernel"], k["grid"][0]) for k in log] ==
      [(("rules_", "other_")[i % 2] + name, i + 1) for i in range(20) for name in ("long", "short")],
      [k["kernel"] for k in log])
check("although addresses repeat", len({k["kernel_object"] for k in log}) < 40)

# ---- a tree of processes: the parent, one child by exec, two that do not use the GPU ----
path = TMP + "/family"
r = run("--log", path, "--", HIP, "family")
check("program", r.returncode == 0, r.stdout, r.stderr)
log = load(path)
check("two processes used the GPU", len(processes(log)) == 2 and
      len({x["pid"] for x in processes(log)}) == 2, processes(log))
check("the parent's and the child's kernels",
      sorted(len(packets(log, pid=x["pid"], kernel="_Z10work_emptyv")) for x in processes(log)) == [1, 2])
check("all ended well", all(x["ended"] for x in processes(log)))

path = TMP + "/fork"
r = run("--log", path, "--", HIP, "fork-first")
check("program", r.returncode == 0, r.stdout, r.stderr)
log = load(path)
check("parent and child use the GPU, each for itself",
      sorted(len(packets(log, pid=x["pid"], kernel="_Z10work_emptyv")) for x in processes(log)) == [1, 2])

# ---- preloaded by hand ----
path = TMP + "/by-hand"
r = subprocess.run([HIP, "tiny"], env=clean_env(LD_PRELOAD=BUILD + "/libvgpu.so", VGPU_LOG=path))
check("preloaded by hand", r.returncode == 0 and not os.path.exists(path))
check("its log", run("--finish-log", path).returncode == 0 and
      len(packets(load(path), kernel="_Z10work_emptyv")) == 1)

# ---- exec: one process, two images ----
path = TMP + "/exec"
r = run("--log", path, "--", HIP, "exec", HIP, "tiny")
log = load(path)
check("program", r.returncode == 0, r.stderr)
check("two images of one process", sorted(x["image"] for x in processes(log)) == [0, 1] and
      len({x["pid"] for x in processes(log)}) == 1, processes(log))
check("one kernel each", len(packets(log, kernel="_Z10work_emptyv")) == 2)

# ---- an orphan: the command ends, its child goes on ----
path = TMP + "/orphan"
r = run("--log", path, "--", "sh", "-c", "(sleep 0.3; exec %s counted 20) </dev/null >/dev/null 2>&1 & "
        "exec %s tiny" % (HIP, HIP))
check("program", r.returncode == 0, r.stderr)
log = load(path)
# The child may not have opened the device when the command ended; if it had, it is waited for.
check("whole processes only", all(x["ended"] for x in processes(log)), processes(log))
path = TMP + "/orphan2"
r = run("--log", path, "--", "sh", "-c", "%s counted 3000 </dev/null >/dev/null 2>&1 & "
        "while ! ls %s.spool/* >/dev/null 2>&1; do sleep 0.01; done" % (HIP, path))
log = load(path)
check("an orphan that uses the GPU is waited for", r.returncode == 0 and
      len(packets(log, kernel="_Z10work_emptyv")) == 3000, len(packets(log)))


def is_alive(pid):
    """Not a corpse; a killed process needs its time to die."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def finish_when_dead(path):
    for _ in range(1000):
        r = run("--finish-log", path)
        if "still writes" not in r.stderr:
            break
        time.sleep(0.02)
    return r


# ---- a child that never ends: the waiting can be stopped, the log finished later ----
path = TMP + "/daemon"
q = subprocess.Popen([RUN, "--log", path, "--", "sh", "-c", "exec 3>&1; %s hang >&3 2>/dev/null </dev/null & "
                      "while ! ls %s.spool/* >/dev/null 2>&1; do sleep 0.01; done" % (HIP, path)],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_env())
q.stdout.readline()
while "sh" in [open("/proc/%s/comm" % c).read().strip() for c in
               open("/proc/%d/task/%d/children" % (q.pid, q.pid)).read().split()]:
    time.sleep(0.01)
time.sleep(0.2)
child = int(open("/proc/%d/task/%d/children" % (q.pid, q.pid)).read().split()[0])
q.send_signal(signal.SIGINT)
check("stopped with a hint", q.wait(timeout=20) == 125 and "--finish-log" in q.stderr.read())
os.kill(child, signal.SIGKILL)
r = finish_when_dead(path)
check("and finished", r.returncode == 0 and len(packets(load(path), kernel="_Z10work_emptyv")) == 1)

# ---- ends ----
for how, code in (("_exit", 7), ("crash", -signal.SIGABRT)):
    path = TMP + "/" + how
    r = run("--log", path, "--", HIP, how)
    check("exit code", r.returncode == code, how, r.returncode)
    log = load(path)
    check("kernel before " + how, [k["end"] - k["start"] for k in
                                   packets(log, kernel="_Z10work_emptyv")] == [5000])
    check("how it ended", [x["ended"] for x in processes(log)] == [how == "_exit"], processes(log))

# What a program has seen complete is in the log, whatever happens next.
for kernel_ns in ("0", "5000", "40000"):
    for i in range(2):
        path = TMP + "/self"
        r = run("--kernel-ns", kernel_ns, "--log", path, "--", HIP, "kill-self")
        check("exit code", r.returncode == -signal.SIGKILL, r.returncode)
        log = load(path)
        check_queue_order(log)
        check("all 100 kernels complete", [k["end"] - k["start"] for k in
              packets(log, kernel="_Z10work_emptyv")] == [int(kernel_ns)] * 100)


def in_flight(path, **options):
    """A program with 10 long kernels launched, one of them running."""
    q = subprocess.Popen([RUN, "--kernel-ns", "0,work_long=3600000000000", "--log", path, "--", HIP,
                          "hang"], stdout=subprocess.PIPE, text=True, env=clean_env(), **options)
    q.stdout.readline()
    child = int(open("/proc/%d/task/%d/children" % (q.pid, q.pid)).read().split()[0])
    return q, child


def wait_for_launch(path):
    """Until the engine has consumed the first long kernel: its record is in the spool by then."""
    for _ in range(2000):
        for f in glob.glob(path + ".spool/*"):
            if b"work_long" in open(f, "rb").read():
                return
        time.sleep(0.005)
    check("the long kernel is launched", False)


def check_killed(log):
    done = packets(log, kernel="_Z10work_emptyv")
    check("the kernel that was over is there", len(done) == 1 and done[0]["end"] is not None, done)
    running = packets(log, kernel="_Z9work_longv")
    check("the one that ran has no end", len(running) == 1 and running[0]["end"] is None and
          running[0]["end_ticks"] is None and running[0]["start"] > 0, running)
    check("the process did not end well", [x["ended"] for x in processes(log)] == [False])
    check("its CPU time is known", processes(log)[0]["cpu_ns"] > 0)


path = TMP + "/kill"
q, child = in_flight(path)
wait_for_launch(path)
os.kill(child, signal.SIGKILL)
check("killed", q.wait(timeout=20) == -signal.SIGKILL, q.returncode)
check_killed(load(path))

# ---- vgpu-run is killed too: its log is finished by hand, or by the next run ----
for finish in (True, False):
    path = TMP + "/orphaned%d" % finish
    q, child = in_flight(path)
    wait_for_launch(path)
    q.kill()
    q.wait()
    r = run("--log", path, "--", "true")
    check("not while a process still writes", r.returncode == 125 and "hint:" in r.stderr, r.stderr)
    os.kill(child, signal.SIGKILL)
    while is_alive(child):
        time.sleep(0.01)
    if finish:
        r = finish_when_dead(path)
        check("finished", r.returncode == 0, r.stderr)
        check_killed(load(path))
    else:
        r = run("--log", path, "--", HIP, "tiny")
        check("the next run", r.returncode == 0 and path + ".old" in r.stderr, r.stderr)
        check_killed(load(path + ".old"))
        check("and its own log", len(packets(load(path), kernel="_Z10work_emptyv")) == 1)
    check("no spool is left", not os.path.exists(path + ".spool"))
run("--", HIP, "tiny")  # cleans what the killed ones left
check("nothing is left behind", not leftovers(), leftovers())
end()
