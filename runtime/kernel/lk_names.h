/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of locks from what `locktap prep` has written: a lock in allocated
 * memory by the address that its waiter called the lock function from, a
 * variable's by its own address.
 */
#ifndef LK_NAMES_H
#define LK_NAMES_H

#include "lk_base.h"

/* One section of the kernel or of a module. The numbers are the file's, before it was loaded. */
struct lk_names {
	const char *anchor; /* a symbol that tells where the section is */
	unsigned long anchor_at;
	unsigned long low; /* what the tables' addresses are counted from */
	const char *text;
	const u32 (*sites)[2]; /* return address, offset in the text */
	unsigned long sites_nr;
	const u32 (*fixed)[2]; /* address of a lock, offset in the text */
	unsigned long fixed_nr;
	const u32 (*percpu)[2]; /* offset in the per-CPU area, offset in the text */
	unsigned long percpu_nr;
};

#define LK_NAMES_MAX 128

static struct {
	const struct lk_names *names;
	unsigned long at; /* where `low` is now; 0: not loaded */
	unsigned int tries_blind; /* trylocks that cannot be probed; with a file's first table */
} lk_names[LK_NAMES_MAX];
static unsigned int lk_names_nr;

static void lk_names_find_one(unsigned int i)
{
	unsigned long anchor = kallsyms_lookup_name(lk_names[i].names->anchor);

	if (anchor)
		lk_names[i].at = anchor - lk_names[i].names->anchor_at + lk_names[i].names->low;
}

/* In begin and end probes and timers: modules come and go. */
static void lk_names_find(void)
{
	unsigned int i;

	for (i = 0; i < lk_names_nr; i++)
		lk_names_find_one(i);
}

static void lk_names_use(const struct lk_names *names, unsigned int nr, unsigned int tries_blind)
{
	unsigned int i;

	for (i = 0; i < nr && lk_names_nr < LK_NAMES_MAX; i++) {
		lk_names[lk_names_nr].names = &names[i];
		lk_names[lk_names_nr].tries_blind = i ? 0 : tries_blind;
		lk_names_find_one(lk_names_nr++);
	}
}

/* Places in the kernel and its loaded modules where a trylock may fail unseen. */
static unsigned int lk_tries_blind(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < lk_names_nr; i++)
		if (lk_names[i].at)
			sum += lk_names[i].tries_blind;
	return sum;
}

static const char *lk_names_look(const char *text, const u32 (*pairs)[2], unsigned long nr,
				 unsigned long offset)
{
	unsigned long lo = 0, hi = nr;

	while (lo < hi) {
		unsigned long mid = (lo + hi) / 2;

		if (pairs[mid][0] < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr && pairs[lo][0] == offset ? text + pairs[lo][1] : NULL;
}

/* The lock that is taken by the call before a return address, or NULL. */
static const char *lk_site_name(unsigned long ip)
{
	unsigned int i;

	for (i = 0; i < lk_names_nr; i++) {
		const struct lk_names *n = lk_names[i].names;
		const char *name;

		if (!lk_names[i].at || ip - lk_names[i].at > U32_MAX)
			continue;
		name = lk_names_look(n->text, n->sites, n->sites_nr, ip - lk_names[i].at);
		if (name)
			return name;
	}
	return NULL;
}

/* The lock at a fixed address, or NULL. */
static const char *lk_fixed_name(unsigned long lock)
{
	unsigned int i;

	for (i = 0; i < lk_names_nr; i++) {
		const struct lk_names *n = lk_names[i].names;
		const char *name;

		if (!lk_names[i].at || lock - lk_names[i].at > U32_MAX)
			continue;
		name = lk_names_look(n->text, n->fixed, n->fixed_nr, lock - lk_names[i].at);
		if (name)
			return name;
	}
	return NULL;
}

static const char *lk_percpu_name(unsigned long offset)
{
	unsigned int i;

	for (i = 0; i < lk_names_nr; i++) {
		const struct lk_names *n = lk_names[i].names;
		const char *name = lk_names_look(n->text, n->percpu, n->percpu_nr, offset);

		if (name)
			return name;
	}
	return NULL;
}

/* Are they the same NAME? The [] of arrays may be left out. */
static bool lk_same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == '[' || *a == ']')
			a++;
		while (*b == '[' || *b == ']')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* Whether any lock that can be waited for has the NAME. */
static bool lk_names_have(const char *name)
{
	unsigned int i;
	unsigned long j;

	for (i = 0; i < lk_names_nr; i++) {
		const struct lk_names *n = lk_names[i].names;

		for (j = 0; j < n->sites_nr; j++)
			if (lk_same_name(n->text + n->sites[j][1], name))
				return true;
	}
	return false;
}

/* In the table of one file only: does the call before this address take the lock of the NAME? */
static bool lk_is_named(const struct lk_names *names, unsigned int nr, unsigned long ip,
			const char *name)
{
	unsigned int i, j;

	for (i = 0; i < lk_names_nr; i++) {
		for (j = 0; j < nr; j++) {
			const struct lk_names *n = &names[j];
			const char *found;

			if (lk_names[i].names != n || !lk_names[i].at ||
			    ip - lk_names[i].at > U32_MAX)
				continue;
			found = lk_names_look(n->text, n->sites, n->sites_nr, ip - lk_names[i].at);
			if (found)
				return lk_same_name(found, name);
		}
	}
	return false;
}

#endif
