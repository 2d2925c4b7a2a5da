# SPDX-License-Identifier: MIT
"""What the virtual GPU's end-to-end tests share."""
import json
import os
import signal
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "."
RUN = os.path.join(BUILD, "vgpu-run")
HIP = os.path.join(BUILD, "vgpu_hip_work")
TMP = tempfile.mkdtemp(prefix="vgpu-e2e-")
# Private directories: apart from other programs' on this machine, in memory as those of real use.
STATE = tempfile.mkdtemp(prefix="vgpu-e2e-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else TMP)
wrong = 0


def check(what, ok, *details):
    global wrong
    if not ok:
        wrong += 1
        print("WRONG:", what, *details)


def end():
    subprocess.run(["rm", "-rf", TMP, STATE])
    print("%d wrong" % wrong if wrong else "ok")
    sys.exit(wrong != 0)


def clean_env(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("VGPU_") and k != "LD_PRELOAD"}
    # The sanitizers of the offline programs must not meet a preload.
    env["VGPU_DIR"] = STATE
    env["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
    env.update(more)
    return env


def run(*args, timeout=60, env=None, text=True, **options):
    """vgpu-run with these arguments; as subprocess.run. At the limit the program dies, too."""
    command = [RUN, *args]
    q = subprocess.Popen(command, text=text, env=env or clean_env(), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, start_new_session=True, **options)
    try:
        out, err = q.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(q.pid, signal.SIGKILL)  # vgpu-run alone would leave the program, which may spin
        q.communicate()
        raise
    return subprocess.CompletedProcess(command, q.returncode, out, err)


def load(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


PACKETS = ("dispatch", "copy", "fill", "barrier", "pm4", "agent", "unknown")


def packets(log, **want):
    return [r for r in log if r["kind"] in PACKETS and all(r.get(k) == v for k, v in want.items())]


def processes(log):
    return [r for r in log if r["kind"] == "process"]


def leftovers():
    """Private directories that lie about, with the process number each belongs to."""
    return {name: int(name.split("-")[2]) for name in os.listdir(STATE)}


def check_queue_order(log):
    """The rules that every log must obey, packet by packet."""
    queues = {}
    for r in packets(log):
        if r["kind"] != "pm4" or r["queue"]:
            queues.setdefault((r["pid"], r["queue"]), []).append(r)
    for key, records in queues.items():
        records.sort(key=lambda r: r["index"])
        indices = [r["index"] for r in records]
        check("indices without gap or repetition", indices == list(range(len(indices))), key, indices)
        last_end = last_start = 0
        for r in records:
            check("end of every packet", r["end"] is not None, r)
            check("end after start", r["end"] >= r["start"], r)
            check("ticks", r["start_ticks"] * 10 == r["start"] and r["end_ticks"] * 10 == r["end"], r)
            check("launched in order", r["start"] >= last_start, r)
            if r["barrier_bit"] or r["engine"] == "sdma":
                check("barrier bit: after all before it", r["start"] >= last_end, r, last_end)
            last_start = r["start"]
            last_end = max(last_end, r["end"])
