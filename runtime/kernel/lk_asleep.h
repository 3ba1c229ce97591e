/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lock does a task sleep on? Found without having seen it begin: what
 * was asleep before the probes were armed, and whether it still is.
 *
 * The task's stack tells which slow path it is in. The lock is found in one of
 * two ways, and both are proofs. The kernel's lists of waiters run through a
 * structure on each waiter's stack (`.task` names it): walked around, the list
 * leads to the lock that it is in. Where the list does not go through the lock
 * (Linux 7.1 and later keep a pointer to the first waiter), the lock is that
 * address on the sleeper's stack, or in its `blocker`, whose list of waiters
 * has this sleeper in it. An rt_mutex's waiter names the lock itself.
 *
 * Nothing is held while this is done, so whatever is read is read as if it
 * were gone, and the answer counts only if the task has slept all the while.
 */
#ifndef LK_ASLEEP_H
#define LK_ASLEEP_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_wait.h"

/* Linux 7.1 keeps a lock's waiters in a ring without a head. */
#define LK_RING_ONLY (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0))

#define LK_ASLEEP_WORDS 192 /* of the sleeper's stack, from its saved stack pointer on */
#define LK_ASLEEP_RING 256 /* waiters of one lock that are looked at */

struct lk_asleep {
	unsigned long lock;
	u64 slept_ns;
	u32 ip; /* the caller of the lock function */
	u8 kind, mode;
	bool queued; /* of a percpu_rwsem: among others; else it waits for readers to leave */
	u32 n;
	u32 ips[LK_DEPTH];
};

/* One at a time: the begin probe's, or the end probe's. */
static unsigned long lk_asleep_word[LK_ASLEEP_WORDS];

/* The functions that sleep for a lock, by the beginning of their names. */
static const struct {
	const char *function;
	u8 kind, mode;
} lk_asleep_in[] = {
	{ "__mutex_lock", LK_MUTEX, LK_X },
	{ "__ww_mutex_lock", LK_MUTEX, LK_X },
	{ "rwsem_down_read_slowpath", LK_RWSEM, LK_R },
	{ "rwsem_down_write_slowpath", LK_RWSEM, LK_W },
	{ "___down_common", LK_SEM, LK_X },
	{ "__down", LK_SEM, LK_X },
	{ "rt_mutex_slowlock", LK_RTMUTEX, LK_X },
	{ "__rt_mutex_slowlock", LK_RTMUTEX, LK_X },
	{ "rt_mutex_wait_proxy_lock", LK_RTMUTEX, LK_X },
	{ "percpu_rwsem_wait", LK_PERCPU_RWSEM, LK_R },
	{ "percpu_down_write", LK_PERCPU_RWSEM, LK_W },
};

/* ... and those between them and the CPU. */
static const char *const lk_asleep_below[] = {
	"__schedule",	     "schedule",	 "preempt_schedule",	      "io_schedule",
	"rt_mutex_schedule", "schedule_timeout", "schedule_preempt_disabled",
};

static bool lk_word_at(unsigned long at, unsigned long *to)
{
	return !(at & (sizeof(long) - 1)) && at >= PAGE_OFFSET &&
	       !copy_from_kernel_nofault(to, (const void *)at, sizeof(*to));
}

static bool lk_begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/*
 * A task that has ended keeps its task_struct until it is reaped, and its stack no longer:
 * that goes an RCU grace period after its last turn on a CPU, when it was TASK_DEAD already
 * (finish_task_switch() in kernel/sched/core.c, release_task_stack() in kernel/fork.c). So of
 * one that is not, it stays while interrupts are masked or RCU is held.
 */
static bool lk_has_stack(const struct task_struct *task)
{
	return !(READ_ONCE(task->__state) & TASK_DEAD) && READ_ONCE(task->stack);
}

/* The task's stack, and the slow path that it is in. */
static bool lk_asleep_stack(struct task_struct *task, struct lk_asleep *a)
{
	char sym[KSYM_SYMBOL_LEN];
	struct unwind_state st;
	bool found = false, below = true;
	unsigned int steps = 0, i;
	unsigned long ip;

	a->n = 0;
	a->ip = 0;
	for (unwind_start(&st, task, NULL, NULL); !unwind_done(&st) && steps < LK_DEPTH;
	     unwind_next_frame(&st), steps++) {
		ip = unwind_get_return_address(&st);
		if (!ip)
			break;
		if (!found) {
			sprint_symbol_no_offset(sym, ip - 1);
			for (i = 0; i < ARRAY_SIZE(lk_asleep_in) && !found; i++)
				if (lk_begins_with(sym, lk_asleep_in[i].function)) {
					a->kind = lk_asleep_in[i].kind;
					a->mode = lk_asleep_in[i].mode;
					a->queued = lk_begins_with(sym, "percpu_rwsem_wait");
					found = true;
				}
			for (i = 0; i < ARRAY_SIZE(lk_asleep_below) && !found; i++)
				if (!strcmp(sym, lk_asleep_below[i]))
					break;
			if (!found && i == ARRAY_SIZE(lk_asleep_below))
				return false;
		}
		if (!found || below) {
			below = !found || lk_frame_class(ip) & LK_FR_SKIP;
			/* A percpu_rwsem's reader and writer sleep in one function. */
			if (found && a->kind == LK_PERCPU_RWSEM) {
				sprint_symbol_no_offset(sym, ip - 1);
				if (lk_begins_with(sym, "percpu_down_write"))
					a->mode = LK_W;
			}
			if (below)
				continue;
			a->ip = (u32)ip;
		}
		a->ips[a->n++] = (u32)ip;
	}
	return found && a->ip;
}

/* Is this a waiter (`.task` behind its list) of a task on whose stack it lies? */
static bool lk_is_waiter(unsigned long waiter)
{
	unsigned long task, stack;

	return lk_word_at(waiter + 2 * sizeof(long), &task) &&
	       lk_word_at(task + offsetof(struct task_struct, stack), &stack) &&
	       waiter - stack < THREAD_SIZE;
}

/* What is a list has its neighbours' words for it. */
static bool lk_is_listed(unsigned long list)
{
	unsigned long next, prev, back;

	return lk_word_at(list, &next) && lk_word_at(list + sizeof(long), &prev) &&
	       lk_word_at(next + sizeof(long), &back) && back == list && lk_word_at(prev, &back) &&
	       back == list;
}

/* Where a lock has its list of waiters, or its first waiter. */
static unsigned long lk_waiters_offset(unsigned int kind)
{
	switch (kind) {
#if LK_RING_ONLY
	case LK_MUTEX:
		return offsetof(struct mutex, first_waiter);
	case LK_RWSEM:
		return offsetof(struct rw_semaphore, first_waiter);
	default:
		return offsetof(struct semaphore, first_waiter);
#else
	case LK_MUTEX:
		return offsetof(struct mutex, wait_list);
	case LK_RWSEM:
		return offsetof(struct rw_semaphore, wait_list);
	default:
		return offsetof(struct semaphore, wait_list);
#endif
	}
}

#if LK_RING_ONLY
/* Is the waiter in the lock's ring of waiters? */
static bool lk_waits_in(unsigned int kind, unsigned long lock, unsigned long waiter)
{
	unsigned long first, at;
	unsigned int i;

	if (!lk_word_at(lock + lk_waiters_offset(kind), &first) || !first || !lk_is_waiter(first))
		return false;
	for (at = first, i = 0; i < LK_ASLEEP_RING; i++) {
		if (at == waiter)
			return true;
		if (!lk_word_at(at, &at) || at == first)
			return false;
	}
	return false;
}

static unsigned long lk_asleep_listed(struct task_struct *task, unsigned int kind,
				      unsigned long waiter, unsigned int words)
{
	unsigned int i;

#ifdef CONFIG_DETECT_HUNG_TASK_BLOCKER
	unsigned long blocker = READ_ONCE(task->blocker) & ~3ul;

	if (blocker && lk_waits_in(kind, blocker, waiter))
		return blocker;
#endif
	for (i = 0; i < words; i++)
		if (lk_waits_in(kind, lk_asleep_word[i], waiter))
			return lk_asleep_word[i];
	return 0;
}
#else
static unsigned long lk_asleep_listed(struct task_struct *task, unsigned int kind,
				      unsigned long waiter, unsigned int words)
{
	unsigned long at = waiter;
	unsigned int i;

	for (i = 0; i < LK_ASLEEP_RING; i++) {
		if (!lk_word_at(at, &at) || at == waiter)
			return 0;
		if (!lk_is_waiter(at))
			return at - lk_waiters_offset(kind);
	}
	return 0;
}
#endif

/* The rt_mutex's waiter has the task and behind it the lock: kernel/locking/rtmutex_common.h. */
static unsigned long lk_asleep_rtmutex(struct task_struct *task)
{
#ifdef CONFIG_RT_MUTEXES
	unsigned long at = (unsigned long)READ_ONCE(task->pi_blocked_on), word, lock;
	unsigned int i;

	for (i = 0; at && i < 16; i++, at += sizeof(long))
		if (lk_word_at(at, &word) && word == (unsigned long)task &&
		    lk_word_at(at + sizeof(long), &lock))
			return lock;
#endif
	return 0;
}

/* The writer that waits for readers to leave is in `writer`. */
static unsigned long lk_asleep_writer(struct task_struct *task, unsigned int words)
{
	unsigned long word, at;
	unsigned int i;

	for (i = 0; i < words; i++) {
		at = lk_asleep_word[i];
		if (at - (unsigned long)task->stack >= THREAD_SIZE &&
		    lk_word_at(at + offsetof(struct percpu_rw_semaphore, writer), &word) &&
		    word == (unsigned long)task)
			return at;
	}
	return 0;
}

/* The others are in its queue: flags, private, func, entry. */
static unsigned long lk_asleep_queued(struct task_struct *task, unsigned int words)
{
	unsigned long word, func, at;
	unsigned int i, n;

	for (i = 0; i + 4 < words; i++) {
		unsigned long first = task->thread.sp + (i + 2) * sizeof(long);

		func = lk_asleep_word[i + 1];
		if (lk_asleep_word[i] != (unsigned long)task || !lk_is_text(func) ||
		    !lk_is_listed(first))
			continue;
		for (at = first, n = 0; n < LK_ASLEEP_RING; n++) {
			if (!lk_word_at(at, &at) || at == first)
				break;
			if (!lk_word_at(at - sizeof(long), &word) || word != func)
				return at - offsetof(struct percpu_rw_semaphore, waiters) -
				       offsetof(wait_queue_head_t, head);
		}
	}
	return 0;
}

static unsigned long lk_asleep_lock(struct task_struct *task, const struct lk_asleep *a)
{
	unsigned long sp = READ_ONCE(task->thread.sp), stack = (unsigned long)task->stack;
	unsigned int words, i;

	if (a->kind == LK_RTMUTEX)
		return lk_asleep_rtmutex(task);
	if (sp - stack >= THREAD_SIZE || sp & (sizeof(long) - 1))
		return 0;
	words = min_t(unsigned long, LK_ASLEEP_WORDS, (stack + THREAD_SIZE - sp) / sizeof(long));
	if (copy_from_kernel_nofault(lk_asleep_word, (void *)sp, words * sizeof(long)))
		return 0;
	if (a->kind == LK_PERCPU_RWSEM)
		return a->queued ? lk_asleep_queued(task, words) : lk_asleep_writer(task, words);
	for (i = 2; i < words; i++) {
		unsigned long waiter = sp + (i - 2) * sizeof(long), lock;

		if (lk_asleep_word[i] != (unsigned long)task || !lk_is_waiter(waiter) ||
		    !lk_is_listed(waiter))
			continue;
		lock = lk_asleep_listed(task, a->kind, waiter, words);
		if (lock)
			return lock;
	}
	return 0;
}

/*
 * For how long it has slept: since the scheduler last accounted for it, which
 * is when it left its CPU (kernel/sched/fair.c), by the scheduler's clock.
 */
static u64 lk_slept_ns(const struct task_struct *task)
{
	u64 now = local_clock(), last = READ_ONCE(task->se.exec_start);

	return last && now > last ? now - last : 0;
}

/*
 * Does the task sleep on a lock? In begin and end probes only. Interrupts are
 * masked or RCU is held, so that the task can be read.
 */
static bool lk_asleep_on(struct task_struct *task, struct lk_asleep *a)
{
	unsigned long switches = task->nvcsw + task->nivcsw;

	memset(a, 0, offsetof(struct lk_asleep, ips));
	if (task == current || !READ_ONCE(task->__state) || READ_ONCE(task->on_cpu) ||
	    !lk_has_stack(task))
		return false;
	if (!lk_asleep_stack(task, a))
		return false;
	a->slept_ns = lk_slept_ns(task);
	a->lock = lk_asleep_lock(task, a);
	return a->lock && READ_ONCE(task->__state) && task->nvcsw + task->nivcsw == switches;
}

#endif
