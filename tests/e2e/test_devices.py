# SPDX-License-Identifier: MIT
"""What is known of GPUs and of the kernels that were loaded onto them."""
import glob
import json
import re
import shutil
import struct
import subprocess
import unittest

from harness import CODE_OBJECT, WAVETAP, WORKLOADS, Case, need

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


FACTS = ("name", "isa", "memory_bytes", "compute_units", "clock_mhz", "memory_clock_mhz",
         "memory_width_bits", "lds_bytes", "wavefront_size", "workgroup_max")


class Devices(Case):
    """What is recorded of GPUs against what HIP says in the same process."""

    def said(self, result):
        """HIP's number → (PCI address, facts)."""
        out = {}
        for line in result.stdout.splitlines():
            index, address, *facts = line.split("|")
            facts = [int(fact) if fact.isdigit() else fact for fact in facts]
            if facts[FACTS.index("wavefront_size")] == 32:
                # HIP counts pairs of compute units there
                facts[FACTS.index("compute_units")] *= 2
                facts[-1] //= 2
            out[int(index)] = address, tuple(facts)
        return out

    def recorded(self, trace, pid=None):
        """The trace's HIP number → the same. Absent ones under None."""
        out = {}
        for ordinal, domain, bdf, cu, waves, wave, *facts in trace.rows(
                "SELECT hip_ordinal, domain, bdf, d.compute_units, waves_per_cu, wavefront_size,"
                f" {', '.join(FACTS)} FROM wt_device d JOIN wt_process p ON p.id = process_id"
                f" WHERE {f'p.pid = {pid}' if pid else 1} ORDER BY number"):
            address = f"{domain:04x}:{bdf >> 8:02x}:{bdf >> 3 & 31:02x}.{bdf & 7:x}"
            facts = (address, (*facts, waves * wave))
            if ordinal is None:
                out.setdefault(None, []).append(facts)
            else:
                out[ordinal] = facts
        return out

    def compare(self, arch="gfx90a", gpus=4, **variables):
        env = {"VGPU_ARCH": arch, **variables}
        traced, log, trace = self.traced([DEVICES], gpus=gpus, env=env)
        if "unrecognized id" in traced.stderr:
            self.skipTest(f"this runtime does not know {arch}")
        self.assertEqual(traced.code, 0, traced)
        self.assert_same(log, trace)
        said, recorded = self.said(traced), self.recorded(trace)
        hidden = recorded.pop(None, [])
        self.assertEqual(recorded, said, variables)
        self.assertFalse({address for address, _ in hidden} & {a for a, _ in said.values()})
        settings = dict(trace.rows("SELECT name, value FROM wt_setting"))
        for name, value in variables.items():
            self.assertEqual(settings.get(name), value)
        self.assert_nothing_lost(trace)
        return said, trace

    @need(DEVICES)
    def test_models(self):
        for arch, gpus in (("gfx90a", 8), ("gfx908", 2), ("gfx906", 1)):
            said, trace = self.compare(arch, gpus=gpus)
            self.assertEqual(len(said), gpus)
            rows = trace.rows("SELECT uuid, uuid_text, node, bdf FROM wt_device")
            for column in zip(*rows):
                self.assertEqual(len(set(column)), gpus, "GPUs that cannot be told apart")
            for uuid, text, _, _ in rows:
                self.assertEqual(text, f"GPU-{uuid & (1 << 64) - 1:016x}")
            versions = dict(trace.rows("SELECT part, version FROM wt_version"))
            self.assertEqual(versions["kfd"], "1.17")
            self.assertRegex(versions["hip"], r"^\d+\.\d+\.\d+$")
            self.assertRegex(versions["hsa"], r"^\d+\.\d+\.\d+$")

    @need(DEVICES)
    def test_new_models(self):
        known = 0
        for arch in ("gfx942", "gfx950", "gfx1100"):
            plain, _ = self.untraced([DEVICES], env={"VGPU_ARCH": arch})
            if plain.code:
                continue # this generation does not know it
            known += 1
            _, trace = self.compare(arch, gpus=1)
            xccs, partition, compute = trace.rows(
                "SELECT xccs, partition, compute_partition FROM wt_device")[0]
            if arch != "gfx1100":
                self.assertEqual((xccs, partition, compute), (8, 0, "SPX"))
            else:
                self.assertEqual((xccs, partition, compute), (1, None, None))
        if not known:
            self.skipTest("this generation knows none of them")

    @need(DEVICES)
    def test_visible(self):
        uuids = "GPU-5647505500000002,1"
        said, _ = self.compare(HIP_VISIBLE_DEVICES="2,0,2")
        self.assertEqual([a for a, _ in said.values()], ["0000:05:00.0", "0000:03:00.0"])
        self.compare(HIP_VISIBLE_DEVICES="1,7,0")
        self.compare(HIP_VISIBLE_DEVICES="3", CUDA_VISIBLE_DEVICES="1,2")
        self.compare(CUDA_VISIBLE_DEVICES="1,2")
        self.compare(GPU_DEVICE_ORDINAL="2,1")
        self.compare(ROCR_VISIBLE_DEVICES="3,1")
        self.compare(ROCR_VISIBLE_DEVICES="3,1", HIP_VISIBLE_DEVICES="1")
        self.compare(ROCR_VISIBLE_DEVICES=uuids)
        # older versions take no UUIDs and newer ones no empty list: then the program sees no device
        # and has nothing to trace
        for variables in ({"HIP_VISIBLE_DEVICES": uuids},
                          {"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "2"}):
            plain, _ = self.untraced([DEVICES], gpus=4, env=variables)
            if plain.code == 0:
                self.compare(**variables)

    @need(DEVICES)
    def test_ranks(self):
        """Each rank's GPU is its number 0, and another one."""
        script = self.path("ranks.sh")
        script.write_text(f"""#!/bin/sh
for rank in 0 1 2; do
	RANK=$rank ROCR_VISIBLE_DEVICES=$rank SLURM_JWT=hush{self.id()} {DEVICES} || exit
done
""")
        script.chmod(0o755)
        traced, log, trace = self.traced([script], gpus=4)
        self.assertEqual(traced.code, 0, traced)
        self.assert_same(log, trace)
        rows = trace.rows("SELECT p.rank, d.number, d.hip_ordinal, d.node, d.bdf, d.uuid_text"
                          " FROM wt_device d JOIN wt_process p ON p.id = d.process_id"
                          " ORDER BY p.rank")
        self.assertEqual(rows, [(str(rank), 0, 0, rank + 1, (rank + 3) << 8,
                                 f"GPU-{0x5647505500000000 + rank:016x}") for rank in range(3)])
        self.assertEqual(trace.rows("SELECT p.rank, s.value FROM wt_setting s JOIN wt_process p"
                                    " ON p.id = s.process_id WHERE s.name = 'ROCR_VISIBLE_DEVICES'"
                                    " ORDER BY 1"), [("0", "0"), ("1", "1"), ("2", "2")])
        db = self.path(f"traced{self.count}.db")
        self.assertNotIn(f"hush{self.id()}".encode(), db.read_bytes())
        info = self.run_command([WAVETAP, "info", "--json", db])
        told = json.loads(info.stdout)
        self.assertEqual(told["captured"]["devices"], 3)
        self.assertEqual([d["pci"] for d in told["devices"]],
                         ["0000:03:00.0", "0000:04:00.0", "0000:05:00.0"])
        ranks = {s["value"]: s["processes"] for s in told["settings"] if s["name"] == "RANK"}
        self.assertEqual({value: int(pid) for value, pid in ranks.items()},
                         dict(trace.rows("SELECT rank, pid FROM wt_process WHERE rank <> ''")))


if __name__ == "__main__":
    unittest.main()
