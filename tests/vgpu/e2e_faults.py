# SPDX-License-Identifier: MIT
"""Faults on request: each reaches the program as the driver's would, and is in the log."""
import signal
import time

from vgpu_test import *

HSA = os.path.join(BUILD, "vgpu_hsa_faults")
# ROCr 7.2 fails an assertion of its own where it takes back what it had of a queue that cannot be made.
NO_QUEUE = "ReleaseQueueMainScratch"


def faults(log):
    return [r for r in log if r["kind"] == "fault"]


def faulty(*rules, program=(HSA,), limit=100, options=()):
    """The result of a run with these faults, and its log."""
    path = TMP + "/faults"
    args = [x for rule in rules for x in ("--fault", rule)]
    return run(*args, *options, "--log", path, "--", *program, timeout=limit), load(path)


def ended_by(words, r, error):
    """ROCr aborted with these words, or (HIP 7) a HIP call returned this error."""
    return r.returncode == -signal.SIGABRT and (words in r.stderr or NO_QUEUE in r.stderr) or \
        r.returncode == 2 and error in r.stderr


def barriers(log):
    return sorted(packets(log, kind="barrier"), key=lambda b: b["index"])


r, log = faulty()
check("without a fault", r.stdout.startswith("8 packets complete") and r.stdout.endswith("end\n"), r.stdout)
has_exceptions = "hardware exceptions: yes" in r.stdout
queue = barriers(log)[0]["queue"]

# ---- a queue that stalls ----
r, log = faulty("stall,queue=%d,packet=3,for=120ms" % queue)
check("stalled, then complete", r.stdout.startswith("8 packets complete"), r.stdout, r.stderr)
f = faults(log)
check("one line", [(x["fault"], x["queue"], x["index"], x["until"] - x["time"]) for x in f] ==
      [("stall", queue, 3, 120000000)], f)
check("nothing of the queue starts meanwhile", [b["start"] >= f[0]["until"] for b in barriers(log)] ==
      [False] * 3 + [True] * 5, barriers(log))
check_queue_order(log)
r, log = faulty("stall,kernel=work_empty,every=7,for=2ms", program=(HIP, "counted", "40"))
empty = packets(log, kernel="_Z10work_emptyv")
check("every 7th of 40 stalls", r.returncode == 0 and len(faults(log)) == 5 and len(empty) == 40, faults(log))
check_queue_order(log)
for f in faults(log):
    k = [x for x in empty if x["queue"] == f["queue"] and x["index"] == f["index"]]
    check("for its time", len(k) == 1 and k[0]["start"] == f["until"] == f["time"] + 2000000, f, k)
# One that never ends: the program waits until it is killed, the log has what was before.
path = TMP + "/forever"
q = subprocess.Popen([RUN, "--fault", "stall,queue=%d,packet=2" % queue, "--log", path, "--", HSA],
                     env=clean_env(), stdout=subprocess.PIPE)
spool = path + ".spool"
while not os.path.exists(spool) or not any(b"stall,queue" in open(os.path.join(spool, f), "rb").read()
                                           for f in os.listdir(spool)):
    time.sleep(0.01)
check("it waits", q.poll() is None)
os.kill(int(open("/proc/%d/task/%d/children" % (q.pid, q.pid)).read().split()[0]), signal.SIGKILL)
check("until killed", q.wait(timeout=60) == -signal.SIGKILL)
log = load(path)
check("two packets", [b["end"] is not None for b in barriers(log)] == [True, True], barriers(log))
check("and the fault", [(x["index"], x["until"]) for x in faults(log)] == [(2, None)], faults(log))

# ---- memory faults ----
for reason, mask, text in (("not-present", 1, "Page not present or supervisor privilege"),
                           ("read-only", 2, "Write access to a read-only page"),
                           ("no-execute", 4, "Execute access to a page marked NX")):
    r, log = faulty("memory,queue=%d,packet=5,address=0x123456789,reason=%s" % (queue, reason))
    check("the handler is told the page", r.stdout.startswith(
        "memory fault 0x123456000 reasons 0x%x\n5 packets complete\n" % mask), r.stdout, r.stderr)
    check("and the program goes on to its end", r.returncode == 0 and r.stdout.endswith("end\n"))
    check("five have an end, the sixth has none",
          [b["end"] is not None for b in barriers(log)] == [True] * 5 + [False], barriers(log))
    check("in the log", [(x["fault"], x["index"], x["address"]) for x in faults(log)] ==
          [("memory", 5, 0x123456000)], faults(log))
    # ROCr 5.2 may look at memory only, in both threads, while the program waits for the GPU, and then never
    # hears of the event: there the program waits for something else.
    program, kernel = ((HIP, "counted", "8"), "_Z10work_emptyv") if has_exceptions else ((HIP, "hang"), "_Z9work_longv")
    r, log = faulty("memory,kernel=%s,nth=4,address=0x1000,reason=%s" % (kernel, reason), program=program,
                    options=("--kernel-ns", "0"))
    check("HIP ends", ended_by("Memory access fault by GPU node-1", r, "illegal memory access"), r.returncode, r.stderr)
    check("ROCr says why", "on address 0x1000" in r.stderr and text in r.stderr or r.returncode == 2, r.stderr)
    struck = [(k["queue"], k["index"]) for k in packets(log, kernel=kernel) if k["end"] is None]
    f = faults(log)
    check("the kernel that it struck has no end", len(f) == 1 and (f[0]["queue"], f[0]["index"]) in struck, log)

# ---- queue errors ----
for code, status, number in (("illegal-instruction", 0x2a, 4), ("aperture-violation", 0x29, 6), ("trap", 0x1016, 2),
                             ("invalid-dimension", 0x100d, 16), ("invalid-code", 0x1010, 18),
                             ("invalid-packet", 0x1009, 20)):
    r, log = faulty("queue-error,queue=%d,packet=1,code=%s" % (queue, code))
    check("the queue's callback", r.returncode == 0 and r.stdout.startswith(
        "queue error 0x%x\n1 packets complete\n" % status), code, r.stdout, r.stderr)
    check("in the log", [(x["fault"], x["code"]) for x in faults(log)] == [("queue-error", number)], faults(log))

# ---- the GPU hangs and is reset, or is gone ----
if has_exceptions:
    for kind in ("reset", "lost"):
        r, log = faulty("%s,queue=%d,packet=2" % (kind, queue))
        check("the handler is told", r.stdout.startswith("event 1\n2 packets complete\n"), r.stdout, r.stderr)
        r, log = faulty(kind + ",kernel=work_empty", program=(HIP, "counted", "8"))
        check("HIP ends", ended_by("HW Exception by GPU node-1", r, ""), r.returncode, r.stderr)
r, log = faulty("lost,kernel=work_empty", program=(HIP, "counted", "8"))
check("a program on a lost GPU does not succeed", r.returncode != 0, r.returncode, r.stderr)
check("no kernel is complete", {k["end"] for k in packets(log, kernel="_Z10work_emptyv")} == {None}, log)

# ---- interrupts: what is lost or late is only seen by whoever sleeps ----
r, log = faulty("late-interrupt,by=30ms,every=2")
check("late", r.stdout.startswith("8 packets complete"), r.stdout)
check("each second one", len(faults(log)) == sum(p["interrupt"] for p in packets(log)) // 2 > 0, faults(log))
r, log = faulty("lost-interrupt,queue=%d,packet=4" % queue)
check("lost", r.stdout.startswith("8 packets complete"), r.stdout)
check("one", [(x["queue"], x["index"]) for x in faults(log)] == [(queue, 4)], faults(log))
check("not counted", processes(log)[0]["interrupts"] == sum(p["interrupt"] for p in packets(log)) - 1)

# ---- calls that fail ----
r, log = faulty("create-queue")
check("no queue", r.returncode == 2 and r.stdout.startswith("hsa_queue_create") or
      r.returncode == -signal.SIGABRT and NO_QUEUE in r.stderr, r.stdout, r.stderr)
check("in the log", {x["fault"] for x in faults(log)} == {"create-queue"})
r, log = faulty("alloc,above=100M", program=(HIP, "big"))
check("hipMalloc says so", r.returncode == 0 and r.stdout == "out of memory, then 1 MiB\n", r.stdout, r.stderr)
check("with its size", faults(log) and all(x["fault"] == "alloc" and x["bytes"] > 100 << 20 for x in faults(log)))
r, log = faulty("map,gpu=0", program=(HIP, "tiny"))
check("nothing can be mapped", r.returncode != 0 and faults(log)[0]["fault"] == "map", r.returncode)
r, log = faulty("create-event,nth=1")
check("the first event fails", [x["rule"] for x in faults(log)] == ["create-event,nth=1"], faults(log))

# ---- words that are refused ----
for rule, why in (("", "empty"), ("crash", "is no fault; there are stall"), ("stall,for=3", "wants a time"),
                  ("stall,by=3ms", "does not apply"), ("stall,colour=red", "no field colour"),
                  ("memory,nth=0", "wants a number"), ("memory,nth=1,every=2", "exclude"),
                  ("late-interrupt", "needs by="), ("alloc,above=3Q", "wants a size"),
                  ("queue-error,code=x", "illegal-instruction"), ("stall,kernel=" + "x" * 200, "too long"),
                  (";".join(["stall"] * 17), "more than 16")):
    r = run("--fault", rule, "--", "true")
    check("refused", r.returncode == 125 and why in r.stderr and "hint:" in r.stderr, rule, r.stderr)
r = run(*["--fault", "stall"] * 17, "--", "true")
check("too many", r.returncode == 125 and "more than 16" in r.stderr, r.stderr)
end()
