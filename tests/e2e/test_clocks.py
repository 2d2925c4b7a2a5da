# SPDX-License-Identifier: MIT
"""Clocks that differ, drift and are reset: the trace's times against the true ones.

A kernel's ticks are converted along pairs of the GPU's counter and CLOCK_BOOTTIME that wavetap reads
from the driver. Between two pairs the error is bounded by how much the rate may change in that
time: a chord of an arc whose slope changes by R is off by R * length / 4 at most. A pair itself is
off by the time between the two readings in the driver (`jitter`), and by a tick at either side.

DMA copies come with times that the HSA runtime converted: along one line from its start to its
last reading of the clocks, carried on. Where the rate is constant that is as good.
"""
import bisect
import unittest

import oracle
from harness import WORKLOADS, Case, need

PACED = WORKLOADS / "paced"
BASE_NS = 50_000_000    # the rate beyond the last pair is taken over so long
LATE_NS = 1_000_000_000  # so late, or later, the runtime is asked about a copy on a slow machine
NEAR_NS = 200_000_000
SLEPT_NS = 3600 * 10**9
NO_CLOCK = "time.no-clock"


class Clocks(Case):
    def run_paced(self, clock, ms=1500, gpus=1):
        result, log, trace = self.traced([PACED, ms, gpus], gpus=gpus, env={"VGPU_CLOCK": clock})
        self.assertEqual(result.code, 0, result)
        self.process = next(iter(log.processes.values()))
        devices = dict(trace.rows("SELECT number, id FROM wt_device"))
        self.pairs = {gpu: [ns + trace.origin for ns, in trace.rows(
            "SELECT time FROM wt_clock WHERE device_id = ? ORDER BY time", devices[gpu])]
            for gpu in range(gpus)}
        for gpu in range(gpus):
            self.assertGreater(len(self.pairs[gpu]), 4)
        return log, trace

    def tolerance(self, packet):
        c = self.process["clocks"][packet.gpu]
        tick = 1e6 / c["khz"]
        ends = 2 * tick + c["jitter_ns"]
        drift, steps = abs(c["drift_ppb"]) / 1e9, abs(c["steps_ppb"]) / 1e9

        def change(ns):
            return (min(2 * drift, 4 * drift * ns / c["drift_ns"]) if drift else 0) + 2 * steps

        if packet.sdma:
            return ends + 2 * c["jitter_ns"] + 2 * (drift + steps) * LATE_NS
        pairs, worst = self.pairs[packet.gpu], 0
        for time in (packet.start, packet.end):
            at = bisect.bisect(pairs, time)
            if 0 < at < len(pairs):
                length = pairs[at] - pairs[at - 1]
                worst = max(worst, change(length) * length / 4)
                continue
            away = pairs[0] - time if at == 0 else time - pairs[-1]
            base = min(BASE_NS, pairs[-1] - pairs[0])
            # a pair that is off by the jitter tilts the line beyond it
            worst = max(worst, change(base + away) * away + c["jitter_ns"] * 2 * away / base)
        return ends + worst

    def check(self, clock, gpus=1):
        log, trace = self.run_paced(clock, gpus=gpus)
        self.assertGreater(len(log.operations()), 20 * gpus)
        self.assert_same(log, trace, tolerance=self.tolerance)
        self.assert_nothing_lost(trace)
        self.assertFalse(trace.rows("SELECT * FROM wt_status WHERE source = 'clock'"))
        return log, trace

    @need(PACED)
    def test_offset_and_rate(self):
        """Constant rates cost nothing: two ticks, as without."""
        for clock in ("offset=3s,ppm=50", "offset=-100s,ppm=-50", "mhz=25,ppm=20"):
            with self.subTest(clock):
                self.check(clock)

    @need(PACED)
    def test_drift(self):
        for clock in ("drift=50/1s", "steps=50/1s,ppm=10", "jitter=900ns,drift=20/2s"):
            with self.subTest(clock):
                self.check(clock)

    @need(PACED)
    def test_two_gpus(self):
        """Each is converted by its own clock."""
        self.check("0:ppm=50,1:ppm=-50,1:offset=-77s,1:drift=30/1s,1:mhz=25", gpus=2)

    def run_suspended(self, how):
        """Operations on both sides of the suspend. Until the program has started so soon."""
        for at in (3, 10, 40):
            log, trace = self.run_paced(f"ppm=20,suspend={SLEPT_NS}ns@{at}s,counter={how}", ms=(at + 1) * 1000)
            resumed = self.process["suspends"][0]["resumed"]
            kernels = [p for p in log.operations() if not p.sdma]
            if kernels[0].start < resumed < kernels[-1].start and self.pairs[0][0] < resumed:
                return log, trace, resumed
        return self.skipTest("the machine is too slow")

    def check_suspended(self, how, text):
        log, trace, resumed = self.run_suspended(how)
        at = bisect.bisect(self.pairs[0], resumed)
        # when exactly the counter stood is not known between the pairs around it
        before, after = self.pairs[0][at - 1], self.pairs[0][at]

        def tolerance(packet):
            if not packet.sdma and packet.start <= after and packet.end >= before:
                return SLEPT_NS + 10**9
            return self.tolerance(packet)

        self.assert_same(log, trace, tolerance=tolerance, untimed={NO_CLOCK})
        self.assert_nothing_lost(trace, but={NO_CLOCK})
        last = {}
        for o in sorted((o for o in trace.operations if o.hsa_id is not None),
                        key=lambda o: (o.hsa_id, o.index)):
            self.assertIsNotNone(o.start, f"{o}: {o.untimed}")
            self.assertGreaterEqual(o.end, o.start, str(o))
            self.assertGreaterEqual(o.start, last.get(o.hsa_id, 0), str(o))
            last[o.hsa_id] = o.end
        # calls are placed by the CPU clock's readings, ten a second, operations by the GPU's
        width = trace.value("SELECT max(width_ns) FROM wt_clock") + 2 * oracle.TICK_NS
        problems, checked = oracle.causal_problems(
            trace, width, but=lambda time: before - NEAR_NS <= time <= after + NEAR_NS,
            slept=lambda time: SLEPT_NS if time > resumed - SLEPT_NS else 0)
        self.assertFalse(problems, oracle.brief(problems))
        self.assertGreater(checked, 20)
        told = [row[0] for row in trace.rows("SELECT text FROM wt_status WHERE source = 'clock'")]
        self.assertEqual(len(told), 1 if text else 0, told)
        if text:
            self.assertIn(text, told[0])
            self.assertIn("suspended", told[0])

    @need(PACED)
    def test_suspend_resets(self):
        self.check_suspended("resets", "began anew")

    @need(PACED)
    def test_suspend_stands(self):
        self.check_suspended("stands", "stood still")

    @need(PACED)
    def test_suspend_continues(self):
        self.check_suspended("continues", None)


if __name__ == "__main__":
    unittest.main()
