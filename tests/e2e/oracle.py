# SPDX-License-Identifier: MIT
"""The virtual GPU's log against the trace, operation for operation.

The log is written by the emulated hardware before a completion becomes visible: it is what
happened. A trace is right when, for every process and queue, each executed operation is in it
exactly once, under the same packet index, with the same kernel, dimensions and times.

TOLERANCE_NS: the GPU stamps ticks of 10 ns (100 MHz), and the trace converts ticks to nanoseconds
along clock pairs that are themselves whole ticks: rounding to a tick at either side makes two
ticks. Nothing else may differ.
"""
import bisect
import collections
import json
import sqlite3

TICK_NS = 10
TOLERANCE_NS = 2 * TICK_NS

KERNEL, COPY, FILL = "kernel", "copy", "fill"
OPERATIONS = (KERNEL, COPY, FILL)


HOST = "host"
HTOH, HTOD, DTOH, DTOD, PEER, FILLS = 0, 1, 2, 3, 5, 16


def place(line, key):
    """Whose memory an address is in: a GPU's number, the host's, or None: there is no address."""
    if key not in line:
        return None
    return HOST if line[key] is None else line[key]


def copy_kind(packet):
    """The kind that a trace must give it: docs/FORMAT.md, wt_shape.copy_kind."""
    if packet.kind == FILL:
        return FILLS
    if packet.src_at == HOST:
        return HTOH if packet.dst_at == HOST else HTOD
    if packet.dst_at == HOST:
        return DTOH
    return DTOD if packet.src_at == packet.dst_at else PEER


def plain(name):
    """A kernel's name without the descriptor's suffix."""
    if name is None:
        return None
    return name[:-3] if name.endswith(".kd") else name


class Packet:
    """A packet that the virtual GPU executed, or was executing (`done` is False)."""
    __slots__ = ("process", "pid", "gpu", "queue", "hsa_id", "index", "kind", "kernel", "grid",
                 "block", "group", "private", "bytes", "src", "dst", "src_at", "dst_at", "barrier",
                 "sdma", "start", "end", "done", "interrupt", "bare")

    def __init__(self, **fields):
        for name in self.__slots__:
            setattr(self, name, fields.get(name))

    def is_runtimes(self):
        """By a kernel without a code object around it."""
        return self.kernel is None and not self.sdma

    def __str__(self):
        where = "SDMA" if self.sdma else f"queue {self.hsa_id} packet {self.index}"
        return f"{self.kind} {self.kernel or ''} of pid {self.pid} {where} at {self.start}"


class Operation:
    """An operation of a trace."""
    __slots__ = ("id", "process", "pid", "device", "hsa_id", "index", "kind", "kernel", "grid",
                 "block", "group", "private", "bytes", "src", "dst", "src_at", "dst_at",
                 "copy_kind", "overlaps", "start", "end", "in_flight", "untimed", "api_id", "stream", "node")

    def __init__(self, **fields):
        for name in self.__slots__:
            setattr(self, name, fields.get(name))

    def __str__(self):
        where = f"queue {self.hsa_id} packet {self.index}" if self.hsa_id is not None else "DMA"
        return f"row {self.id}: {self.kind} {self.kernel or ''} of pid {self.pid} {where} at {self.start}"


class Trace:
    """What the tests read of a trace: the tables of docs/FORMAT.md."""

    # the log numbers the machine's GPUs, a process those that it sees; nodes are the machine's, from 1
    OPERATIONS = """
        SELECT o.id, l.process_id, p.pid, d.node - 1, q.hsa_id, o.packet, s.kind, n.string,
               s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.group_bytes,
               s.private_bytes, c.bytes, c.src, c.dst, c.src_device_id, e.node - 1,
               c.dst_device_id, f.node - 1, s.copy_kind, s.overlaps,
               o.start, o.start + o.duration, t.in_flight, t.untimed, o.api_id, m.number, o.node
        FROM wt_op o
        JOIN wt_lane l ON l.id = o.lane_id
        JOIN wt_shape s ON s.id = o.shape_id
        LEFT JOIN wt_process p ON p.id = l.process_id
        LEFT JOIN wt_device d ON d.id = l.device_id
        LEFT JOIN wt_queue q ON q.id = l.queue_id
        LEFT JOIN wt_stream m ON m.id = l.stream_id
        LEFT JOIN wt_symbol y ON y.id = s.symbol_id
        LEFT JOIN wt_string n ON n.id = y.name_id
        LEFT JOIN wt_copy c ON c.id = o.id
        LEFT JOIN wt_device e ON e.id = c.src_device_id
        LEFT JOIN wt_device f ON f.id = c.dst_device_id
        LEFT JOIN wt_state t ON t.id = o.state_id
        ORDER BY o.id"""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.origin = self.value("SELECT origin_ns FROM wt_run WHERE id = 1")
        self.operations = [self._operation(row) for row in self.db.execute(self.OPERATIONS)]

    def close(self):
        self.db.close()

    def value(self, query, *args):
        row = self.db.execute(query, args).fetchone()
        return row[0] if row else None

    def rows(self, query, *args):
        return self.db.execute(query, args).fetchall()

    def _operation(self, row):
        (id_, process, pid, device, hsa_id, packet, kind, name, gx, gy, gz, bx, by, bz, group,
         private, bytes_, src, dst, src_id, src_number, dst_id, dst_number, copy_kind, overlaps,
         start, end, in_flight, untimed, api, stream, node) = row
        return Operation(
            id=id_, process=process, pid=pid, device=device, hsa_id=hsa_id, index=packet,
            kind={1: KERNEL, 2: COPY, 3: FILL}.get(kind, kind), kernel=plain(name),
            grid=(gx, gy, gz), block=(bx, by, bz), group=group, private=private, bytes=bytes_,
            src=src, dst=dst, src_at=HOST if src_id == 0 else src_number,
            dst_at=HOST if dst_id == 0 else dst_number, copy_kind=copy_kind, overlaps=overlaps, in_flight=bool(in_flight), untimed=untimed,
            start=None if start is None else start + self.origin,
            end=None if end is None else end + self.origin,
            api_id=api, stream=stream, node=node)

    def lost(self):
        """Cause to count, over all processes."""
        return dict(self.rows("SELECT cause, sum(count) FROM wt_lost GROUP BY cause"))

    def calls(self, name=None):
        """Number of recorded calls, of one API or of all."""
        return self.value(
            "SELECT count(*) FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
            " JOIN wt_string s ON s.id = c.name_id WHERE ?1 IS NULL OR s.string = ?1", name)

    def processes(self):
        return self.rows("SELECT id, pid, parent_id, forked, exit_kind, command FROM wt_process"
                         " ORDER BY id")


class Log:
    """A log of vgpu-run: JSON lines, see docs/VGPU.md. A process's own line ends its part."""

    def __init__(self, path):
        self.packets, self.faults = [], []
        self.processes = {}  # (pid, image): totals
        self._pending, self._queues = [], {}
        with open(path) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    self._line(json.loads(line))
                except (ValueError, KeyError) as error:
                    raise ValueError(f"{path}:{number}: {error!r}: {line[:200]}") from error
        if self._pending:
            raise ValueError(f"{path}: packets without their process")
        if any(process["lost"] for process in self.processes.values()):
            raise ValueError(f"{path}: the log itself is incomplete")

    def _line(self, line):
        kind = line["kind"]
        if kind == "queue":
            self._queues[line["queue"]] = line.get("hsa_queue_id")
            return
        if kind == "queue_change":
            return
        if kind == "fault":
            self.faults.append(line)
            return
        if kind == "process":
            process = (line["pid"], line["image"])
            if process in self.processes:
                raise ValueError("the same process twice")
            self.processes[process] = line
            for packet in self._pending:
                packet.process = process
                packet.hsa_id = None if packet.sdma else self._queues[packet.queue]
            self.packets += self._pending
            self._pending, self._queues = [], {}
            return
        kind = {"dispatch": KERNEL}.get(kind, kind)
        if kind == "barrier":
            kind = "barrier_" + line["barrier"]
        self._pending.append(Packet(
            pid=line["pid"], gpu=line["gpu"], queue=line["queue"], index=line["index"], kind=kind,
            sdma=line["engine"] == "sdma", kernel=plain(line.get("kernel")),
            grid=tuple(line.get("grid", ())), block=tuple(line.get("workgroup", ())),
            group=line.get("group_segment"), private=line.get("private_segment"),
            bytes=line["bytes"], src=line.get("source"), dst=line.get("target"),
            src_at=place(line, "source_gpu"), dst_at=place(line, "target_gpu"),
            barrier=line["barrier_bit"], start=line["start"], end=line["end"],
            done=line["end"] is not None, interrupt=line["interrupt"],
            bare=line.get("bare", False)))

    def operations(self):
        """What a trace must have. Not in it: copies and fills by the HSA runtime's own kernels on
        its own queue, e.g. when it uploads code. They pass no function that a tool could wrap."""
        return [p for p in self.packets if p.kind in OPERATIONS and not p.is_runtimes()]

    def runtimes(self):
        """What the HSA runtime did with its own kernels. Asked for by a function that a tool can
        wrap, such a copy is in the trace: as one by DMA, whose place it took."""
        return [p for p in self.packets if p.kind == COPY and p.is_runtimes()]

    def total(self, name):
        return sum(process[name] for process in self.processes.values())


def _pair_processes(packets, operations, trace):
    """Trace process to log process. A pid that exec'ed is several of both: in order."""
    problems, pairs = [], {}
    ran = collections.defaultdict(set)
    for packet in packets:
        ran[packet.pid].add(packet.process)
    seen = collections.defaultdict(set)
    order = {row[0]: n for n, row in enumerate(
        trace.rows("SELECT id FROM wt_process ORDER BY joined, id"))}
    for operation in operations:
        seen[operation.pid].add(operation.process)
    for pid in sorted(set(ran) | set(seen)):
        left, right = sorted(ran[pid]), sorted(seen[pid], key=order.get)
        if len(left) != len(right):
            problems.append(f"pid {pid}: {len(left)} images used the GPU, "
                            f"{len(right)} have operations in the trace")
        pairs.update(zip(right, left))
    return pairs, problems


def _differences(packet, operation, timed, tolerance):
    """What the row says differently from the log."""
    out = []

    def check(what, want, have):
        if want != have:
            out.append(f"{what}: executed {want}, trace {have}")

    check("kind", packet.kind, operation.kind)
    check("device", packet.gpu, operation.device)
    if not packet.sdma and not packet.is_runtimes():
        check("kernel", packet.kernel, operation.kernel)
        if packet.kind == KERNEL:
            check("grid", packet.grid, operation.grid)
            check("block", packet.block, operation.block)
            check("group segment", packet.group, operation.group)
            check("private segment", packet.private, operation.private)
        check("overlaps", not packet.barrier, bool(operation.overlaps))
    if packet.kind in (COPY, FILL):
        check("bytes", packet.bytes, operation.bytes)
        check("target", packet.dst, operation.dst)
        check("source", packet.src, operation.src)
        check("target's place", packet.dst_at, operation.dst_at)
        check("source's place", packet.src_at, operation.src_at)
        check("copy kind", copy_kind(packet), operation.copy_kind)
    if timed and packet.done:
        for what, want, have in (("start", packet.start, operation.start),
                                 ("end", packet.end, operation.end)):
            if have is None or abs(want - have) > tolerance(packet):
                out.append(f"{what}: executed {want}, trace {have}"
                           + ("" if have is None else f" ({have - want:+} ns)"))
    return out


def _compare_dma(packets, stand_ins, operations, late, tolerance):
    """DMA engines have no packet index: the copies of a process by size, in order of their time.

    late: an executed copy may be in flight in the trace. The runtime keeps the stamps of its DMA
    copies in the program's own memory; a killed program takes those with it that it had not yet
    looked at. The copy itself must be there.
    stand_ins: copies by the HSA runtime's own kernels, of which the trace may have each.
    """
    problems = []
    rest = collections.defaultdict(list)
    for operation in operations:
        rest[operation.bytes].append(operation)
    for bucket in rest.values():
        bucket.sort(key=lambda o: (o.start is None, o.start or 0))
    for packet in sorted(packets, key=lambda p: p.start):
        bucket = rest[packet.bytes]
        near = [o for o in bucket if o.start is not None
                and abs(o.start - packet.start) <= tolerance(packet)]
        if not near:
            if packet.done:
                untimed = next((o for o in bucket if o.start is None), None)
                if untimed is not None:
                    bucket.remove(untimed)
                    if untimed.in_flight and not late:
                        problems.append(f"had ended, but is in flight in the trace: {untimed}")
                    elif not (untimed.untimed or untimed.in_flight):
                        problems.append(f"no times and no reason: {untimed}")
                    continue
                problems.append(f"not in the trace: {packet} of {packet.bytes} bytes")
            continue
        # of several that began at the same moment, the one that moved the same
        near.sort(key=lambda o: (o.dst, o.src) != (packet.dst, packet.src))
        bucket.remove(near[0])
        problems += [f"{near[0]}: {d}" for d in _differences(packet, near[0], True, tolerance)]
    for packet in stand_ins:
        near = [o for o in rest[packet.bytes] if o.start is not None and
                o.dst == packet.dst and abs(o.start - packet.start) <= tolerance(packet)]
        if near:
            rest[packet.bytes].remove(near[0])
            problems += [f"{near[0]}: {d}" for d in _differences(packet, near[0], True, tolerance)]
    for bucket in rest.values():
        problems += [f"never executed, or twice: {o} of {o.bytes} bytes" for o in bucket
                     if not o.in_flight]
    return problems


def compare(log, trace, *, late_per_queue=0, untimed=(), lost=(),
            tolerance=lambda packet: TOLERANCE_NS):
    """Problems, as sentences; none means that the trace says what happened.

    late_per_queue: operations a queue which the log has as done and the trace may have in flight
    (a process that was killed between the end of the kernel and its stamp).
    untimed: causes for which an operation may be there without times.
    lost: causes by which operations may be missing: exactly as many as the trace counts.
    tolerance: by how much the times of a packet may differ, where clocks are not exact.
    """
    packets = log.operations()
    pairs, problems = _pair_processes(packets, trace.operations, trace)
    executed, dma_packets = {}, collections.defaultdict(list)
    stand_ins = collections.defaultdict(list)
    for packet in log.runtimes():
        stand_ins[packet.process].append(packet)
    for packet in packets:
        if packet.sdma:
            dma_packets[packet.process].append(packet)
        else:
            key = (packet.process, packet.hsa_id, packet.index)
            if key in executed:
                problems.append(f"the log itself has it twice: {packet}")
            executed[key] = packet

    seen, dma_operations = set(), collections.defaultdict(list)
    late = collections.Counter()
    for operation in trace.operations:
        process = pairs.get(operation.process)
        if process is None:
            if not operation.in_flight:
                problems.append(f"of a process that executed nothing: {operation}")
            continue
        if operation.hsa_id is None:
            dma_operations[process].append(operation)
            continue
        key = (process, operation.hsa_id, operation.index)
        if key in seen:
            problems.append(f"twice in the trace: {operation}")
            continue
        seen.add(key)
        packet = executed.get(key)
        if packet is None:
            if not operation.in_flight:
                problems.append(f"never executed: {operation}")
            continue
        if operation.in_flight and packet.done:
            late[(process, operation.hsa_id)] += 1
        if operation.in_flight and operation.end is not None:
            problems.append(f"in flight, but it has an end: {operation}")
        if not packet.done and not operation.in_flight:
            problems.append(f"has not ended, but the trace says so: {operation}")
        without = operation.untimed in untimed if operation.untimed else operation.in_flight
        if operation.untimed and operation.start is not None:
            problems.append(f"untimed ({operation.untimed}), but it has times: {operation}")
        problems += [f"{operation}: {d}"
                     for d in _differences(packet, operation, not without, tolerance)]
    for queue, count in late.items():
        if count > late_per_queue:
            problems.append(f"queue {queue}: {count} operations had ended and are in flight "
                            f"in the trace; {late_per_queue} allowed")

    missing = [packet for key, packet in executed.items() if key not in seen]
    if lost:
        counted = sum(n for cause, n in trace.lost().items() if cause in lost)
        if len(missing) != counted:
            problems.append(f"{len(missing)} operations are missing, {counted} are counted as "
                            f"lost: {trace.lost()}")
    else:
        problems += [f"not in the trace: {packet}" for packet in missing]
    for process in sorted(set(dma_packets) | set(dma_operations)):
        problems += _compare_dma(dma_packets[process], stand_ins[process], dma_operations[process],
                                 late_per_queue > 0, tolerance)
    return problems


def causal_problems(trace, width, but=lambda time: False, slept=lambda time: 0):
    """Call, start, end, and the return of the stream's wait for it, in this order for every
    operation; `width`: by how much clocks may differ. Returns what is wrong, and how many
    operations had all of that. Those that began at a time that `but` names are left out. A suspend
    is one of the virtual GPU's program alone: `slept` says what the calls' times lack of it."""
    problems, checked = [], 0

    def awake(time):
        return time + slept(time + trace.origin)

    waits = collections.defaultdict(list)  # by stream: when it was called, when it returned
    for stream, start, end in trace.rows(
            "SELECT c.stream_id, a.start, a.start + a.duration FROM wt_api a"
            " JOIN wt_call c ON c.id = a.call_id JOIN wt_string s ON s.id = c.name_id"
            " WHERE s.string = 'hipStreamSynchronize' AND a.ret = 0 ORDER BY a.start"):
        waits[stream].append((awake(start), awake(end)))
    for id_, called, start, end, stream in trace.rows(
            "SELECT o.id, a.start, o.start, o.start + o.duration, l.stream_id FROM wt_op o"
            " JOIN wt_lane l ON l.id = o.lane_id JOIN wt_api a ON a.id = o.api_id"
            " WHERE o.start IS NOT NULL"):
        if but(start + trace.origin):
            continue
        called = awake(called)
        if start + width < called:
            problems.append(f"operation {id_}: starts {called - start} ns before its call")
        if end < start:
            problems.append(f"operation {id_}: ends before it starts")
        at = bisect.bisect(waits[stream], (called, 0))
        if at < len(waits[stream]):
            checked += 1
            if end > waits[stream][at][1] + width:
                problems.append(f"operation {id_}: ends {end - waits[stream][at][1]} ns after the "
                                "wait for it")
    return problems, checked


def correlation_problems(trace):
    """What must hold inside a trace: an operation's call, its dimensions, cause before effect."""
    problems = []
    for row in trace.rows(
            "SELECT o.id FROM wt_op o LEFT JOIN wt_api a ON a.id = o.api_id"
            " WHERE o.api_id IS NOT NULL AND a.id IS NULL"):
        problems.append(f"operation {row[0]}: its call is not in the trace")
    for id_, start, call in trace.rows(
            "SELECT o.id, o.start, a.start FROM wt_op o JOIN wt_api a ON a.id = o.api_id"
            " WHERE o.start IS NOT NULL AND o.start + 1000 < a.start"):
        problems.append(f"operation {id_}: starts {call - start} ns before its call")
    # a cooperative launch has a kernel of the runtime before it, of other dimensions
    for row in trace.rows(
            "SELECT o.id, w.grid_x, s.grid_x, w.block_x, s.block_x FROM wt_op o"
            " JOIN wt_api a ON a.id = o.api_id JOIN wt_launch w ON w.id = a.launch_id"
            " JOIN wt_shape s ON s.id = o.shape_id"
            " LEFT JOIN wt_symbol y ON y.id = s.symbol_id LEFT JOIN wt_string n ON n.id = y.name_id"
            " WHERE s.kind = 1 AND o.node IS NULL AND w.grid_x > 0"
            " AND ifnull(n.string, '') NOT LIKE '\\_\\_amd\\_rocclr\\_%' ESCAPE '\\'"
            " AND (w.grid_x <> s.grid_x OR w.grid_y <> s.grid_y OR w.grid_z <> s.grid_z"
            " OR w.block_x <> s.block_x OR w.block_y <> s.block_y OR w.block_z <> s.block_z)"):
        problems.append(f"operation {row[0]}: call and operation differ in dimensions: {row[1:]}")
    return problems


def brief(problems, most=15):
    """A message for an assertion."""
    more = f"\n… and {len(problems) - most} more" if len(problems) > most else ""
    return f"{len(problems)} differences:\n" + "\n".join(problems[:most]) + more
