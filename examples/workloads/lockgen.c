// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: lock contention in user space whose truth is known.
 *
 * Runs one scenario on pthread mutexes or rwlocks and prints what really
 * happened: how often each lock was taken, how often by somebody who had to
 * wait, how long, and from which function.  A tool that watches locks is
 * checked against it.  kernel/main.c does the same for the kernel's locks and
 * says what the columns are, those of chain, deadlock and order included.
 *
 * Of chain and deadlock (chain.c) also:
 *   kind        mutex, rwlock_w, rwlock_r (readers that wait for a writer), pi (a
 *               mutex with PTHREAD_PRIO_INHERIT); raw futexes, waited for by
 *               WAIT (futex), WAIT_BITSET (futex_bitset), waitv (futex_waitv),
 *               LOCK_PI (futex_pi) and LOCK_PI2 (futex_pi2); kernel: a kernel
 *               mutex held across system calls (kernel/holdable.c); mixed:
 *               another kind of user lock at each depth; cross: a user mutex,
 *               a kernel mutex, and so on in turn; cross_kernel: the kernel
 *               mutex first.  PI futexes cannot close a deadlock: the kernel
 *               sees it, and refuses
 *   place       where the locks are, and so their names: heap, members of a heap
 *               object (lockgen_conn.link_D.mutex); global (lockgen_link_D_mutex);
 *               array, of a global struct (lockgen_table.slot[].mutex)
 *   stand=1     the truth is printed when all stand, without wait_ns, and once
 *               more at the end, which a line on the standard input or SIGTERM
 *               brings.  A deadlock then ends with the process
 * and the last columns of their link lines are
 *   variant     the key kind of the lock
 *   told        1 where the lock itself tells who holds it
 * A deadlock is ended by the time-out of the thread that closed it, or if it
 * waits for a kernel lock by a signal.
 *
 * Of holders (holders.c), as in the kernel module:
 *   state       what the three do while they hold: run; sleep; lock: wait for a
 *               second one; mixed: each another of these
 *   readers=1   they are readers of a rwlock, and hold it all at once
 *
 * Of pool (pool.c), whose workers=N wait for items=N, for hold_us in all:
 *   idle        what tid comm object waits wait_ns caller: a thread that waits, but
 *               for no lock: cond, sem, barrier, event (a futex) or join
 *   pool        items mutex contended: the work done, the mutex of the condition
 *               variable, and how many found it held: none
 */
#include "lockgen.h"

#include <argp.h>
#include <stdarg.h>

#define MAX_THREADS 256
#define MAX_LOCKS 20000
#define MAX_WORDS 32

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unreleased"
#endif

const char *argp_program_version = "lockgen (locktap) " PACKAGE_VERSION;

/* The locks under test.  A scenario uses the first; nested the inner one too. */
static pthread_mutex_t lockgen_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lockgen_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lockgen_inner_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lockgen_inner_rwlock = PTHREAD_RWLOCK_INITIALIZER;

enum kind { KIND_MUTEX, KIND_RWLOCK };

static const char *const kind_words[] = { "pthread_mutex", "pthread_rwlock",
					  NULL };

static const struct {
	void *lock;
	const char *name;
	void *inner;
	const char *inner_name;
} globals[] = {
	[KIND_MUTEX] = { &lockgen_mutex, "lockgen_mutex", &lockgen_inner_mutex,
			 "lockgen_inner_mutex" },
	[KIND_RWLOCK] = { &lockgen_rwlock, "lockgen_rwlock",
			  &lockgen_inner_rwlock, "lockgen_inner_rwlock" },
};

static const size_t lock_size[] = {
	[KIND_MUTEX] = sizeof(pthread_mutex_t),
	[KIND_RWLOCK] = sizeof(pthread_rwlock_t),
};

/* Short ones, as the kernel module has them. */
static const char *const short_kind_words[] = { "mutex", "rwlock", NULL };

enum mode { MODE_X, MODE_R, MODE_W };

static const char *const mode_words[] = { "x", "r", "w", NULL };

/* A flavour is a kind and the mode it is taken in. */
/* clang-format off */
#define FLAVOURS(F)                       \
	F(mutex, KIND_MUTEX, MODE_X)      \
	F(rwlock_r, KIND_RWLOCK, MODE_R)  \
	F(rwlock_w, KIND_RWLOCK, MODE_W)
/* clang-format on */

enum flavour_id {
#define ID(id, kind, mode) FL_##id,
	FLAVOURS(ID) FL_COUNT
};

static const char *const scenario_words[] = {
	"convoy",  "free",	 "many",  "nested",   "signal",
	"trylock", "throughput", "chain", "deadlock", "order",
	"pool",	   "holders",	 NULL
};

enum role {
	CONVOY_HOLD,
	CONVOY_WAIT,
	FREE_RUN,
	THROUGHPUT_RUN,
	THROUGHPUT_COUNT,
	TRY_HOLD,
	TRY,
	TIMED_HOLD,
	TIMED_WAIT,
	NEST_HOLD,
	NEST_INNER,
	NEST_OUTER,
	NEST_WAIT,
	ROLES
};

struct thread;

struct function {
	void (*fn)(struct thread *t);
	const char *symbol;
};

struct flavour {
	enum kind kind;
	enum mode mode;
	struct function role[ROLES];
};

struct counts {
	atomic_ullong acquisitions;
	atomic_ullong contended;
	atomic_ullong wait_ns;
	atomic_ullong hold_ns;
	atomic_ullong failed;
	atomic_ullong missed;
	atomic_int holder;
};

struct lock {
	void *lock;
	const char *name;
	bool allocated;
	/* In the waiters' mode, and in the holder's where that is another. */
	struct counts counts;
	struct counts holder_counts;
};

struct thread {
	struct run *run;
	const struct function *function;
	unsigned int index;
	pthread_t handle;
	bool started;
	uint64_t elapsed_ns;
	atomic_int tid;
	/* What the thread's system call is, for the holder to look at. */
	int syscall_fd;
	/* The round for which it is about to call the lock function. */
	atomic_uint announced;
	/* The round in which the holder saw it wait for the lock. */
	atomic_uint seen;
	/* The last round it is done with. */
	atomic_uint finished;
};

struct word {
	const char *name;
	size_t size;
	const char *value;
};

struct run {
	enum scenario scenario;
	int value[KEYS];
	bool given[KEYS];
	bool scenario_given;
	/* What the command line gives, until the scenario is known. */
	struct word word[MAX_WORDS];
	unsigned int nwords;
	const struct flavour *waiter;
	const struct flavour *holder;
	const struct flavour *inner;
	unsigned int rounds;
	unsigned int nlocks;
	struct lock *lock;
	unsigned int nthreads;
	struct thread thread[MAX_THREADS + 2];
	atomic_uint ready;
	/* The round that the waiters may start, and the one that is held. */
	atomic_uint go;
	atomic_uint held;
	atomic_uint outer_held;
	/* The round whose lock is free again, and whose turn it then is. */
	atomic_uint released;
	atomic_uint turn;
};

atomic_bool stopped;

/*
 * The operations.  Always inlined with a constant flavour, so the call of the
 * lock function stands in the role's own function.
 */
void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "lockgen: a lock operation failed: %s\n",
		strerror(error));
	abort();
}

ALWAYS_INLINE void take(enum flavour_id fl, void *lock)
{
	switch (fl) {
	case FL_mutex:
		must(pthread_mutex_lock(lock));
		break;
	case FL_rwlock_r:
		must(pthread_rwlock_rdlock(lock));
		break;
	default:
		must(pthread_rwlock_wrlock(lock));
		break;
	}
}

ALWAYS_INLINE void release(enum flavour_id fl, void *lock)
{
	if (fl == FL_mutex)
		must(pthread_mutex_unlock(lock));
	else
		must(pthread_rwlock_unlock(lock));
}

ALWAYS_INLINE bool try_to_take(enum flavour_id fl, void *lock)
{
	int error;

	switch (fl) {
	case FL_mutex:
		error = pthread_mutex_trylock(lock);
		break;
	case FL_rwlock_r:
		error = pthread_rwlock_tryrdlock(lock);
		break;
	default:
		error = pthread_rwlock_trywrlock(lock);
		break;
	}
	if (error != EBUSY)
		must(error);
	return !error;
}

ALWAYS_INLINE bool take_timed(enum flavour_id fl, void *lock,
			      const struct timespec *deadline)
{
	int error;

	switch (fl) {
	case FL_mutex:
		error = pthread_mutex_timedlock(lock, deadline);
		break;
	case FL_rwlock_r:
		error = pthread_rwlock_timedrdlock(lock, deadline);
		break;
	default:
		error = pthread_rwlock_timedwrlock(lock, deadline);
		break;
	}
	if (error != ETIMEDOUT)
		must(error);
	return !error;
}

/* Time and waiting. */

int open_syscall(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int in_syscall(int fd, long *nr, unsigned long *first)
{
	char text[128];
	ssize_t n;

	if (fd < 0)
		return -1;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	/* Else it says "running", or -1 for a place outside system calls. */
	return sscanf(text, "%ld %lx", nr, first) == 2 && *nr >= 0;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* The same for a holder that is to stay on its CPU. */
#define await_running(condition)                         \
	({                                               \
		bool met;                                \
                                                         \
		while (!(met = (condition)) && !stopped) \
			relax();                         \
		met;                                     \
	})

static void hold(const struct run *run)
{
	uint64_t ns = (uint64_t)run->value[K_HOLD_US] * NSEC_PER_USEC;
	uint64_t start = now(), gone;

	while ((gone = since(start)) < ns && !stopped) {
		if (run->value[K_HOLD])
			sleep_ns(ns - gone);
		else
			relax();
	}
}

/* 1 yes, 0 no, -1 the kernel does not tell. */
static int waits(const struct thread *t, const void *lock, size_t size)
{
	uintptr_t start = (uintptr_t)lock;
	unsigned long first;
	long nr;

	switch (in_syscall(t->syscall_fd, &nr, &first)) {
	case -1:
		return -1;
	case 0:
		return 0;
	default:
		return nr == SYS_futex && first >= start &&
		       first < start + size;
	}
}

static bool mark_seen(const struct flavour *fl, const void *lock,
		      struct thread *first, unsigned int n, unsigned int round)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (first[i].seen == round)
			continue;
		/* What can't be known is believed: it had announced itself. */
		if (waits(&first[i], lock, lock_size[fl->kind]))
			first[i].seen = round;
		else
			all = false;
	}
	return all;
}

static bool all_announced(struct thread *first, unsigned int n,
			  unsigned int round)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (first[i].announced != round)
			return false;
	return true;
}

static bool all_finished(struct thread *first, unsigned int n,
			 unsigned int round)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (first[i].finished != round)
			return false;
	return true;
}

static bool gathered(const struct flavour *fl, const void *lock,
		     struct thread *first, unsigned int n, unsigned int round)
{
	return all_announced(first, n, round) &&
	       mark_seen(fl, lock, first, n, round);
}

/*
 * Called with the lock held: wait until the waiters have announced themselves
 * and are seen to wait.  Not without end: one that comes too late is counted
 * as one that missed the window.
 */
static void gather(struct run *run, const struct flavour *waiter,
		   const void *lock, struct thread *first, unsigned int n,
		   unsigned int round)
{
	uint64_t start = now();

	if (run->value[K_HOLD])
		await(gathered(waiter, lock, first, n, round) ||
		      since(start) > 2 * NSEC_PER_SEC);
	else
		await_running(gathered(waiter, lock, first, n, round) ||
			      since(start) > 2 * NSEC_PER_SEC);
}

/* Counting. */

static struct counts *holder_counts(const struct run *run, struct lock *l)
{
	return run->holder == run->waiter ? &l->counts : &l->holder_counts;
}

static void count_hold(struct counts *c, uint64_t hold_ns)
{
	c->acquisitions++;
	c->hold_ns += hold_ns;
}

static void count_wait(struct counts *c, bool waited, uint64_t wait_ns)
{
	if (!waited) {
		c->missed++;
		return;
	}
	c->contended++;
	c->wait_ns += wait_ns;
}

static struct thread *waiters(struct run *run)
{
	return &run->thread[1];
}

static struct lock *round_lock(struct run *run, unsigned int round)
{
	return &run->lock[(round - 1) % run->nlocks];
}

/* convoy and many: the holder holds until all wait, and some time more. */
ALWAYS_INLINE void convoy_hold_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	unsigned int n = run->nthreads - 1;
	unsigned int round;

	for (round = 1; round <= run->rounds && !stopped; round++) {
		struct lock *l = round_lock(run, round);
		uint64_t start;

		take(fl, l->lock);
		start = now();
		run->go = round;
		gather(run, run->waiter, l->lock, waiters(run), n, round);
		hold(run);
		start = since(start);
		release(fl, l->lock);
		count_hold(holder_counts(run, l), start);
		l->counts.holder = t->tid;
		await(all_finished(waiters(run), n, round));
	}
}

ALWAYS_INLINE void convoy_wait_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lock *l = round_lock(run, round);
		uint64_t called, got, held_ns;

		if (!await(run->go >= round))
			break;
		t->announced = round;
		called = now();
		take(fl, l->lock);
		got = now();
		held_ns = since(got);
		release(fl, l->lock);
		count_hold(&l->counts, held_ns);
		count_wait(&l->counts, t->seen == round, got - called);
		t->finished = round;
	}
}

/* free: a lock for each thread, so nobody ever waits. */
static void relax_for(unsigned int turns)
{
	while (turns--)
		relax();
}

ALWAYS_INLINE void free_run_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *l = &run->lock[t->index];
	unsigned int inner = (unsigned int)run->value[K_INNER];
	int i;

	for (i = 0; i < run->value[K_ITERATIONS] && !stopped; i++) {
		uint64_t start;

		take(fl, l->lock);
		start = now();
		relax_for(inner);
		start = since(start);
		release(fl, l->lock);
		count_hold(&l->counts, start);
	}
}

/* throughput: the benchmark loop.  Nothing in it but the lock and pauses. */
static bool start_together(struct run *run)
{
	/* Each has counted itself once before, in thread_main(). */
	run->ready++;
	return await_running(run->ready == 2 * run->nthreads);
}

ALWAYS_INLINE void throughput_run_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *l = &run->lock[0];
	unsigned int inner = (unsigned int)run->value[K_INNER];
	uint64_t start;
	int i;

	if (!start_together(run))
		return;
	start = now();
	for (i = 0; i < run->value[K_ITERATIONS] && !stopped; i++) {
		take(fl, l->lock);
		relax_for(inner);
		release(fl, l->lock);
		relax_for(inner);
	}
	t->elapsed_ns = since(start);
	l->counts.acquisitions += (unsigned int)i;
}

/* The same with the waits counted, by trying first: it costs, so on demand. */
ALWAYS_INLINE void throughput_count_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *l = &run->lock[0];
	unsigned int inner = (unsigned int)run->value[K_INNER];
	unsigned int contended = 0;
	uint64_t start;
	int i;

	if (!start_together(run))
		return;
	start = now();
	for (i = 0; i < run->value[K_ITERATIONS] && !stopped; i++) {
		if (!try_to_take(fl, l->lock)) {
			contended++;
			take(fl, l->lock);
		}
		relax_for(inner);
		release(fl, l->lock);
		relax_for(inner);
	}
	t->elapsed_ns = since(start);
	l->counts.acquisitions += (unsigned int)i;
	l->counts.contended += contended;
	l->counts.failed += contended;
}

/* trylock: each fails while the lock is held, then each gets it in its turn. */
ALWAYS_INLINE void try_hold_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	unsigned int n = run->nthreads - 1;
	struct lock *l = &run->lock[0];
	unsigned int round;

	for (round = 1; round <= run->rounds && !stopped; round++) {
		uint64_t start;

		run->turn = 1;
		take(fl, l->lock);
		start = now();
		run->go = round;
		await(all_announced(waiters(run), n, round));
		start = since(start);
		release(fl, l->lock);
		count_hold(holder_counts(run, l), start);
		l->counts.holder = t->tid;
		run->released = round;
		await(all_finished(waiters(run), n, round));
	}
}

ALWAYS_INLINE void try_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *l = &run->lock[0];
	unsigned int round;
	int i;

	for (round = 1; round <= run->rounds; round++) {
		if (!await(run->go >= round))
			break;
		for (i = 0; i < run->value[K_TRIES]; i++) {
			if (try_to_take(fl, l->lock)) {
				release(fl, l->lock);
				count_hold(&l->counts, 0);
				l->counts.missed++;
			} else {
				l->counts.failed++;
			}
		}
		t->announced = round;
		if (!await(run->released >= round && run->turn == t->index))
			break;
		if (try_to_take(fl, l->lock)) {
			uint64_t start = now();

			start = since(start);
			release(fl, l->lock);
			count_hold(&l->counts, start);
		} else {
			l->counts.failed++;
			l->counts.missed++;
		}
		run->turn++;
		t->finished = round;
	}
}

/*
 * signal: waits that end without the lock.  No signal ends a pthread lock's
 * wait, only its time-out does.
 */
ALWAYS_INLINE void timed_hold_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	unsigned int n = run->nthreads - 1;
	struct lock *l = &run->lock[0];
	unsigned int round;

	for (round = 1; round <= run->rounds && !stopped; round++) {
		uint64_t start;

		take(fl, l->lock);
		start = now();
		run->go = round;
		await(all_finished(waiters(run), n, round));
		start = since(start);
		release(fl, l->lock);
		count_hold(holder_counts(run, l), start);
		l->counts.holder = t->tid;
	}
}

ALWAYS_INLINE void timed_wait_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	uint64_t timeout_ns =
		(uint64_t)run->value[K_TIMEOUT_US] * NSEC_PER_USEC;
	struct lock *l = &run->lock[0];
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct timespec deadline;
		uint64_t called;

		if (!await(run->go >= round))
			break;
		deadline = deadline_after(timeout_ns);
		called = now();
		if (take_timed(fl, l->lock, &deadline)) {
			release(fl, l->lock);
			count_hold(&l->counts, 0);
			l->counts.missed++;
		} else {
			l->counts.wait_ns += since(called);
			l->counts.failed++;
		}
		t->finished = round;
	}
}

/*
 * nested: thread 0 holds the inner lock; thread 1 holds the outer one and
 * waits for the inner; thread 2 waits for the outer.
 */
enum { LOCK_OUTER, LOCK_INNER };

ALWAYS_INLINE void nest_hold_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *outer = &run->lock[LOCK_OUTER];
	struct lock *inner = &run->lock[LOCK_INNER];
	unsigned int round;

	for (round = 1; round <= run->rounds && !stopped; round++) {
		uint64_t start;

		run->go = round;
		if (!await(run->outer_held == round))
			break;
		take(fl, inner->lock);
		start = now();
		run->held = round;
		gather(run, run->inner, inner->lock, &run->thread[1], 1, round);
		run->released = round;
		gather(run, run->waiter, outer->lock, &run->thread[2], 1,
		       round);
		hold(run);
		start = since(start);
		release(fl, inner->lock);
		count_hold(&inner->counts, start);
		inner->counts.holder = t->tid;
		await(all_finished(&run->thread[1], 2, round));
	}
}

ALWAYS_INLINE void nest_inner_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *inner = &run->lock[LOCK_INNER];
	unsigned int round = run->held;
	uint64_t called, got, held_ns;

	t->announced = round;
	called = now();
	take(fl, inner->lock);
	got = now();
	held_ns = since(got);
	release(fl, inner->lock);
	count_hold(&inner->counts, held_ns);
	count_wait(&inner->counts, t->seen == round, got - called);
}

ALWAYS_INLINE void nest_outer_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *outer = &run->lock[LOCK_OUTER];
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		uint64_t start;

		if (!await(run->go >= round))
			break;
		take(fl, outer->lock);
		start = now();
		run->outer_held = round;
		if (await(run->held == round))
			run->inner->role[NEST_INNER].fn(t);
		start = since(start);
		release(fl, outer->lock);
		count_hold(&outer->counts, start);
		outer->counts.holder = t->tid;
		t->finished = round;
	}
}

ALWAYS_INLINE void nest_wait_body(struct thread *t, enum flavour_id fl)
{
	struct run *run = t->run;
	struct lock *outer = &run->lock[LOCK_OUTER];
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		uint64_t called, got, held_ns;

		if (!await(run->released >= round))
			break;
		t->announced = round;
		called = now();
		take(fl, outer->lock);
		got = now();
		held_ns = since(got);
		release(fl, outer->lock);
		count_hold(&outer->counts, held_ns);
		count_wait(&outer->counts, t->seen == round, got - called);
		t->finished = round;
	}
}

/* One function for each role and flavour: a caller that can be told apart. */
#define ROLE(role, id)                                                   \
	static OWN_FUNCTION void lockgen_##role##_##id(struct thread *t) \
	{                                                                \
		role##_body(t, FL_##id);                                 \
	}

#define ROLES_OF(id, kind, mode)   \
	ROLE(convoy_hold, id)      \
	ROLE(convoy_wait, id)      \
	ROLE(free_run, id)         \
	ROLE(throughput_run, id)   \
	ROLE(throughput_count, id) \
	ROLE(try_hold, id)         \
	ROLE(try, id)              \
	ROLE(timed_hold, id)       \
	ROLE(timed_wait, id)       \
	ROLE(nest_hold, id)        \
	ROLE(nest_inner, id)       \
	ROLE(nest_outer, id)       \
	ROLE(nest_wait, id)

FLAVOURS(ROLES_OF)

#define FUNCTION(role, id)                                      \
	{                                                       \
		lockgen_##role##_##id, "lockgen_" #role "_" #id \
	}

#define TABLE(id, k, m) \
	[FL_##id] = {                                                    \
		.kind = k,                                               \
		.mode = m,                                               \
		.role = {                                                \
			[CONVOY_HOLD] = FUNCTION(convoy_hold, id),       \
			[CONVOY_WAIT] = FUNCTION(convoy_wait, id),       \
			[FREE_RUN] = FUNCTION(free_run, id),             \
			[THROUGHPUT_RUN] = FUNCTION(throughput_run, id), \
			[THROUGHPUT_COUNT] =                             \
				FUNCTION(throughput_count, id),          \
			[TRY_HOLD] = FUNCTION(try_hold, id),             \
			[TRY] = FUNCTION(try, id),                       \
			[TIMED_HOLD] = FUNCTION(timed_hold, id),         \
			[TIMED_WAIT] = FUNCTION(timed_wait, id),         \
			[NEST_HOLD] = FUNCTION(nest_hold, id),           \
			[NEST_INNER] = FUNCTION(nest_inner, id),         \
			[NEST_OUTER] = FUNCTION(nest_outer, id),         \
			[NEST_WAIT] = FUNCTION(nest_wait, id),           \
		},                                                       \
	},

static const struct flavour flavours[FL_COUNT] = { FLAVOURS(TABLE) };

static const struct flavour *flavour_of(enum kind kind, enum mode mode)
{
	unsigned int i;

	for (i = 0; i < FL_COUNT; i++)
		if (flavours[i].kind == kind && flavours[i].mode == mode)
			return &flavours[i];
	return NULL;
}

/* The command line. */

static const char *const hold_words[] = { "run", "sleep", NULL };

#define S(scenario) (1u << (scenario))
#define S_WAITS (S(CONVOY) | S(MANY) | S(SIGNAL) | S(TRYLOCK))
#define S_HOLDS (S(CONVOY) | S(MANY) | S(NESTED))
#define S_LOOPS (S(FREE) | S(THROUGHPUT))
#define S_LINKS (S(CHAIN) | S(DEADLOCK))
#define S_OWN (S_LINKS | S(ORDER) | S(POOL) | S(HOLDERS))
#define S_ALL (S(SCENARIOS) - 1)

static const struct key {
	const char *name;
	const char *const *words;
	int min, max, preset;
	unsigned int scenarios;
	int letter;
	const char *argument;
	const char *help;
} keys[KEYS] = {
	[K_KIND] = { "kind", kind_words, 0, 0, KIND_MUTEX,
		     S_ALL & ~(S_LINKS | S(POOL)), 'k', "KIND",
		     "pthread_mutex (the preset) or pthread_rwlock; others "
		     "for chain and deadlock" },
	[K_MODE] = { "mode", mode_words, 0, 0, 0, S_WAITS | S_LOOPS, 'm',
		     "MODE", "r or w, the mode of a rwlock's waiters" },
	[K_BEHIND] = { "behind", mode_words, 0, 0, 0, S_WAITS, 'b', "MODE",
		       "the holder's mode: r waits behind w; w behind r "
		       "unless told otherwise" },
	[K_INNER_KIND] = { "inner_kind", kind_words, 0, 0, KIND_MUTEX,
			   S(NESTED), 'I', "KIND",
			   "nested: the inner lock's kind" },
	[K_HOLD] = { "hold", hold_words, 0, 0, 0, S_HOLDS, 'H', "run|sleep",
		     "what the holder does meanwhile" },
	[K_WAITERS] = { "waiters", NULL, 1, MAX_THREADS, 1, S_WAITS, 'w', "N",
			"threads behind the holder" },
	[K_ROUNDS] = { "rounds", NULL, 1, 1000000, 50,
		       S_WAITS | S(NESTED) | S(ORDER) | S(HOLDERS), 'r', "N",
		       "how often; many: for each lock" },
	[K_HOLD_US] = { "hold_us", NULL, 0, 1000000, 3000, S_HOLDS | S(HOLDERS),
			'u', "MICROSECONDS",
			"how long the holder holds once all wait" },
	[K_TIMEOUT_US] = { "timeout_us", NULL, 1, 1000000, 3000, S(SIGNAL), 'T',
			   "MICROSECONDS", "signal: when the waits time out" },
	[K_LOCKS] = { "locks", NULL, 1, MAX_LOCKS, 1000, S(MANY), 'l', "N",
		      "many: how many" },
	[K_TRIES] = { "tries", NULL, 1, 1000000, 10, S(TRYLOCK), 'y', "N",
		      "trylock: failing tries of each thread in a round" },
	[K_THREADS] = { "threads", NULL, 1, MAX_THREADS, 1, S_LOOPS, 't', "N",
			"free, throughput: threads" },
	[K_ITERATIONS] = { "iterations", NULL, 1, 100000000, 1000, S_LOOPS, 'i',
			   "N", "free, throughput: of each thread" },
	[K_INNER] = { "inner", NULL, 0, 1000000, 0, S_LOOPS, 'p', "N",
		      "free, throughput: pauses inside, and outside the lock" },
	[K_COUNT] = { "count", NULL, 0, 1, 0, S(THROUGHPUT), 'c', "0|1",
		      "throughput: count the waits too, by a trylock first" },
	[K_DETAIL] = { "detail", NULL, 0, 1, 0, S_WAITS, 'd', "0|1",
		       "a line for each lock, and for the holder's mode" },
	/* What has no letter is another key's option, for other scenarios. */
	[K_LINK_KIND] = { "kind", link_words, .scenarios = S_LINKS },
	[K_PLACE] = { "place", place_words, .scenarios = S_LINKS, .letter = 'P',
		      .argument = "heap|global|array",
		      .help = "chain, deadlock: where the locks lie" },
	[K_LENGTH] = { "length", NULL, 2, 8, 3, S_LINKS, 'L', "N",
		       "chain, deadlock: threads in each" },
	[K_CHAINS] = { "chains", NULL, 1, 40, 1, S_LINKS, 'C', "N",
		       "chain, deadlock: so many at the same time" },
	[K_MORE] = { "behind", NULL, 0, 32, 0, .scenarios = S_LINKS },
	[K_BUILD] = { "build", build_words, .scenarios = S_LINKS, .letter = 'B',
		      .argument = "front|back",
		      .help = "chain, deadlock: who begins to wait first" },
	[K_STAND] = { "stand", NULL, 0, 1, 0, S_LINKS | S(POOL), 'S', "0|1",
		      "chain, deadlock, pool: stay until a line on the "
		      "standard input, or SIGTERM" },
	[K_STAND_US] = { "hold_us", NULL, 0, 60000000, 100000,
			 .scenarios = S_LINKS | S(POOL) },
	[K_FEW_ROUNDS] = { "rounds", NULL, 1, 10000, 1, .scenarios = S_LINKS },
	[K_ORDER_LOCKS] = { "locks", NULL, 2, 3, 2, .scenarios = S(ORDER) },
	[K_PATH_THREADS] = { "threads", NULL, 1, 3, 1, .scenarios = S(ORDER) },
	[K_MODES] = { "modes", modes_words, .scenarios = S(ORDER),
		      .letter = 'M', .argument = "MODES",
		      .help = "order: how the first path takes its two "
			      "rwlocks, then the others: wwww, rrrr, rwrw, "
			      "wrwr, rwwr, rrww" },
	[K_GATE] = { "gate", gate_words, .scenarios = S(ORDER), .letter = 'g',
		     .argument = "0|1|half|read",
		     .help = "order: a lock held around both orders" },
	[K_TRY] = { "try", try_words, .scenarios = S(ORDER), .letter = 'Y',
		    .argument = "0|1|first",
		    .help = "order: the last path tries its second lock, or "
			    "its first" },
	[K_SAME] = { "same", NULL, 0, 1, 0, S(ORDER), 'a', "0|1",
		     "order: both paths in the same order" },
	[K_WORKERS] = { "workers", NULL, 1, 64, 4, S(POOL), 'W', "N",
			"pool: threads that wait for work" },
	[K_ITEMS] = { "items", NULL, 0, 1000000, 20, S(POOL), 'e', "N",
		      "pool: pieces of work" },
	[K_STATE] = { "state", state_words, 0, 0, 0, S(HOLDERS), 'D',
		      "run|sleep|lock|mixed",
		      "holders: what these do while they hold" },
	[K_READERS] = { "readers", NULL, 0, 1, 0, S(HOLDERS), 'R', "0|1",
			"holders: readers that hold all at once" },
	[K_QUEUE] = { "waiters", NULL, 1, 32, 3, .scenarios = S(HOLDERS) },
};

static int find_word(const char *const *words, const char *word)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

/* argp_error() ends the program, with exit status 2. */
static void list_words(struct argp_state *state, const char *what,
		       const char *word, const char *const *words)
{
	char list[200] = "";

	for (; *words; words++) {
		strncat(list, *words, sizeof(list) - strlen(list) - 1);
		if (words[1])
			strncat(list, ", ", sizeof(list) - strlen(list) - 1);
	}
	argp_error(state, "%s=%s: must be one of %s", what, word, list);
}

static void list_keys(struct argp_state *state, const struct run *run,
		      const char *word)
{
	char list[300] = "";
	unsigned int i;

	for (i = 0; i < KEYS; i++) {
		if (!(keys[i].scenarios & S(run->scenario)))
			continue;
		if (*list)
			strncat(list, ", ", sizeof(list) - strlen(list) - 1);
		strncat(list, keys[i].name, sizeof(list) - strlen(list) - 1);
	}
	argp_error(state, "%s: %s knows no such key, only %s", word,
		   scenario_words[run->scenario], list);
}

static int number(const char *text, const struct key *key, bool *good)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	*good = end != text && !*end && !errno && n >= key->min &&
		n <= key->max;
	return *good ? (int)n : 0;
}

static void set_value(struct run *run, unsigned int k, const char *text,
		      struct argp_state *state)
{
	const struct key *key = &keys[k];
	bool good;
	int n;

	if (run->given[k])
		argp_error(state, "%s: given twice", key->name);
	if (key->words) {
		n = find_word(key->words, text);
		if (n < 0 && key->words == kind_words)
			n = find_word(short_kind_words, text);
		if (n < 0)
			list_words(state, key->name, text, key->words);
	} else {
		n = number(text, key, &good);
		if (!good)
			argp_error(state,
				   "%s=%s: must be a number from %d to %d",
				   key->name, text, key->min, key->max);
	}
	run->value[k] = n;
	run->given[k] = true;
}

static void set_scenario(struct run *run, const char *word,
			 struct argp_state *state)
{
	int n = find_word(scenario_words, word);

	if (run->scenario_given)
		argp_error(state, "%s: a second scenario", word);
	if (n < 0)
		list_words(state, "scenario", word, scenario_words);
	run->scenario = (enum scenario)n;
	run->scenario_given = true;
}

/* What a name means is known once the scenario is. */
static int find_key(const struct run *run, const char *name, size_t size)
{
	int k, any = -1;

	for (k = 0; k < KEYS; k++) {
		if (strlen(keys[k].name) != size ||
		    strncmp(keys[k].name, name, size))
			continue;
		if (keys[k].scenarios & S(run->scenario))
			return k;
		any = k;
	}
	return any;
}

static void set_word(struct run *run, const struct word *word,
		     struct argp_state *state)
{
	int k = find_key(run, word->name, word->size);
	char name[24];

	if (k < 0)
		argp_error(state, "%.*s: no such key, see --help",
			   (int)word->size, word->name);
	snprintf(name, sizeof(name), "%s", keys[k].name);
	if (!(keys[k].scenarios & S(run->scenario)))
		list_keys(state, run, name);
	set_value(run, (unsigned int)k, word->value, state);
}

static void add_word(struct run *run, const char *name, size_t size,
		     const char *value, struct argp_state *state)
{
	if (run->nwords == MAX_WORDS)
		argp_error(state, "more than %d keys", MAX_WORDS);
	run->word[run->nwords].name = name;
	run->word[run->nwords].size = size;
	run->word[run->nwords++].value = value;
}

static void take_word(struct run *run, const char *word,
		      struct argp_state *state)
{
	const char *value = strchr(word, '=');

	if (value)
		add_word(run, word, (size_t)(value - word), value + 1, state);
	else
		set_scenario(run, word, state);
}

static void settle_presets(struct run *run)
{
	unsigned int k;

	for (k = 0; k < KEYS; k++)
		if (!run->given[k])
			run->value[k] = keys[k].preset;
	if (run->scenario == MANY && !run->given[K_ROUNDS])
		run->value[K_ROUNDS] = 1;
	if (run->scenario == MANY && !run->given[K_HOLD_US])
		run->value[K_HOLD_US] = 20;
	if (run->scenario == DEADLOCK && !run->given[K_STAND_US])
		run->value[K_STAND_US] = 1500000;
	if (run->scenario == THROUGHPUT && !run->given[K_THREADS])
		run->value[K_THREADS] = 2;
	if (run->scenario == THROUGHPUT && !run->given[K_ITERATIONS])
		run->value[K_ITERATIONS] = 20000;
	if (run->scenario == THROUGHPUT && !run->given[K_INNER])
		run->value[K_INNER] = 100;
}

static void check_mode(const struct run *run, unsigned int k,
		       struct argp_state *state)
{
	bool shared = run->value[K_KIND] == KIND_RWLOCK;

	if (shared != (run->value[k] != MODE_X))
		argp_error(state, "%s=%s: %s has %s", keys[k].name,
			   mode_words[run->value[k]],
			   kind_words[run->value[K_KIND]],
			   shared ? "the modes r and w" : "no mode but x");
}

static enum mode opposite(enum mode mode)
{
	if (mode == MODE_X)
		return MODE_X;
	return mode == MODE_R ? MODE_W : MODE_R;
}

static void settle_flavours(struct run *run, struct argp_state *state)
{
	enum kind kind = (enum kind)run->value[K_KIND];
	enum kind inner = (enum kind)run->value[K_INNER_KIND];
	bool shared = kind == KIND_RWLOCK;
	int *mode = &run->value[K_MODE];
	int *behind = &run->value[K_BEHIND];

	if (!run->given[K_MODE])
		*mode = shared ? MODE_W : MODE_X;
	if (!run->given[K_BEHIND])
		*behind = opposite((enum mode)run->value[K_MODE]);
	check_mode(run, K_MODE, state);
	check_mode(run, K_BEHIND, state);
	if (*mode == MODE_R && *behind == MODE_R)
		argp_error(state, "behind=r: a reader does not wait behind a "
				  "reader, use mode=w or behind=w");
	run->waiter = flavour_of(kind, (enum mode)run->value[K_MODE]);
	run->holder = flavour_of(kind, (enum mode)run->value[K_BEHIND]);
	run->inner = flavour_of(inner, inner == KIND_RWLOCK ? MODE_W : MODE_X);
}

static const struct plan *const plans[SCENARIOS] = {
	[CHAIN] = &plan_chain, [DEADLOCK] = &plan_chain,  [ORDER] = &plan_order,
	[POOL] = &plan_pool,   [HOLDERS] = &plan_holders,
};

static struct request request_of(const struct run *run)
{
	struct request rq = { run->scenario, run->value, run->given };

	return rq;
}

static void settle_plan(const struct run *run, struct argp_state *state)
{
	struct request rq = request_of(run);
	char why[300];

	if (plans[run->scenario]->refuse(&rq, why, sizeof(why)))
		argp_error(state, "%s", why);
}

static void settle(struct run *run, struct argp_state *state)
{
	unsigned int k;

	if (!run->scenario_given)
		argp_error(state, "no scenario given, one of convoy, free, "
				  "many, nested, signal, trylock, throughput, "
				  "chain, deadlock, order, pool, holders");
	for (k = 0; k < run->nwords; k++)
		set_word(run, &run->word[k], state);
	settle_presets(run);
	if (plans[run->scenario]) {
		settle_plan(run, state);
		return;
	}
	settle_flavours(run, state);
	if (run->scenario == NESTED)
		run->nthreads = 3;
	else if (S_LOOPS & S(run->scenario))
		run->nthreads = (unsigned int)run->value[K_THREADS];
	else
		run->nthreads = (unsigned int)run->value[K_WAITERS] + 1;
}

static error_t parse_option(int option, char *argument,
			    struct argp_state *state)
{
	struct run *run = state->input;
	unsigned int k;

	switch (option) {
	case 's':
		set_scenario(run, argument, state);
		return 0;
	case ARGP_KEY_ARG:
		take_word(run, argument, state);
		return 0;
	case ARGP_KEY_END:
		settle(run, state);
		return 0;
	default:
		for (k = 0; k < KEYS; k++)
			if (keys[k].letter && keys[k].letter == option) {
				add_word(run, keys[k].name,
					 strlen(keys[k].name), argument, state);
				return 0;
			}
		return ARGP_ERR_UNKNOWN;
	}
}

static const char doc[] =
	"Make lock contention whose truth is known, and print that truth."
	"\vScenarios:\n"
	"  convoy      a holder holds a known time while waiters queue\n"
	"  free        each thread has its own lock: nobody waits\n"
	"  many        many locks, each waited for\n"
	"  nested      the holder of a lock waits for another one\n"
	"  signal      waits that end by their time-out, without the lock\n"
	"  trylock     tries that fail\n"
	"  throughput  a loop on one lock, for benchmarks\n"
	"  chain       each thread holds a lock and waits for the next one's\n"
	"  deadlock    the same in a ring, until a time-out ends it\n"
	"  order       locks taken in one order here, in another there\n"
	"  pool        idle threads: nobody waits for a lock\n"
	"  holders     three hold a lock, and others wait through all three\n\n"
	"A KEY is the long name of an option, with _ for -, as in: "
	"lockgen convoy kind=pthread_rwlock mode=r hold_us=500\n\n"
	"The output is lines of tab-separated values. The exit status is 0 "
	"when all went well, 1 when the run failed, 2 when the command line "
	"is wrong.";

/* hold_us is a word as in the kernel module, and as an option --hold-us. */
static void with_dashes(char *to, size_t size, const char *name)
{
	snprintf(to, size, "%s", name);
	while ((to = strchr(to, '_')))
		*to = '-';
}

static void parse(struct run *run, int argc, char **argv)
{
	static struct argp_option options[KEYS + 2];
	static char name[KEYS][16];
	static const struct argp argp = {
		options, parse_option, "SCENARIO [KEY=VALUE...]", doc, NULL,
		NULL,	 NULL
	};
	unsigned int k, n = 1;

	options[0].name = "scenario";
	options[0].key = 's';
	options[0].arg = "SCENARIO";
	options[0].doc = "the scenario, also as a word";
	for (k = 0; k < KEYS; k++) {
		if (!keys[k].letter)
			continue;
		with_dashes(name[k], sizeof(name[k]), keys[k].name);
		options[n].name = name[k];
		options[n].key = keys[k].letter;
		options[n].arg = keys[k].argument;
		options[n++].doc = keys[k].help;
	}
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, run);
}

/* The locks of a run. */

static int allocate_lock(enum kind kind, struct lock *l)
{
	int error;

	l->name = "?";
	l->lock = malloc(lock_size[kind]);
	if (!l->lock)
		return ENOMEM;
	error = kind == KIND_MUTEX ? pthread_mutex_init(l->lock, NULL) :
				     pthread_rwlock_init(l->lock, NULL);
	if (error)
		free(l->lock);
	else
		l->allocated = true;
	return error;
}

static void free_locks(struct run *run)
{
	unsigned int i;

	for (i = 0; run->lock && i < run->nlocks; i++) {
		if (!run->lock[i].allocated)
			continue;
		if (run->value[K_KIND] == KIND_MUTEX)
			pthread_mutex_destroy(run->lock[i].lock);
		else
			pthread_rwlock_destroy(run->lock[i].lock);
		free(run->lock[i].lock);
	}
	free(run->lock);
}

static unsigned int count_locks(const struct run *run)
{
	switch (run->scenario) {
	case MANY:
		return (unsigned int)run->value[K_LOCKS];
	case FREE:
		return run->nthreads;
	case NESTED:
		return 2;
	default:
		return 1;
	}
}

static int make_locks(struct run *run)
{
	enum kind kind = (enum kind)run->value[K_KIND];
	enum kind inner = (enum kind)run->value[K_INNER_KIND];
	unsigned int i = 0;
	int error = 0;

	run->nlocks = count_locks(run);
	run->rounds = (unsigned int)run->value[K_ROUNDS];
	if (run->scenario == MANY)
		run->rounds *= run->nlocks;
	run->lock = calloc(run->nlocks, sizeof(*run->lock));
	if (!run->lock)
		return ENOMEM;
	if (run->scenario != MANY) {
		run->lock[i].lock = globals[kind].lock;
		run->lock[i++].name = globals[kind].name;
	}
	if (run->scenario == NESTED) {
		run->lock[i].lock = globals[inner].inner;
		run->lock[i++].name = globals[inner].inner_name;
	}
	for (; i < run->nlocks && !error; i++)
		error = allocate_lock(kind, &run->lock[i]);
	return error;
}

/* The threads of a run. */

static void *thread_main(void *data)
{
	struct thread *t = data;
	uint64_t start;

	t->tid = gettid();
	t->syscall_fd = open_syscall(t->tid);
	/* Nobody looks at a thread that has not said what it is. */
	t->run->ready++;
	if (!await(t->run->ready >= t->run->nthreads))
		return NULL;
	start = now();
	t->function->fn(t);
	if (!t->elapsed_ns)
		t->elapsed_ns = since(start);
	return NULL;
}

static const struct function *function_of(const struct run *run,
					  unsigned int index)
{
	static const enum role holder[] = {
		[CONVOY] = CONVOY_HOLD,
		[MANY] = CONVOY_HOLD,
		[SIGNAL] = TIMED_HOLD,
		[TRYLOCK] = TRY_HOLD,
	};
	static const enum role waiter[] = {
		[CONVOY] = CONVOY_WAIT,
		[MANY] = CONVOY_WAIT,
		[SIGNAL] = TIMED_WAIT,
		[TRYLOCK] = TRY,
	};

	switch (run->scenario) {
	case FREE:
		return &run->waiter->role[FREE_RUN];
	case THROUGHPUT:
		return &run->waiter
				->role[run->value[K_COUNT] ? THROUGHPUT_COUNT :
							     THROUGHPUT_RUN];
	case NESTED:
		if (index == 0)
			return &run->inner->role[NEST_HOLD];
		return &run->waiter->role[index == 1 ? NEST_OUTER : NEST_WAIT];
	default:
		return index == 0 ? &run->holder->role[holder[run->scenario]] :
				    &run->waiter->role[waiter[run->scenario]];
	}
}

/*
 * Thread 0, the holder where there is one, has a CPU of its own if there are
 * two; the others have one each as far as they go round.  A thread that can't
 * be bound runs where it may: the truth does not depend on it.
 */
static void bind_thread(pthread_attr_t *attr, unsigned int index,
			const cpu_set_t *allowed)
{
	int cpus = CPU_COUNT(allowed), cpu, nth = 0;
	cpu_set_t one;

	if (cpus < 2)
		return;
	if (index)
		nth = 1 + (int)(index - 1) % (cpus - 1);
	for (cpu = 0; cpu < CPU_SETSIZE - 1; cpu++)
		if (CPU_ISSET(cpu, allowed) && !nth--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_setaffinity_np(attr, sizeof(one), &one);
}

static int start_thread(struct run *run, unsigned int i,
			const cpu_set_t *allowed)
{
	struct thread *t = &run->thread[i];
	pthread_attr_t attr;
	int error;

	t->run = run;
	t->index = i;
	t->syscall_fd = -1;
	t->function = function_of(run, i);
	error = pthread_attr_init(&attr);
	if (error)
		return error;
	bind_thread(&attr, i, allowed);
	error = pthread_create(&t->handle, &attr, thread_main, t);
	t->started = !error;
	pthread_attr_destroy(&attr);
	return error;
}

static int start_threads(struct run *run)
{
	cpu_set_t allowed;
	unsigned int i;
	int error = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		CPU_ZERO(&allowed);
	for (i = 0; i < run->nthreads && !error; i++)
		error = start_thread(run, i, &allowed);
	return error;
}

static int run_threads(struct run *run)
{
	int error = start_threads(run);
	unsigned int i;

	if (error)
		stopped = true;
	for (i = 0; i < run->nthreads; i++) {
		if (!run->thread[i].started)
			continue;
		pthread_join(run->thread[i].handle, NULL);
		if (run->thread[i].syscall_fd >= 0)
			close(run->thread[i].syscall_fd);
	}
	if (!error && stopped)
		error = EINTR;
	return error;
}

/* The truth of a run. */

struct line {
	unsigned long long acquisitions;
	unsigned long long contended;
	unsigned long long wait_ns;
	unsigned long long hold_ns;
	unsigned long long failed;
	unsigned long long missed;
	int holder;
};

static void add_counts(struct line *line, struct counts *c)
{
	line->acquisitions += c->acquisitions;
	line->contended += c->contended;
	line->wait_ns += c->wait_ns;
	line->hold_ns += c->hold_ns;
	line->failed += c->failed;
	line->missed += c->missed;
	if (c->holder)
		line->holder = c->holder;
}

static uint64_t elapsed(const struct run *run)
{
	uint64_t longest = 0;
	unsigned int i;

	for (i = 0; i < run->nthreads; i++)
		if (run->thread[i].elapsed_ns > longest)
			longest = run->thread[i].elapsed_ns;
	return longest;
}

static void print_number(bool known, unsigned long long number)
{
	if (known)
		printf("\t%llu", number);
	else
		printf("\t-");
}

static void print_line(const struct run *run, const struct flavour *fl,
		       const void *lock, const char *name,
		       const struct line *line, const char *caller)
{
	bool measures = run->scenario != THROUGHPUT;

	printf("0x%lx\t%s\t%s\t-\t%llu", (unsigned long)(uintptr_t)lock,
	       kind_words[fl->kind], mode_words[fl->mode], line->acquisitions);
	print_number(measures || run->value[K_COUNT], line->contended);
	print_number(measures, line->wait_ns);
	print_number(measures, line->hold_ns);
	printf("\t%llu\t%llu\t%d\t%s\t%s\t%llu\n", line->failed, line->missed,
	       line->holder, caller, name, (unsigned long long)elapsed(run));
}

static void print_counts(const struct run *run, const struct flavour *fl,
			 const struct lock *l, struct counts *c,
			 const char *caller)
{
	struct line line = { 0 };

	add_counts(&line, c);
	print_line(run, fl, l->lock, l->name, &line, caller);
}

static void print_sum(const struct run *run, const char *caller)
{
	struct line line = { 0 };
	unsigned int i;

	for (i = 0; i < run->nlocks; i++)
		add_counts(&line, &run->lock[i].counts);
	print_line(run, run->waiter, NULL, "?", &line, caller);
}

static void print_lines(struct run *run)
{
	const char *last = run->thread[run->nthreads - 1].function->symbol;
	unsigned int i;

	if (run->scenario == NESTED) {
		print_counts(run, run->waiter, &run->lock[LOCK_OUTER],
			     &run->lock[LOCK_OUTER].counts, last);
		print_counts(run, run->inner, &run->lock[LOCK_INNER],
			     &run->lock[LOCK_INNER].counts,
			     run->inner->role[NEST_INNER].symbol);
		return;
	}
	if (run->scenario == MANY)
		print_sum(run, last);
	if (run->scenario == MANY && !run->value[K_DETAIL])
		return;
	for (i = 0; i < run->nlocks; i++) {
		struct lock *l = &run->lock[i];

		print_counts(run, run->waiter, l, &l->counts, last);
		if (run->value[K_DETAIL] && run->holder != run->waiter)
			print_counts(run, run->holder, l, &l->holder_counts,
				     run->thread[0].function->symbol);
	}
}

static void print_truth(struct run *run)
{
	printf("#lockgen 1 %s\n", scenario_words[run->scenario]);
	printf("#lock\tkind\tmode\tvariant\tacquisitions\tcontended\twait_ns\t"
	       "hold_ns\tfailed\tmissed_window\tholder_tid\tcaller\tname\t"
	       "elapsed_ns\n");
	print_lines(run);
}

static void on_signal(int number)
{
	(void)number;
	stopped = true;
}

/* Only to end a system call. */
static void on_nothing(int number)
{
	(void)number;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sigaction nothing = { .sa_handler = on_nothing };

	sigaction(SIGUSR1, &nothing, NULL);

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static int perform(struct run *run)
{
	int error = make_locks(run);

	if (!error)
		error = run_threads(run);
	if (!error)
		print_truth(run);
	free_locks(run);
	return error;
}

int main(int argc, char **argv)
{
	static struct run run;
	struct request rq;
	int error;

	parse(&run, argc, argv);
	catch_signals();
	rq = request_of(&run);
	error = plans[run.scenario] ? plans[run.scenario]->perform(&rq) :
				      perform(&run);
	if (error == EINTR)
		fprintf(stderr,
			"lockgen: stopped by a signal before its end: no truth to tell\n");
	else if (error)
		fprintf(stderr, "lockgen: could not run: %s\n",
			strerror(error));
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "lockgen: could not write the truth: %s\n",
			strerror(errno));
		error = EIO;
	}
	return error ? 1 : 0;
}
