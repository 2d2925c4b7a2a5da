# SPDX-License-Identifier: MIT
"""How long things take: spread kernels that a seed repeats, processing costs, copies by direction."""
from vgpu_test import *

TIMES = BUILD + "/vgpu_hip_times"
SHORT, LONG, TYPED = "_Z11times_shortv", "_Z10times_longv", "_Z11times_typedIfEvT_"


said = ""  # by the program that was run last


def logged(name, *args, **options):
    global said
    path = TMP + "/" + name
    r = run(*args[:args.index("--")], "--log", path, *args[args.index("--"):], **options)
    check("program", r.returncode == 0, name, r.stdout, r.stderr)
    said = r.stdout
    log = load(path)
    check_queue_order(log)
    return log


def lengths(records):
    return [r["end"] - r["start"] for r in records]


def by_queue(log, kernel):
    """The times of a kernel's runs on each queue, in the order of the queues and their packets."""
    out = {}
    for r in sorted(packets(log, kernel=kernel), key=lambda r: (r["queue"], r["index"])):
        out.setdefault(r["queue"], []).append(r["end"] - r["start"])
    return list(out.values())


# ---- spread times: a seed repeats them, whatever the threads do meanwhile ----
SPREAD = ("--kernel-ns", "2000,times_long=20000~15%,times_typed*=9000~lognormal:40%")
N = 200
runs = [logged("spread%d" % i, *SPREAD, *seed, "--", TIMES, "kernels", str(N))
        for i, seed in enumerate((("--seed", "7"), ("--seed", "7"), ("--seed", "8"), ()))]
for log in runs:
    check("fixed ones stay fixed", lengths(packets(log, kernel=SHORT)) == [2000] * N)
    check("two queues, all kernels", [len(x) for x in by_queue(log, LONG)] == [N / 2] * 2)
spread = [by_queue(log, LONG) for log in runs]
check("the same seed, the same times", spread[0] == spread[1], spread[0], spread[1])
check("and for the mangled name's pattern", by_queue(runs[0], TYPED) == by_queue(runs[1], TYPED))
check("another seed, other times", spread[0] != spread[2])
check("no seed is a seed too", spread[3] != spread[0])
check("each queue its own", spread[0][0] != spread[0][1])
for times in spread:
    all_times = times[0] + times[1]
    mean = sum(all_times) / N
    check("around their mean", abs(mean - 20000) < 5 * 3000 / N ** 0.5, mean)
    check("and not all alike", len(set(all_times)) > N / 2)

# ---- times of a recorded run ----
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/durations")


def recorded(name, *traces):
    """What the script makes of traces, as a file; and its kernels."""
    r = subprocess.run([sys.executable, SCRIPT, *traces], capture_output=True, text=True)
    check("a file of durations", r.returncode == 0, name, r.stderr)
    path = TMP + "/" + name + ".durations"
    with open(path, "w") as f:
        f.write(r.stdout)
    return path, {line.split("\t")[0]: [int(x) for x in line.split("\t")[1].split()]
                  for line in r.stdout.splitlines() if not line.startswith("#")}


def save(name, what):
    path = TMP + "/" + name
    with open(path, "w") as f:
        json.dump(what, f)
    return path


path, kernels = recorded("log", TMP + "/spread0")
check("of a log", kernels == {k: lengths(packets(runs[0], kernel=k)) for k in (SHORT, LONG, TYPED)})
log = logged("replayed", "--durations", path, "--kernel-ns", "7000,times_short=30", "--",
             TIMES, "kernels", "300")
for kernel in (LONG, TYPED):
    for times in by_queue(log, kernel):
        check("each queue takes them in turn", times == kernels[kernel][:150], times)
check("a pattern is stronger", set(lengths(packets(log, kernel=SHORT))) == {30})
log = logged("replayed2", "--durations", path, "--", TIMES, "kernels", "500")
check("and from the start again", all(t == (kernels[LONG] * 2)[:250] for t in by_queue(log, LONG)))
drawn = [by_queue(logged("drawn", "--durations", path, "--draw-durations", "--seed", seed, "--",
                         TIMES, "kernels", "300"), LONG) for seed in ("3", "3", "4")]
check("drawn from them", all(set(x) <= set(kernels[LONG]) for x in drawn[0]))
check("not in turn", drawn[0][0] != kernels[LONG][:150])
check("by the seed", drawn[0] == drawn[1] != drawn[2])
chrome = save("chrome", {"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "void times_typed<float>(float)", "ts": 20, "dur": 7.25},
    {"ph": "X", "cat": "kernel", "name": "times_long()", "ts": 10, "dur": 1.5},
    {"ph": "X", "cat": "kernel", "name": "void times_typed<float>(float)", "ts": 5, "dur": 8},
    {"ph": "X", "cat": "cpu_op", "name": "times_short()", "ts": 5, "dur": 8},
    {"ph": "M", "name": "process_name", "args": {"name": "kernel"}}]})
rocprof = save("rocprof", {"rocprofiler-sdk-tool": [{
    "kernel_symbols": [{"kernel_id": 3, "kernel_name": SHORT + ".kd"}],
    "buffer_records": {"kernel_dispatch": [
        {"start_timestamp": 500, "end_timestamp": 940, "dispatch_info": {"kernel_id": 3}},
        {"start_timestamp": 100, "end_timestamp": 320, "dispatch_info": {"kernel_id": 3}}]}}]})
path, kernels = recorded("others", chrome, rocprof)
check("of PyTorch's profiler and rocprofv3", kernels == {
    "void times_typed<float>(float)": [8000, 7250], "times_long()": [1500],
    SHORT + ".kd": [220, 440]}, kernels)
log = logged("others", "--durations", path, "--", TIMES, "kernels", "4")
check("found by the names that people read", by_queue(log, TYPED) == [[8000, 7250]] * 2)
check("and without parameters' types", by_queue(log, LONG) == [[1500, 1500]] * 2)
check("and by the descriptor's name", by_queue(log, SHORT) == [[220, 440]] * 2)
trace = TMP + "/trace.db"
log = logged("traced", *SPREAD, "--", BUILD + "/wavetap", "trace", "-o", trace, "--", TIMES,
             "kernels", "50")
mine = recorded("wavetap", trace)[1]
check("of wavetap's traces", {k: len(t) for k, t in mine.items()} == {SHORT: 50, LONG: 50, TYPED: 50}
      and all(abs(a - b) <= 20 for k in mine for a, b in zip(mine[k], lengths(packets(log, kernel=k)))),
      mine)
for name, text, line, why in (("empty", "# nothing\n", "the file", "no durations in it"),
                              ("bad", "a\t5\nb\tsoon\n", "line 2", "whole number"),
                              ("none", None, "the file", "No such file")):
    path = TMP + "/" + name
    if text is not None:
        with open(path, "w") as f:
            f.write(text)
    r = run("--durations", path, "--", "true")
    check("refused", r.returncode == 125 and '--durations %s: "%s": ' % (path, line) in r.stderr and
          why in r.stderr and "hint: scripts/durations" in r.stderr, name, r.stderr)
for text in ("[]", "{}", "{\"kind\":\"process\"}", "SQLite format 3\0", "hello"):
    with open(TMP + "/wrong", "w") as f:
        f.write(text)
    r = subprocess.run([sys.executable, SCRIPT, TMP + "/wrong"], capture_output=True, text=True)
    check("refused by the script", r.returncode == 1 and r.stderr.startswith(
        "durations: " + TMP + "/wrong: ") and "\nhint: " in r.stderr and not r.stdout, text, r.stderr)

# ---- what the command processor takes ----
for cost in (1000, 0, 2500):
    log = logged("cost", *(() if cost == 1000 else ("--packet-ns", "barrier=%d" % cost)),
                 "--kernel-ns", "0,rules_long=2000000", "--", BUILD + "/vgpu_hsa_rules", BUILD + "/vgpu_kernels.co")
    barriers = packets(log, kind="barrier")
    check("barriers", len(barriers) > 100)
    check("each takes at least its processing", all(x >= cost for x in lengths(barriers)))
    check("those that had nothing to wait for take no more", lengths(barriers).count(cost) >= 30,
          lengths(barriers))
for cost in (0, 800):
    log = logged("launch", "--packet-ns", "dispatch=%d" % cost, "--kernel-ns", "3000", "--", TIMES,
                 "kernels", "300")
    for queue in {r["queue"] for r in packets(log, kernel=SHORT)}:
        r = sorted(packets(log, queue=queue), key=lambda r: r["index"])
        gaps = [b["start"] - a["end"] for a, b in zip(r, r[1:]) if b["barrier_bit"]
                and b["kind"] == "dispatch"]
        check("no kernel starts sooner after another", min(gaps) >= cost, min(gaps))
        check("than a launch takes", gaps.count(cost) > 20, gaps)
    check("which is not part of its time", set(lengths(packets(log, kernel=SHORT))) == {3000})

# ---- so many kernels at a time ----
for most in (1, 3):
    log = logged("concurrency", "--concurrency", str(most), "--kernel-ns", "1000000", "--", TIMES,
                 "sharing", "8")
    edges = sorted(e for r in packets(log, kernel=SHORT)
                   for e in ((r["start"], 1), (r["end"], -1)))
    running = [0]
    for _, step in edges:
        running.append(running[-1] + step)
    check("never more at a time", len(edges) == 72 and max(running) <= most, max(running))

# ---- copies by direction ----
log = logged("ways", "--gpus", "2", "--copy-gbps", "10,h2d=20,d2h=16,d2d=800,peer=50,fill=1000",
             "--copy-latency-ns", "1500,peer=7000,fill=0", "--", TIMES, "copies",
             env=clean_env(HSA_ENABLE_SDMA="1"))
check("the GPUs reach each other", said == "peer access\n", said)
for direction, ns, cnt in (
        ("h2d", 200000 + 1500, 1), ("d2h", 250000 + 1500, 1), ("d2d", 5000 + 1500, 1),
        ("peer", 80000 + 7000, 1)):
    found = packets(log, kind="copy", direction=direction, bytes=4000000)
    check("copies " + direction, lengths(found) == [ns] * cnt, found)
check("a fill", lengths(packets(log, kind="fill", bytes=4000000)) == [4000],
      packets(log, kind="fill"))
check("every copy has a direction", all(r.get("direction") in ("h2d", "d2h", "d2d", "peer", "h2h")
                                        for r in packets(log, kind="copy")))
check("and nothing else has one", not any("direction" in r for r in log if r["kind"] != "copy"))
log = logged("plain", "--copy-gbps", "40", "--", TIMES, "copies")
check("a number alone is for all", lengths(packets(log, bytes=4000000)) == [100000] * 4,
      packets(log, bytes=4000000))

# ---- mistakes ----
for option, value, place, why in (
        ("kernel-ns", "a=5,b=7~30%,c=1", "b=7~30%", "at most 25%"),
        ("kernel-ns", "", "", "between or after commas"),
        ("packet-ns", "barrier=10,foo=1", "foo=1", "dispatch, barrier, pm4 and agent"),
        ("copy-gbps", "d2x=5", "d2x=5", "h2d, d2h, d2d"),
        ("copy-latency-ns", "1,d2d=-5", "d2d=-5", "a time in ns"),
        ("concurrency", "129", "129", "from 0 to 128"),
        ("seed", "seven", "seven", "whole number")):
    r = run("--" + option, value, "--", "true")
    check("refused", r.returncode == 125 and "--%s %s: \"%s\": " % (option, value, place) in r.stderr
          and why in r.stderr and "hint: --" + option in r.stderr, option, value, r.stderr)
end()
