# SPDX-License-Identifier: MIT
"""An HSA program with its own, shared and counting signals, and kernels that overlap."""
import unittest

from harness import CODE_OBJECT, WORKLOADS, Case, need

# positions in a round of hsa_signals: own, 4 sharing a signal, none, counting, handled, barrier
ROUND = 9
SHARED, COUNTING, HANDLED = (1, 2, 3, 4), 6, 7
SHARED_SIGNAL = "time.shared-signal"


def queues(log):
    """Packets of each queue of the log in the order of the queues' creation. The HSA runtime's own
    queue, on which it uploads code (5.2) or invalidates caches (6.4), is not of the program."""
    out = {}
    for packet in log.packets:
        if not packet.sdma:
            out.setdefault((packet.process, packet.hsa_id), []).append(packet)
    return [sorted(packets, key=lambda p: p.index) for _, packets in sorted(out.items())
            if not any(p.kind == "pm4" or (p.kind == "copy" and p.kernel is None) for p in packets)]


def is_self_test(packets):
    """wavetap's own queue: short-lived, one barrier packet a GPU."""
    return len(packets) == 1 and packets[0].kind == "barrier_and"


def shape(packet):
    return packet.kind, packet.kernel, packet.grid, packet.block, packet.group, packet.barrier


def overlaps(packets):
    """For each dispatch: did it start before its predecessor ended?

    Left out is the one that has a doorbell of its own while its predecessor may or may not still
    run: that depends on the host's speed, traced or not.
    """
    out = []
    for before, packet in zip(packets, packets[1:]):
        if packet.kind == "kernel" and before.kind == "kernel" \
                and packet.index % ROUND != HANDLED:
            out.append((packet.index, packet.start < before.end))
    return out


class Hsa(Case):
    @need(WORKLOADS / "hsa_signals", CODE_OBJECT)
    def test_signals(self):
        program = [WORKLOADS / "hsa_signals", CODE_OBJECT]
        plain, plain_log = self.untraced(program, kernel_ns=50000)
        self.assertEqual(plain.code, 0, plain)
        traced, log, trace = self.traced(program, kernel_ns=50000)
        self.assert_undisturbed(plain, traced, stderr=True)

        before = queues(plain_log)
        after = [q for q in queues(log) if not is_self_test(q)]
        self.assertEqual(len(before), 2)
        self.assertEqual(len(after), 2)
        for left, right in zip(before, after):
            self.assertEqual([shape(p) for p in left], [shape(p) for p in right])
            self.assertEqual(overlaps(left), overlaps(right))
            self.assertTrue(any(o for _, o in overlaps(left)), "nothing overlaps")

        self.assert_same(log, trace, untimed={SHARED_SIGNAL})
        for operation in trace.operations:
            if operation.untimed:
                self.assertIn(operation.index % ROUND, (*SHARED, COUNTING), str(operation))
        counted = trace.lost().get(SHARED_SIGNAL, 0)
        self.assertEqual(counted, sum(o.untimed == SHARED_SIGNAL for o in trace.operations))

    @need(WORKLOADS / "hsa_cycles")
    def test_cycles(self):
        """The runtime is started and ended twenty times; children fork and exit meanwhile."""
        program = [WORKLOADS / "hsa_cycles", "20"]
        plain, _ = self.untraced(program)
        self.assertEqual(plain.code, 0, plain)
        traced, _, trace = self.traced(program)
        self.assert_undisturbed(plain, traced)
        self.assert_nothing_lost(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM wt_queue"), 20)
        self.assertEqual(trace.value("SELECT count(*) FROM wt_device"), 1)


if __name__ == "__main__":
    unittest.main()
