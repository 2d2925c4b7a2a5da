# SPDX-License-Identifier: MIT
"""The clocks that a program reads, and the log's two kinds of time, against the formula."""
import fcntl
import math
import struct
import time

from vgpu_test import *

GET_CLOCK_COUNTERS = 0xc0284b05


def reader():
    """Readings of GPU 0 and 1 for half a second: JSON lines."""
    kfd = os.open("/dev/kfd", os.O_RDWR)
    ids = [int(open("/sys/class/kfd/kfd/topology/nodes/%d/gpu_id" % n).read()) for n in (1, 2)]
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 500000000
    while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < end:
        for gpu, id_ in enumerate(ids):
            mono = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            ticks, raw, system, freq = struct.unpack("QQQQ", fcntl.ioctl(
                kfd, GET_CLOCK_COUNTERS, struct.pack("QQQQII", 0, 0, 0, 0, id_, 0))[:32])
            after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            print(json.dumps({"gpu": gpu, "mono": mono, "boot": boot, "ticks": ticks, "raw": raw,
                              "system": system, "freq": freq, "after": after}))
        time.sleep(0.001)


if sys.argv[2:] == ["read"]:
    reader()
    sys.exit(0)


def slept(clock_of, system):
    return sum(s["slept_ns"] for s in clock_of["suspends"] if s["resumed"] <= system)


def gpu_time(p, gpu, system):
    """What the GPU's crystal makes of a moment: the same formula, in another language."""
    c = p["clocks"][gpu]
    machine = system - slept(p, system)
    at = machine - p["epoch"]
    gain = at * c["ppb"]
    if c["steps_ppb"]:
        half = c["steps_ns"] // 2
        inside = at % (2 * half)
        gain += c["steps_ppb"] * (inside if inside <= half else 2 * half - inside)
    if c["drift_ppb"]:
        # the integral of the triangle, by its antiderivative in each quarter
        x = (at % c["drift_ns"]) / c["drift_ns"] * 4
        area = (x * x / 2 if x <= 1 else 1 - (2 - x) ** 2 / 2 if x <= 2 else
                1 - (x - 2) ** 2 / 2 if x <= 3 else (4 - x) ** 2 / 2)
        gain += c["drift_ppb"] * c["drift_ns"] / 4 * area
    return machine + gain / 1e9


def counter(p, gpu, system):
    c = p["clocks"][gpu]
    ticks = gpu_time(p, gpu, system) * c["khz"] / 1e6 + c["offset_ns"] * c["khz"] / 1e6
    for s in p["suspends"]:
        if s["resumed"] > system:
            continue
        if s["counter"] == "resets":
            ticks = (gpu_time(p, gpu, system) - gpu_time(p, gpu, s["resumed"])) * c["khz"] / 1e6
        elif s["counter"] == "continues":
            ticks += s["slept_ns"] * (1 + c["ppb"] / 1e9) * c["khz"] / 1e6
    return ticks


# ---- packets: stamps and true times ----
for clock, arch in (("", "gfx90a"), ("ppm=50,offset=3s", "gfx90a"), ("ppm=-50,drift=40/100ms", "gfx90a"),
                    ("steps=100/30ms,mhz=25", "gfx90a"), ("ppm=-7.5", "gfx906")):
    path = TMP + "/packets"
    more = ("--clock", clock) if clock else ()
    if arch == "gfx90a":
        command = [HIP, "counted", "60"]
    else:  # no code for it: the copy engine's own packets are enough
        command = [sys.executable, __file__, BUILD, "read"]
    r = run(*more, "--gpus", "2", "--arch", arch, "--log", path, "--", *command)
    check("program", r.returncode == 0, r.stderr)
    log = load(path)
    p = processes(log)[0]
    khz = p["clocks"][0]["khz"]
    check("counter of the model", khz == (25000 if "mhz=25" in clock or arch == "gfx906" else 100000), khz)
    last = {}
    for k in packets(log):
        for when in ("start", "end"):
            off = k[when + "_ticks"] - counter(p, k["gpu"], k[when])
            # a whole tick, begun at that nanosecond at the latest
            check("ticks of the " + when, -1.01 <= off <= 0.2, clock, off, k)
        if k["kind"] == "dispatch" and k["kernel"] == "_Z10work_emptyv":
            took = k["end_ticks"] - k["start_ticks"]
            check("5 us in ticks, exactly", took == 5000 * khz // 1000000, clock, took)
            check("and in truth", abs(k["end"] - k["start"] - 5000) <= 2, clock, k)
        check("in order", k["start"] >= last.get(k["queue"], 0), k)
        last[k["queue"]] = k["start"]
    if arch == "gfx90a":
        check("packets", len(packets(log, kernel="_Z10work_emptyv")) == 60)

# ---- readings, over a suspend in the middle ----
for how in ("resets", "stands", "continues"):
    path = TMP + "/readings"
    r = run("--gpus", "2", "--clock", "ppm=50,1:ppm=-50,1:offset=1s,jitter=900ns,suspend=7s@300ms,counter=" + how,
            "--log", path, "--", sys.executable, __file__, BUILD, "read")
    check("program", r.returncode == 0, r.stderr)
    rows = [json.loads(line) for line in r.stdout.splitlines()]
    p = processes(load(path))[0]
    check("readings", len(rows) > 20, len(rows))
    jumps = 0
    for before, row in zip([None] + rows, rows):
        check("system clock is CLOCK_BOOTTIME", row["boot"] - 20 <= row["system"] <= row["after"], row)
        late = (counter(p, row["gpu"], row["system"]) - row["ticks"]) * 10
        if row["system"] - 2000 > p["suspends"][0]["resumed"] or row["system"] < p["suspends"][0]["resumed"]:
            # a tick is begun at most 10 ns before; a counter that began anew did so at a whole tick
            check("counter: up to a jitter older", -12 <= late <= 900 + 12, how, late, row)
        if before and row["boot"] - before["boot"] > 6900000000:
            jumps += 1
            check("CLOCK_MONOTONIC stood still", row["mono"] - before["mono"] < 6000000000)
            check("CLOCK_MONOTONIC_RAW, too", row["raw"] - before["raw"] < 6000000000)
    check("slept once", jumps == 1 or rows[0]["boot"] > p["suspends"][0]["resumed"], jumps)
    ticks = [row["ticks"] for row in rows if row["gpu"] == 0]
    check("the counter went back only where it was reset",
          any(b < a for a, b in zip(ticks, ticks[1:])) == (how == "resets" and jumps == 1), how)

# ---- mistakes ----
for text in ("ppm=x", "drift=30", "suspend=1s", "ppm=1,", "offset=-50000000s"):
    r = run("--clock", text, "--", "true")
    check("refused with a hint", r.returncode == 125 and "hint:" in r.stderr and text in r.stderr, text, r.stderr)
r = run("--", "true", env=clean_env(VGPU_CLOCK="ppm=y"))
check("also the variable", r.returncode == 125 and "ppm=y" in r.stderr, r.stderr)
end()
