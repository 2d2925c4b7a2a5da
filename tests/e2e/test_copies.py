# SPDX-License-Identifier: MIT
"""Copies and fills: kind, bytes, addresses, devices, stream and call of each.

Twice over: operation for operation with the virtual GPU's log (oracle.py), and call for call with
what the program itself says that it asked for, as a call may be made in several pieces.
"""
import collections
import unittest

import oracle
from harness import WORKLOADS, Case, need

KINDS = {"h2h": oracle.HTOH, "h2d": oracle.HTOD, "d2h": oracle.DTOH, "d2d": oracle.DTOD,
         "peer": oracle.PEER, "fill": oracle.FILLS}
BY_CPU = 16384  # bytes to or from pageable memory that the CPU may move through the GPU's window
Move = collections.namedtuple("Move", "kind bytes dst dst_at src src_at span")


def may_be_by_cpu(move):
    """HIP may have done it without the GPU: there is no operation then."""
    if move.kind == oracle.FILLS:
        return move.dst_at == oracle.HOST
    pageable = move.dst is None or move.src is None
    return move.kind in (oracle.HTOD, oracle.DTOH) and pageable and move.bytes <= BY_CPU


def read_calls(text):
    """[(function, [moves])] of what `moves` printed."""
    calls = []
    for line in text.splitlines():
        what, *rest = line.split()
        if what == "call":
            calls.append((rest[0], []))
        elif what == "move":
            kind, size, dst, dst_at, src, src_at, span = rest
            places = [oracle.HOST if at == "-1" else int(at) for at in (dst_at, src_at)]
            addresses = [None if at == "-" else int(at) for at in (dst, src)]
            calls[-1][1].append(Move(KINDS[kind], int(size), addresses[0], places[0], addresses[1],
                                     places[1], int(span)))
    return calls


class Copies(Case):
    @staticmethod
    def calls(trace):
        """[(function, operations, stream of the call)] in their order."""
        by_call = collections.defaultdict(list)
        for operation in trace.operations:
            by_call[operation.api_id].append(operation)
        rows = trace.rows(
            "SELECT a.id, s.string, m.number FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
            " JOIN wt_string s ON s.id = c.name_id LEFT JOIN wt_stream m ON m.id = c.stream_id"
            " WHERE s.string LIKE 'hipMem%' OR s.string = 'hipGraphLaunch' ORDER BY a.start")
        return [(name, by_call[id_], stream) for id_, name, stream in rows]

    def check(self, function, moves, operations, stream):
        """The pieces of a call are what the program asked for, each byte once. Their bytes."""
        if not operations and all(may_be_by_cpu(move) for move in moves):
            return 0
        self.assertEqual({o.stream for o in operations} - {stream}, set(), function)
        self.assertIsNotNone(stream, function)
        left = [o for o in operations if o.kind != oracle.KERNEL]
        for move in moves:
            pieces = [o for o in left if o.copy_kind == move.kind and o.dst_at == move.dst_at and
                      (move.dst is None or move.dst <= o.dst < move.dst + move.span)]
            size = 0
            for piece in sorted(pieces, key=lambda o: o.dst):
                if size >= move.bytes:
                    break
                size += piece.bytes
                left.remove(piece)
                if move.kind == oracle.FILLS:
                    self.assertIsNone(piece.src, function)
                    continue
                self.assertEqual(piece.src_at, move.src_at, function)
                if move.src is not None and move.dst is not None and move.span == move.bytes:
                    self.assertEqual(piece.src - move.src, piece.dst - move.dst, function)
            self.assertEqual(size, move.bytes, f"{function}: {move}: {[str(o) for o in operations]}")
            if move.dst is not None and pieces:
                self.assertEqual(min(o.dst for o in pieces), move.dst, f"{function}: {move}")
        self.assertFalse([str(o) for o in left], f"{function}: nobody asked for these")
        return sum(move.bytes for move in moves)

    def compare(self, gpus, env=None):
        program = [WORKLOADS / "moves"]
        result, log, trace = self.traced(program, gpus=gpus, env=env)
        self.assertEqual(result.code, 0, result)
        self.assert_same(log, trace)
        self.assert_nothing_lost(trace)
        told = read_calls(result.stdout)
        named = {name for name, _ in told}
        asked = [call for call in self.calls(trace) if call[0] in named]
        # what was captured for a graph is a call, too, and moves nothing
        captured = trace.rows(
            "SELECT a.start, (SELECT min(b.start) FROM wt_api b JOIN wt_call d ON d.id = b.call_id"
            " JOIN wt_string t ON t.id = d.name_id WHERE t.string = 'hipStreamEndCapture'"
            " AND b.start > a.start) FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
            " JOIN wt_string s ON s.id = c.name_id WHERE s.string = 'hipStreamBeginCapture'")
        self.assertEqual(len(captured), 1)
        inside = trace.value(
            "SELECT count(*) FROM wt_api a JOIN wt_call c ON c.id = a.call_id JOIN wt_string s"
            " ON s.id = c.name_id WHERE s.string LIKE 'hipMem%' AND a.start BETWEEN ?1 AND ?2",
            *captured[0])
        first = next(i for i, call in enumerate(asked) if call[0] == "hipGraphLaunch") - inside
        del asked[first:first + inside]
        self.assertEqual([name for name, _ in told], [name for name, _, _ in asked])
        moved = sum(self.check(function, moves, operations, stream)
                    for (function, moves), (_, operations, stream) in zip(told, asked))
        self.assertEqual(trace.value("SELECT sum(bytes) FROM wt_copy"), moved)
        return log, trace

    @need(WORKLOADS / "moves")
    def test_one_gpu(self):
        self.compare(1)

    @need(WORKLOADS / "moves")
    def test_two_gpus(self):
        _, trace = self.compare(2)
        self.assertTrue([o for o in trace.operations if o.copy_kind == oracle.PEER])

    @need(WORKLOADS / "moves")
    def test_no_dma(self):
        """All by kernels."""
        log, _ = self.compare(1, env={"HSA_ENABLE_SDMA": 0})
        self.assertFalse([str(p) for p in log.packets if p.sdma])


if __name__ == "__main__":
    unittest.main()
