// SPDX-License-Identifier: MIT
/*
 * Packets of any bytes through both engines, on queues without a thread. Addresses lead into one
 * arena, as a program's lead into its buffers; everything else is left to chance. The engines
 * neither touch anything else nor stop making progress, and count what they did.
 */
#include <linux/kfd_ioctl.h>
#include <string.h>

#include "fuzz.h"
#include "vgpu.h"

#define RING  16           /* packets: wraps often */
#define ARENA (1u << 20)   /* bytes */
#define SIGNS 64           /* signals at the arena's start */
#define WORDS (RING * 16u) /* of the SDMA ring */

static _Alignas(4096) char arena[ARENA];
static union abi_packet ring[RING];
static uint32_t words[WORDS];
static struct abi_queue aql;
static uint64_t bell, sdma_rptr;
static struct fuzz fuzz;

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "round %llu: %s\n", (unsigned long long)fuzz.rounds, what);
	abort();
}

static uint64_t any64(void)
{
	return (uint64_t)fuzz_below(&fuzz, UINT32_MAX) << 32 | fuzz_below(&fuzz, UINT32_MAX);
}

static struct abi_signal *any_signal(void)
{
	return (struct abi_signal *)(void *)arena + fuzz_below(&fuzz, SIGNS);
}

/* Where `bytes` fit, behind the signals. */
static uint64_t any_place(uint64_t bytes, uint64_t align)
{
	uint64_t from = SIGNS * sizeof(struct abi_signal), room = ARENA - from - bytes;

	return (uintptr_t)arena + from + fuzz_below(&fuzz, (uint32_t)room) / align * align;
}

static void any_bytes(void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = (unsigned char)fuzz_below(&fuzz, 256);
}

/* Most wait for nothing or for what comes true; some for ever: those end a round. */
static void settle_signals(void)
{
	struct abi_signal *s = (struct abi_signal *)(void *)arena;

	for (int i = 0; i < SIGNS; i++)
		s[i] = (struct abi_signal){.value = fuzz_below(&fuzz, 3) ? 0 : (int64_t)any64(),
			.event_mailbox_ptr = fuzz_below(&fuzz, 4) ? 0 : any_place(8, 8),
			.event_id = fuzz_below(&fuzz, 5000)};
}

static struct vg_queue *new_queue(uint32_t type)
{
	struct vg_queue *q = calloc(1, sizeof *q);

	need(q, "no memory");
	q->type = type;
	q->rptr = &aql.read_dispatch_id;
	q->wptr = &aql.write_dispatch_id;
	q->bell = &bell;
	return q;
}

/* ---- AQL ---- */

/* The arguments that ROCr's own copy and fill kernels get, or anything. */
static uint64_t any_arguments(uint32_t grid)
{
	uint64_t *u = (uint64_t *)(uintptr_t)any_place(96, 16);
	uint64_t bytes = fuzz_below(&fuzz, 5000), from = any_place(bytes, 1),
		 to = any_place(bytes, 1);

	switch (fuzz_below(&fuzz, 4)) {
	case 0:
		memcpy(u, (uint64_t[]){from, to, 0, 0, 0, 0, 0, 0, from + bytes, to + bytes, grid},
			88);
		break;
	case 1:
		memcpy(u, (uint64_t[]){from, to, 0, 0, from + bytes, to + bytes, grid, 0, 0, 0, 0},
			88);
		break;
	case 2:
		memcpy(u, (uint64_t[]){to, to, to + bytes, 7 | (uint64_t)grid << 32}, 32);
		break;
	default:
		any_bytes(u, 88);
	}
	return (uintptr_t)u;
}

static union abi_packet any_packet(void)
{
	union abi_packet p;
	unsigned type = fuzz_below(&fuzz, 8);

	any_bytes(&p, sizeof p);
	p.header = (uint16_t)((p.header & ~ABI_HEADER_TYPE_MASK) |
			      (type < 6 ? type : (unsigned)fuzz_below(&fuzz, 256)));
	type = p.header & ABI_HEADER_TYPE_MASK;
	if (type == ABI_PACKET_INVALID)
		p.header ^= ABI_PACKET_INVALID ^ ABI_PACKET_DISPATCH;
	p.barrier.completion_signal = fuzz_below(&fuzz, 4) ? (uintptr_t)any_signal() : 0;
	if (type == ABI_PACKET_BARRIER_AND || type == ABI_PACKET_BARRIER_OR)
		for (int i = 0; i < ABI_BARRIER_DEPS; i++)
			p.barrier.dep_signal[i] =
				fuzz_below(&fuzz, 3) ? 0 : (uintptr_t)any_signal();
	else if (type == ABI_PACKET_VENDOR)
		p.value.signal = fuzz_below(&fuzz, 3) ? (uintptr_t)any_signal() : 0;
	else if (type == ABI_PACKET_DISPATCH || type == ABI_PACKET_INVALID) {
		p.dispatch.kernarg_address =
			fuzz_below(&fuzz, 5) ? any_arguments(p.dispatch.grid[0]) : 0;
		if (fuzz_below(&fuzz, 2))
			p.dispatch.kernel_object = any_place(64, 64);
		if (fuzz_below(&fuzz, 8)) { /* else it is refused, probably */
			p.dispatch.setup = (uint16_t)(1 + fuzz_below(&fuzz, 3));
			p.dispatch.group_segment_size = fuzz_below(&fuzz, 65536);
			for (int i = 0; i < 3; i++)
				p.dispatch.workgroup[i] = (uint16_t)(1 + fuzz_below(&fuzz, 10));
		}
	}
	return p;
}

/* Until nothing is left. */
static void run_aql(struct vg_queue *q)
{
	int blocked = 0;

	for (int step = 0; q->read < aql.write_dispatch_id || q->flight_cnt; step++) {
		uint64_t read = q->read;
		enum vg_step did = vg_aql__step(q);

		need(q->read == read + (did == VG_STEP_DONE), "one packet a step");
		need(q->read <= aql.write_dispatch_id, "nothing beyond the write index");
		need(q->flight_cnt <= VG_MAX_FLIGHT, "too many in flight");
		need(aql.read_dispatch_id <= q->read, "the read index shows what was read");
		if (q->halted) {
			union abi_packet *p = &ring[q->read % RING];

			need(vg_packet__wrong(p) != NULL, "halted by a packet that is right");
			*p = (union abi_packet){
				.barrier = {.header = ABI_PACKET_BARRIER_AND}};
			q->halted = false;
		}
		if (did == VG_STEP_BLOCKED && ++blocked % 16)
			settle_signals();
		else if (did == VG_STEP_BLOCKED) /* `x & 0 > 5` comes true at no time */
			ring[q->read % RING] = (union abi_packet){
				.barrier = {.header = ABI_PACKET_BARRIER_AND}};
		need(step < 1000000, "no progress");
	}
	need(vg_aql__step(q) == VG_STEP_IDLE, "nothing is left");
	need(aql.read_dispatch_id == aql.write_dispatch_id, "the read index shows all of it");
}

static void round_aql(void)
{
	struct vg_queue *q = new_queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);

	memset(&aql, 0, sizeof aql);
	aql.queue_properties = fuzz_below(&fuzz, 2) ? ABI_QUEUE_PROFILING : 0;
	for (int i = 0; i < RING; i++)
		ring[i] = (union abi_packet){.header = ABI_PACKET_INVALID};
	bell = UINT64_MAX;
	q->ring = (char *)ring;
	q->ring_bytes = sizeof ring;
	q->bell_seen = -1;
	q->aql = &aql;
	for (int batch = 0; batch < 8; batch++) {
		uint32_t cnt = 1 + fuzz_below(&fuzz, RING);

		settle_signals();
		for (uint32_t i = 0; i < cnt; i++)
			ring[aql.write_dispatch_id++ % RING] = any_packet();
		bell = aql.write_dispatch_id - 1;
		run_aql(q);
	}
	free(q);
}

/* ---- SDMA ---- */

static unsigned put_address(uint32_t *d, unsigned at, uint64_t address)
{
	d[at] = (uint32_t)address;
	d[at + 1] = (uint32_t)(address >> 32);
	return at + 2;
}

/* One packet of a kind that ROCr writes; its length in dwords. */
static unsigned any_sdma(uint32_t *d)
{
	static const uint8_t known[] = {ABI_SDMA_NOP, ABI_SDMA_COPY, ABI_SDMA_FENCE, ABI_SDMA_TRAP,
		ABI_SDMA_POLL, ABI_SDMA_ATOMIC, ABI_SDMA_FILL, ABI_SDMA_TIMESTAMP, ABI_SDMA_GCR};
	uint8_t op = known[fuzz_below(&fuzz, sizeof known)];
	uint64_t bytes = 1 + fuzz_below(&fuzz, 20000);

	any_bytes(d, ABI_SDMA_MAX_DWORDS * sizeof *d);
	d[0] = (d[0] & ~0xffffu) | op | (op == ABI_SDMA_TIMESTAMP ? 2u << 8 : 0);
	switch (op) {
	case ABI_SDMA_NOP:
		d[0] = op | fuzz_below(&fuzz, 12) << 16;
		break;
	case ABI_SDMA_COPY:
		d[0] &= ~0xff00u; /* linear */
		d[1] = (d[1] & ~0x3fffffffu) | (uint32_t)(bytes - 1);
		put_address(d, 3, any_place(bytes, 1));
		put_address(d, 5, any_place(bytes, 1));
		break;
	case ABI_SDMA_FENCE:
		put_address(d, 1, any_place(4, 4));
		break;
	case ABI_SDMA_TRAP:
		d[1] = fuzz_below(&fuzz, 10000);
		break;
	case ABI_SDMA_POLL:
		put_address(d, 1, any_place(4, 4));
		break;
	case ABI_SDMA_ATOMIC:
		if (fuzz_below(&fuzz, 1000))
			d[0] = (d[0] & 0x1ffffffu) | ABI_SDMA_ATOMIC_ADD64 << 25;
		put_address(d, 1, (uintptr_t)&any_signal()->value);
		break;
	case ABI_SDMA_FILL:
		d[4] = (d[4] & ~0x3fffffffu) | (uint32_t)(bytes & ~3u);
		put_address(d, 1, any_place(bytes + 4, 4));
		break;
	case ABI_SDMA_TIMESTAMP:
		put_address(d, 1, any_place(8, 8));
		break;
	default:
		break;
	}
	return vg_sdma_length(d);
}

static void round_sdma(void)
{
	struct vg_queue *q = new_queue(KFD_IOC_QUEUE_TYPE_SDMA);
	uint64_t at = 0;

	sdma_rptr = bell = 0;
	q->ring = (char *)words;
	q->ring_bytes = sizeof words;
	q->rptr = &sdma_rptr;
	for (int batch = 0; batch < 8; batch++) {
		uint64_t end;

		settle_signals();
		for (;;) {
			uint32_t d[ABI_SDMA_MAX_DWORDS];
			unsigned length = any_sdma(d);

			need(length && length <= ABI_SDMA_MAX_DWORDS,
				"a known packet has a length");
			if (at + length - sdma_rptr / 4 > WORDS)
				break;
			for (unsigned i = 0; i < length; i++)
				words[at++ % WORDS] = d[i];
		}
		end = bell = at * 4;
		for (int step = 0; sdma_rptr < end; step++) {
			uint64_t before = sdma_rptr;
			enum vg_step did = vg_sdma__step(q);

			need((sdma_rptr > before) == (did == VG_STEP_DONE), "one packet a step");
			if (did == VG_STEP_BLOCKED) { /* give it what it polls for */
				uint64_t address = q->sdma_head[1] | (uint64_t)q->sdma_head[2]
									     << 32;

				*(uint32_t *)(uintptr_t)address = (uint32_t)any64();
				if (step > 200) /* nothing satisfies `value & 0 > 5` */
					sdma_rptr += 4ull * vg_sdma_length(q->sdma_head);
			}
			need(step < 1000000, "no progress");
		}
		need(sdma_rptr == end, "all of it, not more");
	}
	free(q);
}

/* Any dwords at all have a length or none, and it stays inside what was read. */
static void round_lengths(void)
{
	uint32_t d[ABI_SDMA_MAX_DWORDS];

	any_bytes(d, sizeof d);
	need(vg_sdma_length(d) <= 1 + 0x3fff, "length of a no-operation");
	if ((d[0] & 0xff) != ABI_SDMA_NOP)
		need(vg_sdma_length(d) <= ABI_SDMA_MAX_DWORDS, "length of an operation");
}

int main(int argc, char **argv)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args whole = {
		.va_addr = (uintptr_t)arena,
		.mmap_offset = (uintptr_t)arena,
		.size = ARENA,
		.gpu_id = VG_GPU_ID(0),
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR,
	};

	/* Time is simulated, but real time must have passed the end of a packet. */
	setenv("VGPU_KERNEL_NS", "0", 1);
	setenv("VGPU_COPY_GBPS", "0", 1);
	fuzz_start(&fuzz, argc, argv);
	need(!vg_mem__alloc(&whole), "the arena is a buffer");
	do {
		round_aql();
		round_sdma();
		round_lengths();
	} while (fuzz_goes_on(&fuzz));
	fprintf(stderr, "%llu rounds\n", (unsigned long long)fuzz.rounds);
	return 0;
}
