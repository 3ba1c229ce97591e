/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the kernel's begin and end events to waits.
 *
 * A spinning wait lives on its CPU's stack of waits (an interrupt's wait
 * lies above the one it interrupted), a sleeping one in a table by task.
 * A function here may be called more than once for one event, by several
 * probes of a script; each call after the first gives the first's answer.
 */
#ifndef LK_WAIT_H
#define LK_WAIT_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_stat.h"

/* lk_chain.h, where lk_kernel.chains: a wait is over, or given up. */
static void lk_chain_end(struct lk_cpu *cpu, const struct lk_wait *w, s64 ret, u64 now);
static void lk_chain_none(struct lk_cpu *cpu, const struct lk_wait *w);
static void lk_chain_gone(const struct lk_wait *w);

/* lk_blame.h, where lk_kernel.blames: a wait was none, or its end was not seen. */
static void lk_blame_none(struct lk_cpu *cpu, const struct lk_wait *w);

#define LK_WAYS 8
#define LK_WAIT_SETS (LOCKTAP_WAITS / LK_WAYS)

/* The task of each open wait, apart so that a set's keys are one cache line. */
static struct task_struct *lk_wait_task[LK_WAIT_SETS][LK_WAYS] ____cacheline_aligned;
static struct lk_wait lk_waits[LK_WAIT_SETS][LK_WAYS];

/*
 * The tid in an owner word. A holder's task is freed an RCU grace period
 * after it has let go at the earliest, and here interrupts are masked: it
 * can be read, as the kernel's own spinning waiters do.
 */
static s32 lk_owner_tid(unsigned long word, unsigned long flag_bits)
{
	const struct task_struct *task = (const void *)(word & ~flag_bits);

	return task ? READ_ONCE(task->pid) : 0;
}

/* A hint that somebody may have kept of a task that is gone: still a thread? */
static struct task_struct *lk_hinted(struct task_struct *task)
{
	pid_t tid = 0;

	if (!task || copy_from_kernel_nofault(&tid, &task->pid, sizeof(tid)) || !tid)
		return NULL;
	return pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID) == task ? task : NULL;
}

/* The tid of a task that may be gone: `from` must still name it afterwards. */
static s32 __maybe_unused lk_hint_tid(const void *from)
{
	struct task_struct *task = lk_peek_pointer(from);
	pid_t tid = 0;

	if (!task || copy_from_kernel_nofault(&tid, &task->pid, sizeof(tid)))
		return 0;
	return lk_peek_pointer(from) == task ? tid : 0;
}

/*
 * Who holds the lock, where the lock tells. Low bits of an owner word are
 * flags: kernel/locking/mutex.h MUTEX_FLAGS, rwsem.c RWSEM_OWNER_FLAGS_MASK
 * (bit 0: readers hold it, and the task is a hint only), rtmutex_common.h
 * RT_MUTEX_HAS_WAITERS.
 */
static s32 lk_owner(unsigned int kind, unsigned long lock)
{
	switch (kind) {
	case LK_MUTEX:
		return lk_owner_tid(atomic_long_read(&((struct mutex *)lock)->owner), 7);
	case LK_RWSEM: {
		unsigned long word = atomic_long_read(&((struct rw_semaphore *)lock)->owner);

		return word & 1 ? 0 : lk_owner_tid(word, 7);
	}
	case LK_RTMUTEX:
		return lk_owner_tid((unsigned long)READ_ONCE(((struct rt_mutex_base *)lock)->owner),
				    1);
#ifdef CONFIG_DETECT_HUNG_TASK_BLOCKER
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	case LK_SEM:
		return lk_hint_tid(&((struct semaphore *)lock)->last_holder);
#endif
#endif
	default:
		return 0;
	}
}

/* Bytes of the lock, its internal spinlock among them. */
static inline unsigned long lk_kind_bytes(unsigned int kind)
{
	switch (kind) {
	case LK_RWLOCK:
		return sizeof(rwlock_t);
	case LK_MUTEX:
		return sizeof(struct mutex);
	case LK_RWSEM:
		return sizeof(struct rw_semaphore);
	case LK_SEM:
		return sizeof(struct semaphore);
	case LK_RTMUTEX:
		return sizeof(struct rt_mutex);
	case LK_PERCPU_RWSEM:
		return sizeof(struct percpu_rw_semaphore);
	default:
		return 0;
	}
}

static inline bool lk_is_inside(const struct lk_wait *outer, unsigned long lock)
{
	return lock - outer->lock < lk_kind_bytes(outer->kind);
}

static inline unsigned int lk_wait_set(struct task_struct *task)
{
	return hash_ptr(task, 32) % LK_WAIT_SETS;
}

/*
 * A wait for a lock of a program that a signal has interrupted. The lock function may go on
 * with it, at the same place on its stack as soon as the program's handler is through; else it
 * has found the lock free, and nothing tells when.
 */
#define LK_RESTART_NS (100 * NSEC_PER_MSEC)

static inline bool lk_is_interrupted(const struct lk_wait *w)
{
	return lk_is_user(w->kind) && READ_ONCE(w->flags) == LK_F_RESTARTS;
}

static inline bool lk_is_past_restart(const struct lk_wait *w, u64 now)
{
	return lk_is_interrupted(w) && now - w->phase_ns >= LK_RESTART_NS;
}

/* No open wait in this set, of any task? The usual case, and quick. */
static inline bool lk_wait_set_empty(unsigned int set)
{
	struct task_struct *const *key = lk_wait_task[set];
	unsigned long any = 0;
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < LK_WAYS; i++)
		any |= (unsigned long)key[i];
	return !any;
}

static struct lk_wait *lk_task_wait(struct task_struct *task, unsigned long lock)
{
	unsigned int set = lk_wait_set(task), i;
	struct task_struct *const *key = lk_wait_task[set];
	struct lk_wait *w = lk_waits[set];

	for (i = 0; i < LK_WAYS; i++, key++, w++)
		if (*key == task && w->lock == lock)
			return w;
	return NULL;
}

/* Its end was not seen. */
static void lk_wait_lost(struct lk_cpu *cpu, const struct lk_wait *w)
{
	cpu->counts.unmatched++;
	if (unlikely(lk_kernel.blames))
		lk_blame_none(cpu, w);
}

static void lk_task_wait_drop(struct lk_wait *w)
{
	unsigned int i = w - &lk_waits[0][0];

	if (unlikely(lk_kernel.chains))
		lk_chain_gone(w);
	smp_store_release(&lk_wait_task[i / LK_WAYS][i % LK_WAYS], NULL);
}

/* Its end was not seen, and will not be. */
static void lk_task_wait_lose(struct lk_cpu *cpu, struct lk_wait *w)
{
	if (!w->tentative)
		lk_wait_lost(cpu, w);
	lk_task_wait_drop(w);
}

/* Is it this task's, not that of one that went away and whose address came back? */
static inline bool lk_is_of_task(const struct lk_wait *w, const struct task_struct *task)
{
	return READ_ONCE(w->tid) == task->pid;
}

/* The place of one that has gone away in its wait. */
static noinline struct lk_wait *lk_task_wait_heir(struct lk_cpu *cpu, struct task_struct *task)
{
	unsigned int set = lk_wait_set(task), i;

	for (i = 0; i < LK_WAYS; i++) {
		struct task_struct *key = READ_ONCE(lk_wait_task[set][i]);
		struct lk_wait *w = &lk_waits[set][i];

		if (!key || lk_hinted(key) || cmpxchg(&lk_wait_task[set][i], key, task) != key)
			continue;
		if (!w->tentative)
			lk_wait_lost(cpu, w);
		if (unlikely(lk_kernel.chains))
			lk_chain_gone(w);
		return w;
	}
	cpu->counts.waits_full++;
	return NULL;
}

static struct lk_wait *lk_task_wait_new(struct lk_cpu *cpu, struct task_struct *task)
{
	unsigned int set = lk_wait_set(task), i;
	struct task_struct **key = lk_wait_task[set];
	struct lk_wait *w = lk_waits[set];

	for (i = 0; i < LK_WAYS; i++, key++, w++) {
		if (unlikely(*key == task) && !lk_is_of_task(w, task))
			lk_task_wait_lose(cpu, w);
		if (!READ_ONCE(*key) && cmpxchg(key, NULL, task) == NULL)
			return w;
	}
	return lk_task_wait_heir(cpu, task);
}

static bool lk_inside_task_wait(struct task_struct *task, unsigned long lock)
{
	unsigned int set = lk_wait_set(task), i;

	for (i = 0; i < LK_WAYS; i++)
		if (lk_wait_task[set][i] == task && lk_is_of_task(&lk_waits[set][i], task) &&
		    lk_is_inside(&lk_waits[set][i], lock))
			return true;
	return false;
}

static void lk_event(struct lk_cpu *cpu, enum lk_op op, const struct lk_wait *w, u8 valid)
{
	struct lk_event *ev = &cpu->ev;

	ev->op = op;
	ev->at_return = 0;
	ev->at_entry = op == LK_BEGIN;
	ev->ip = 0;
	ev->got_known = 0;
	ev->task = current;
	ev->lock = w->lock;
	ev->kind = w->kind;
	ev->mode = w->mode;
	ev->owner = w->owner;
	ev->begin_ns = w->begin_ns;
	ev->ret = 0;
	ev->wait_ns = ev->spin_ns = ev->block_ns = 0;
	ev->valid = valid;
}

/* The event that another handler has just been called for? */
static inline bool lk_again(const struct lk_cpu *cpu, enum lk_op op, unsigned long lock)
{
	return cpu->ev.op == op && cpu->ev.lock == lock && cpu->ev.task == current &&
	       !cpu->ev.at_return;
}

static void lk_wait_open(struct lk_wait *w, unsigned long lock, unsigned int kind,
			 unsigned int mode, u32 flags, u64 now)
{
	w->task = current;
	w->tid = current->pid;
	w->lock = lock;
	w->kind = kind;
	w->mode = mode;
	w->begin_ns = w->phase_ns = now;
	w->spin_ns = 0;
	w->flags = flags;
	w->skipped = lk_skips();
	w->owner = lk_owner(kind, lock);
	w->level = 0;
	w->inner = 0;
	w->tentative = 0;
	w->spinning = (flags & (LK_F_SPIN | LK_F_ENTRY)) != 0;
	if (unlikely(lk_opt.events))
		lk_stat_begin(w);
}

/* A further begin of the same wait: from spinning to sleeping or back. */
static void lk_wait_phase(struct lk_wait *w, u32 flags, u64 now)
{
	if (w->spinning)
		w->spin_ns += now - w->phase_ns;
	w->phase_ns = now;
	w->flags = flags;
	w->spinning = (flags & LK_F_SPIN) != 0;
}

/* The wait is over: its times become the event's. */
static bool lk_wait_close(struct lk_cpu *cpu, const struct lk_wait *w, s64 ret, u64 now)
{
	struct lk_event *ev = &cpu->ev;
	bool told = !w->inner && !w->tentative;

	lk_event(cpu, LK_END, w, told);
	ev->ret = ret;
	ev->wait_ns = now - w->begin_ns;
	ev->spin_ns = w->spin_ns + (w->spinning ? now - w->phase_ns : 0);
	ev->block_ns = ev->wait_ns - ev->spin_ns;
	if (unlikely(lk_opt.events))
		lk_stat_end(ev, w);
	if (unlikely(lk_kernel.chains))
		lk_chain_end(cpu, w, ret, now);
	return told;
}

/*
 * Spinning waits. Two of them on one level of one CPU are possible only
 * as a lock and its internal lock; anything else left on this level or
 * above it is a wait whose end was lost.
 */
static void lk_spin_forget(struct lk_cpu *cpu, unsigned int keep)
{
	while (cpu->nspin > keep) {
		cpu->nspin--;
		if (!cpu->spin[cpu->nspin].inner)
			lk_wait_lost(cpu, &cpu->spin[cpu->nspin]);
		if (unlikely(lk_kernel.chains))
			lk_chain_gone(&cpu->spin[cpu->nspin]);
	}
}

static int lk_spin_begin(struct lk_cpu *cpu, unsigned int level, unsigned long lock,
			 unsigned int kind, unsigned int mode, u32 flags)
{
	struct lk_wait *top = NULL;
	bool inner = false;

	while (cpu->nspin && cpu->spin[cpu->nspin - 1].level > level)
		lk_spin_forget(cpu, cpu->nspin - 1);
	if (cpu->nspin && cpu->spin[cpu->nspin - 1].level == level)
		top = &cpu->spin[cpu->nspin - 1];
	if (top && top->lock == lock && top->kind == kind) {
		if (top->flags == flags && lk_again(cpu, LK_BEGIN, lock))
			return cpu->ev.valid;
		if (top->flags & LK_F_ENTRY && !(flags & LK_F_ENTRY)) {
			top->flags = flags;
			lk_event(cpu, LK_BEGIN, top, 0);
			return 0;
		}
		lk_spin_forget(cpu, cpu->nspin - 1);
	} else if (top) {
		inner = lk_is_inside(top, lock);
		if (!inner)
			lk_spin_forget(cpu, cpu->nspin - 1);
	}
	if (!inner && !level)
		inner = lk_inside_task_wait(current, lock);
	if (unlikely(cpu->nspin >= LK_SPIN_DEPTH)) {
		cpu->counts.waits_full++;
		cpu->ev.op = LK_NONE;
		return 0;
	}
	top = &cpu->spin[cpu->nspin++];
	lk_wait_open(top, lock, kind, mode, flags, lk_now_ns());
	top->level = level;
	top->spinning = 1;
	top->inner = inner;
	cpu->counts.inner += inner;
	lk_event(cpu, LK_BEGIN, top, !inner);
	return !inner;
}

static int lk_spin_close(struct lk_cpu *cpu, unsigned int i, s64 ret)
{
	lk_spin_forget(cpu, i + 1);
	cpu->nspin = i;
	return lk_wait_close(cpu, &cpu->spin[i], ret, lk_now_ns());
}

/* Which kind and mode a begin event speaks of. */
static void lk_flags_kind(u32 flags, unsigned int *kind, unsigned int *mode)
{
	*mode = flags & LK_F_READ ? LK_R : flags & LK_F_WRITE ? LK_W : LK_X;
	if (flags & LK_F_MUTEX)
		*kind = LK_MUTEX;
	else if (flags & LK_F_PERCPU)
		*kind = LK_PERCPU_RWSEM;
	else if (flags & LK_F_RT)
		*kind = *mode == LK_X ? LK_RTMUTEX : LK_RWLOCK;
	else if (flags & LK_F_SPIN)
		*kind = *mode == LK_X ? LK_SPIN : LK_RWLOCK;
	else
		*kind = *mode == LK_X ? LK_SEM : LK_RWSEM;
}

/*
 * Does a percpu_rwsem writer have to wait? Another writer has it, or
 * readers are inside (their counters do not sum up to zero).
 */
static bool lk_percpu_busy(unsigned long lock)
{
	return lk_percpu_block(lock) || lk_percpu_readers(lock);
}

/*
 * Is an open wait continued by a begin of its kind with these flags, or was
 * its end lost? A mutex's begins alternate between spinning and queued, others
 * have one after the entry; only a mutex starts again with the same flags
 * as it continues. A task that has been queued then has a state to sleep in
 * (__mutex_lock_common() in kernel/locking/mutex.c); if somebody has just woken
 * it once more, the skip count decides.
 */
static bool lk_continues(const struct lk_wait *w, unsigned int kind, unsigned int mode, u32 flags)
{
	if (!lk_is_of_task(w, current) || w->kind != kind || w->mode != mode || w->flags == flags)
		return false;
	if (kind != LK_MUTEX)
		return w->flags == LK_F_ENTRY;
	return flags != (LK_F_MUTEX | LK_F_SPIN) || READ_ONCE(current->__state) != TASK_RUNNING ||
	       w->skipped == lk_skips();
}

static int lk_task_begin(struct lk_cpu *cpu, unsigned long lock, unsigned int kind,
			 unsigned int mode, u32 flags)
{
	struct lk_wait *w = lk_wait_set_empty(lk_wait_set(current)) ? NULL :
								      lk_task_wait(current, lock);
	bool busy = kind != LK_PERCPU_RWSEM || mode != LK_W || lk_percpu_busy(lock);

	if (w && w->flags == flags && lk_again(cpu, LK_BEGIN, lock))
		return cpu->ev.valid;
	if (w && lk_continues(w, kind, mode, flags)) {
		bool begins = w->tentative && busy;

		lk_wait_phase(w, flags, lk_now_ns());
		w->tentative = w->tentative && !busy;
		if (unlikely(lk_opt.events && begins))
			lk_stat_begin(w);
		lk_event(cpu, LK_BEGIN, w, begins);
		return begins;
	}
	if (w)
		lk_task_wait_lose(cpu, w);
	w = lk_task_wait_new(cpu, current);
	if (!w) {
		cpu->ev.op = LK_NONE; /* nor is its end the last one's */
		return 0;
	}
	lk_wait_open(w, lock, kind, mode, flags, lk_now_ns());
	if (kind == LK_PERCPU_RWSEM)
		w->spinning = 0; /* it sleeps through the RCU grace period */
	w->tentative = !busy;
	lk_event(cpu, LK_BEGIN, w, busy);
	return busy;
}

static int lk_task_close(struct lk_cpu *cpu, struct lk_wait *w, s64 ret)
{
	int told = lk_wait_close(cpu, w, ret, lk_now_ns());

	lk_task_wait_drop(w);
	return told;
}

/* The lock:contention_begin tracepoint. 1: a wait has begun. */
static int lk_tp_begin(const struct lk_at *at, unsigned long lock, u32 flags)
{
	struct lk_cpu *cpu = lk_this_cpu();
	unsigned int kind, mode;

	if (unlikely(!cpu))
		return 0;
	lk_flags_kind(flags, &kind, &mode);
	if ((flags & (LK_F_SPIN | LK_F_MUTEX | LK_F_RT | LK_F_PERCPU)) == LK_F_SPIN) {
		struct lk_wait *top = cpu->nspin ? &cpu->spin[cpu->nspin - 1] : NULL;

		if (kind == LK_SPIN && !(top && top->lock == lock)) {
			/* Not seen at an entry: paravirtual, rqspinlock, or not prepared. */
			if (lk_is_resilient(cpu))
				kind = LK_RQSPIN;
			else
				cpu->counts.queued++;
		}
		return lk_spin_begin(cpu, lk_level(at), lock, kind, mode, flags);
	}
	return lk_task_begin(cpu, lock, kind, mode, flags);
}

/* The lock:contention_end tracepoint. 1: a wait is over. */
static int lk_tp_end(const struct lk_at *at, unsigned long lock, s64 ret)
{
	struct lk_cpu *cpu = lk_this_cpu();
	unsigned int level, n;
	struct lk_wait *w;

	if (unlikely(!cpu))
		return 0;
	level = lk_level(at);
	for (n = cpu->nspin; n && cpu->spin[n - 1].level >= level; n--)
		if (cpu->spin[n - 1].lock == lock && cpu->spin[n - 1].level == level)
			return lk_spin_close(cpu, n - 1, ret);
	w = lk_task_wait(current, lock);
	if (w && lk_is_of_task(w, current))
		return lk_task_close(cpu, w, ret);
	if (lk_again(cpu, LK_END, lock))
		return cpu->ev.valid;
	cpu->counts.unmatched++;
	return 0;
}

/* Entry of the queued spinlock's slow path. 1: a wait has begun. */
static int lk_spin_entry(const struct lk_at *at, unsigned long lock)
{
	struct lk_cpu *cpu = lk_this_cpu();

	if (unlikely(!cpu))
		return 0;
	if (lk_kernel.virt_spin || !lk_kernel.sees_pending) {
		/* The end of this wait, or of a first waiter's, cannot be seen: count only. */
		cpu->counts.entries++;
		return 0;
	}
	return lk_spin_begin(cpu, lk_level(at), lock, LK_SPIN, LK_X, LK_F_SPIN | LK_F_ENTRY);
}

/* The spinlock's first waiter has got it. */
static int lk_spin_got(const struct lk_at *at)
{
	unsigned int level = lk_level(at), n;
	struct lk_cpu *cpu = lk_this_cpu();

	if (unlikely(!cpu))
		return 0;
	n = cpu->nspin;
	if (n && cpu->spin[n - 1].level == level && cpu->spin[n - 1].kind == LK_SPIN)
		return lk_spin_close(cpu, n - 1, 0);
	if (cpu->ev.op == LK_END && cpu->ev.kind == LK_SPIN && cpu->ev.task == current)
		return cpu->ev.valid;
	return 0; /* entered before the probes were armed */
}

/* Entry of a sleeping lock's slow path that may spin or wait untold. */
static int lk_task_entry(unsigned long lock, unsigned int kind)
{
	struct lk_cpu *cpu = lk_this_cpu();

	if (unlikely(!cpu))
		return 0;
	return lk_task_begin(cpu, lock, kind, LK_W, LK_F_ENTRY);
}

/*
 * The task's open wait of a kind as a writer. A task is in one function that waits at a time, so
 * of several the newest is meant, and the ends of the others were not seen.
 */
static struct lk_wait *lk_task_newest(struct lk_cpu *cpu, unsigned int kind)
{
	unsigned int set = lk_wait_set(current), i;
	struct lk_wait *newest = NULL;

	for (i = 0; i < LK_WAYS; i++) {
		struct lk_wait *w = &lk_waits[set][i], *older = w;

		if (lk_wait_task[set][i] != current || w->kind != kind || w->mode != LK_W)
			continue;
		if (lk_is_of_task(w, current) && (!newest || w->begin_ns >= newest->begin_ns)) {
			older = newest;
			newest = w;
		}
		if (older)
			lk_task_wait_lose(cpu, older);
	}
	return newest;
}

/*
 * ... and its return: the wait is over unless the tracepoint said so. A rwsem's function
 * returns the `lock` that it has got; 0: it has got none, or does not say.
 */
static int lk_task_return(unsigned int kind, unsigned long lock, s64 ret)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_wait *w;

	if (unlikely(!cpu))
		return 0;
	w = lk_task_newest(cpu, kind);
	if (w && lock && w->lock != lock) {
		lk_task_wait_lose(cpu, w);
		cpu->ev.op = LK_NONE;
		return 0;
	}
	if (w) {
		int told = lk_task_close(cpu, w, ret);

		cpu->ev.at_return = 1;
		return told;
	}
	if (cpu->ev.op == LK_END && cpu->ev.at_return && cpu->ev.kind == kind &&
	    cpu->ev.task == current)
		return cpu->ev.valid;
	return 0;
}

/* The RCU grace period in percpu_down_write() is over: readers inside now? */
static int lk_percpu_synced(void)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_wait *w;

	if (unlikely(!cpu))
		return 0;
	w = lk_task_newest(cpu, LK_PERCPU_RWSEM);
	if (!w)
		return 0;
	if (!w->tentative) /* another handler may have been told so */
		return cpu->ev.op == LK_BEGIN && cpu->ev.at_return && cpu->ev.lock == w->lock &&
		       cpu->ev.task == current && cpu->ev.valid;
	if (!lk_percpu_busy(w->lock))
		return 0;
	w->tentative = 0;
	if (unlikely(lk_opt.events))
		lk_stat_begin(w);
	lk_event(cpu, LK_BEGIN, w, 1);
	cpu->ev.at_return = 1;
	return 1;
}

/*
 * The lock:contended_release tracepoint names the lock but not its kind:
 * the function that let go does.
 */
static const struct {
	const char *function;
	u8 kind, mode;
} lk_releases[] = {
	{ "mutex_unlock", LK_MUTEX, LK_X },
	{ "__mutex_unlock", LK_MUTEX, LK_X },
	{ "ww_mutex_unlock", LK_MUTEX, LK_X },
	{ "up_read", LK_RWSEM, LK_R },
	{ "__up_read", LK_RWSEM, LK_R },
	{ "up_write", LK_RWSEM, LK_W },
	{ "downgrade_write", LK_RWSEM, LK_W },
	{ "up", LK_SEM, LK_X },
	{ "percpu_up_write", LK_PERCPU_RWSEM, LK_W },
	{ "percpu_up_read", LK_PERCPU_RWSEM, LK_R },
	{ "__percpu_up_read", LK_PERCPU_RWSEM, LK_R },
	{ "rt_mutex", LK_RTMUTEX, LK_X },
	{ "__rt_mutex", LK_RTMUTEX, LK_X },
	{ "mark_wakeup_next_waiter", LK_RTMUTEX, LK_X },
	{ "rt_read_unlock", LK_RWLOCK, LK_R },
	{ "rt_write_unlock", LK_RWLOCK, LK_W },
};

static int lk_tp_release(const struct lk_at *at, unsigned long lock)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_wait w = { .lock = lock, .kind = LK_KINDS };
	char sym[KSYM_SYMBOL_LEN];
	unsigned int i, best = 0;
	u32 ip;

	if (unlikely(!cpu) || !lk_stack_here(cpu, LK_FR_OWN, &ip, 1))
		return 0;
	sprint_symbol_no_offset(sym, LK_IP(ip) - 1);
	for (i = 0; i < ARRAY_SIZE(lk_releases); i++) {
		unsigned int len = strlen(lk_releases[i].function);

		if (len > best && !strncmp(sym, lk_releases[i].function, len)) {
			best = len;
			w.kind = lk_releases[i].kind;
			w.mode = lk_releases[i].mode;
		}
	}
	if (!best)
		return 0;
	w.owner = current->pid;
	lk_event(cpu, LK_CONTENDED_RELEASE, &w, 1);
	return 1;
}

/* Waits that had begun and are not over: told at the end. */
static unsigned int lk_open_waits(void)
{
	unsigned int i, open = 0;

	for (i = 0; i < LK_WAIT_SETS * LK_WAYS; i++)
		if (lk_wait_task[i / LK_WAYS][i % LK_WAYS] &&
		    !lk_waits[i / LK_WAYS][i % LK_WAYS].tentative)
			open++;
	for (i = 0; i < lk_nr_cpus; i++) {
		unsigned int n = lk_cpus[i] ? lk_cpus[i]->nspin : 0;

		while (n--)
			open += !lk_cpus[i]->spin[n].inner;
	}
	return open;
}

#endif
