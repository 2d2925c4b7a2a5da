// SPDX-License-Identifier: MIT
/*
 * Faults on request: what `--fault` can say, shared by the virtual GPU (which makes them), by
 * vgpu-run (which checks the words) and by the log's conversion (which names them).
 */
#ifndef VGPU_FAULT_H
#define VGPU_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vg_fault_kind {
	VG_FAULT_STALL,
	VG_FAULT_MEMORY,
	VG_FAULT_QUEUE_ERROR,
	VG_FAULT_RESET,
	VG_FAULT_LOST,
	VG_FAULT_LOST_INTERRUPT,
	VG_FAULT_LATE_INTERRUPT,
	VG_FAULT_ALLOC,
	VG_FAULT_MAP,
	VG_FAULT_CREATE_QUEUE,
	VG_FAULT_CREATE_EVENT,
	VG_FAULT_KINDS
};

/* What a rule of this kind is asked about: a packet at the head of a queue, an interrupt, a call.
 */
enum vg_fault_class { VG_FAULT_AT_PACKET = 1, VG_FAULT_AT_INTERRUPT = 2, VG_FAULT_AT_CALL = 4 };

struct vg_fault_kind_info {
	const char *name;
	enum vg_fault_class at;
	const char *value; /* what the log calls the number that goes with it; NULL: none */
};
extern const struct vg_fault_kind_info vg_fault_kinds[VG_FAULT_KINDS];

enum vg_fault_reason { VG_FAULT_NOT_PRESENT, VG_FAULT_READ_ONLY, VG_FAULT_NO_EXECUTE };

/* A queue error, in the two ways that ROCr can be told of it. */
struct vg_fault_code {
	const char *name;
	uint32_t exception; /* number of the KFD's exception (EC_QUEUE_*): the bit is one less */
	uint32_t inactive;  /* bit in the signal queue_inactive_signal */
};
const struct vg_fault_code *vg_fault__code(const char *name); /* NULL: none of that name */

#define VG_FAULT_ANY     UINT64_MAX
#define VG_FAULT_FOREVER UINT64_MAX

struct vg_fault_rule {
	enum vg_fault_kind kind;
	char text[96];               /* as given */
	char kernel[96];             /* empty: any packet */
	uint64_t gpu, queue, packet; /* VG_FAULT_ANY */
	uint64_t nth, every;         /* 0: all that match */
	uint64_t at_ns;              /* after the device was opened */
	uint64_t for_ns, by_ns;
	uint64_t above; /* bytes */
	uint64_t address;
	uint64_t reason; /* enum vg_fault_reason */
	const struct vg_fault_code *code;
};

#define VG_MAX_FAULTS 16

/*
 * "stall,kernel=gemm,for=20ms;memory,nth=3": returns how many rules were read, or -1 with the
 * reason in `why`.
 */
int vg_fault__parse(
	const char *text, struct vg_fault_rule rules[VG_MAX_FAULTS], char *why, size_t why_size);

#endif
