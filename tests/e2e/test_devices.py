# SPDX-License-Identifier: MIT
"""What is known of GPUs and of the kernels that were loaded onto them."""
import glob
import re
import shutil
import struct
import subprocess
import unittest

from harness import CODE_OBJECT, WORKLOADS, Case, need

DEVICES = WORKLOADS / "devices"
REGISTERS = WORKLOADS / "registers.co"


def readelf():
    """LLVM's: it prints the metadata of code objects."""
    names = ["llvm-readelf"] + sorted(glob.glob("/usr/bin/llvm-readelf-[0-9]*")) + \
        sorted(glob.glob("/opt/rocm/llvm/bin/llvm-readelf"))
    return next(filter(None, map(shutil.which, names)), None)


def unbundle(path, arch):
    """The ELF file for an architecture in a bundle as the compiler writes it."""
    data = path.read_bytes()
    magic = b"__CLANG_OFFLOAD_BUNDLE__"
    if not data.startswith(magic):
        return data
    at = len(magic) + 8
    for _ in range(struct.unpack_from("<Q", data, len(magic))[0]):
        offset, size, length = struct.unpack_from("<QQQ", data, at)
        target = data[at + 24:at + 24 + length].decode()
        at += 24 + length
        if target.endswith(f"--{arch}"):
            return data[offset:offset + size]
    raise AssertionError(f"{path} has nothing for {arch}")


def notes(text):
    """Kernels of what readelf prints: name → {key: value}."""
    out, kernel, level = {}, None, None
    for line in text.splitlines():
        entry = re.match(r"( *)- \.(\w+):(.*)", line)
        field = re.match(r"( *)\.(\w+):\s+(\S+)$", line)
        if entry and (level is None or len(entry[1]) == level):
            level, kernel = len(entry[1]), {}
            out[id(kernel)] = kernel
        if field and kernel is not None and len(field[1]) == level + 2:
            kernel[field[2]] = field[3].strip("'\"")
        elif entry and kernel is not None and len(entry[1]) == level and entry[3].strip():
            kernel[entry[2]] = entry[3].strip()
    return {k["symbol"].removesuffix(".kd"): k for k in out.values() if "symbol" in k}


def number(text):
    return None if text is None else {"true": 1, "false": 0}.get(text) \
        if text in ("true", "false") else int(text)


COLUMNS = {
    "group_bytes": "group_segment_fixed_size", "private_bytes": "private_segment_fixed_size",
    "kernarg_bytes": "kernarg_segment_size", "vgprs": "vgpr_count", "agprs": "agpr_count",
    "sgprs": "sgpr_count", "vgpr_spills": "vgpr_spill_count", "sgpr_spills": "sgpr_spill_count",
    "workgroup_max": "max_flat_workgroup_size", "wavefront_size": "wavefront_size",
    "dynamic_stack": "uses_dynamic_stack",
}


@unittest.skipIf(readelf() is None, "llvm-readelf is not installed")
class Registers(Case):
    def said(self, path, arch):
        """What the file says of its kernels, in the trace's terms."""
        elf = self.path(f"{arch}.elf")
        elf.write_bytes(unbundle(path, arch))
        text = subprocess.run([readelf(), "--notes", elf], capture_output=True, text=True,
                              check=True).stdout
        kernels = notes(text)
        self.assertTrue(kernels, text[:2000])
        return {name: tuple(number(kernel.get(key)) for key in COLUMNS.values())
                for name, kernel in kernels.items()}

    def recorded(self, trace):
        out = {}
        for name, *row in trace.rows(f"SELECT n.string, {', '.join(COLUMNS)} FROM wt_symbol s"
                                     " JOIN wt_string n ON n.id = s.name_id"):
            out.setdefault(name, set()).add(tuple(row))
        return out

    def compare(self, arch, gpus=1):
        plain, _ = self.untraced([DEVICES, REGISTERS], env={"VGPU_ARCH": arch}, gpus=gpus)
        if "unrecognized id" in plain.stderr:
            self.skipTest(f"this runtime does not know {arch}")
        self.assertEqual(plain.code, 0, plain)
        traced, _, trace = self.traced([DEVICES, REGISTERS], env={"VGPU_ARCH": arch}, gpus=gpus)
        self.assert_undisturbed(plain, traced, stderr=True)
        said, recorded = self.said(REGISTERS, arch), self.recorded(trace)
        for name, facts in said.items():
            self.assertEqual(recorded.get(name), {facts}, f"{name}: {tuple(COLUMNS)}")
        self.assert_nothing_lost(trace)
        return {name: dict(zip(COLUMNS, facts)) for name, facts in said.items()}

    @need(DEVICES, REGISTERS)
    def test_gfx90a(self):
        kernels = self.compare("gfx90a", gpus=2)
        # the file says something, or the comparison would show nothing
        self.assertGreater(kernels["matrix"]["agprs"], 0)
        self.assertEqual(kernels["lds"]["group_bytes"], 4000)
        self.assertGreater(kernels["scratch"]["private_bytes"], 2000)
        self.assertGreater(kernels["spills"]["vgpr_spills"], 0)
        self.assertEqual(kernels["lds"]["workgroup_max"], 256)
        self.assertIn("_ZN2ofIdE10a_templateILi3EEEvPd", kernels)

    @need(DEVICES, REGISTERS)
    def test_gfx908(self):
        kernels = self.compare("gfx908")
        self.assertGreater(kernels["matrix"]["agprs"], 0)

    @need(DEVICES, REGISTERS)
    def test_wave32(self):
        kernels = self.compare("gfx1100")
        self.assertEqual(kernels["plain"]["wavefront_size"], 32)
        self.assertIsNone(kernels["plain"]["agprs"])

    @need(WORKLOADS / "hsa_signals", CODE_OBJECT)
    def test_hsa_program(self):
        """A code object that comes from a file, without HIP."""
        traced, _, trace = self.traced([WORKLOADS / "hsa_signals", CODE_OBJECT], kernel_ns=50000)
        self.assertEqual(traced.code, 0, traced)
        said, recorded = self.said(CODE_OBJECT, "gfx90a"), self.recorded(trace)
        facts = {tuple(row) for name in recorded if name.startswith("module_kernel")
                 for row in recorded[name]}
        self.assertEqual(facts, set(said.values()))


if __name__ == "__main__":
    unittest.main()
