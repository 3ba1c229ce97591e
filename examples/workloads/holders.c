// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: holders.  Three threads hold a lock, and those that wait do so
 * through all three: who is to blame for how much of a wait?  The columns are
 * those of kernel/holders.c, and each holder's tid.
 *
 * They hold it one after another: each asks only when the one before it has
 * been seen asleep at the lock, and a lock is handed on in the order in which
 * its waiters fell asleep.  Or, with readers=1, all at once, as readers of a
 * rwlock, and those that wait want to write.  Nobody lets go before all others
 * wait.  What is told is what really happened: the clock as each saw it.
 */
#include "lockgen.h"

#include <semaphore.h>

enum who { WHO_A, WHO_B, WHO_C, WHO_WAITS, WHOS };

#define HOLDERS_N WHO_WAITS
#define MAX_QUEUE (HOLDERS_N + 32)

enum state { STATE_RUN, STATE_SLEEP, STATE_LOCK, STATES, STATE_MIXED = STATES };

const char *const state_words[] = { "run", "sleep", "lock", "mixed", NULL };

/* The first two are those of the key kind; the last one readers hold, all at once. */
enum held_kind { HELD_MUTEX, HELD_RWLOCK, SHARED_RWLOCK };

static pthread_mutex_t lockgen_held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lockgen_held_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t lockgen_shared_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lockgen_second_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Some time of a hold in which the holder did not run. */
struct span {
	enum state state;
	uint64_t from, to;
};

/* Asleep while the others queue, and until the second lock is taken; waiting. */
#define MAX_SPANS 3

/* One thread's turn in a round. */
struct turn {
	pthread_t handle;
	enum who who;
	atomic_int tid;
	int syscall_fd;
	/* It may ask; it is about to; it has the lock; it is done: in this round. */
	sem_t go;
	atomic_uint asks, has, done;
	bool waited;
	uint64_t asked, got, let;
	unsigned int nspans;
	struct span span[MAX_SPANS];
};

struct blame {
	unsigned int waits;
	uint64_t overlap_ns;
	uint64_t state_ns[STATES];
};

struct held {
	unsigned int holds, waits;
	uint64_t hold_ns, wait_ns;
	uint64_t state_ns[STATES];
	int tid;
};

static struct {
	enum held_kind kind;
	enum state state;
	unsigned int n, rounds;
	uint64_t hold_ns;
	struct turn turn[MAX_QUEUE];
	struct blame blame[WHOS][WHOS];
	struct held held[WHOS];
	/* All others wait: a holder each may go on. */
	sem_t gathered;
	/* Who holds the second lock while a holder wants it. */
	pthread_t keeper;
	sem_t keep, kept;
	struct turn *borrower;
	uint64_t keep_ns;
	bool over;
} h;

static const char *const symbols[] = { "lockgen_holder_a", "lockgen_holder_b",
				       "lockgen_holder_c",
				       "lockgen_holders_wait" };

static enum state state_of(enum who who)
{
	static const enum state mixed[] = { STATE_RUN, STATE_SLEEP,
					    STATE_LOCK };

	return h.state == STATE_MIXED ? mixed[who] : h.state;
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) && !stopped)
		;
}

/* Asleep at the lock; what the kernel does not tell is believed. */
static bool asleep_at(const struct turn *t, const void *lock, size_t size)
{
	unsigned long first;
	long nr;
	int in = in_syscall(t->syscall_fd, &nr, &first);

	return in < 0 ||
	       (in && nr == SYS_futex && first - (uintptr_t)lock < size);
}

static bool in_queue(const struct turn *t)
{
	static const struct {
		void *lock;
		size_t size;
	} locks[] = {
		[HELD_MUTEX] = { &lockgen_held_mutex,
				 sizeof(lockgen_held_mutex) },
		[HELD_RWLOCK] = { &lockgen_held_rwlock,
				  sizeof(lockgen_held_rwlock) },
		[SHARED_RWLOCK] = { &lockgen_shared_rwlock,
				    sizeof(lockgen_shared_rwlock) },
	};

	return asleep_at(t, locks[h.kind].lock, locks[h.kind].size);
}

/* What a holder does while it holds. */

static void add_span(struct turn *t, enum state state, uint64_t from)
{
	struct span *span = &t->span[t->nspans++];

	span->state = state;
	span->from = from;
	span->to = now();
}

static void spend_running(uint64_t ns)
{
	uint64_t start = now();

	while (since(start) < ns && !stopped)
		;
}

static void spend_sleeping(struct turn *t, uint64_t ns)
{
	uint64_t start = now();

	sleep_ns(ns);
	add_span(t, STATE_SLEEP, start);
}

static void spend_waiting(struct turn *t, uint64_t ns)
{
	uint64_t start = now();

	h.borrower = t;
	h.keep_ns = ns;
	sem_post(&h.keep);
	wait_for(&h.kept);
	add_span(t, STATE_SLEEP, start);
	start = now();
	must(pthread_mutex_lock(&lockgen_second_mutex));
	add_span(t, STATE_LOCK, start);
	must(pthread_mutex_unlock(&lockgen_second_mutex));
}

/* a holds for this long, b twice as long, c three times. */
static void spend(struct turn *t)
{
	uint64_t start = now(), ns = h.hold_ns * (t->who + 1);

	wait_for(&h.gathered);
	add_span(t, STATE_SLEEP, start);
	if (state_of(t->who) == STATE_SLEEP)
		spend_sleeping(t, ns);
	else if (state_of(t->who) == STATE_LOCK)
		spend_waiting(t, ns);
	else
		spend_running(ns);
}

static OWN_FUNCTION void *lockgen_holders_keep(void *data)
{
	(void)data;
	for (wait_for(&h.keep); !h.over && !stopped; wait_for(&h.keep)) {
		must(pthread_mutex_lock(&lockgen_second_mutex));
		sem_post(&h.kept);
		await(asleep_at(h.borrower, &lockgen_second_mutex,
				sizeof(lockgen_second_mutex)));
		sleep_ns(h.keep_ns);
		must(pthread_mutex_unlock(&lockgen_second_mutex));
	}
	return NULL;
}

/* Adding up. */

static uint64_t overlap(uint64_t from, uint64_t to, uint64_t other_from,
			uint64_t other_to)
{
	from = from > other_from ? from : other_from;
	to = to < other_to ? to : other_to;
	return to > from ? to - from : 0;
}

static void add_blame(struct blame *b, const struct turn *waiter,
		      const struct turn *holder)
{
	uint64_t all =
		overlap(waiter->asked, waiter->got, holder->got, holder->let);
	uint64_t run_ns = all, ns;
	unsigned int i;

	if (!all)
		return;
	for (i = 0; i < holder->nspans; i++) {
		const struct span *span = &holder->span[i];

		ns = overlap(waiter->asked, waiter->got, span->from, span->to);
		b->state_ns[span->state] += ns;
		run_ns -= ns < run_ns ? ns : run_ns;
	}
	b->waits++;
	b->overlap_ns += all;
	b->state_ns[STATE_RUN] += run_ns;
}

static void add_held(struct held *held, const struct turn *t)
{
	uint64_t hold_ns = t->let - t->got, run_ns = hold_ns, ns;
	unsigned int i;

	for (i = 0; i < t->nspans; i++) {
		ns = t->span[i].to - t->span[i].from;
		held->state_ns[t->span[i].state] += ns;
		run_ns -= ns < run_ns ? ns : run_ns;
	}
	held->holds++;
	held->hold_ns += hold_ns;
	held->state_ns[STATE_RUN] += run_ns;
	held->waits += t->waited;
	held->wait_ns += t->waited ? t->got - t->asked : 0;
	held->tid = t->who == WHO_WAITS ? 0 : t->tid;
}

static void add_round(void)
{
	unsigned int i, k;

	for (i = 0; i < h.n; i++) {
		const struct turn *t = &h.turn[i];

		add_held(&h.held[t->who], t);
		for (k = 0; k < h.n && t->waited; k++)
			if (k != i)
				add_blame(&h.blame[h.turn[k].who][t->who], t,
					  &h.turn[k]);
	}
}

/* What the threads do. */

ALWAYS_INLINE void take(enum who who)
{
	if (h.kind == HELD_MUTEX)
		must(pthread_mutex_lock(&lockgen_held_mutex));
	else if (h.kind == HELD_RWLOCK)
		must(pthread_rwlock_wrlock(&lockgen_held_rwlock));
	else if (who == WHO_WAITS)
		must(pthread_rwlock_wrlock(&lockgen_shared_rwlock));
	else
		must(pthread_rwlock_rdlock(&lockgen_shared_rwlock));
}

ALWAYS_INLINE void let_go(void)
{
	if (h.kind == HELD_MUTEX)
		must(pthread_mutex_unlock(&lockgen_held_mutex));
	else if (h.kind == HELD_RWLOCK)
		must(pthread_rwlock_unlock(&lockgen_held_rwlock));
	else
		must(pthread_rwlock_unlock(&lockgen_shared_rwlock));
}

ALWAYS_INLINE void *holders_body(struct turn *t, enum who who)
{
	unsigned int round;

	t->tid = gettid();
	for (round = 1; round <= h.rounds && !stopped; round++) {
		wait_for(&t->go);
		t->nspans = 0;
		t->asks = round;
		t->asked = now();
		take(who);
		t->got = now();
		t->has = round;
		if (who != WHO_WAITS)
			spend(t);
		t->let = now();
		let_go();
		t->done = round;
	}
	return NULL;
}

#define HOLDERS_FN(name, who)                   \
	static OWN_FUNCTION void *name(void *t) \
	{                                       \
		return holders_body(t, who);    \
	}

HOLDERS_FN(lockgen_holder_a, WHO_A)
HOLDERS_FN(lockgen_holder_b, WHO_B)
HOLDERS_FN(lockgen_holder_c, WHO_C)
HOLDERS_FN(lockgen_holders_wait, WHO_WAITS)

static void *(*const functions[])(void *) = { lockgen_holder_a,
					      lockgen_holder_b,
					      lockgen_holder_c,
					      lockgen_holders_wait };

/* Lets them come, one after another, and the holders go on when all have. */
static void conduct(unsigned int round)
{
	unsigned int i;

	for (i = 0; i < h.n; i++) {
		struct turn *t = &h.turn[i];
		bool has = !i ||
			   (h.kind == SHARED_RWLOCK && t->who != WHO_WAITS);

		sem_post(&t->go);
		await(t->asks == round);
		t->waited = !has;
		await(has ? t->has == round : in_queue(t));
	}
	for (i = 0; i < HOLDERS_N; i++)
		sem_post(&h.gathered);
	for (i = 0; i < h.n; i++)
		await(h.turn[i].done == round);
	if (!stopped)
		add_round();
}

static int start(void)
{
	unsigned int i;
	int error = 0;

	sem_init(&h.gathered, 0, 0);
	sem_init(&h.keep, 0, 0);
	sem_init(&h.kept, 0, 0);
	for (i = 0; i < h.n && !error; i++) {
		struct turn *t = &h.turn[i];

		t->who = i < WHO_WAITS ? (enum who)i : WHO_WAITS;
		sem_init(&t->go, 0, 0);
		error = pthread_create(&t->handle, NULL, functions[t->who], t);
		if (error)
			return error;
		await(t->tid);
		t->syscall_fd = open_syscall(t->tid);
	}
	return pthread_create(&h.keeper, NULL, lockgen_holders_keep, NULL);
}

static void end(void)
{
	unsigned int i;

	h.over = true;
	sem_post(&h.keep);
	pthread_join(h.keeper, NULL);
	for (i = 0; i < h.n; i++) {
		pthread_join(h.turn[i].handle, NULL);
		if (h.turn[i].syscall_fd >= 0)
			close(h.turn[i].syscall_fd);
	}
}

static void print_states(const uint64_t *ns)
{
	printf("\t%llu\t%llu\t0\t%llu", (unsigned long long)ns[STATE_RUN],
	       (unsigned long long)ns[STATE_SLEEP],
	       (unsigned long long)ns[STATE_LOCK]);
}

static void print_holders(void)
{
	unsigned int i, k;

	printf("#lockgen 1 holders\n");
	printf("#function\tsymbol\tstate\tholds\thold_ns\twaits\twait_ns\t"
	       "run_ns\tsleep_ns\tpreempted_ns\tlock_ns\ttid\n");
	for (i = 0; i < WHOS; i++) {
		const struct held *held = &h.held[i];

		printf("function\t%s\t%s\t%u\t%llu\t%u\t%llu", symbols[i],
		       i == WHO_WAITS ? "-" :
					state_words[state_of((enum who)i)],
		       held->holds, (unsigned long long)held->hold_ns,
		       held->waits, (unsigned long long)held->wait_ns);
		print_states(held->state_ns);
		printf("\t%d\n", held->tid);
	}
	printf("#blame\tholder\twaiter\twaits\toverlap_ns\trun_ns\tsleep_ns\t"
	       "preempted_ns\tlock_ns\n");
	for (i = 0; i < WHOS; i++) {
		for (k = 0; k < WHOS; k++) {
			const struct blame *b = &h.blame[i][k];

			if (!b->waits)
				continue;
			printf("blame\t%s\t%s\t%u\t%llu", symbols[i],
			       symbols[k], b->waits,
			       (unsigned long long)b->overlap_ns);
			print_states(b->state_ns);
			printf("\n");
		}
	}
}

static int perform_holders(const struct request *rq)
{
	unsigned int round;
	int error;

	h.kind = rq->value[K_READERS] ? SHARED_RWLOCK :
					(enum held_kind)rq->value[K_KIND];
	h.state = (enum state)rq->value[K_STATE];
	h.n = HOLDERS_N + (unsigned int)rq->value[K_QUEUE];
	h.rounds = (unsigned int)rq->value[K_ROUNDS];
	h.hold_ns = (uint64_t)rq->value[K_HOLD_US] * NSEC_PER_USEC;
	error = start();
	if (error)
		return error;
	for (round = 1; round <= h.rounds && !stopped; round++)
		conduct(round);
	if (stopped)
		return EINTR;
	end();
	print_holders();
	return 0;
}

static bool refuse_holders(const struct request *rq, char *why, size_t size)
{
	enum state state = (enum state)rq->value[K_STATE];

	if (rq->value[K_READERS] && rq->value[K_KIND] != HELD_RWLOCK) {
		snprintf(why, size,
			 "readers=1: a mutex has none, use kind=rwlock");
		return true;
	}
	/* There is one keeper. */
	if (rq->value[K_READERS] && state == STATE_LOCK) {
		snprintf(why, size,
			 "state=lock: for holders one after another, use "
			 "state=mixed");
		return true;
	}
	return false;
}

const struct plan plan_holders = { refuse_holders, perform_holders };
