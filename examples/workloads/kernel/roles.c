// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: what the threads of convoy, many, free, throughput, trylock, signal
 * and nested do.
 */
#include "lockgen.h"

/*
 * convoy and many: the holder holds until all wait, and some time more.
 * The waiters' preemption is off from the announcement to the lock call where
 * the lock itself would switch it off: nothing comes between the two.
 */
static __always_inline void lg_convoy_hold_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	unsigned int n = run->nthreads - 1;
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		struct lg_lock *l = lg_round_lock(run, round);
		u64 start;

		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		WRITE_ONCE(run->held, round);
		smp_store_release(&run->go, round);
		lg_gather(run, run->holder, run->waiter, l->lock,
			  lg_waiters(run), n, round);
		lg_hold(run, run->holder);
		WRITE_ONCE(run->held, 0);
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		l->counts.holder = current->pid;
		lg_await(run, lg_pause_free(run),
			 lg_all_finished(lg_waiters(run), n, round));
	}
}

static __always_inline void lg_convoy_wait_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	bool spins = lg_kind_spins(run->waiter->kind_id);
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lg_lock *l = lg_round_lock(run, round);
		struct lg_wait wait;
		u64 got, hold;
		bool held;

		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->go) >= round))
			break;
		if (spins)
			preempt_disable();
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->held) == round;
		lg_wait_begin(&wait);
		lg_lock(fl, l->lock, &flags);
		got = lg_wait_end(&wait);
		hold = lg_since(got);
		lg_unlock(fl, l->lock, &flags);
		if (spins)
			preempt_enable();
		lg_count_hold(&l->counts, hold);
		lg_count_wait(&l->counts,
			      lg_waited(t, held, run->waiter, round), &wait,
			      lg_by_holder(run->holder));
		smp_store_release(&t->finished, round);
	}
}

/* free: a lock for each thread, so nobody ever waits. */
static void lg_relax(unsigned int turns)
{
	while (turns--)
		cpu_relax();
}

static __always_inline void lg_free_run_body(struct lg_thread *t,
					     enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[t->index];
	unsigned int inner = run->value[LG_K_INNER];
	unsigned int i, n = run->value[LG_K_ITERATIONS];
	unsigned long flags = 0;

	for (i = 0; i < n && !lg_stopped(run); i++) {
		u64 start;

		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		lg_relax(inner);
		while (lg_since(start) < run->hold_ns)
			cpu_relax();
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(&l->counts, start);
		cond_resched();
	}
}

/* throughput: the benchmark loop.  Nothing in it but the lock and pauses. */
static bool lg_start_together(struct lg_run *run)
{
	atomic_inc(&run->ready);
	return lg_await(run, LG_PAUSE_RUNNING,
			atomic_read(&run->ready) == run->nthreads);
}

static __always_inline void lg_throughput_run_body(struct lg_thread *t,
						   enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned int inner = run->value[LG_K_INNER];
	unsigned int i, n = run->value[LG_K_ITERATIONS];
	unsigned long flags = 0;
	u64 start;

	if (!lg_start_together(run))
		return;
	start = lg_now();
	for (i = 0; i < n && !lg_stopped(run); i++) {
		lg_lock(fl, l->lock, &flags);
		lg_relax(inner);
		lg_unlock(fl, l->lock, &flags);
		lg_relax(inner);
		cond_resched();
	}
	t->elapsed_ns = lg_since(start);
	atomic64_add(i, &l->counts.acquisitions);
}

/*
 * The same with the waits counted, by trying first, or the clock read around
 * waits and holds: both cost, so on demand.
 */
static __always_inline void lg_throughput_count_body(struct lg_thread *t,
						     enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	bool count = run->value[LG_K_COUNT];
	bool measure = run->value[LG_K_MEASURE];
	unsigned int inner = run->value[LG_K_INNER];
	unsigned int i, n = run->value[LG_K_ITERATIONS];
	unsigned int contended = 0;
	unsigned long flags = 0;
	u64 start, called, got;

	if (!lg_start_together(run))
		return;
	start = lg_now();
	for (i = 0; i < n && !lg_stopped(run); i++) {
		called = measure ? lg_now() : 0;
		got = called;
		if (!count || !lg_trylock(fl, l->lock, &flags)) {
			contended += count;
			lg_lock(fl, l->lock, &flags);
			got = measure ? lg_now() : 0;
		} else if (measure) {
			got = lg_now();
			called = got;
		}
		lg_relax(inner);
		if (measure) {
			u64 hold = lg_since(got);

			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, hold);
			atomic64_add(got - called, &l->counts.wait_ns);
		} else {
			lg_unlock(fl, l->lock, &flags);
		}
		lg_relax(inner);
		cond_resched();
	}
	t->elapsed_ns = lg_since(start);
	if (!measure)
		atomic64_add(i, &l->counts.acquisitions);
	atomic64_add(contended, &l->counts.contended);
	atomic64_add(contended, &l->counts.failed);
	atomic64_add(count ? i - contended : 0, &l->counts.tried);
}

/* trylock: each fails while the lock is held, then each gets it in its turn. */
static __always_inline void lg_try_hold_body(struct lg_thread *t,
					     enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	unsigned int n = run->nthreads - 1;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		u64 start;

		atomic_set(&run->turn, 0);
		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		smp_store_release(&run->go, round);
		lg_await(run, lg_pause_held(run, run->holder),
			 lg_all_announced(lg_waiters(run), n, round));
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		l->counts.holder = current->pid;
		smp_store_release(&run->released, round);
		lg_await(run, lg_pause_free(run),
			 lg_all_finished(lg_waiters(run), n, round));
	}
}

static __always_inline void lg_try_body(struct lg_thread *t,
					enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned int tries = run->value[LG_K_TRIES];
	unsigned int i, round, missed;
	unsigned long flags = 0;
	u64 start;

	for (round = 1; round <= run->rounds; round++) {
		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->go) >= round))
			break;
		for (i = 0, missed = 0; i < tries; i++) {
			if (lg_trylock(fl, l->lock, &flags)) {
				start = lg_now();
				start = lg_since(start);
				lg_unlock(fl, l->lock, &flags);
				lg_count_hold(&l->counts, start);
				missed++;
			}
			cond_resched();
		}
		atomic64_add(missed, &l->counts.tried);
		atomic64_add(missed, &l->counts.missed);
		atomic64_add(tries - missed, &l->counts.failed);
		smp_store_release(&t->announced, round);
		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->released) >= round &&
				      atomic_read_acquire(&run->turn) ==
					      t->index))
			break;
		if (lg_trylock(fl, l->lock, &flags)) {
			start = lg_now();
			start = lg_since(start);
			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, start);
			atomic64_inc(&l->counts.tried);
		} else {
			atomic64_inc(&l->counts.failed);
			atomic64_inc(&l->counts.missed);
		}
		atomic_inc(&run->turn);
		smp_store_release(&t->finished, round);
	}
}

/* signal: waits that a signal ends while the lock is still held. */
static __always_inline void lg_signal_hold_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	unsigned int i, n = run->nthreads - 1;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		u64 start;

		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		WRITE_ONCE(run->held, round);
		smp_store_release(&run->go, round);
		lg_gather(run, run->holder, run->waiter, l->lock,
			  lg_waiters(run), n, round);
		lg_hold(run, run->holder);
		/* A killable wait ends by nothing less than this one. */
		for (i = 0; i < n; i++)
			send_sig(SIGKILL, lg_waiters(run)[i].task, 1);
		lg_await(run, LG_PAUSE_SLEEPING,
			 lg_all_finished(lg_waiters(run), n, round));
		WRITE_ONCE(run->held, 0);
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		l->counts.holder = current->pid;
	}
}

static __always_inline void lg_signal_wait_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	allow_signal(SIGKILL);
	for (round = 1; round <= run->rounds; round++) {
		struct lg_wait wait;
		u64 hold;
		bool held;
		int error;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->go) >= round))
			break;
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->held) == round;
		lg_wait_begin(&wait);
		error = lg_lock_signal(fl, l->lock);
		hold = lg_wait_end(&wait);
		if (error) {
			atomic64_inc(&l->counts.failed);
			atomic64_add(wait.ns, &l->counts.wait_ns);
		} else {
			hold = lg_since(hold);
			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, hold);
			lg_count_wait(&l->counts,
				      lg_waited(t, held, run->waiter, round),
				      &wait, lg_by_holder(run->holder));
		}
		flush_signals(current);
		smp_store_release(&t->finished, round);
	}
}

/*
 * nested: thread 0 holds the inner lock; thread 1 holds the outer one and
 * waits for the inner; thread 2 waits for the outer.
 */
static __always_inline void lg_nest_hold_body(struct lg_thread *t,
					      enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *outer = &run->lock[LG_NEST_LOCK_OUTER];
	struct lg_lock *inner = &run->lock[LG_NEST_LOCK_INNER];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		u64 start;

		/*
		 * Not the inner lock first: the outer one can need an RCU grace
		 * period, which would never end while a spinlock is held here.
		 */
		smp_store_release(&run->go, round);
		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->outer_held) == round))
			break;
		lg_lock(fl, inner->lock, &flags);
		start = lg_now();
		smp_store_release(&run->held, round);
		lg_gather(run, run->inner, run->inner, inner->lock,
			  &run->thread[1], 1, round);
		smp_store_release(&run->released, round);
		lg_gather(run, run->inner, run->waiter, outer->lock,
			  &run->thread[2], 1, round);
		lg_hold(run, run->inner);
		WRITE_ONCE(run->held, 0);
		start = lg_since(start);
		lg_unlock(fl, inner->lock, &flags);
		lg_count_hold(&inner->counts, start);
		inner->counts.holder = current->pid;
		lg_await(run, LG_PAUSE_SLEEPING,
			 lg_all_finished(&run->thread[1], 2, round));
	}
}

static __always_inline void lg_nest_inner_body(struct lg_thread *t,
					       enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *inner = &run->lock[LG_NEST_LOCK_INNER];
	bool spins = lg_kind_spins(run->inner->kind_id);
	unsigned int round = run->go;
	unsigned long flags = 0;
	struct lg_wait wait;
	u64 got, hold;
	bool held;

	if (spins)
		preempt_disable();
	smp_store_release(&t->announced, round);
	held = READ_ONCE(run->held) == round;
	lg_wait_begin(&wait);
	lg_lock(fl, inner->lock, &flags);
	got = lg_wait_end(&wait);
	hold = lg_since(got);
	lg_unlock(fl, inner->lock, &flags);
	if (spins)
		preempt_enable();
	lg_count_hold(&inner->counts, hold);
	lg_count_wait(&inner->counts, lg_waited(t, held, run->inner, round),
		      &wait, lg_by_holder(run->inner));
}

static __always_inline void lg_nest_outer_body(struct lg_thread *t,
					       enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *outer = &run->lock[LG_NEST_LOCK_OUTER];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		u64 start;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->go) >= round))
			break;
		lg_lock(fl, outer->lock, &flags);
		start = lg_now();
		smp_store_release(&run->outer_held, round);
		if (lg_await(run, LG_PAUSE_SLEEPING,
			     smp_load_acquire(&run->held) == round))
			run->inner->role[LG_NEST_INNER].fn(t);
		WRITE_ONCE(run->outer_held, 0);
		start = lg_since(start);
		lg_unlock(fl, outer->lock, &flags);
		lg_count_hold(&outer->counts, start);
		outer->counts.holder = current->pid;
		smp_store_release(&t->finished, round);
	}
}

static __always_inline void lg_nest_wait_body(struct lg_thread *t,
					      enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *outer = &run->lock[LG_NEST_LOCK_OUTER];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lg_wait wait;
		u64 got, hold;
		bool held;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->released) >= round))
			break;
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->outer_held) == round;
		lg_wait_begin(&wait);
		lg_lock(fl, outer->lock, &flags);
		got = lg_wait_end(&wait);
		hold = lg_since(got);
		lg_unlock(fl, outer->lock, &flags);
		lg_count_hold(&outer->counts, hold);
		lg_count_wait(&outer->counts,
			      lg_waited(t, held, run->waiter, round), &wait,
			      lg_by_holder(run->waiter));
		smp_store_release(&t->finished, round);
	}
}

/* clang-format off */

/* One function for each role and flavour: a caller that can be told apart. */
#define LG_ROLE(role, id)						\
static noinline __noclone void lockgen_##role##_##id(struct lg_thread *t) \
{									\
	lg_##role##_body(t, LG_FL_##id);				\
}

#define LG_ROLES_OF_ALL(id, kind, mode, entry, variant, tries)	\
	LG_ROLE(convoy_hold, id)			\
	LG_ROLE(convoy_wait, id)			\
	LG_ROLE(free_run, id)				\
	LG_ROLE(throughput_run, id)			\
	LG_ROLE(nest_inner, id)				\
	LG_ROLE(nest_hold, id)				\
	LG_ROLE(throughput_count, id)			\
	LG_ROLE(try_hold, id)				\
	LG_ROLE(try, id)

#define LG_ROLES_OF_SLEEPING(id, kind, mode, entry, variant, tries)	\
	LG_ROLE(signal_hold, id)				\
	LG_ROLE(signal_wait, id)				\
	LG_ROLE(nest_outer, id)					\
	LG_ROLE(nest_wait, id)

LG_SPINNING_FLAVOURS(LG_ROLES_OF_ALL)
LG_SLEEPING_FLAVOURS(LG_ROLES_OF_ALL)
LG_SLEEPING_FLAVOURS(LG_ROLES_OF_SLEEPING)

#define LG_FN(role, id) { lockgen_##role##_##id, "lockgen_" #role "_" #id }

#define LG_TABLE_OF_ALL(id, k, m, e, v, x)					\
	.fl_id = LG_FL_##id,						\
	.kind_id = k,							\
	.mode = m,							\
	.entry = e,							\
	.variant = v,							\
	.tries = x,							\
	.role[LG_HOLD] = LG_FN(convoy_hold, id),			\
	.role[LG_WAIT] = LG_FN(convoy_wait, id),			\
	.role[LG_FREE_RUN] = LG_FN(free_run, id),			\
	.role[LG_THROUGHPUT_RUN] = LG_FN(throughput_run, id),		\
	.role[LG_THROUGHPUT_COUNT] = LG_FN(throughput_count, id),	\
	.role[LG_TRY_HOLD] = LG_FN(try_hold, id),			\
	.role[LG_TRY] = LG_FN(try, id),					\
	.role[LG_NEST_HOLD] = LG_FN(nest_hold, id),			\
	.role[LG_NEST_INNER] = LG_FN(nest_inner, id)

#define LG_SPINNING_ENTRY(id, k, m, e, v, x)	\
	[LG_FL_##id] = { LG_TABLE_OF_ALL(id, k, m, e, v, x) },

#define LG_SLEEPING_ENTRY(id, k, m, e, v, x)			\
	[LG_FL_##id] = {					\
		LG_TABLE_OF_ALL(id, k, m, e, v, x),		\
		.role[LG_SIGNAL_HOLD] = LG_FN(signal_hold, id),	\
		.role[LG_SIGNAL_WAIT] = LG_FN(signal_wait, id),	\
		.role[LG_NEST_OUTER] = LG_FN(nest_outer, id),	\
		.role[LG_NEST_WAIT] = LG_FN(nest_wait, id),	\
	},

const struct lg_flavour lg_flavours[LG_FLAVOURS] = {
	LG_SPINNING_FLAVOURS(LG_SPINNING_ENTRY)
	LG_SLEEPING_FLAVOURS(LG_SLEEPING_ENTRY)
};

/* clang-format on */
