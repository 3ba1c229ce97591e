// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: holding, seeing others wait, and counting.
 */
#include "lockgen.h"

/* Hold what is held for a time, awake or asleep. */
void lg_hold_for(const struct lg_run *run, const struct lg_flavour *held,
		 u64 ns)
{
	enum lg_pause how = lg_pause_held(run, held);
	u64 start = lg_now();
	unsigned int turns = 0;
	u64 left_us;

	while (lg_since(start) < ns && !lg_stopped(run)) {
		if (how != LG_PAUSE_SLEEPING) {
			lg_pause(how, &turns);
			continue;
		}
		left_us = (ns - min_t(u64, ns, lg_since(start))) / 1000 + 1;
		left_us = min_t(u64, left_us, 10000);
		usleep_range(left_us, left_us + 20);
	}
}

void lg_hold(const struct lg_run *run, const struct lg_flavour *held)
{
	lg_hold_for(run, held, run->hold_ns);
}

/* Does this thread wait in the lock function?  Only what can be known. */
bool lg_asleep(const struct lg_thread *t)
{
	return !task_is_running(t->task);
}

static bool lg_osq_or_queue(enum lg_kind kind, void *lock)
{
	switch (kind) {
	case LG_SPIN:
		return spin_is_contended((spinlock_t *)lock);
	case LG_RAWSPIN:
		return raw_spin_is_contended((raw_spinlock_t *)lock);
	case LG_RWLOCK:
		return rwlock_is_contended((rwlock_t *)lock);
#ifdef CONFIG_MUTEX_SPIN_ON_OWNER
	case LG_MUTEX:
		return osq_is_locked(&((struct mutex *)lock)->osq);
	case LG_WW_MUTEX:
		return osq_is_locked(&((struct ww_mutex *)lock)->base.osq);
#endif
#ifdef CONFIG_RWSEM_SPIN_ON_OWNER
	case LG_RWSEM:
		return osq_is_locked(&((struct rw_semaphore *)lock)->osq);
#endif
	default:
		return false;
	}
}

bool lg_waits(const struct lg_flavour *fl, void *lock,
	      const struct lg_thread *t)
{
	/*
	 * A percpu_rwsem's writer first sleeps through an RCU grace period,
	 * whether somebody holds the lock or not; it closes the lock to new
	 * readers only after that, and only then waits for the old ones.
	 */
	if (fl->kind_id == LG_PERCPU_RWSEM && fl->mode == LG_W &&
	    !percpu_is_write_locked(lock))
		return false;
	return lg_asleep(t) || lg_osq_or_queue(fl->kind_id, lock);
}

/* Where a waiter is always seen, one that was not seen did not wait. */
static bool lg_surely_seen(const struct lg_run *run,
			   const struct lg_flavour *fl)
{
	switch (fl->kind_id) {
	case LG_SEM:
	case LG_RTMUTEX:
	case LG_PERCPU_RWSEM:
		return true;
	case LG_MUTEX:
	case LG_WW_MUTEX:
	case LG_RWSEM:
		return run->value[LG_K_HOLD];
	default:
		return false;
	}
}

static bool lg_mark_seen(const struct lg_flavour *fl, void *lock,
			 struct lg_thread *first, unsigned int n,
			 unsigned int round)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (READ_ONCE(first[i].seen) == round)
			continue;
		if (lg_waits(fl, lock, &first[i]))
			WRITE_ONCE(first[i].seen, round);
		else
			all = false;
	}
	return all;
}

bool lg_all_announced(const struct lg_thread *first, unsigned int n,
		      unsigned int round)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (smp_load_acquire(&first[i].announced) != round)
			return false;
	return true;
}

bool lg_all_finished(const struct lg_thread *first, unsigned int n,
		     unsigned int round)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (smp_load_acquire(&first[i].finished) != round)
			return false;
	return true;
}

/*
 * Called with the lock held: wait until the waiters have announced themselves
 * and, as far as it can be seen, wait.  Neither is waited for without end: a
 * waiter that comes too late is then counted as one that missed the window.
 */
void lg_gather(struct lg_run *run, const struct lg_flavour *held,
	       const struct lg_flavour *waiter, void *lock,
	       struct lg_thread *first, unsigned int n, unsigned int round)
{
	enum lg_pause how = lg_pause_held(run, held);
	u64 patience = lg_surely_seen(run, waiter) ? NSEC_PER_SEC :
						     NSEC_PER_MSEC;
	u64 start = lg_now();

	lg_await(run, how,
		 lg_all_announced(first, n, round) ||
			 lg_since(start) > 2 * NSEC_PER_SEC);
	start = lg_now();
	lg_await(run, how,
		 lg_mark_seen(waiter, lock, first, n, round) ||
			 lg_since(start) > patience);
}

/* Counting. */

static void lg_raise(atomic64_t *highest, u64 ns)
{
	s64 old = atomic64_read(highest);

	while ((u64)old < ns && !atomic64_try_cmpxchg(highest, &old, ns))
		;
}

static void lg_lower(atomic64_t *lowest, u64 ns)
{
	s64 old = atomic64_read(lowest);

	ns = max_t(u64, ns, 1);
	while ((!old || (u64)old > ns) &&
	       !atomic64_try_cmpxchg(lowest, &old, ns))
		;
}

void lg_add_hold(struct lg_counts *c, u64 hold_ns)
{
	atomic64_add(hold_ns, &c->hold_ns);
	lg_raise(&c->max_hold_ns, hold_ns);
	lg_lower(&c->min_hold_ns, hold_ns);
}

void lg_count_hold(struct lg_counts *c, u64 hold_ns)
{
	atomic64_inc(&c->acquisitions);
	lg_add_hold(c, hold_ns);
}

void lg_count_wait(struct lg_counts *c, bool waited, const struct lg_wait *w,
		   enum lg_by by)
{
	if (!waited) {
		atomic64_inc(&c->missed);
		return;
	}
	atomic64_inc(&c->contended);
	atomic64_add(w->ns, &c->wait_ns);
	if (w->blocked)
		atomic64_inc(&c->blocked);
	atomic64_inc(&c->by[by]);
}

bool lg_waited(const struct lg_thread *t, bool held,
	       const struct lg_flavour *waiter, unsigned int round)
{
	if (!held)
		return false;
	return !lg_surely_seen(t->run, waiter) || READ_ONCE(t->seen) == round;
}
