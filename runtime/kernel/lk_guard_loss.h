/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between guarded reads and reports: a script may have either without the
 * other, so both have this text and whichever comes first defines it.
 */
#ifndef LK_GUARD_LOSS_H
#define LK_GUARD_LOSS_H

/* Sums of the guarded reads that were made, and given up; NULL: the script has none. */
static void (*lk_guard_sum)(u64 *reads, u64 *aborts);

#endif
