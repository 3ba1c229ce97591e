// SPDX-License-Identifier: GPL-2.0-or-later
/* The ways out of the kernel's spinlock slow path (kernel/locking/qspinlock.c). */
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

/* With and without paravirtual spinlocks compiled in. */
static const char *const slow_paths[] = {
	"native_queued_spin_lock_slowpath",
	"queued_spin_lock_slowpath",
};

static bool add_pending_end(struct sites_image *image, uint64_t address,
			    struct sites_spin_exits *exits,
			    struct sites_error *error)
{
	void *list = exits->pending_end;
	struct sites_error why;

	if (!sites_can_probe(image, address, &why)) {
		exits->pending_end_refused++;
		return true;
	}
	if (!sites_grow(&list, exits->pending_end_count,
			sizeof(*exits->pending_end), error))
		return false;
	exits->pending_end = list;
	exits->pending_end[exits->pending_end_count++] = address;
	return true;
}

/*
 * Each range of clear_pending_set_locked is a way to the lock: gcc makes one
 * for the waiter that found it free at once, and one for the end of the loop.
 */
static bool add_pending(struct sites_image *image, const char *slow_path,
			struct sites_spin_exits *exits,
			struct sites_error *error)
{
	struct sites_inline *inlines;
	bool good = true;
	size_t count;

	if (!sites_inlines(image, "clear_pending_set_locked", slow_path,
			   &inlines, &count, error))
		return false;
	for (size_t i = 0; good && i < count; i++)
		for (size_t j = 0; good && j < inlines[i].range_count; j++)
			good = add_pending_end(image, inlines[i].ranges[j].low,
					       exits, error);
	sites_inlines_free(inlines, count);
	return good;
}

/*
 * Whether the instruction is lock cmpxchg %r32,(%r64), and by which register
 * it reaches the lock.  A row begins an instruction, so the bytes are proof.
 */
static bool is_attempt(struct sites_image *image, uint64_t address,
		       unsigned int *lock_register)
{
	unsigned char code[5];
	unsigned int rex = 0, at = 1, mod, rm;

	if (sites_bytes_at(image, address, code, sizeof(code)) < sizeof(code) ||
	    code[0] != 0xf0)
		return false;
	if ((code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (code[at] != 0x0f || code[at + 1] != 0xb1)
		return false;
	mod = code[at + 2] >> 6;
	rm = code[at + 2] & 7;
	/* The lock is a structure's first member, so without displacement; */
	/* r12 and r13 need other encodings, which no kernel seen uses. */
	if (mod != 0 || rm == 4 || rm == 5)
		return false;
	*lock_register = rm + ((rex & 1) << 3);
	return true;
}

static bool add_attempt(struct sites_image *image, uint64_t address,
			struct sites_spin_exits *exits,
			struct sites_error *error)
{
	void *list = exits->virt_try;
	struct sites_error why;
	unsigned int lock_register;

	if (!is_attempt(image, address, &lock_register))
		return true;
	if (!sites_can_probe(image, address, &why)) {
		exits->virt_try_refused++;
		return true;
	}
	if (!sites_grow(&list, exits->virt_try_count, sizeof(*exits->virt_try),
			error))
		return false;
	exits->virt_try = list;
	exits->virt_try[exits->virt_try_count++] =
		(struct sites_attempt){ address, lock_register };
	return true;
}

static bool add_attempts(struct sites_image *image, struct sites_range range,
			 struct sites_spin_exits *exits,
			 struct sites_error *error)
{
	uint64_t *rows;
	bool good = true;
	size_t count;

	if (!sites_rows(image, range, &rows, &count, error))
		return false;
	for (size_t i = 0; good && i < count; i++)
		good = add_attempt(image, rows[i], exits, error);
	free(rows);
	return good;
}

static bool add_virtual(struct sites_image *image, const char *slow_path,
			struct sites_spin_exits *exits,
			struct sites_error *error)
{
	struct sites_inline *inlines;
	bool good = true;
	size_t count;

	if (!sites_inlines(image, "virt_spin_lock", slow_path, &inlines, &count,
			   error))
		return false;
	for (size_t i = 0; good && i < count; i++)
		for (size_t j = 0; good && j < inlines[i].range_count; j++)
			good = add_attempts(image, inlines[i].ranges[j], exits,
					    error);
	sites_inlines_free(inlines, count);
	return good;
}

bool sites_spin_exits(struct sites_image *image, struct sites_spin_exits *exits,
		      struct sites_error *error)
{
	memset(exits, 0, sizeof(*exits));
	for (size_t i = 0; i < sizeof(slow_paths) / sizeof(*slow_paths); i++) {
		if (!add_pending(image, slow_paths[i], exits, error) ||
		    !add_virtual(image, slow_paths[i], exits, error)) {
			sites_spin_exits_free(exits);
			return false;
		}
	}
	return true;
}

void sites_spin_exits_free(struct sites_spin_exits *exits)
{
	free(exits->pending_end);
	free(exits->virt_try);
	memset(exits, 0, sizeof(*exits));
}
