# SPDX-License-Identifier: MIT
"""/dev/shm tiny, full, read-only or absent, in a mount namespace of its own: needs root, else skipped."""
from vgpu_test import *

if os.geteuid():
    print("skipped: mounting over /dev/shm needs root")
    sys.exit(77)
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
        sys.exit(77)
    check("/dev/shm " + what, r.returncode == 0, r.stdout, r.stderr)
    check("with its log", os.path.exists(log) and [(x["ended"], x["gpus"]) for x in
                                                   processes(load(log))] == [(True, 8)])
    check("nothing is left behind", not os.listdir(tmp), os.listdir(tmp))
r = subprocess.run(["unshare", "-m", "sh", "-c",
                    "mount -t tmpfs none /dev && mknod /dev/null c 1 3; mkdir /dev/fd; exec %s -- %s tiny"
                    % (RUN, HIP)], capture_output=True, text=True, timeout=100,
                   env=clean_env(TMPDIR=tmp, VGPU_DIR=""))
check("no /dev/shm at all", r.returncode == 0, r.stdout, r.stderr)
check("nothing is left behind", not os.listdir(tmp), os.listdir(tmp))
end()
