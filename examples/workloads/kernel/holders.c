// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: holders.  Three threads hold a lock one after another, and those
 * that wait do so through all three: who is to blame for how much of a wait?
 *
 * Each queues only when the one before it has been seen to wait, and all of
 * them wait in the lock's own queue: behind a sleeping lock they are asleep
 * before anybody lets go, since the first holder sleeps until they are.  So
 * the lock is handed on in the order a, b, c and then the waiters.  What is
 * told is what really happened: the clock as each of them saw it.
 */
#include <linux/sched/types.h>

#include "lockgen.h"

enum lg_who { LG_WHO_A, LG_WHO_B, LG_WHO_C, LG_WHO_WAITS, LG_WHOS };

#define LG_HOLDER_THREADS LG_WHO_WAITS

enum lg_state {
	LG_STATE_RUN,
	LG_STATE_SLEEP,
	LG_STATE_PREEMPTED,
	LG_STATE_LOCK,
	LG_STATES,
	LG_STATE_MIXED = LG_STATES
};

static const char *const lg_state_names[] = { "run", "sleep", "preempted",
					      "lock" };

/* Some time of a hold in which the holder did not run. */
struct lg_span {
	enum lg_state state;
	u64 from, to;
};

/* Asleep while the others queue, and until the second lock is taken; waiting. */
#define LG_MAX_SPANS 3

/* One thread's turn in a round. */
struct lg_turn {
	u64 asked, got, let;
	unsigned int nspans;
	struct lg_span span[LG_MAX_SPANS];
};

struct lg_blame {
	u64 waits;
	u64 overlap_ns;
	u64 state_ns[LG_STATES];
};

struct lg_held {
	u64 holds;
	u64 hold_ns;
	u64 waits;
	u64 wait_ns;
	u64 state_ns[LG_STATES];
};

struct lg_holders {
	struct lg_turn turn[LG_MAX_THREADS + LG_HOLDER_THREADS];
	struct lg_blame blame[LG_WHOS][LG_WHOS];
	struct lg_held held[LG_WHOS];
	/* The first holder may go on: all others wait. */
	struct completion gathered;
	/* Somebody on the holder's CPU that takes it away. */
	struct completion hog[LG_HOLDER_THREADS];
	unsigned int preempt[LG_HOLDER_THREADS];
	unsigned int preempted[LG_HOLDER_THREADS];
	/* Somebody that holds the second lock while the holder wants it. */
	struct completion keeper;
	struct lg_thread *borrower;
	u64 keep_ns;
	/* How often it was asked; it has taken the lock; it is waited for. */
	unsigned int keeps;
	struct completion kept;
	unsigned int wanted;
	bool over;
};

static const char *const lg_who_symbols[] = { "lockgen_holder_a",
					      "lockgen_holder_b",
					      "lockgen_holder_c",
					      "lockgen_holders_wait" };

static unsigned int lg_queued_threads(const struct lg_run *run)
{
	return LG_HOLDER_THREADS + run->value[LG_K_WAITERS];
}

static enum lg_who lg_who(const struct lg_thread *t)
{
	return min_t(unsigned int, t->index, LG_WHO_WAITS);
}

static enum lg_state lg_state_of(const struct lg_run *run, enum lg_who who)
{
	static const enum lg_state mixed[] = { LG_STATE_RUN, LG_STATE_SLEEP,
					       LG_STATE_LOCK };

	if (run->value[LG_K_STATE] == LG_STATE_MIXED)
		return mixed[who];
	return run->value[LG_K_STATE];
}

/* a holds for this long, b twice as long, c three times. */
static u64 lg_holder_ns(const struct lg_run *run, enum lg_who who)
{
	return run->hold_ns * (who + 1);
}

/* Only the flavours that can be asked for, by a switch in the one function. */
static __always_inline void lg_lock_any(enum lg_flavour_id fl, void *lock,
					unsigned long *flags)
{
	switch (fl) {
	case LG_FL_spin:
		return lg_lock(LG_FL_spin, lock, flags);
	case LG_FL_rawspin:
		return lg_lock(LG_FL_rawspin, lock, flags);
	case LG_FL_rwlock_w:
		return lg_lock(LG_FL_rwlock_w, lock, flags);
	case LG_FL_mutex:
		return lg_lock(LG_FL_mutex, lock, flags);
	case LG_FL_ww_mutex:
		return lg_lock(LG_FL_ww_mutex, lock, flags);
	case LG_FL_rwsem_w:
		return lg_lock(LG_FL_rwsem_w, lock, flags);
	case LG_FL_sem:
		return lg_lock(LG_FL_sem, lock, flags);
	default:
		return lg_lock(LG_FL_rtmutex, lock, flags);
	}
}

static __always_inline void lg_unlock_any(enum lg_flavour_id fl, void *lock,
					  unsigned long *flags)
{
	switch (fl) {
	case LG_FL_spin:
		return lg_unlock(LG_FL_spin, lock, flags);
	case LG_FL_rawspin:
		return lg_unlock(LG_FL_rawspin, lock, flags);
	case LG_FL_rwlock_w:
		return lg_unlock(LG_FL_rwlock_w, lock, flags);
	case LG_FL_mutex:
		return lg_unlock(LG_FL_mutex, lock, flags);
	case LG_FL_ww_mutex:
		return lg_unlock(LG_FL_ww_mutex, lock, flags);
	case LG_FL_rwsem_w:
		return lg_unlock(LG_FL_rwsem_w, lock, flags);
	case LG_FL_sem:
		return lg_unlock(LG_FL_sem, lock, flags);
	default:
		return lg_unlock(LG_FL_rtmutex, lock, flags);
	}
}

/* Seeing that a thread has taken its place in the queue. */

#ifdef CONFIG_QUEUED_SPINLOCKS
/* The first spins on the lock itself, the next one's CPU is the queue's tail. */
static bool lg_in_spin_queue(struct qspinlock *lock, unsigned int nth, int cpu)
{
	u32 word = atomic_read(&lock->val);

	if (nth == 0)
		return word & ~_Q_LOCKED_MASK;
	return (int)(word >> _Q_TAIL_CPU_OFFSET) - 1 == cpu;
}

static bool lg_in_queue(const struct lg_flavour *fl, void *lock,
			unsigned int nth, const struct lg_thread *t)
{
	int cpu = task_cpu(t->task);

	switch (fl->kind_id) {
	case LG_SPIN:
		return lg_in_spin_queue(&((spinlock_t *)lock)->rlock.raw_lock,
					nth, cpu);
	case LG_RAWSPIN:
		return lg_in_spin_queue(&((raw_spinlock_t *)lock)->raw_lock,
					nth, cpu);
	case LG_RWLOCK:
		/* The first holds the lock inside, which the next queue for. */
		if (nth == 0)
			return rwlock_is_contended((rwlock_t *)lock);
		return lg_in_spin_queue(&((rwlock_t *)lock)->raw_lock.wait_lock,
					nth - 1, cpu);
	default:
		return lg_asleep(t);
	}
}
#else
static bool lg_in_queue(const struct lg_flavour *fl, void *lock,
			unsigned int nth, const struct lg_thread *t)
{
	return lg_waits(fl, lock, t);
}
#endif

/* Let the others queue, one after another. */
static void lg_line_up(struct lg_run *run, unsigned int round,
		       enum lg_pause how)
{
	unsigned int i, n = lg_queued_threads(run);
	struct lg_lock *l = &run->lock[0];
	u64 start;

	for (i = 1; i < n; i++) {
		struct lg_thread *t = &run->thread[i];

		smp_store_release(&run->go, (round - 1) * n + i);
		start = lg_now();
		lg_await(run, how,
			 smp_load_acquire(&t->announced) == round ||
				 lg_since(start) > 2 * NSEC_PER_SEC);
		start = lg_now();
		if (lg_await(run, how,
			     lg_in_queue(run->waiter, l->lock, i - 1, t) ||
				     lg_since(start) > 200 * NSEC_PER_MSEC) &&
		    lg_in_queue(run->waiter, l->lock, i - 1, t))
			WRITE_ONCE(t->seen, round);
	}
}

/* Sleep until somebody says so, but never without end. */
static bool lg_await_word(struct lg_run *run, struct completion *word)
{
	while (!wait_for_completion_timeout(word, HZ / 10))
		if (lg_stopped(run))
			return false;
	return true;
}

/* What a holder does while it holds. */

static void lg_add_span(struct lg_turn *turn, enum lg_state state, u64 from,
			u64 to)
{
	struct lg_span *span = &turn->span[turn->nspans];

	if (turn->nspans == LG_MAX_SPANS || to <= from)
		return;
	span->state = state;
	span->from = from;
	span->to = to;
	turn->nspans++;
}

static void lg_spend_running(struct lg_run *run, u64 ns)
{
	enum lg_pause how = lg_pause_held(run, run->waiter);
	unsigned int turns = 0;
	u64 start = lg_now();

	while (lg_since(start) < ns && !lg_stopped(run))
		lg_pause(how, &turns);
}

static void lg_spend_sleeping(struct lg_turn *turn, u64 ns)
{
	unsigned long us = max_t(u64, 1, div_u64(ns, NSEC_PER_USEC));
	u64 from = lg_now();

	usleep_range(us, us + 20);
	lg_add_span(turn, LG_STATE_SLEEP, from, lg_now());
}

/* It was preempted for the longest time that it did not see the clock. */
static void lg_spend_preempted(struct lg_run *run, struct lg_turn *turn,
			       enum lg_who who, unsigned int round)
{
	struct lg_holders *h = run->own;
	u64 from = 0, to = 0, now, last = lg_now();
	unsigned int turns = 0;
	bool back;

	WRITE_ONCE(h->preempt[who], round);
	complete(&h->hog[who]);
	do {
		back = smp_load_acquire(&h->preempted[who]) == round;
		now = lg_now();
		if (now - last > to - from) {
			from = last;
			to = now;
		}
		last = now;
		lg_pause(LG_PAUSE_RUNNING, &turns);
	} while (!back && !lg_stopped(run));
	lg_add_span(turn, LG_STATE_PREEMPTED, from, to);
}

static noinline __noclone void lockgen_holder_second(struct lg_thread *t,
						     struct lg_turn *turn,
						     unsigned int keep)
{
	struct lg_run *run = t->run;
	struct lg_holders *h = run->own;
	struct lg_lock *l = &run->lock[1];
	unsigned long flags = 0;
	struct lg_wait wait;
	u64 got, hold;

	smp_store_release(&h->wanted, keep);
	lg_wait_begin(&wait);
	lg_lock_any(run->inner->fl_id, l->lock, &flags);
	got = lg_wait_end(&wait);
	hold = lg_since(got);
	lg_unlock_any(run->inner->fl_id, l->lock, &flags);
	lg_count_hold(&l->counts, hold);
	lg_count_wait(&l->counts, true, &wait, LG_BY_WRITER);
	lg_add_span(turn, LG_STATE_LOCK, wait.called, got);
}

static void lg_spend_waiting(struct lg_thread *t, struct lg_turn *turn, u64 ns)
{
	struct lg_run *run = t->run;
	struct lg_holders *h = run->own;
	unsigned int keep = h->keeps + 1;
	u64 from = lg_now();
	bool kept;

	h->borrower = t;
	h->keep_ns = ns;
	smp_store_release(&h->keeps, keep);
	complete(&h->keeper);
	kept = lg_await_word(run, &h->kept);
	lg_add_span(turn, LG_STATE_SLEEP, from, lg_now());
	if (kept)
		lockgen_holder_second(t, turn, keep);
}

static void lg_spend(struct lg_thread *t, struct lg_turn *turn, enum lg_who who,
		     unsigned int round)
{
	struct lg_run *run = t->run;
	u64 ns = lg_holder_ns(run, who);

	switch (lg_state_of(run, who)) {
	case LG_STATE_SLEEP:
		return lg_spend_sleeping(turn, ns);
	case LG_STATE_PREEMPTED:
		return lg_spend_preempted(run, turn, who, round);
	case LG_STATE_LOCK:
		return lg_spend_waiting(t, turn, ns);
	default:
		return lg_spend_running(run, ns);
	}
}

/* The first holder holds until all others queue. */
static void lg_let_queue(struct lg_run *run, struct lg_turn *turn,
			 unsigned int round)
{
	struct lg_holders *h = run->own;
	u64 from;

	/* It must not sleep, and nobody else may have a CPU. */
	if (lg_kind_spins(run->waiter->kind_id)) {
		lg_line_up(run, round, LG_PAUSE_ATOMIC);
		return;
	}
	from = lg_now();
	smp_store_release(&run->held, round);
	lg_await_word(run, &h->gathered);
	lg_add_span(turn, LG_STATE_SLEEP, from, lg_now());
}

/* Adding up. */

static u64 lg_overlap(u64 from, u64 to, u64 other_from, u64 other_to)
{
	from = max(from, other_from);
	to = min(to, other_to);
	return to > from ? to - from : 0;
}

static void lg_add_blame(struct lg_blame *blame, const struct lg_turn *waiter,
			 const struct lg_turn *holder)
{
	u64 all = lg_overlap(waiter->asked, waiter->got, holder->got,
			     holder->let);
	u64 run_ns = all, ns;
	unsigned int i;

	if (!all)
		return;
	for (i = 0; i < holder->nspans; i++) {
		const struct lg_span *span = &holder->span[i];

		ns = lg_overlap(waiter->asked, waiter->got, span->from,
				span->to);
		blame->state_ns[span->state] += ns;
		run_ns -= min(ns, run_ns);
	}
	blame->waits++;
	blame->overlap_ns += all;
	blame->state_ns[LG_STATE_RUN] += run_ns;
}

static void lg_add_held(struct lg_held *held, const struct lg_turn *turn,
			bool waited)
{
	u64 hold_ns = turn->let - turn->got;
	u64 run_ns = hold_ns, ns;
	unsigned int i;

	for (i = 0; i < turn->nspans; i++) {
		ns = turn->span[i].to - turn->span[i].from;
		held->state_ns[turn->span[i].state] += ns;
		run_ns -= min(ns, run_ns);
	}
	held->holds++;
	held->hold_ns += hold_ns;
	held->state_ns[LG_STATE_RUN] += run_ns;
	held->waits += waited;
	held->wait_ns += waited ? turn->got - turn->asked : 0;
}

static void lg_add_round(struct lg_run *run, unsigned int round)
{
	unsigned int i, k, n = lg_queued_threads(run);
	struct lg_holders *h = run->own;

	for (i = 0; i < n; i++) {
		const struct lg_thread *t = &run->thread[i];
		bool waited = i && READ_ONCE(t->seen) == round;

		lg_add_held(&h->held[lg_who(t)], &h->turn[i], waited);
		for (k = 0; k < n && waited; k++)
			if (k != i)
				lg_add_blame(&h->blame[lg_who(&run->thread[k])]
						      [lg_who(t)],
					     &h->turn[i], &h->turn[k]);
	}
}

static void lg_dismiss(struct lg_run *run)
{
	struct lg_holders *h = run->own;
	unsigned int i;

	WRITE_ONCE(h->over, true);
	complete(&h->keeper);
	for (i = 0; i < LG_HOLDER_THREADS; i++)
		complete(&h->hog[i]);
}

/* What the threads do. */

static __always_inline void lg_holders_body(struct lg_thread *t,
					    enum lg_who who)
{
	struct lg_run *run = t->run;
	struct lg_holders *h = run->own;
	struct lg_turn *turn = &h->turn[t->index];
	struct lg_lock *l = &run->lock[0];
	bool spins = lg_kind_spins(run->waiter->kind_id);
	unsigned int n = lg_queued_threads(run);
	unsigned long flags = 0;
	struct lg_wait wait;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		if (who != LG_WHO_A &&
		    !lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->go) >=
				      (round - 1) * n + t->index))
			break;
		turn->nspans = 0;
		if (spins)
			preempt_disable();
		smp_store_release(&t->announced, round);
		lg_wait_begin(&wait);
		lg_lock_any(run->waiter->fl_id, l->lock, &flags);
		turn->got = lg_wait_end(&wait);
		turn->asked = wait.called;
		if (who == LG_WHO_A)
			lg_let_queue(run, turn, round);
		if (who != LG_WHO_WAITS)
			lg_spend(t, turn, who, round);
		turn->let = lg_now();
		lg_unlock_any(run->waiter->fl_id, l->lock, &flags);
		if (spins)
			preempt_enable();
		lg_count_hold(&l->counts, turn->let - turn->got);
		if (who != LG_WHO_A)
			lg_count_wait(&l->counts, READ_ONCE(t->seen) == round,
				      &wait, LG_BY_WRITER);
		if (who == LG_WHO_C)
			l->counts.holder = current->pid;
		smp_store_release(&t->finished, round);
		if (who == LG_WHO_A &&
		    lg_await(run, lg_pause_free(run),
			     lg_all_finished(&run->thread[1], n - 1, round)))
			lg_add_round(run, round);
	}
	if (who == LG_WHO_A)
		lg_dismiss(run);
}

#define LG_HOLDERS_FN(name, who)                                 \
	static noinline __noclone void name(struct lg_thread *t) \
	{                                                        \
		lg_holders_body(t, who);                         \
	}

LG_HOLDERS_FN(lockgen_holder_a, LG_WHO_A)
LG_HOLDERS_FN(lockgen_holder_b, LG_WHO_B)
LG_HOLDERS_FN(lockgen_holder_c, LG_WHO_C)
LG_HOLDERS_FN(lockgen_holders_wait, LG_WHO_WAITS)

static noinline void lockgen_holders_conduct(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_holders *h = run->own;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->held) == round))
			break;
		lg_line_up(run, round, LG_PAUSE_SLEEPING);
		complete(&h->gathered);
	}
}

/* On the CPU of a holder, and more urgent than it. */
static noinline void lockgen_holders_hog(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_holders *h = run->own;
	enum lg_who who = t->index - lg_queued_threads(run) - 1;
	u64 ns = lg_holder_ns(run, who);
	u64 start;

	sched_set_fifo(current);
	while (lg_await_word(run, &h->hog[who]) && !READ_ONCE(h->over)) {
		start = lg_now();
		while (lg_since(start) < ns && !lg_stopped(run))
			cpu_relax();
		smp_store_release(&h->preempted[who],
				  READ_ONCE(h->preempt[who]));
	}
}

static noinline __noclone void lockgen_holders_keep(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_holders *h = run->own;
	struct lg_lock *l = &run->lock[1];
	unsigned long flags = 0;
	unsigned long us;
	unsigned int keep;
	u64 start;

	while (lg_await_word(run, &h->keeper) && !READ_ONCE(h->over)) {
		keep = smp_load_acquire(&h->keeps);
		lg_lock_any(run->inner->fl_id, l->lock, &flags);
		start = lg_now();
		complete(&h->kept);
		lg_await(run, LG_PAUSE_SLEEPING,
			 smp_load_acquire(&h->wanted) == keep &&
				 lg_asleep(h->borrower));
		us = max_t(u64, 1, div_u64(h->keep_ns, NSEC_PER_USEC));
		usleep_range(us, us + 20);
		start = lg_since(start);
		lg_unlock_any(run->inner->fl_id, l->lock, &flags);
		lg_count_hold(&l->counts, start);
		l->counts.holder = current->pid;
	}
}

/* The plan. */

static const struct lg_function lg_queued_functions[LG_WHOS] = {
	{ lockgen_holder_a, "lockgen_holder_a" },
	{ lockgen_holder_b, "lockgen_holder_b" },
	{ lockgen_holder_c, "lockgen_holder_c" },
	{ lockgen_holders_wait, "lockgen_holders_wait" },
};

static const struct lg_function lg_conductor = { lockgen_holders_conduct,
						 "lockgen_holders_conduct" };
static const struct lg_function lg_hog = { lockgen_holders_hog,
					   "lockgen_holders_hog" };
static const struct lg_function lg_keeper = { lockgen_holders_keep,
					      "lockgen_holders_keep" };

/* Behind those that queue: the conductor, and the hogs or the keeper. */
static const struct lg_function *lg_holders_function(const struct lg_run *run,
						     unsigned int index)
{
	unsigned int n = lg_queued_threads(run);

	if (index < n)
		return &lg_queued_functions[min_t(unsigned int, index,
						  LG_WHO_WAITS)];
	if (index == n)
		return &lg_conductor;
	return run->inner ? &lg_keeper : &lg_hog;
}

static unsigned int lg_holders_place(const struct lg_run *run,
				     unsigned int index)
{
	unsigned int n = lg_queued_threads(run);

	if (index < n)
		return index;
	/* A hog is where its holder is, the others where nobody holds. */
	return index > n && !run->inner ? index - n - 1 : LG_WHO_WAITS;
}

static int lg_check_second(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_INNER_KIND];

	if (lg_kind_spins(kind) || kind == LG_PERCPU_RWSEM)
		return lg_refuse(
			error,
			"inner_kind=%s: the second lock must be a mutex, ww_mutex, rwsem, sem or rtmutex",
			lg_kind_words[kind]);
	run->inner = lg_plain_flavour(kind, kind == LG_RWSEM ? LG_W : LG_X);
	run->inner_caller = "lockgen_holder_second";
	return 0;
}

static int lg_check_holders(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	int state = run->value[LG_K_STATE];
	bool second = state == LG_STATE_LOCK || state == LG_STATE_MIXED;

	if (kind == LG_PERCPU_RWSEM)
		return lg_refuse(
			error,
			"kind=percpu_rwsem: not for holders, its writers wait for more than holders");
	if (lg_kind_spins(kind) && state != LG_STATE_RUN)
		return lg_refuse(
			error,
			"state: the holders of a %s must not leave their CPU, use state=run",
			lg_kind_words[kind]);
	if (run->given[LG_K_INNER_KIND] && !second)
		return lg_refuse(
			error,
			"inner_kind: there is a second lock only with state=lock or state=mixed");
	if (run->hold_ns > 100 * NSEC_PER_MSEC)
		return lg_refuse(
			error,
			"hold_us, hold_ns: more than 100 ms is too long for holders");
	run->waiter =
		lg_plain_flavour(kind, lg_kind_shared(kind) ? LG_W : LG_X);
	run->holder = run->waiter;
	run->caller = lg_who_symbols[LG_WHO_WAITS];
	run->nthreads = lg_queued_threads(run) + !lg_kind_spins(kind);
	if (state == LG_STATE_PREEMPTED)
		run->nthreads += LG_HOLDER_THREADS;
	if (second)
		run->nthreads++;
	return second ? lg_check_second(run, error) : 0;
}

static int lg_prepare_holders(struct lg_run *run)
{
	struct lg_holders *h = run->own;
	unsigned int i;

	init_completion(&h->gathered);
	init_completion(&h->keeper);
	init_completion(&h->kept);
	for (i = 0; i < LG_HOLDER_THREADS; i++)
		init_completion(&h->hog[i]);
	return 0;
}

static void lg_tell_holders(const struct lg_run *run, char *text, size_t size)
{
	const struct lg_holders *h = run->own;
	unsigned int i, k;
	size_t n;

	n = scnprintf(
		text, size,
		"#function\tsymbol\tstate\tholds\thold_ns\twaits\twait_ns\trun_ns\tsleep_ns\tpreempted_ns\tlock_ns\n");
	for (i = 0; i < LG_WHOS; i++) {
		const struct lg_held *held = &h->held[i];

		n += scnprintf(
			text + n, size - n,
			"function\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n",
			lg_who_symbols[i],
			i == LG_WHO_WAITS ? "-" :
					    lg_state_names[lg_state_of(run, i)],
			held->holds, held->hold_ns, held->waits, held->wait_ns,
			held->state_ns[LG_STATE_RUN],
			held->state_ns[LG_STATE_SLEEP],
			held->state_ns[LG_STATE_PREEMPTED],
			held->state_ns[LG_STATE_LOCK]);
	}
	n += scnprintf(
		text + n, size - n,
		"#blame\tholder\twaiter\twaits\toverlap_ns\trun_ns\tsleep_ns\tpreempted_ns\tlock_ns\n");
	for (i = 0; i < LG_WHOS; i++) {
		for (k = 0; k < LG_WHOS; k++) {
			const struct lg_blame *b = &h->blame[i][k];

			if (!b->waits)
				continue;
			n += scnprintf(
				text + n, size - n,
				"blame\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n",
				lg_who_symbols[i], lg_who_symbols[k], b->waits,
				b->overlap_ns, b->state_ns[LG_STATE_RUN],
				b->state_ns[LG_STATE_SLEEP],
				b->state_ns[LG_STATE_PREEMPTED],
				b->state_ns[LG_STATE_LOCK]);
		}
	}
}

const struct lg_plan lg_plan_holders = {
	.check = lg_check_holders,
	.function = lg_holders_function,
	.place = lg_holders_place,
	.own_bytes = sizeof(struct lg_holders),
	.prepare = lg_prepare_holders,
	.tell = lg_tell_holders,
};
