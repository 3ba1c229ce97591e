/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a report as stacks with a time, for flame graphs and profiles. */
#ifndef LOCKTAP_REPORT_STACK_H
#define LOCKTAP_REPORT_STACK_H

#include "report_read.h"

enum stacks_of {
	STACKS_WHOLE, /* as format=folded of the scripts has them */
	STACKS_WAITERS, /* who waited, and on top the lock */
	STACKS_HOLDERS, /* who held what others waited for, and on top the lock */
};

struct report_stack {
	const char **frames; /* the outermost first */
	size_t count;
	uint64_t times, ns;
	const struct report_row *row;
	bool has_lock; /* the last frame is the lock */
};

/*
 * The stacks of a report, in the order of its rows; none if it has no such.
 * Where a row has no stack its caller stands for it. False: out of memory. They
 * live as long as the set.
 */
bool report_stacks(struct report_set *set, const struct report *report,
		   enum stacks_of of, struct report_stack **stacks,
		   size_t *count);

/* Was it made with by=stack? */
bool report_has_stacks(const struct report *report);

#endif
