# SPDX-License-Identifier: MIT
"""Memory and events between processes: data, life time, hostile handles, kills."""
from vgpu_test import *

SHARE = os.path.join(BUILD, "vgpu_hip_share")


class Program:
    """A process that does one command a line."""

    def __init__(self, *options, **env):
        self.p = subprocess.Popen([RUN, *options, "--", SHARE], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=clean_env(**env))

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def do(self, *lines):
        for line in lines:
            answer = self.ask(line)
            check(line, answer == "ok", answer, self.p.pid)

    def start(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()

    def answer(self):
        return self.p.stdout.readline().strip()

    def end(self):
        self.p.stdin.close()
        code = self.p.wait(60)
        check("ends well", code == 0, code)

    def kill(self):
        self.p.kill()
        self.p.wait()


def buffers_of(pid):
    """Inodes of the buffers that a process holds or maps: while there are none, nobody keeps memory."""
    found = set()
    for task in os.listdir("/proc/%d/task" % pid):
        base = "/proc/%d/task/%s/fd/" % (pid, task)
        for fd in os.listdir(base):
            try:
                if "vgpu-bo" in os.readlink(base + fd):
                    found.add(os.stat(base + fd).st_ino)
            except FileNotFoundError:
                pass
    with open("/proc/%d/maps" % pid) as f:
        found |= {int(line.split()[4]) for line in f if "vgpu-bo" in line}
    return found


def data(size, *options, **env):
    a, b = Program(*options, **env), Program(*options, **env)
    a.do("size %d" % size, "allocate", "write 1")
    b.do("size %d" % size)
    b.do("open " + a.ask("handle"), "check 1", "check-by-device 1", "write 2")
    a.do("check 2", "check-by-device 2", "write-by-device 3")
    b.do("check 3", "write-by-device 4")
    a.do("check 4", "fill 7")
    b.do("check-fill 7", "fill 9")
    a.do("check-fill 9")
    b.do("close")
    b.do("open " + a.ask("handle"), "check-fill 9", "close")
    a.do("free")
    a.end()
    b.end()


for size in (100000, 40 << 20):
    data(size)
for setting in ({"HSA_ENABLE_SDMA": "0"}, {"HSA_ENABLE_IPC_MODE_LEGACY": "1"},
                {"HSA_ENABLE_INTERRUPT": "0"}):
    data(5 << 20, **setting)

# Three processes, two GPUs, each opens memory of the other GPU.
a, b, c = Program("--gpus", "2"), Program("--gpus", "2"), Program("--gpus", "2")
a.do("device 1", "allocate", "write 5")
handle = a.ask("handle")
b.do("open " + handle, "check-by-device 5")
c.do("device 1", "open " + handle, "check-by-device 5", "write-by-device 6")
b.do("check 6")
a.do("check 6")
for p in (c, b):
    p.do("close")
    p.end()
a.do("free")
a.end()

# The memory stays while somebody has it open, whatever becomes of who made it.
for way in ("free", "exit", "kill"):
    a, b = Program(), Program()
    a.do("size 8388608", "allocate", "write 1")
    b.do("size 8388608")
    handle = a.ask("handle")
    b.do("open " + handle, "check 1")
    if way == "free":
        a.do("free", "allocate", "write 2")
        b.do("check 1")
    if way == "exit":
        a.end()
    else:
        a.kill()
    b.do("check 1", "write-by-device 3", "check 3", "close")
    b.end()

# Who has let go holds nothing of it any more; the last one's end is the memory's. ROCm 7.2.4 imports
# what it shares into a render node, too, and never closes that handle: it lets go when it ends.
def sharers():
    """Two processes with one buffer, and its inode."""
    a, b = Program(), Program()
    a.do("size 67108864", "allocate", "fill 1")
    b.do("size 67108864", "open " + a.ask("handle"), "check-fill 1")
    shared = buffers_of(b.p.pid) & buffers_of(a.p.pid)
    check("one buffer is shared", len(shared) == 1, shared)
    return a, b, shared


def lets_go(what, program, shared, *commands):
    keeps = int(program.ask("generation")) >= 7
    program.do("check-fill 1", *commands)
    held = buffers_of(program.p.pid)
    check(what, keeps == bool(shared & held), keeps, shared, held)
    program.end()


a, b, shared = sharers()
a.kill()
lets_go("closing lets go", b, shared, "close")
a, b, shared = sharers()
b.kill()
lets_go("freeing lets go", a, shared, "free")

# Handles that lead nowhere, or elsewhere. What names the memory are the first 16 bytes, when it goes
# by the driver's own calls; what follows is the runtime's, and it believes it.
LEGACY = {"HSA_ENABLE_IPC_MODE_LEGACY": "1"}
a, b = Program(**LEGACY), Program(**LEGACY)
a.do("size 8388608", "allocate", "write 1")
b.do("size 8388608")
good = a.ask("handle")
for name in ("00" * 16, "ff" * 16, "5a" * 16, good[:16] + "%08x" % (int(good[16:24], 16) ^ 0x1000000) +
             good[24:32], "01000000" + good[8:32], good[:4] + "ff" + good[6:32]):
    answer = b.ask("open " + name + good[32:])
    check("a wrong handle is refused", answer.startswith("error hipError"), name, answer)
b.do("allocate", "write 3", "check 3", "free")
b.do("open " + good, "check 1", "close")
a.do("free")
answer = b.ask("open " + good)
check("of memory that was freed", answer.startswith("error hipError"), answer)
a.end()
answer = b.ask("open " + good)
check("of a process that is gone", answer.startswith("error hipError"), answer)
b.do("allocate", "write 3", "check 3", "free")
b.end()

# Events.
a, b = Program("--kernel-ns", "0"), Program("--kernel-ns", "0")
a.do("event")
b.do("open-event " + a.ask("event-handle"))
a.do("allocate", "write 1", "record", "wait")
b.do("wait", "stream-wait")
check("recorded there, ready here", b.ask("query") == "ready")
for i in range(5):
    a.do("write-by-device %d" % i, "record")
    b.do("wait")
check("and it is done", b.ask("query") == "ready")
b.do("destroy-event")
a.do("destroy-event")
a.end()
b.end()
check("nothing is left behind", not leftovers(), leftovers())
end()
