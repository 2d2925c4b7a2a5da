# SPDX-License-Identifier: MIT
"""Memory: each allocation and what ended it, against what the program says that it did."""
import collections
import json
import unittest

from harness import WAVETAP, WORKLOADS, Case, need

KINDS = {"device": 1, "host": 2, "managed": 3, "async": 4, "array": 5, "registered": 6,
         "physical": 7, "reserved": 8}


class Allocations(Case):
    ROWS = """
        SELECT m.kind, m.bytes, m.address, CASE m.device_id WHEN 0 THEN -1 ELSE d.number END,
               m.allocated, m.freed, s.string, t.string, a.start + a.duration, f.start
        FROM wt_memory m LEFT JOIN wt_device d ON d.id = m.device_id
        LEFT JOIN wt_api a ON a.id = m.allocated_id LEFT JOIN wt_call c ON c.id = a.call_id
        LEFT JOIN wt_string s ON s.id = c.name_id
        LEFT JOIN wt_api f ON f.id = m.freed_id LEFT JOIN wt_call g ON g.id = f.call_id
        LEFT JOIN wt_string t ON t.id = g.name_id ORDER BY m.id"""

    def compare(self, gpus=1, arguments=(), ended_by=None, options=()):
        result, _, trace = self.traced([WORKLOADS / "allocations", 200, *arguments], gpus=gpus,
                                       options=options)
        self.assertEqual(result.code, 0, result)
        told = collections.Counter()
        for line in result.stdout.splitlines():
            kind, size, address, device, freed = line.split()
            told[KINDS[kind], int(size), int(address), device, freed == "1"] += 1
        seen = collections.Counter()
        ends = collections.defaultdict(list)
        for row in trace.rows(self.ROWS):
            kind, size, address, device, allocated, freed, by, end, returned, began = row
            self.assertEqual(allocated, returned, row)
            self.assertEqual(freed, began, row)
            self.assertTrue(by and "alloc" in by.lower() or by in (
                "hipHostRegister", "hipMemCreate", "hipMemAddressReserve"), row)
            kept = (kind, size) == (KINDS["device"], 12345)
            self.assertEqual(end, ended_by if kept else end, row)
            if not kept:
                self.assertIn("Reset" if end is None else "", end or "", row)
                self.assertLessEqual(allocated, freed, row)
                ends[address].append((allocated, freed))
            device = "-" if kind in (KINDS["managed"], KINDS["physical"],
                                     KINDS["reserved"]) else str(device)
            seen[kind, size, address, device, end is not None and not kept] += 1
        self.assertEqual(seen - told, collections.Counter())
        self.assertEqual(told - seen, collections.Counter())
        # nothing lies where something else still does
        for address, lives in ends.items():
            lives.sort()
            for (_, freed), (allocated, _) in zip(lives, lives[1:]):
                self.assertLess(freed, allocated, address)
        return trace

    @need(WORKLOADS / "allocations")
    def test_one_gpu(self):
        trace = self.compare()
        again = trace.value("SELECT count(*) FROM (SELECT address FROM wt_memory GROUP BY address"
                            " HAVING count(*) > 1)")
        self.assertGreater(again, 3, "no address came round: the test shows nothing")
        self.assertEqual(trace.value("SELECT bytes FROM memory_use m JOIN wt_device d"
                                     " ON d.id = m.device_id ORDER BY time DESC LIMIT 1"), 12345)
        self.assertEqual(trace.value("SELECT bytes FROM memory_use WHERE device_id = 0"
                                     " ORDER BY time DESC LIMIT 1"), 0)
        self.assertEqual(trace.value("SELECT min(bytes) FROM memory_use"), 0)
        summary = json.loads(self.run_command([WAVETAP, "summary", "--json", trace.path]).stdout)
        self.assertEqual({p["of"].split(" [")[0]: p["bytes"] for p in summary["memory_peaks"]}, {
            "GPU 0": trace.value("SELECT max(bytes) FROM memory_use WHERE device_id > 0"),
            "the host": trace.value("SELECT max(bytes) FROM memory_use WHERE device_id = 0")})
        self.assertEqual(summary["captured"]["allocations"],
                         trace.value("SELECT count(*) FROM wt_memory"))
        self.assertEqual(summary["captured"]["frees_of_unknown"], 0)
        self.assertIn("of the host", self.run_command([WAVETAP, "summary", trace.path]).stdout)
        peak = trace.value("SELECT max(bytes) FROM memory_use WHERE device_id = 0")
        self.assertGreaterEqual(peak, 5 << 20)

    @need(WORKLOADS / "allocations")
    def test_two_gpus(self):
        self.compare(gpus=2)

    @need(WORKLOADS / "allocations")
    def test_reset(self):
        self.compare(arguments=["reset"], ended_by="hipDeviceReset")

    @need(WORKLOADS / "allocations")
    def test_left_out(self):
        """Without `mem` there are none."""
        _, _, trace = self.traced([WORKLOADS / "allocations", 2], options=["-t", "kernel,copy,hip"])
        self.assertEqual(trace.value("SELECT count(*) FROM wt_memory"), 0)


if __name__ == "__main__":
    unittest.main()
