/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `locktap prep -d FILE` has written of programs and libraries: the
 * names of their locks, by the address that a waiter called the lock function
 * from or by the lock's own, and where the functions of a C library are that
 * wait for a lock, or for something else.
 *
 * A file is known by the last part of its path and by its size. Addresses in
 * it are asked for as the file has them: lk_user_vaddr() makes them of a place
 * in the file, which a mapping (vm_pgoff, vm_start) tells.
 */
#ifndef LK_USER_NAMES_H
#define LK_USER_NAMES_H

#include "lk_base.h"

/* What a call waits for. */
enum lk_user_op {
	LK_UOP_NONE,
	LK_UOP_MUTEX,
	LK_UOP_RDLOCK,
	LK_UOP_WRLOCK,
	LK_UOP_IDLE, /* a condition, a semaphore, a thread's end: no lock */
};

/*
 * A file. What has been written has it as numbers: each of these is as large
 * as an unsigned long.
 */
struct lk_user_names {
	const char *file; /* the last part of its path */
	unsigned long bytes; /* its size: another size is another file */
	unsigned long exec_vaddr; /* of its executable segment, */
	unsigned long exec_offset; /* where that is in the file, */
	unsigned long exec_bytes; /* and its size there */
	const char *text;
	const u32 (*sites)[2]; /* return address less low, offset in the text */
	const u8 *ops; /* of each site: LK_UOP_… */
	unsigned long sites_nr;
	const u32 (*fixed)[2]; /* a lock variable's address less low, offset in the text */
	unsigned long fixed_nr;
	/*
	 * First address less low, that behind the last, LK_UOP_…, and of a function that
	 * ends with a jump to a lock function that site less low, else 0.
	 */
	const u32 (*functions)[4];
	unsigned long functions_nr;
	unsigned long low; /* what the tables' addresses are counted from */
};

#define LK_USER_NAMES_MAX 128

/* By name and size. */
static const struct lk_user_names *lk_user_names[LK_USER_NAMES_MAX];
static unsigned int lk_user_names_nr;
static unsigned int lk_user_names_left; /* there was no room for */

static int lk_user_names_compare(const struct lk_user_names *names, const char *file,
				 unsigned long bytes)
{
	int order = strcmp(names->file, file);

	if (order)
		return order;
	return names->bytes < bytes ? -1 : names->bytes > bytes;
}

/* The place of a file in the list, or where it would be. */
static unsigned int lk_user_names_place(const char *file, unsigned long bytes)
{
	unsigned int lo = 0, hi = lk_user_names_nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (lk_user_names_compare(lk_user_names[mid], file, bytes) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* In begin probes, before any other probe: who looks takes no lock. */
static void lk_user_names_use(const struct lk_user_names *names, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned int at = lk_user_names_place(names[i].file, names[i].bytes);

		if (lk_user_names_nr == LK_USER_NAMES_MAX) {
			lk_user_names_left++;
			continue;
		}
		memmove(&lk_user_names[at + 1], &lk_user_names[at],
			(lk_user_names_nr - at) * sizeof(*lk_user_names));
		lk_user_names[at] = &names[i];
		lk_user_names_nr++;
	}
}

/* The table of a file by the last part of its path and its size, or NULL. */
static const struct lk_user_names *lk_user_names_of(const char *file, unsigned long bytes)
{
	unsigned int at = lk_user_names_place(file, bytes);

	/* Two files of one name and size cannot be told apart: neither is named. */
	if (at >= lk_user_names_nr || lk_user_names_compare(lk_user_names[at], file, bytes) ||
	    (at + 1 < lk_user_names_nr &&
	     !lk_user_names_compare(lk_user_names[at + 1], file, bytes)))
		return NULL;
	return lk_user_names[at];
}

/* The address that the file has for a place in its executable segment. */
static bool lk_user_vaddr(const struct lk_user_names *names, unsigned long offset,
			  unsigned long *vaddr)
{
	if (offset < names->exec_offset || offset - names->exec_offset >= names->exec_bytes)
		return false;
	*vaddr = offset - names->exec_offset + names->exec_vaddr;
	return true;
}

/*
 * How far the file has been moved, by a mapping of its executable segment that
 * begins at `start` and at `offset` in the file: an address in memory less this
 * is the file's own.
 */
static unsigned long lk_user_bias(const struct lk_user_names *names, unsigned long start,
				  unsigned long offset)
{
	return start - (offset - names->exec_offset + names->exec_vaddr);
}

/* The first pair that is not before the value. */
static unsigned long lk_user_look(const u32 (*pairs)[2], unsigned long nr, unsigned long value)
{
	unsigned long lo = 0, hi = nr;

	while (lo < hi) {
		unsigned long mid = (lo + hi) / 2;

		if (pairs[mid][0] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * The lock that the call before a return address waits for: "?" if its name is
 * not known; "" if the function that has the call was given the lock, and the
 * return address of that function tells (if that is NULL, nothing does); NULL
 * (and LK_UOP_NONE) if no lock function returns there.
 */
static const char *lk_user_site_name(const struct lk_user_names *names, unsigned long vaddr, u8 *op)
{
	unsigned long at = lk_user_look(names->sites, names->sites_nr, vaddr - names->low);

	*op = LK_UOP_NONE;
	if (at >= names->sites_nr || names->sites[at][0] != vaddr - names->low)
		return NULL;
	*op = names->ops[at];
	return names->text + names->sites[at][1];
}

/* The lock that is a variable, or in one, by its address; or NULL. */
static const char *lk_user_fixed_name(const struct lk_user_names *names, unsigned long vaddr)
{
	unsigned long at = lk_user_look(names->fixed, names->fixed_nr, vaddr - names->low);

	if (at >= names->fixed_nr || names->fixed[at][0] != vaddr - names->low)
		return NULL;
	return names->text + names->fixed[at][1];
}

/*
 * What the lock function that has the address waits for; LK_UOP_NONE: it is none.
 * *jump: the site in it that tells the name, or 0.
 */
static u8 lk_user_function_op(const struct lk_user_names *names, unsigned long vaddr,
			      unsigned long *jump)
{
	unsigned long lo = 0, hi = names->functions_nr, at = vaddr - names->low;

	while (lo < hi) {
		unsigned long mid = (lo + hi) / 2;

		if (names->functions[mid][1] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	*jump = 0;
	if (lo >= names->functions_nr || names->functions[lo][0] > at)
		return LK_UOP_NONE;
	if (names->functions[lo][3])
		*jump = names->functions[lo][3] + names->low;
	return names->functions[lo][2];
}

#endif
