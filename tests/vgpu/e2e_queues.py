# SPDX-License-Identifier: MIT
"""What the log says of queues: how they were made, changed and ended, and who shares one."""
import signal

from vgpu_test import *

TIMES = BUILD + "/vgpu_hip_times"
SHORT, LONG = "_Z11times_shortv", "_Z10times_longv"
SETTING = ("priority", "percentage", "cus", "cu_mask")


def logged(name, *args, code=0):
    path = TMP + "/" + name
    r = run("--log", path, "--", *args)
    check("program", r.returncode == code, name, r.returncode, r.stdout, r.stderr)
    log = load(path)
    check_queue_order(log)
    return log


def queues(log):
    return {r["queue"]: r for r in log if r["kind"] == "queue"}


def settings(log, kernel):
    """In the order of their start, for each run of the kernel: the settings of its queue then."""
    out = []
    for k in packets(log, kernel=kernel):
        now = queues(log)[k["queue"]]
        for change in log:
            if (change["kind"] == "queue_change" and change["queue"] == k["queue"]
                    and change["time"] <= k["start"]):
                check("says what changed", change["changed"] and
                      all(now[x] != change[x] for x in change["changed"]), now, change)
                check("and only that", all(now[x] == change[x] for x in SETTING
                                           if x not in change["changed"] and x != "cus"), change)
                now = change
        out.append(now)
    return out


def check_times(log, all_end):
    for q in queues(log).values():
        mine = packets(log, queue=q["queue"])
        check("has packets or not", (q["first"] is not None) == bool(mine), q)
        if mine:
            check("created before its first packet was seen", q["created"] <= q["first"], q)
            check("and that before it ran or soon after", q["created"] <= mine[0]["start"], q)
        if q["engine"] == "compute":
            check("its number in HSA", (q["hsa_queue_id"] is not None) == bool(mine), q)
        else:
            check("no compute units for copies", "cus" not in q and "cu_mask" not in q, q)
        if q["destroyed"] is not None:
            check("destroyed after its last packet", not mine or
                  q["destroyed"] >= max(r["end"] for r in mine), q)
            check("not in a process that was killed", all_end, q)
    check("every queue has a line", {r["queue"] for r in packets(log)} <= set(queues(log)))
    check("a queue's changes come while it is there", all(
        queues(log)[r["queue"]]["created"] <= r["time"] for r in log if r["kind"] == "queue_change"))


# ---- priorities: highest first ----
log = logged("priorities", TIMES, "priorities")
check_times(log, True)
found = [s["priority"] for s in settings(log, SHORT)]
check("as many priorities as HIP has", len(found) in (2, 3), found)
check("from the highest down", found == sorted(set(found), reverse=True), found)
check("of the driver's range", all(0 <= p <= 15 for p in found), found)
ends = [queues(log)[k["queue"]]["destroyed"] for k in packets(log, kernel=SHORT)]
check("streams come and go with their queues", sum(e is not None for e in ends) >= 2, ends)

# ---- masks of compute units ----
log = logged("masks", TIMES, "cu-masks")
check_times(log, True)
found = settings(log, LONG)
check("compute units", [s["cus"] for s in found] == [4, 40, 1], found)
check("masks", [int(s["cu_mask"], 16) for s in found] == [0xf, 0xffffffffff, 1 << 48], found)
check("others have all of them", any(q["cu_mask"] is None and q["cus"] == 104
                                     for q in queues(log).values() if q["engine"] == "compute"))

# ---- ten streams, four queues ----
log = logged("sharing", TIMES, "sharing", "10")
check_times(log, True)
streams = {}  # a stream is known by its kernels' grid
for k in packets(log, kernel=SHORT):
    streams.setdefault(k["grid"][0] // 64, []).append(k["queue"])
check("all kernels of all streams", {s: len(q) for s, q in streams.items()} ==
      {s: s for s in range(1, 11)}, streams)
check("a stream stays on its queue", all(len(set(q)) == 1 for q in streams.values()), streams)
check("several share one", 1 < len({q[0] for q in streams.values()}) <= 5, streams)

# ---- a killed process ----
log = logged("killed", HIP, "kill-self", code=-signal.SIGKILL)
check_times(log, False)
check("its queues are there, with their first packet", sum(q["first"] is not None
      for q in queues(log).values()) >= 1, queues(log))
end()
