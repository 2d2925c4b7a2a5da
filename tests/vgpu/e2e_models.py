# SPDX-License-Identifier: MIT
"""Each GPU model as the distribution's own programs see it: rocminfo, rocm-smi, amd-smi, HIP.

The numbers are those of published outputs of the real cards."""
import glob
import json
import re
import shutil

from vgpu_test import *

# architecture, marketing name; then rocminfo's L1, L2, L3 in KB (0: no such line), chip, compute
# units, SIMDs of each, engines, arrays of each, wave size, waves of a compute unit
MODELS = {
    "mi210": ("gfx90a", "AMD Instinct MI210", 16, 8192, 0, 0x740f, 104, 4, 8, 1, 64, 32),
    "mi250x": ("gfx90a", "AMD Instinct MI250X", 16, 8192, 0, 0x7408, 110, 4, 8, 1, 64, 32),
    "mi300x": ("gfx942", "AMD Instinct MI300X", 32, 4096, 262144, 0x74a1, 304, 4, 32, 1, 64, 32),
    "mi350x": ("gfx950", "AMD Instinct MI350X", 32, 4096, 262144, 0x75a0, 256, 4, 32, 1, 64, 32),
    "rx7900xtx": ("gfx1100", "AMD Radeon RX 7900 XTX", 32, 6144, 98304, 0x744c, 96, 2, 6, 2, 32, 32),
    "mi100": ("gfx908", "AMD Instinct MI100", 16, 8192, 0, 0x738c, 120, 4, 8, 1, 64, 40),
    "mi50": ("gfx906", "AMD Instinct MI60 / MI50", 16, 8192, 0, 0x66a1, 60, 4, 4, 1, 64, 40),
}
# What ROCr 5.2 does not know it leaves out, on hardware too.
NEW = ("gfx942", "gfx950", "gfx1100")


def fields(text):
    """The GPU agent's "name: number" lines; the first of each name."""
    found = {}
    for line in text[text.index("Device Type:             GPU"):].splitlines():
        m = re.match(r"\s*([^:]+?)::?\s+(\d+)", line)
        if m:
            found.setdefault(m[1], int(m[2]))
    return found


for product, (arch, name, l1, l2, l3, chip, cus, simds, engines, arrays, wave, waves) in MODELS.items():
    r = run("--arch", product, "--", "rocminfo")
    check("rocminfo ends well", r.returncode == 0, product, r.stderr)
    old = "Runtime Ext Version" not in r.stdout
    if old and arch in NEW:
        check("it leaves out what it does not know", "Device Type:             GPU" not in r.stdout, product)
        continue
    check("its name", name in r.stdout, product)
    check("its instruction set", "amdgcn-amd-amdhsa--" + arch in r.stdout, product)
    f = fields(r.stdout)
    seen = tuple(f.get(k, 0) for k in (
        "L1", "L2", "L3", "Chip ID", "Compute Unit", "SIMDs per CU", "Shader Engines",
        "Shader Arrs. per Eng.", "Wavefront Size", "Max Waves Per CU"))
    check("its numbers", seen == (l1, l2, l3, chip, cus, simds, engines, arrays, wave, waves), product, seen)

# ---- monitoring tools: they ask the files, whatever the runtime knows ----
if shutil.which("rocm-smi"):
    for product, model in MODELS.items():
        r = run("--arch", product, "--gpus", "2", "--", "rocm-smi", "--showid", "--showbus", "--showmeminfo",
                "vram", "--showtemp", "--showclocks", "--json")
        if old and model[0] in ("gfx942", "gfx950"):
            # These have no voltage sensor, and its library insists on one.
            check("rocm-smi 5.2 gives up", r.returncode and "rsmi_init" in r.stdout + r.stderr, product, r)
            continue
        check("rocm-smi speaks", "{" in r.stdout, product, r.stdout, r.stderr)
        cards = json.loads(r.stdout[r.stdout.index("{"):] if "{" in r.stdout else "{}")
        check("rocm-smi finds both", sorted(k for k in cards if k.startswith("card")) == ["card0", "card1"],
              product, r.stdout, r.stderr)
        for i in range(2):
            card = cards["card%d" % i]
            ids = [v for k, v in card.items() if k in ("GPU ID", "Device ID")]
            check("the device", ids[:1] == ["0x%04x" % model[5]], product, card)
            check("the bus", card["PCI Bus"] == "0000:%02X:00.0" % (3 + i), product, card)
            check("nothing is in use", card["VRAM Total Used Memory (B)"] == "0", product, card)
            check("junction", card["Temperature (Sensor junction) (C)"] == "45.0", product, card)
    r = run("--", "rocm-smi", "-a")
    check("rocm-smi shows all", "MEC firmware version: \t92" in r.stdout and "Traceback" not in r.stderr,
          r.stdout, r.stderr)
else:
    print("no rocm-smi here: not tried")
if shutil.which("amd-smi"):
    r = run("--arch", "mi300x", "--gpus", "2", "--", "amd-smi", "static", "--asic", "--bus", "--json")
    data = json.loads(r.stdout[r.stdout.index("{") if "{" in r.stdout else 0:] or "{}")
    gpus = data.get("gpu_data", data if isinstance(data, list) else [])
    check("amd-smi finds both", [g["bus"]["bdf"] for g in gpus] == ["0000:03:00.0", "0000:04:00.0"], r.stdout)
    check("and knows them", all(g["asic"]["market_name"] == "AMD Instinct MI300X" and
                                g["asic"]["num_compute_units"] == 304 for g in gpus), gpus)
else:
    print("no amd-smi here: not tried")

# ---- files whose contents change, in the process that uses the GPU ----
inside = """
import ctypes, glob, os
hip = ctypes.CDLL(sorted(glob.glob('/usr/lib/x86_64-linux-gnu/libamdhip64.so*'))[-1])
def number(path): return int(open(path).read())
used = '/sys/class/drm/card0/device/mem_info_vram_used'
assert number(used) == 0
assert os.listdir('/sys/class/kfd/kfd/proc') == []
p = ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(p), ctypes.c_size_t(64 << 20)) == 0
before = number(used)
assert before >= 64 << 20, before
q = ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(q), ctypes.c_size_t(32 << 20)) == 0
assert number(used) == before + (32 << 20)
for way in ('/sys/dev/char/226:128/device', '/sys/bus/pci/devices/0000:03:00.0'):
    assert number(way + '/mem_info_vram_used') == before + (32 << 20), way
node = '/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/used_memory'
assert number(node) == before + (32 << 20)
assert hip.hipMemset(q, 1, ctypes.c_size_t(1 << 20)) == 0 and hip.hipDeviceSynchronize() == 0
me = '/sys/class/kfd/kfd/proc/%d' % os.getpid()
gpu = number('/sys/class/kfd/kfd/topology/nodes/1/gpu_id')
assert number(me + '/vram_%d' % gpu) == number(used) >= before + (32 << 20)
queues = os.listdir(me + '/queues')
assert queues and all(number(me + '/queues/%s/gpuid' % n) == gpu for n in queues), queues
after = number(used)
assert hip.hipFree(q) == 0
assert number(used) == after - (32 << 20)
print('fine')
"""
r = run("--", sys.executable, "-c", inside)
check("memory in use", r.stdout == "fine\n", r.stdout, r.stderr)

# ---- ways to the device ----
inside = """
import ctypes, glob, os
libc = ctypes.CDLL(None)
class Glob(ctypes.Structure):
    _fields_ = [('cnt', ctypes.c_size_t), ('paths', ctypes.POINTER(ctypes.c_char_p)), ('offs', ctypes.c_size_t),
                ('more', ctypes.c_char * 64)]
g = Glob()
assert libc.glob(b'/sys/class/drm/card*/device/vendor', 0, None, ctypes.byref(g)) == 0
assert [g.paths[i] for i in range(g.cnt)] == [b'/sys/class/drm/card%d/device/vendor' % i for i in range(2)]
assert libc.glob(b'/dev/dri/render*', 8 | 32, None, ctypes.byref(g)) in (0, 22)  # no GLOB_DOOFFS before
g = Glob(offs=2)
assert libc.glob(b'/dev/dri/card0', 8, None, ctypes.byref(g)) == 0        # GLOB_DOOFFS
assert libc.glob(b'/dev/dri/render*', 8 | 32, None, ctypes.byref(g)) == 0  # and GLOB_APPEND
assert [g.paths[2 + i] for i in range(g.cnt)] == [b'/dev/dri/card0', b'/dev/dri/renderD128', b'/dev/dri/renderD129']
assert libc.glob(b'/dev/dri/nothing*', 0, None, ctypes.byref(Glob())) == 3  # GLOB_NOMATCH
devices = os.listdir('/sys/bus/pci/devices')
assert {'0000:03:00.0', '0000:04:00.0'} <= set(devices), devices
for d in devices:
    assert os.path.exists('/sys/bus/pci/devices/%s/vendor' % d), d
assert os.path.realpath('/sys/class/hwmon/hwmon1001').endswith('/0000:04:00.0/hwmon/hwmon1001')
assert open('/sys/class/hwmon/hwmon1000/name').read() == 'amdgpu\\n'
assert not os.path.exists('/sys/bus/pci/devices/0000:05:00.0') or '0000:05:00.0' in devices
os.chdir('/sys/class/drm/card1/device')
assert open('device').read() == '0x740f\\n' and os.listdir('drm') != []
print('fine')
"""
r = run("--gpus", "2", "--", sys.executable, "-c", inside)
check("ways to the device", r.stdout == "fine\n", r.stdout, r.stderr)
# ---- blocks and firmware, as libdrm asks for them: type, version, mask of rings ----
ask = """
import fcntl, os, struct
node = os.open('/dev/dri/renderD128', os.O_RDWR)
def info(query, kind, layout):
    answer = bytearray(struct.calcsize(layout))
    at = (ctypes.c_char * len(answer)).from_buffer(answer)
    fcntl.ioctl(node, 0x40206445, struct.pack('QIIIIII', ctypes.addressof(at), len(answer), query, kind, 0, 0, 0))
    return struct.unpack(layout, bytes(answer))
import ctypes
for kind in 0, 1, 2, 6:
    major, minor, _, start, size, rings, version = info(2, kind, 'IIQIIII')
    print(major, minor, rings, hex(version), end=' ')
print(*info(14, 8, 'II'), *info(14, 11, 'II'))
"""
for product, want in {
        "mi210": "9 0 0 0x90402 9 0 255 0x90402 4 0 31 0x40400 0 0 0 0x0 92 0 9 0",
        "mi300x": "9 4 0 0x90403 9 4 255 0x90403 4 4 65535 0x40402 0 0 0 0x0 192 0 25 0",
        "rx7900xtx": "11 0 1 0xb0000 11 0 255 0xb0000 6 0 3 0x60000 0 0 0 0x0 2140 0 20 0"}.items():
    r = run("--arch", product, "--", sys.executable, "-c", ask)
    check("blocks and firmware", r.stdout.strip() == want, product, r.stdout, r.stderr[-500:])

here = os.listdir("/sys/bus/pci/devices") if os.path.isdir("/sys/bus/pci/devices") else []
r = run("--", sys.executable, "-c", "import os; print(*sorted(os.listdir('/sys/bus/pci/devices')))")
check("the machine's devices stay", set(here) <= set(r.stdout.split()), here, r.stdout)
r = run("--gpus", "0", "--", sys.executable, "-c", "import os; print(*os.listdir('/sys/bus/pci/devices'))")
check("and alone with no GPU", set(r.stdout.split()) == set(here), here, r.stdout, r.stderr)
check("nothing is left behind", not leftovers(), leftovers())
end()
