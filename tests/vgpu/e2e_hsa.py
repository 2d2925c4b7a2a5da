# SPDX-License-Identifier: MIT
"""The rules of queues, packets and signals, and the log of the same run."""
from vgpu_test import *

log = TMP + "/hsa"
# ROCr 6 and later write small code objects themselves where the GPU's memory is mapped; 5.2 never does
r = run("--kernel-ns", "0,rules_long=2000000", "--log", log, "--",
        BUILD + "/vgpu_hsa_rules", BUILD + "/vgpu_kernels.co", env=clean_env(HSA_CO_DMACOPY_SIZE="0"))
check("all rules hold", r.returncode == 0 and "all rules hold" in r.stdout, r.stdout, r.stderr)
log = load(log)
check_queue_order(log)
check("one process", len(processes(log)) == 1)
p = processes(log)[0]
check("which ended well", p["ended"] and p["lost"] == 0 and p["name"] == "vgpu_hsa_rules", p)

long, short = packets(log, kernel="rules_long"), packets(log, kernel="rules_short")
check("kernels", (len(long), len(short)) == (4 + 8, 1 + 200), len(long), len(short))
check("their time", all(k["end"] - k["start"] == 2000000 for k in long) and
      all(k["end"] == k["start"] for k in short))
check("in locked memory: 8 signals 64 bytes apart",
      [k["signal"] - long[4]["signal"] for k in long[4:]] == [64 * i for i in range(8)])
check("arguments in locked memory",
      all(k["kernarg"] == "11" * 8 + "22" * 8 for k in long[4:]))
check("no interrupt from them", not any(k["interrupt"] for k in long[4:]))
barriers = packets(log, kind="barrier")
check("barriers", {kind: len([b for b in barriers if b["barrier"] == kind]) for kind in
                   ("and", "or", "value")} == {"and": 2 + 1 + 200 + 1 + 30, "or": 1, "value": 1})
uploads = packets(log, kind="copy", engine="compute")
check("ROCr uploads the code object with a kernel of its own",
      [(u["kernel"], u["queue"]) for u in uploads] == [(None, 1)], uploads)
copies = packets(log, kind="copy", engine="sdma")
check("copies, one record each", [(c["bytes"], c["engine"]) for c in copies] ==
      [(10000000, "sdma")] * 2, copies)
check("at 25 GB/s", all(c["end"] - c["start"] == 400000 for c in copies))
check("the second after the first", copies[1]["start"] >= copies[0]["end"])
check("which raised interrupts", all(c["interrupt"] for c in copies))
fills = packets(log, kind="fill")
check("fill by a kernel of ROCr", [(f["bytes"], f["engine"], f["kernel"]) for f in fills] ==
      [(10000000, "compute", None)], fills)
check("interrupts: those of packets and no other",
      p["interrupts"] == sum(x["interrupt"] for x in packets(log)), p["interrupts"])
check("queues", len([x for x in log if x["kind"] == "queue" and x["engine"] == "compute"]) == 32 + 1)
check("bare packets", p["bare"] == 0)
end()
