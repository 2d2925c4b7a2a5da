# SPDX-License-Identifier: MIT
"""Each operation on its real stream, and with the call that asked for it.

The program (workloads/streams.hip) writes into each operation whose it is: into a kernel's grid, or
by the memory that a copy or a fill touches. The virtual GPU's log says what was executed, so what
the trace says of an operation's stream and call is compared with the program itself.
"""
import bisect
import collections
import os
import unittest

import oracle
from harness import WORKLOADS, Case, need

STREAMS = WORKLOADS / "streams"
SOAK = os.environ.get("WAVETAP_SOAK")
QUEUES = (1, 2, 4, 8)
NO_STREAM = ("stream.unnamed", "stream.hidden", "stream.outside")
NO_CALL = ("caller.worker", "caller.outside")
KERNELS = ("_Z4evenPii", "_Z3oddPii")

Truth = collections.namedtuple("Truth", "thread stream n")


class Memory:
    """Whose an address is, as the program told."""

    def __init__(self, path, streams):
        rows = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
        self.regions = sorted((address, bytes_, thread, stream)
                              for thread, stream, address, bytes_ in rows)
        self.starts = [region[0] for region in self.regions]
        self.streams = streams

    def of_address(self, address, bytes_):
        at = bisect.bisect(self.starts, address or 0) - 1
        if at < 0 or not bytes_ or bytes_ % 16 or bytes_ > 4096:
            return None
        start, length, thread, stream = self.regions[at]
        offset = address - start
        if offset + bytes_ > length or offset % 4096:
            return None
        return Truth(thread, stream, offset // 4096 * 256 + bytes_ // 16 - 1)

    def of_copy(self, dst, src, bytes_):
        return self.of_address(dst, bytes_) or self.of_address(src, bytes_)

    def of_grid(self, grid):
        """In work-items, of blocks of 64."""
        lane = grid[2] - 1
        return Truth(lane // self.streams, lane % self.streams,
                     (grid[1] - 1) * 1024 + grid[0] // 64 - 1)


class Streams(Case):
    def run_mixed(self, queues, direct, each, threads=8, streams=4, env=None, off_ns=0):
        """off_ns: by how much times may be off, beside the usual."""
        truth = self.path(f"truth{self.count}")
        env = {"GPU_MAX_HW_QUEUES": queues, "AMD_DIRECT_DISPATCH": direct, **(env or {})}
        result, log, trace = self.traced([STREAMS, truth, threads, streams, each], env=env,
                                         kernel_ns=1000)
        self.assertEqual(result.code, 0, result)
        self.assert_same(log, trace, tolerance=lambda packet: oracle.TOLERANCE_NS + off_ns)
        self.assert_nothing_lost(trace, but=() if direct else (*NO_STREAM, *NO_CALL))
        return log, trace, Memory(truth, streams)

    def truths(self, log, memory):
        """The truth of each executed operation, by what the trace calls it: queue and packet, or what
        was copied."""
        packets, copies, others = {}, collections.defaultdict(list), []
        for p in log.operations():
            truth = None
            if p.kernel in KERNELS:
                truth = memory.of_grid(p.grid)
            elif p.kind in (oracle.COPY, oracle.FILL):
                truth = memory.of_copy(p.dst, p.src, p.bytes)
            if truth is None:
                others.append(str(p))
            elif p.sdma:
                copies[p.dst, p.src, p.bytes].append(truth)
            else:
                packets[p.hsa_id, p.index] = truth
        self.assertFalse(others[:10], "whose is that?")
        return packets, copies

    def calls(self, trace, memory):
        """Of each call: what it asked for, its thread, its stream's number."""
        out = {}
        for id_, tid, stream, gx, gy, gz, dst, src, bytes_ in trace.rows(
                "SELECT a.id, h.tid, m.number, w.grid_x, w.grid_y, w.grid_z, y.dst, y.src, y.bytes"
                " FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
                " JOIN wt_thread h ON h.id = c.thread_id"
                " LEFT JOIN wt_stream m ON m.id = c.stream_id"
                " LEFT JOIN wt_launch w ON w.id = a.launch_id LEFT JOIN wt_api_copy y ON y.id = a.id"):
            truth = None
            if gx:
                truth = memory.of_grid((gx, gy, gz))
            elif bytes_:
                truth = memory.of_copy(dst, src, bytes_)
            out[id_] = truth, tid, stream
        return out

    def check(self, log, trace, memory, direct):
        packets, copies = self.truths(log, memory)
        calls = self.calls(trace, memory)
        problems, stream_of, tid_of = [], {}, {}
        known = collections.Counter()

        def same(what, table, key, value):
            if table.setdefault(key, value) != value:
                problems.append(f"{what} of {key}: {table[key]} and {value}")

        for o in trace.operations:
            if o.hsa_id is not None:
                truth = packets[o.hsa_id, o.index]
            else:
                truth = copies[o.dst, o.src, o.bytes].pop()
            known["operations"] += 1
            if o.stream is not None:
                known["streams"] += 1
                same("stream", stream_of, truth[:2], o.stream)
            elif direct:
                problems.append(f"{o}: no stream; it is {truth}")
            if o.api_id is None:
                if direct:
                    problems.append(f"{o}: no call; it is {truth}")
                continue
            known["calls"] += 1
            asked, tid, stream = calls[o.api_id]
            if asked != truth:
                problems.append(f"{o}: it is {truth}, its call asked for {asked}")
            same("thread", tid_of, truth.thread, tid)
            if stream != o.stream:
                problems.append(f"{o}: on stream {o.stream}, its call names {stream}")
        for what, table in (("streams", stream_of), ("threads", tid_of)):
            if len(set(table.values())) != len(table):
                problems.append(f"two {what} have one number: {table}")
        self.assertFalse(problems, oracle.brief(problems))
        lost = trace.lost()
        for causes, what in ((NO_STREAM, "streams"), (NO_CALL, "calls")):
            self.assertEqual(sum(lost.get(cause, 0) for cause in causes),
                             known["operations"] - known[what])
        return known

    def check_workers(self, queues, each):
        """A thread of the runtime submits, in no call: what is said is right, what is not is counted."""
        log, trace, memory = self.run_mixed(queues, 0, each)
        known = self.check(log, trace, memory, False)
        self.assertEqual(known["streams"], known["operations"])
        print(f"streams: workers, {queues} queues: {dict(known)}", flush=True)

    def check_direct(self, queues, each):
        log, trace, memory = self.run_mixed(queues, 1, each)
        known = self.check(log, trace, memory, True)
        self.assertGreater(known["operations"], 8 * 4 * each * 8 // 9 - 32)
        print(f"streams: direct, {queues} queues: {dict(known)}", flush=True)

    @need(STREAMS)
    def test_direct(self):
        for queues in QUEUES:
            with self.subTest(queues=queues):
                self.check_direct(queues, 100)

    @need(STREAMS)
    @unittest.skipUnless(SOAK, "make soak")
    def test_direct_full(self):
        for queues in QUEUES:
            with self.subTest(queues=queues):
                self.check_direct(queues, 10000)

    @need(STREAMS)
    def test_workers(self):
        for queues in QUEUES:
            with self.subTest(queues=queues):
                self.check_workers(queues, 100)

    @need(STREAMS)
    @unittest.skipUnless(SOAK, "make soak")
    def test_workers_full(self):
        for queues in QUEUES:
            with self.subTest(queues=queues):
                self.check_workers(queues, 10000)

    def check_causal(self, clock, off_ns):
        """Call, start, end, and the return of the wait for it, in this order for every operation.

        uncertainty: the widest of the clocks' readings, and a tick at either side."""
        _, trace, _ = self.run_mixed(4, 1, 40, threads=4, env={"VGPU_CLOCK": clock},
                                     off_ns=off_ns)
        width = off_ns + trace.value("SELECT max(width_ns) FROM wt_clock") + 2 * oracle.TICK_NS
        problems, waited = oracle.causal_problems(trace, width)
        self.assertFalse(problems, oracle.brief(problems))
        self.assertEqual(waited, len(trace.operations) - trace.value(
            "SELECT count(*) FROM wt_op WHERE start IS NULL"))

    @need(STREAMS)
    def test_causal(self):
        # a rate that drifts by 100 ppm: the runtime, which converts DMA copies' times, is off by 200 us
        for clock, off_ns in (("offset=3s,ppm=100", 0), ("offset=3s,drift=100/2s", 200_000)):
            with self.subTest(clock):
                self.check_causal(clock, off_ns)


if __name__ == "__main__":
    unittest.main()
