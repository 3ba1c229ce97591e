// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: shared, recursive, foreign and downgrade.  What only locks with
 * readers and writers, and those without an owner, can do.
 */
#include "lockgen.h"

/* clang-format off */
#define LG_SHARED_FLAVOURS(F)	\
	F(rwlock_r)		\
	F(rwlock_w)		\
	F(rwsem_r)		\
	F(rwsem_w)		\
	F(percpu_rwsem_r)	\
	F(percpu_rwsem_w)
/* clang-format on */

static int lg_check_kind(const struct lg_run *run, unsigned int allowed,
			 const char *words, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];

	if (allowed & BIT(kind))
		return 0;
	return lg_refuse(error, "kind=%s: this scenario is for %s",
			 lg_kind_words[kind], words);
}

/*
 * shared: one writer or several readers hold a lock; where it is to be wanted
 * for writing, a writer begins to wait; and then those come that are counted.
 */
struct lg_shared {
	/* The round in which the holders take it, the writer asks, they leave. */
	unsigned int take;
	unsigned int want;
	unsigned int leave;
	atomic_t holding;
};

static enum lg_by lg_shared_by(const struct lg_run *run)
{
	return run->value[LG_K_BY];
}

static unsigned int lg_shared_holders(const struct lg_run *run)
{
	return lg_shared_by(run) == LG_BY_WRITER ? 1 : run->value[LG_K_READERS];
}

static bool lg_shared_wanted(const struct lg_run *run)
{
	return lg_shared_by(run) == LG_BY_WRITE_WANTED;
}

/* The writer that wants it; where nobody does, the first that waits. */
static struct lg_thread *lg_shared_writer(struct lg_run *run)
{
	return &run->thread[lg_shared_holders(run)];
}

/* Does this writer keep new readers out already? */
static bool lg_keeps_out(const struct lg_flavour *fl, void *lock,
			 const struct lg_thread *t)
{
	switch (fl->kind_id) {
#ifdef CONFIG_QUEUED_RWLOCKS
	case LG_RWLOCK:
		return (atomic_read(&((rwlock_t *)lock)->raw_lock.cnts) &
			_QW_WMASK) == _QW_WAITING;
#endif
	case LG_RWSEM:
		/* Not while it spins. */
		return lg_asleep(t);
	default:
		return lg_waits(fl, lock, t);
	}
}

static void lg_shared_gather(struct lg_run *run, unsigned int round)
{
	enum lg_pause how = lg_pause_held(run, run->holder);
	struct lg_thread *writer = lg_shared_writer(run);
	bool wanted = lg_shared_wanted(run);
	struct lg_shared *s = run->own;
	struct lg_lock *l = &run->lock[0];
	u64 start;

	lg_await(run, how, atomic_read(&s->holding) == lg_shared_holders(run));
	WRITE_ONCE(run->held, round);
	if (wanted) {
		smp_store_release(&s->want, round);
		start = lg_now();
		if (lg_await(run, how,
			     (smp_load_acquire(&writer->announced) == round &&
			      lg_keeps_out(run->other, l->lock, writer)) ||
				     lg_since(start) > 2 * NSEC_PER_SEC) &&
		    lg_keeps_out(run->other, l->lock, writer))
			WRITE_ONCE(writer->seen, round);
	}
	smp_store_release(&run->go, round);
	lg_gather(run, run->holder, run->waiter, l->lock, writer + wanted,
		  run->value[LG_K_WAITERS], round);
	lg_hold(run, run->holder);
	WRITE_ONCE(run->held, 0);
	smp_store_release(&s->leave, round);
}

static __always_inline void lg_shared_hold_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_shared *s = run->own;
	struct lg_lock *l = &run->lock[0];
	bool first = t->index == 0;
	unsigned long flags = 0;
	unsigned int round;
	u64 start;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		if (first) {
			atomic_set(&s->holding, 0);
			smp_store_release(&s->take, round);
		} else if (!lg_await(run, lg_pause_free(run),
				     smp_load_acquire(&s->take) >= round)) {
			break;
		}
		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		atomic_inc(&s->holding);
		if (first)
			lg_shared_gather(run, round);
		else
			lg_await(run, lg_pause_held(run, run->holder),
				 smp_load_acquire(&s->leave) >= round);
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		smp_store_release(&t->finished, round);
		if (!first)
			continue;
		l->counts.holder = current->pid;
		lg_await(run, lg_pause_free(run),
			 lg_all_finished(&run->thread[1], run->nthreads - 1,
					 round));
	}
}

static __always_inline void
lg_shared_ask(struct lg_thread *t, enum lg_flavour_id fl,
	      const unsigned int *go, struct lg_counts *counts, enum lg_by by)
{
	struct lg_run *run = t->run;
	struct lg_thread *writer = lg_shared_writer(run);
	struct lg_lock *l = &run->lock[0];
	bool spins = lg_kind_spins(run->waiter->kind_id);
	bool wanted = lg_shared_wanted(run);
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lg_wait wait;
		u64 got, hold;
		bool held;

		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(go) >= round))
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
		lg_count_hold(counts, hold);
		if (wanted)
			held = held && READ_ONCE(writer->seen) == round;
		lg_count_wait(counts, lg_waited(t, held, run->waiter, round),
			      &wait, by);
		smp_store_release(&t->finished, round);
	}
}

static __always_inline void lg_shared_wait_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;

	lg_shared_ask(t, fl, &run->go, &run->lock[0].counts, lg_shared_by(run));
}

static __always_inline void lg_shared_want_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_shared *s = run->own;

	lg_shared_ask(t, fl, &s->want, &run->lock[0].holder_counts,
		      LG_BY_READERS);
}

enum lg_shared_role {
	LG_SHARED_HOLD,
	LG_SHARED_WAIT,
	LG_SHARED_WANT,
	LG_SHARED_ROLES
};

/* clang-format off */

#define LG_SHARED_ROLE(role, id)					\
static noinline __noclone void lockgen_##role##_##id(struct lg_thread *t) \
{									\
	lg_##role##_body(t, LG_FL_##id);				\
}

#define LG_ROLES_OF_SHARED(id)		\
	LG_SHARED_ROLE(shared_hold, id)	\
	LG_SHARED_ROLE(shared_wait, id)	\
	LG_SHARED_ROLE(shared_want, id)

LG_SHARED_FLAVOURS(LG_ROLES_OF_SHARED)

#define LG_FN(role, id) { lockgen_##role##_##id, "lockgen_" #role "_" #id }

#define LG_SHARED_ENTRY(id)			\
	[LG_FL_##id] = {			\
		LG_FN(shared_hold, id),		\
		LG_FN(shared_wait, id),		\
		LG_FN(shared_want, id),		\
	},

static const struct lg_function
lg_shared_functions[LG_FLAVOURS][LG_SHARED_ROLES] = {
	LG_SHARED_FLAVOURS(LG_SHARED_ENTRY)
};

/* clang-format on */

static const struct lg_function *
lg_shared_function_of(const struct lg_flavour *fl, enum lg_shared_role role)
{
	return &lg_shared_functions[fl->fl_id][role];
}

static const struct lg_function *lg_shared_function(const struct lg_run *run,
						    unsigned int index)
{
	unsigned int holders = lg_shared_holders(run);

	if (index < holders)
		return lg_shared_function_of(run->holder, LG_SHARED_HOLD);
	if (index == holders && lg_shared_wanted(run))
		return lg_shared_function_of(run->other, LG_SHARED_WANT);
	return lg_shared_function_of(run->waiter, LG_SHARED_WAIT);
}

static int lg_settle_by(struct lg_run *run, char *error)
{
	int *mode = &run->value[LG_K_MODE];
	int *by = &run->value[LG_K_BY];

	if (!run->given[LG_K_MODE])
		*mode = run->given[LG_K_BY] && *by == LG_BY_WRITE_WANTED ?
				LG_R :
				LG_W;
	if (!run->given[LG_K_BY])
		*by = *mode == LG_R ? LG_BY_WRITER : LG_BY_READERS;
	if (*mode == LG_X)
		return lg_refuse(error, "mode=x: these locks have r and w");
	if (*mode == LG_R && *by == LG_BY_READERS)
		return lg_refuse(
			error,
			"by=readers: a reader does not wait for readers, use mode=w or by=write_wanted");
	if (*mode == LG_W && *by == LG_BY_WRITE_WANTED)
		return lg_refuse(
			error,
			"by=write_wanted: only readers wait for a writer that waits, use mode=r");
	if (*by == LG_BY_WRITER && run->given[LG_K_READERS])
		return lg_refuse(error,
				 "readers=%d: with by=writer no reader holds",
				 run->value[LG_K_READERS]);
	if (!run->value[LG_K_READERS])
		return lg_refuse(error, "readers=0: somebody must hold");
	return 0;
}

static int lg_check_shared(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	int err = lg_check_kind(
		run, BIT(LG_RWLOCK) | BIT(LG_RWSEM) | BIT(LG_PERCPU_RWSEM),
		"rwlock, rwsem and percpu_rwsem", error);

	if (!err)
		err = lg_settle_by(run, error);
	if (err)
		return err;
	run->waiter = lg_plain_flavour(kind, run->value[LG_K_MODE]);
	run->other = lg_plain_flavour(
		kind, run->value[LG_K_MODE] == LG_R ? LG_W : LG_R);
	run->holder = lg_plain_flavour(
		kind, lg_shared_by(run) == LG_BY_WRITER ? LG_W : LG_R);
	run->caller =
		lg_shared_function_of(run->waiter, LG_SHARED_WAIT)->symbol;
	if (lg_shared_wanted(run))
		run->other_caller =
			lg_shared_function_of(run->other, LG_SHARED_WANT)
				->symbol;
	else if (run->holder == run->other)
		run->other_caller =
			lg_shared_function_of(run->other, LG_SHARED_HOLD)
				->symbol;
	else
		run->other_caller = "-";
	run->nthreads = lg_shared_holders(run) + lg_shared_wanted(run) +
			run->value[LG_K_WAITERS];
	return 0;
}

const struct lg_plan lg_plan_shared = {
	.check = lg_check_shared,
	.function = lg_shared_function,
	.own_bytes = sizeof(struct lg_shared),
};

/* recursive: a reader takes the lock that it holds already. */

struct lg_recursive {
	struct lg_counts at[LG_MAX_DEPTH];
};

static __always_inline void lg_recursive_body(struct lg_thread *t,
					      enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_recursive *r = run->own;
	struct lg_lock *l = &run->lock[0];
	unsigned int i, depth = run->value[LG_K_DEPTH];
	unsigned long flags = 0;
	u64 got[LG_MAX_DEPTH];
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		for (i = 0; i < depth; i++) {
			lg_lock(fl, l->lock, &flags);
			got[i] = lg_now();
			lg_hold(run, run->waiter);
		}
		while (i--) {
			u64 hold = lg_since(got[i]);

			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, hold);
			lg_count_hold(&r->at[i], hold);
		}
		cond_resched();
	}
}

/* clang-format off */

LG_SHARED_ROLE(recursive, rwlock_r)
LG_SHARED_ROLE(recursive, rwsem_r)
LG_SHARED_ROLE(recursive, percpu_rwsem_r)

static const struct lg_function lg_recursive_functions[LG_FLAVOURS] = {
	[LG_FL_rwlock_r] = LG_FN(recursive, rwlock_r),
	[LG_FL_rwsem_r] = LG_FN(recursive, rwsem_r),
	[LG_FL_percpu_rwsem_r] = LG_FN(recursive, percpu_rwsem_r),
};

/* clang-format on */

static const struct lg_function *lg_recursive_function(const struct lg_run *run,
						       unsigned int index)
{
	return &lg_recursive_functions[run->waiter->fl_id];
}

static int lg_check_recursive(struct lg_run *run, char *error)
{
	int err = lg_check_kind(
		run, BIT(LG_RWLOCK) | BIT(LG_RWSEM) | BIT(LG_PERCPU_RWSEM),
		"rwlock, rwsem and percpu_rwsem", error);

	if (err)
		return err;
	run->waiter = lg_plain_flavour(run->value[LG_K_KIND], LG_R);
	run->holder = run->waiter;
	run->caller = lg_recursive_functions[run->waiter->fl_id].symbol;
	run->nthreads = run->value[LG_K_THREADS];
	return 0;
}

static void lg_tell_recursive(const struct lg_run *run, char *text, size_t size)
{
	const struct lg_recursive *r = run->own;
	size_t n;
	int i;

	n = scnprintf(
		text, size,
		"#depth\tnumber\tacquisitions\thold_ns\tmax_hold_ns\tmin_hold_ns\n");
	for (i = 0; i < run->value[LG_K_DEPTH]; i++) {
		const struct lg_counts *c = &r->at[i];

		n += scnprintf(text + n, size - n,
			       "depth\t%d\t%lld\t%lld\t%lld\t%lld\n", i + 1,
			       atomic64_read(&c->acquisitions),
			       atomic64_read(&c->hold_ns),
			       atomic64_read(&c->max_hold_ns),
			       atomic64_read(&c->min_hold_ns));
	}
}

const struct lg_plan lg_plan_recursive = {
	.check = lg_check_recursive,
	.function = lg_recursive_function,
	.own_bytes = sizeof(struct lg_recursive),
	.tell = lg_tell_recursive,
};

/* foreign: one task takes the lock and another lets it go. */

struct lg_foreign {
	unsigned int taken;
	unsigned int let;
	/* The taker takes no more. */
	bool over;
	u64 start;
	pid_t taker;
	pid_t releaser;
};

static __always_inline void lg_foreign_take_body(struct lg_thread *t,
						 enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_foreign *f = run->own;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	f->taker = current->pid;
	for (round = 1; round <= run->rounds; round++) {
		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&f->let) == round - 1))
			break;
		if (fl == LG_FL_rwsem_r)
			down_read_non_owner((struct rw_semaphore *)l->lock);
		else
			lg_lock(fl, l->lock, &flags);
		f->start = lg_now();
		smp_store_release(&f->taken, round);
	}
	smp_store_release(&f->over, true);
}

static __always_inline void lg_foreign_release_body(struct lg_thread *t,
						    enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_foreign *f = run->own;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round, turns = 0;
	bool over;
	u64 hold;

	f->releaser = current->pid;
	for (round = 1; round <= run->rounds; round++) {
		/* What has been taken is let go, also when the run is stopped. */
		do {
			lg_pause(LG_PAUSE_SLEEPING, &turns);
			over = smp_load_acquire(&f->over);
		} while (smp_load_acquire(&f->taken) != round && !over);
		if (smp_load_acquire(&f->taken) != round)
			break;
		lg_hold(run, run->waiter);
		hold = lg_since(f->start);
		if (fl == LG_FL_rwsem_r)
			up_read_non_owner((struct rw_semaphore *)l->lock);
		else
			lg_unlock(fl, l->lock, &flags);
		lg_count_hold(&l->counts, hold);
		smp_store_release(&f->let, round);
	}
}

/* clang-format off */

LG_SHARED_ROLE(foreign_take, sem)
LG_SHARED_ROLE(foreign_take, rwsem_r)
LG_SHARED_ROLE(foreign_take, percpu_rwsem_r)
LG_SHARED_ROLE(foreign_release, sem)
LG_SHARED_ROLE(foreign_release, rwsem_r)
LG_SHARED_ROLE(foreign_release, percpu_rwsem_r)

static const struct lg_function lg_foreign_functions[LG_FLAVOURS][2] = {
	[LG_FL_sem] = { LG_FN(foreign_take, sem),
			LG_FN(foreign_release, sem) },
	[LG_FL_rwsem_r] = { LG_FN(foreign_take, rwsem_r),
			    LG_FN(foreign_release, rwsem_r) },
	[LG_FL_percpu_rwsem_r] = { LG_FN(foreign_take, percpu_rwsem_r),
				   LG_FN(foreign_release, percpu_rwsem_r) },
};

/* clang-format on */

static const struct lg_function *lg_foreign_function(const struct lg_run *run,
						     unsigned int index)
{
	return &lg_foreign_functions[run->waiter->fl_id][index];
}

static int lg_check_foreign(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	int err = lg_check_kind(
		run, BIT(LG_SEM) | BIT(LG_RWSEM) | BIT(LG_PERCPU_RWSEM),
		"sem, rwsem and percpu_rwsem", error);

	if (err)
		return err;
	run->waiter = lg_plain_flavour(kind, kind == LG_SEM ? LG_X : LG_R);
	run->holder = run->waiter;
	run->caller = lg_foreign_functions[run->waiter->fl_id][0].symbol;
	run->nthreads = 2;
	return 0;
}

static void lg_tell_foreign(const struct lg_run *run, char *text, size_t size)
{
	const struct lg_function *fn = lg_foreign_functions[run->waiter->fl_id];
	const struct lg_counts *c = &run->lock[0].counts;
	const struct lg_foreign *f = run->own;

	scnprintf(
		text, size,
		"#foreign\ttaker\ttaker_tid\treleaser\treleaser_tid\tholds\thold_ns\n"
		"foreign\t%s\t%d\t%s\t%d\t%lld\t%lld\n",
		fn[0].symbol, f->taker, fn[1].symbol, f->releaser,
		atomic64_read(&c->acquisitions), atomic64_read(&c->hold_ns));
}

const struct lg_plan lg_plan_foreign = {
	.check = lg_check_foreign,
	.function = lg_foreign_function,
	.own_bytes = sizeof(struct lg_foreign),
	.tell = lg_tell_foreign,
};

/* downgrade: a writer becomes a reader, and lets waiting readers in. */

struct lg_downgrade {
	/* Holds as a writer are all, as a reader those of the same task. */
	struct lg_counts write;
	struct lg_counts read;
};

static noinline __noclone void lockgen_downgrade(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_downgrade *d = run->own;
	struct lg_lock *l = &run->lock[0];
	struct rw_semaphore *sem = l->lock;
	unsigned int n = run->nthreads - 1;
	unsigned int round;
	u64 start, hold;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		down_write(sem);
		start = lg_now();
		WRITE_ONCE(run->held, round);
		smp_store_release(&run->go, round);
		if (n)
			lg_gather(run, run->other, run->waiter, sem,
				  lg_waiters(run), n, round);
		lg_hold(run, run->other);
		WRITE_ONCE(run->held, 0);
		hold = lg_since(start);
		downgrade_write(sem);
		start = lg_now();
		lg_count_hold(&l->holder_counts, hold);
		lg_count_hold(&d->write, hold);
		lg_hold_for(run, run->other, run->read_ns);
		hold = lg_since(start);
		up_read(sem);
		/* It is a hold, but no lock function was called for it. */
		lg_add_hold(&l->counts, hold);
		lg_count_hold(&d->read, hold);
		l->counts.holder = current->pid;
		lg_await(run, LG_PAUSE_SLEEPING,
			 lg_all_finished(lg_waiters(run), n, round));
	}
}

static noinline __noclone void lockgen_downgrade_read(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lg_wait wait;
		u64 got, hold;
		bool held;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->go) >= round))
			break;
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->held) == round;
		lg_wait_begin(&wait);
		down_read((struct rw_semaphore *)l->lock);
		got = lg_wait_end(&wait);
		hold = lg_since(got);
		up_read((struct rw_semaphore *)l->lock);
		lg_count_hold(&l->counts, hold);
		lg_count_wait(&l->counts,
			      lg_waited(t, held, run->waiter, round), &wait,
			      LG_BY_WRITER);
		smp_store_release(&t->finished, round);
	}
}

static const struct lg_function lg_downgrade_functions[] = {
	{ lockgen_downgrade, "lockgen_downgrade" },
	{ lockgen_downgrade_read, "lockgen_downgrade_read" },
};

static const struct lg_function *lg_downgrade_function(const struct lg_run *run,
						       unsigned int index)
{
	return &lg_downgrade_functions[!!index];
}

static int lg_check_downgrade(struct lg_run *run, char *error)
{
	int err = lg_check_kind(run, BIT(LG_RWSEM), "rwsem", error);

	if (err)
		return err;
	run->waiter = lg_plain_flavour(LG_RWSEM, LG_R);
	run->other = lg_plain_flavour(LG_RWSEM, LG_W);
	run->holder = run->other;
	run->caller = lg_downgrade_functions[1].symbol;
	run->other_caller = lg_downgrade_functions[0].symbol;
	run->nthreads = 1 + run->value[LG_K_READERS];
	run->read_ns = run->given[LG_K_READ_US] ?
			       run->value[LG_K_READ_US] * NSEC_PER_USEC :
			       run->hold_ns;
	return 0;
}

static void lg_tell_downgrade(const struct lg_run *run, char *text, size_t size)
{
	const struct lg_downgrade *d = run->own;

	scnprintf(
		text, size,
		"#downgrade\tsymbol\tdowngrades\twrite_hold_ns\tmax_write_hold_ns\tread_hold_ns\tmax_read_hold_ns\n"
		"downgrade\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\n",
		lg_downgrade_functions[0].symbol,
		atomic64_read(&d->read.acquisitions),
		atomic64_read(&d->write.hold_ns),
		atomic64_read(&d->write.max_hold_ns),
		atomic64_read(&d->read.hold_ns),
		atomic64_read(&d->read.max_hold_ns));
}

const struct lg_plan lg_plan_downgrade = {
	.check = lg_check_downgrade,
	.function = lg_downgrade_function,
	.own_bytes = sizeof(struct lg_downgrade),
	.tell = lg_tell_downgrade,
};
