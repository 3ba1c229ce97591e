// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: chain and deadlock.
 *
 * In a chain thread 0 holds lock 0; thread 1 holds lock 1 and waits for lock
 * 0; and so on: the last one waits only.  In a deadlock every thread holds a
 * lock, and thread 0 closes the ring: it waits for the last one's.  A conductor
 * lets one thread after another begin to wait, each only when the one before
 * has been seen in its lock's queue, so the truth has no "about" in it.
 *
 * The locks of all chains lie in heap objects of one type, in a member of its
 * own for each depth: a lock's name is lockgen_chain.link_D.KIND (of deadlock
 * lockgen_ring.link_D.KIND), and each depth and kind has functions of its own:
 * lockgen_chain_hold_D_KIND holds lock D, and from lockgen_chain_wait_D_KIND
 * the next thread waits for it.
 *
 * Nobody but the one that closes a ring can be woken before it has its lock; a
 * signal ends its wait, and with it the deadlock.
 */
#include "lockgen.h"

#define LG_MAX_LENGTH 8

/* clang-format off */

/* What a thread holds and what the next one waits for, and the lock's member. */
#define LG_RING_KINDS(F, ...)                                              \
	F(mutex, mutex, mutex, mutex, __VA_ARGS__)                         \
	F(rwsem_w, rwsem_w, rwsem_w, rwsem, __VA_ARGS__)                   \
	F(rwsem_r, rwsem_w, rwsem_r, rwsem, __VA_ARGS__)                   \
	F(rtmutex, rtmutex, rtmutex, rtmutex, __VA_ARGS__)                 \
	F(sem, sem, sem, sem, __VA_ARGS__)                                 \
	F(ww_mutex, ww_mutex, ww_mutex, ww_mutex, __VA_ARGS__)

/* No signal ends the wait for one of these: they are for chains only. */
#define LG_LINK_KINDS(F, ...)                                              \
	LG_RING_KINDS(F, __VA_ARGS__)                                      \
	F(percpu_rwsem_w, percpu_rwsem_w, percpu_rwsem_w, percpu_rwsem,    \
	  __VA_ARGS__)                                                     \
	F(spin, spin, spin, spin, __VA_ARGS__)

#define LG_LINK_ID(word, holds, waits, member, ...) LG_LINK_##word,
enum lg_link_kind {
	LG_LINK_KINDS(LG_LINK_ID)
	LG_LINK_KIND_COUNT,
	LG_LINK_MIXED = LG_LINK_KIND_COUNT,
	LG_LINK_MIXED_SPIN,
};

#define LG_LINK_WORD(word, holds, waits, member, ...) #word,
const char *const lg_link_words[] = {
	LG_LINK_KINDS(LG_LINK_WORD)
	"mixed", "mixed_spin", NULL
};

/* clang-format on */

const char *const lg_build_words[] = { "front", "back", NULL };

/* Each has a size and an initializer of its own. */
struct lockgen_link {
	struct mutex mutex;
	struct rw_semaphore rwsem;
	struct rt_mutex rtmutex;
	struct semaphore sem;
	struct ww_mutex ww_mutex;
	struct percpu_rw_semaphore percpu_rwsem;
	spinlock_t spin;
};

struct lockgen_chain {
	struct lockgen_link link_0;
	struct lockgen_link link_1;
	struct lockgen_link link_2;
	struct lockgen_link link_3;
	struct lockgen_link link_4;
	struct lockgen_link link_5;
	struct lockgen_link link_6;
};

/* Under another name, for the locks of rings. */
struct lockgen_ring {
	struct lockgen_link link_0;
	struct lockgen_link link_1;
	struct lockgen_link link_2;
	struct lockgen_link link_3;
	struct lockgen_link link_4;
	struct lockgen_link link_5;
	struct lockgen_link link_6;
	struct lockgen_link link_7;
};

/* One depth and kind: how its lock is held and waited for. */
struct lg_link {
	void (*hold)(void *object, struct lg_thread *t);
	void (*wait)(void *object, struct lg_thread *t);
	/* The wait that a signal ends, where the kind has one. */
	void (*wait_signal)(void *object, struct lg_thread *t);
	const char *hold_symbol;
	const char *wait_symbol;
	const char *wait_signal_symbol;
	const char *name;
	size_t offset;
	enum lg_flavour_id holds;
	enum lg_flavour_id waits;
};

/* A thread's place: what it holds, what it waits for, and how that went. */
struct lg_place {
	unsigned int chain;
	unsigned int depth;
	void *object;
	const struct lg_link *own;
	const struct lg_link *awaited;
	struct lg_thread *owner;
	bool closes;
	/* It is told to go on; and has heard it so often. */
	unsigned int told;
	unsigned int heard;
	struct completion go;
	/* The round in which it holds its lock, if it has one. */
	unsigned int ready;
	bool holds_spin;
	u64 called_ns;
	u64 wait_ns;
	unsigned int failed;
	unsigned int got;
	/* The conductor's: waits that it has seen, and has not. */
	unsigned int seen;
	unsigned int missed;
	u64 seen_ns;
	u64 ended_ns;
};

struct lg_graph {
	struct lg_place place[LG_MAX_LINKED];
	void *objects;
	bool over;
};

static bool lg_is_ring(const struct lg_run *run)
{
	return run->scenario == LG_DEADLOCK;
}

static unsigned int lg_length(const struct lg_run *run)
{
	return run->value[LG_K_LENGTH];
}

/* The threads of a chain: its length, and more of them behind lock 0. */
static unsigned int lg_width(const struct lg_run *run)
{
	return lg_length(run) + run->value[LG_K_BEHIND_0];
}

static unsigned int lg_links(const struct lg_run *run)
{
	return lg_is_ring(run) ? lg_length(run) : lg_length(run) - 1;
}

static struct lg_place *lg_place(const struct lg_thread *t)
{
	struct lg_graph *g = t->run->own;

	return &g->place[t->index];
}

/* Telling a thread to go on. */

static void lg_tell(struct lg_place *p)
{
	smp_store_release(&p->told, p->told + 1);
	complete(&p->go);
}

static bool lg_over(const struct lg_run *run)
{
	const struct lg_graph *g = run->own;

	return READ_ONCE(g->over);
}

/* Asleep until it is told, or awake where it holds a spinlock. */
static void lg_hear(struct lg_thread *t)
{
	struct lg_place *p = lg_place(t);

	while (smp_load_acquire(&p->told) == p->heard && !lg_over(t->run)) {
		if (p->holds_spin)
			cpu_relax();
		else if (wait_for_completion_interruptible(&p->go))
			flush_signals(current);
	}
	p->heard++;
}

/* What a thread does. */

/* Called with its own lock held, where it has one. */
static noinline void lg_stand(struct lg_thread *t)
{
	struct lg_place *p = lg_place(t);

	smp_store_release(&p->ready, t->round);
	lg_hear(t);
	if (!p->awaited || lg_over(t->run))
		return;
	if (p->closes)
		p->awaited->wait_signal(p->object, t);
	else
		p->awaited->wait(p->object, t);
}

static void lg_chain_main(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_place *p = lg_place(t);

	if (p->closes)
		allow_signal(SIGKILL);
	for (t->round = 1; t->round <= run->rounds; t->round++) {
		lg_hear(t);
		if (lg_over(run))
			break;
		if (p->own)
			p->own->hold(p->object, t);
		else
			lg_stand(t);
		smp_store_release(&t->finished, t->round);
	}
}

static __always_inline void lg_hold_link(struct lg_thread *t,
					 enum lg_flavour_id fl, void *lock)
{
	struct lg_place *p = lg_place(t);
	unsigned long flags = 0;

	lg_lock(fl, lock, &flags);
	p->holds_spin = fl == LG_FL_spin;
	lg_stand(t);
	p->holds_spin = false;
	lg_unlock(fl, lock, &flags);
	/* No jump in the place of the call: the caller stays on the stack. */
	barrier();
}

static __always_inline void lg_wait_link(struct lg_thread *t,
					 enum lg_flavour_id fl, void *lock)
{
	struct lg_place *p = lg_place(t);
	unsigned long flags = 0;
	struct lg_wait wait;

	if (fl == LG_FL_spin)
		preempt_disable();
	lg_wait_begin(&wait);
	WRITE_ONCE(p->called_ns, wait.called);
	smp_store_release(&t->announced, t->round);
	lg_lock(fl, lock, &flags);
	p->ended_ns = lg_wait_end(&wait);
	lg_unlock(fl, lock, &flags);
	if (fl == LG_FL_spin)
		preempt_enable();
	p->wait_ns += wait.ns;
	p->got++;
}

static __always_inline void
lg_wait_link_signal(struct lg_thread *t, enum lg_flavour_id fl, void *lock)
{
	struct lg_place *p = lg_place(t);
	unsigned long flags = 0;
	struct lg_wait wait;
	int error;

	lg_wait_begin(&wait);
	WRITE_ONCE(p->called_ns, wait.called);
	smp_store_release(&t->announced, t->round);
	error = lg_lock_signal(fl, lock);
	p->ended_ns = lg_wait_end(&wait);
	if (error)
		p->failed++;
	else
		lg_unlock(fl, lock, &flags);
	p->got += !error;
	p->wait_ns += wait.ns;
	flush_signals(current);
}

/* clang-format off */

/* A function for each depth and kind: a caller that can be told apart. */
#define LG_LINK_HOLD(word, holds, waits, member, what, d)		\
static noinline __noclone void						\
lockgen_##what##_hold_##d##_##word(void *object, struct lg_thread *t)	\
{									\
	struct lockgen_##what *o = object;				\
									\
	lg_hold_link(t, LG_FL_##holds, &o->link_##d.member);		\
}

#define LG_LINK_WAIT(word, holds, waits, member, what, d)		\
static noinline __noclone void						\
lockgen_##what##_wait_##d##_##word(void *object, struct lg_thread *t)	\
{									\
	struct lockgen_##what *o = object;				\
									\
	lg_wait_link(t, LG_FL_##waits, &o->link_##d.member);		\
}

#define LG_LINK_CLOSE(word, holds, waits, member, what, d)		\
static noinline __noclone void						\
lockgen_##what##_close_##d##_##word(void *object, struct lg_thread *t)	\
{									\
	struct lockgen_##what *o = object;				\
									\
	lg_wait_link_signal(t, LG_FL_##waits, &o->link_##d.member);	\
}

#define LG_LINK_ENTRY(word, holds_, waits_, member, what, d)		\
	[LG_LINK_##word] = {						\
		.hold = lockgen_##what##_hold_##d##_##word,		\
		.wait = lockgen_##what##_wait_##d##_##word,		\
		.hold_symbol = "lockgen_" #what "_hold_" #d "_" #word,	\
		.wait_symbol = "lockgen_" #what "_wait_" #d "_" #word,	\
		LG_LINK_CLOSES_##what(word, d)				\
		.name = "lockgen_" #what ".link_" #d "." #member,	\
		.offset = offsetof(struct lockgen_##what, link_##d.member), \
		.holds = LG_FL_##holds_,				\
		.waits = LG_FL_##waits_,				\
	},

#define LG_LINK_CLOSES_chain(word, d)
#define LG_LINK_CLOSES_ring(word, d)					\
		.wait_signal = lockgen_ring_close_##d##_##word,		\
		.wait_signal_symbol = "lockgen_ring_close_" #d "_" #word,

/* The last of a chain holds no lock, the last of a ring does. */
#define LG_CHAIN_DEPTHS(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6)
#define LG_RING_DEPTHS(F) LG_CHAIN_DEPTHS(F) F(7)

#define LG_CHAIN_FNS(d)				\
	LG_LINK_KINDS(LG_LINK_HOLD, chain, d)	\
	LG_LINK_KINDS(LG_LINK_WAIT, chain, d)
#define LG_RING_FNS(d)				\
	LG_RING_KINDS(LG_LINK_HOLD, ring, d)	\
	LG_RING_KINDS(LG_LINK_WAIT, ring, d)	\
	LG_RING_KINDS(LG_LINK_CLOSE, ring, d)

LG_CHAIN_DEPTHS(LG_CHAIN_FNS)
LG_RING_DEPTHS(LG_RING_FNS)

#define LG_CHAIN_ROW(d) [d] = { LG_LINK_KINDS(LG_LINK_ENTRY, chain, d) },
#define LG_RING_ROW(d) [d] = { LG_RING_KINDS(LG_LINK_ENTRY, ring, d) },

static const struct lg_link lg_chain_links[][LG_LINK_KIND_COUNT] = {
	LG_CHAIN_DEPTHS(LG_CHAIN_ROW)
};

static const struct lg_link lg_ring_links[][LG_LINK_KIND_COUNT] = {
	LG_RING_DEPTHS(LG_RING_ROW)
};

/* clang-format on */

/*
 * mixed: another kind at each depth.  mixed_spin has a spinlock in front, and
 * behind it the one kind whose waiters never spin for a running owner.  A
 * percpu_rwsem cannot close a ring: no signal ends its wait.
 */
static enum lg_link_kind lg_kind_at(const struct lg_run *run,
				    unsigned int depth)
{
	static const enum lg_link_kind chain[] = {
		LG_LINK_mutex,	 LG_LINK_rwsem_w,	 LG_LINK_rtmutex,
		LG_LINK_sem,	 LG_LINK_percpu_rwsem_w, LG_LINK_ww_mutex,
		LG_LINK_rwsem_r,
	};
	static const enum lg_link_kind spin[] = {
		LG_LINK_spin,	  LG_LINK_sem,	   LG_LINK_mutex,
		LG_LINK_rwsem_w,  LG_LINK_rtmutex, LG_LINK_percpu_rwsem_w,
		LG_LINK_ww_mutex,
	};
	static const enum lg_link_kind ring[LG_MAX_LENGTH] = {
		LG_LINK_mutex, LG_LINK_rwsem_w,	 LG_LINK_rtmutex,
		LG_LINK_sem,   LG_LINK_ww_mutex, LG_LINK_rwsem_r,
		LG_LINK_mutex, LG_LINK_rtmutex,
	};

	switch (run->value[LG_K_LINK_KIND]) {
	case LG_LINK_MIXED:
		return lg_is_ring(run) ? ring[depth] : chain[depth];
	case LG_LINK_MIXED_SPIN:
		return spin[depth];
	default:
		return run->value[LG_K_LINK_KIND];
	}
}

static const struct lg_link *lg_link_at(const struct lg_run *run,
					unsigned int depth)
{
	return lg_is_ring(run) ? &lg_ring_links[depth][lg_kind_at(run, depth)] :
				 &lg_chain_links[depth][lg_kind_at(run, depth)];
}

/* The depth of the lock that it waits for, or -1: it waits for none. */
static int lg_awaits(const struct lg_run *run, unsigned int depth)
{
	if (depth >= lg_length(run))
		return 0;
	if (!depth)
		return lg_is_ring(run) ? (int)lg_length(run) - 1 : -1;
	return depth - 1;
}

static bool lg_spins_at(const struct lg_run *run, unsigned int depth)
{
	int awaits = lg_awaits(run, depth);

	if (depth < lg_links(run) && lg_kind_at(run, depth) == LG_LINK_spin)
		return true;
	return awaits >= 0 && lg_kind_at(run, awaits) == LG_LINK_spin;
}

/* How many of a chain spin, of those before this depth. */
static unsigned int lg_spinners(const struct lg_run *run, unsigned int depth)
{
	unsigned int d, n = 0;

	for (d = 0; d < depth; d++)
		n += lg_spins_at(run, d);
	return n;
}

/* The conductor. */

static void *lg_awaited_lock(const struct lg_place *p)
{
	return p->object + p->awaited->offset;
}

/* In the queue of the lock, and not on the way to it. */
static bool lg_queued(struct lg_thread *t)
{
	const struct lg_place *p = lg_place(t);
	const struct lg_flavour *fl = &lg_flavours[p->awaited->waits];

	if (lg_kind_spins(fl->kind_id))
		return lg_waits(fl, lg_awaited_lock(p), t);
#ifdef CONFIG_RT_MUTEXES
	/* It says that it sleeps before it is in the queue. */
	if (fl->kind_id == LG_RTMUTEX && !READ_ONCE(t->task->pi_blocked_on))
		return false;
#endif
	/* Nor may it still spin for a running owner, with that state set. */
	return lg_asleep(t) && !READ_ONCE(t->task->on_cpu);
}

static void lg_let_wait(struct lg_thread *t, unsigned int round)
{
	struct lg_place *p = lg_place(t);
	u64 start = lg_now();

	lg_tell(p);
	lg_await(t->run, LG_PAUSE_SLEEPING,
		 (smp_load_acquire(&t->announced) == round && lg_queued(t)) ||
			 lg_since(start) > 2 * NSEC_PER_SEC);
	if (READ_ONCE(t->announced) != round || !lg_queued(t)) {
		p->missed++;
		return;
	}
	p->seen++;
	p->seen_ns = lg_now();
}

static void lg_build(struct lg_run *run, unsigned int chain, unsigned int round)
{
	struct lg_thread *first = &run->thread[chain * lg_width(run)];
	unsigned int n = lg_length(run);
	unsigned int i;

	for (i = 1; i < n && !lg_stopped(run); i++)
		lg_let_wait(&first[run->value[LG_K_BUILD] ? n - i : i], round);
	/* Last the one that closes the ring, and then those behind it all. */
	if (lg_is_ring(run) && !lg_stopped(run))
		lg_let_wait(first, round);
	for (i = n; i < lg_width(run) && !lg_stopped(run); i++)
		lg_let_wait(&first[i], round);
}

static bool lg_all_ready(const struct lg_run *run, unsigned int n,
			 unsigned int round)
{
	struct lg_graph *g = run->own;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (smp_load_acquire(&g->place[i].ready) != round)
			return false;
	return true;
}

static void lg_remain(struct lg_run *run)
{
	complete(&run->standing);
	if (run->value[LG_K_STAND])
		lg_await(run, LG_PAUSE_SLEEPING, READ_ONCE(run->end));
	else
		lg_hold_for(run, &lg_flavours[LG_FL_mutex], run->hold_ns);
}

static void lg_release(struct lg_run *run)
{
	unsigned int c, width = lg_width(run);
	struct lg_graph *g = run->own;

	for (c = 0; c < (unsigned int)run->value[LG_K_CHAINS]; c++) {
		if (lg_is_ring(run))
			send_sig(SIGKILL, run->thread[c * width].task, 1);
		else
			lg_tell(&g->place[c * width]);
	}
}

/* It ends before its time: nobody begins to wait any more. */
static void lg_give_up(struct lg_run *run, unsigned int n)
{
	struct lg_graph *g = run->own;
	unsigned int i;

	WRITE_ONCE(g->over, true);
	for (i = 0; i < n; i++)
		complete(&g->place[i].go);
	lg_release(run);
}

static noinline void lg_conduct(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_graph *g = run->own;
	unsigned int i, round, n = run->nthreads - 1;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		for (i = 0; i < n; i++)
			lg_tell(&g->place[i]);
		lg_await(run, LG_PAUSE_SLEEPING, lg_all_ready(run, n, round));
		for (i = 0; i < (unsigned int)run->value[LG_K_CHAINS]; i++)
			lg_build(run, i, round);
		if (!lg_stopped(run))
			lg_remain(run);
		if (lg_stopped(run))
			break;
		lg_release(run);
		lg_await(run, LG_PAUSE_SLEEPING,
			 lg_all_finished(run->thread, n, round));
	}
	if (lg_stopped(run))
		lg_give_up(run, n);
	complete(&run->standing);
}

/* The plan. */

static const struct lg_function lg_linked = { lg_chain_main, "lg_chain_main" };
static const struct lg_function lg_linker = { lg_conduct, "lg_conduct" };

static const struct lg_function *lg_chain_function(const struct lg_run *run,
						   unsigned int index)
{
	return index == run->nthreads - 1 ? &lg_linker : &lg_linked;
}

static void lg_chain_comm(const struct lg_run *run, unsigned int index,
			  char *comm, size_t size)
{
	const char *what = lg_is_ring(run) ? "dead" : "chain";
	unsigned int depth = index % lg_width(run);

	if (index == run->nthreads - 1)
		scnprintf(comm, size, "lg_conductor");
	else if (depth >= lg_length(run))
		scnprintf(comm, size, "lg_%s_more", what);
	else
		scnprintf(comm, size, "lg_%s_%u", what, depth);
}

/* Whoever spins has a CPU of its own; all others share the next one if any do. */
static unsigned int lg_chain_place(const struct lg_run *run, unsigned int index)
{
	unsigned int width = lg_width(run);
	unsigned int spinners = lg_spinners(run, width);
	unsigned int depth = index % width;

	if (!spinners)
		return index;
	if (index == run->nthreads - 1 || !lg_spins_at(run, depth))
		return run->value[LG_K_CHAINS] * spinners;
	return index / width * spinners + lg_spinners(run, depth);
}

static int lg_check_spinners(struct lg_run *run, char *error)
{
	unsigned int cpus = num_online_cpus();
	unsigned int n =
		run->value[LG_K_CHAINS] * lg_spinners(run, lg_width(run));

	if (!n)
		return 0;
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return lg_refuse(
			error,
			"kind=%s: spinlocks sleep on this real-time kernel, use another kind",
			lg_link_words[run->value[LG_K_LINK_KIND]]);
	if (n + 1 > cpus)
		return lg_refuse(
			error,
			"kind=%s: each of the %u threads that spin needs a CPU of its own, and one more is needed, the number of CPUs is %u",
			lg_link_words[run->value[LG_K_LINK_KIND]], n, cpus);
	if (run->value[LG_K_STAND])
		return lg_refuse(
			error,
			"stand=1: spinlocks cannot be held so long, use another kind or hold_us");
	if (!run->given[LG_K_STAND_US])
		run->hold_ns = 20 * NSEC_PER_MSEC;
	if (run->hold_ns > 100 * NSEC_PER_MSEC)
		return lg_refuse(
			error,
			"hold_us=%d: more than 100 ms is too long for a spinlock",
			run->value[LG_K_STAND_US]);
	return 0;
}

static int lg_check_chain(struct lg_run *run, char *error)
{
	run->rounds = run->value[LG_K_FEW_ROUNDS];
	run->hold_ns = run->value[LG_K_STAND_US] * NSEC_PER_USEC;
	run->nthreads = run->value[LG_K_CHAINS] * lg_width(run) + 1;
	if (run->value[LG_K_STAND] && run->given[LG_K_STAND_US])
		return lg_refuse(
			error,
			"hold_us=%d: stand=1 lasts until the command end, give one of them",
			run->value[LG_K_STAND_US]);
	if (run->value[LG_K_STAND] && run->rounds > 1)
		return lg_refuse(error,
				 "rounds=%u: with stand=1 there is only one",
				 run->rounds);
	if (run->nthreads > LG_MAX_LINKED)
		return lg_refuse(
			error,
			"chains=%d: are %u threads, at most %u are allowed",
			run->value[LG_K_CHAINS], run->nthreads - 1,
			LG_MAX_LINKED - 1);
	return lg_check_spinners(run, error);
}

static int lg_check_deadlock(struct lg_run *run, char *error)
{
	int kind = run->value[LG_K_LINK_KIND];

	if (kind == LG_LINK_spin || kind == LG_LINK_MIXED_SPIN ||
	    kind == LG_LINK_percpu_rwsem_w)
		return lg_refuse(
			error,
			"kind=%s: no signal ends its wait, nor so the deadlock, use mutex, rwsem_w, rwsem_r, rtmutex, sem, ww_mutex or mixed",
			lg_link_words[kind]);
	return lg_check_chain(run, error);
}

static size_t lg_object_size(const struct lg_run *run)
{
	return lg_is_ring(run) ? sizeof(struct lockgen_ring) :
				 sizeof(struct lockgen_chain);
}

static void lg_prepare_place(struct lg_run *run, unsigned int index)
{
	unsigned int width = lg_width(run);
	struct lg_graph *g = run->own;
	struct lg_place *p = &g->place[index];
	int awaits;

	init_completion(&p->go);
	p->chain = index / width;
	p->depth = index % width;
	p->object = g->objects + p->chain * lg_object_size(run);
	awaits = lg_awaits(run, p->depth);
	if (p->depth < lg_links(run))
		p->own = lg_link_at(run, p->depth);
	if (awaits >= 0) {
		p->awaited = lg_link_at(run, awaits);
		p->owner = &run->thread[p->chain * width + awaits];
	}
	p->closes = lg_is_ring(run) && !p->depth;
}

static int lg_prepare_chain(struct lg_run *run)
{
	struct lg_graph *g = run->own;
	unsigned int i;
	int err = 0;

	g->objects = kvcalloc(run->value[LG_K_CHAINS], lg_object_size(run),
			      GFP_KERNEL);
	if (!g->objects)
		return -ENOMEM;
	for (i = 0; i < run->nthreads - 1 && !err; i++) {
		struct lg_place *p = &g->place[i];

		lg_prepare_place(run, i);
		if (p->own)
			err = lg_init_lock(lg_flavours[p->own->holds].kind_id,
					   p->object + p->own->offset);
	}
	return err;
}

static void lg_dispose_chain(struct lg_run *run)
{
	struct lg_graph *g = run->own;
	unsigned int i;

	/* One whose initialization failed, or never came, has nothing to free. */
	for (i = 0; g->objects && i < run->nthreads - 1; i++) {
		struct lg_place *p = &g->place[i];

		if (p->own && p->own->holds == LG_FL_percpu_rwsem_w)
			percpu_free_rwsem(p->object + p->own->offset);
	}
	kvfree(g->objects);
}

static size_t lg_tell_links(const struct lg_run *run, char *text, size_t size)
{
	const struct lg_graph *g = run->own;
	unsigned int i;
	size_t n;

	n = scnprintf(
		text, size,
		"#link\tchain\tdepth\ttid\tcomm\tkind\tmode\tname\tlock\towner\towner_comm\twaits\tmissed\twait_ns\tfailed\tcalled_ns\tcaller\tholder\n");
	for (i = 0; i < run->nthreads - 1; i++) {
		const struct lg_place *p = &g->place[i];
		const struct lg_flavour *fl;
		char ns[24] = "-";

		if (!p->awaited)
			continue;
		fl = &lg_flavours[p->awaited->waits];
		/* Not while it still waits. */
		if (!run->value[LG_K_STAND] || READ_ONCE(run->end))
			scnprintf(ns, sizeof(ns), "%llu", p->wait_ns);
		n += scnprintf(
			text + n, size - n,
			"link\t%u\t%u\t%d\t%s\t%s\t%s\t%s\t0x%lx\t%d\t%s\t%u\t%u\t%s\t%u\t%llu\t%s\t%s\n",
			p->chain, p->depth, run->thread[i].task->pid,
			run->thread[i].task->comm,
			lg_kind_reported(fl->kind_id), lg_mode_words[fl->mode],
			p->awaited->name, (unsigned long)lg_awaited_lock(p),
			p->owner->task->pid, p->owner->task->comm, p->seen,
			p->missed, ns, p->failed, READ_ONCE(p->called_ns),
			p->closes ? p->awaited->wait_signal_symbol :
				    p->awaited->wait_symbol,
			p->awaited->hold_symbol);
	}
	return n;
}

static void lg_tell_chain(const struct lg_run *run, char *text, size_t size)
{
	lg_tell_links(run, text, size);
}

static void lg_tell_deadlock(const struct lg_run *run, char *text, size_t size)
{
	size_t n = lg_tell_links(run, text, size);
	const struct lg_graph *g = run->own;
	unsigned int c;

	n += scnprintf(
		text + n, size - n,
		"#ring\tring\tlength\ttimes\tcloser\tclosed_ns\tseen_ns\tended_ns\n");
	for (c = 0; c < (unsigned int)run->value[LG_K_CHAINS]; c++) {
		unsigned int i = c * lg_width(run);
		const struct lg_place *p = &g->place[i];

		n += scnprintf(text + n, size - n,
			       "ring\t%u\t%u\t%u\t%d\t%llu\t%llu\t%llu\n", c,
			       lg_length(run), p->seen,
			       run->thread[i].task->pid,
			       READ_ONCE(p->called_ns), p->seen_ns,
			       READ_ONCE(p->ended_ns));
	}
}

#define LG_LINK_LINE_BYTES 256

const struct lg_plan lg_plan_chain = {
	.check = lg_check_chain,
	.function = lg_chain_function,
	.comm = lg_chain_comm,
	.place = lg_chain_place,
	.own_bytes = sizeof(struct lg_graph),
	.prepare = lg_prepare_chain,
	.dispose = lg_dispose_chain,
	.tell = lg_tell_chain,
	.more_bytes = LG_MAX_LINKED * LG_LINK_LINE_BYTES,
	.tells_itself = true,
};

const struct lg_plan lg_plan_deadlock = {
	.check = lg_check_deadlock,
	.function = lg_chain_function,
	.comm = lg_chain_comm,
	.place = lg_chain_place,
	.own_bytes = sizeof(struct lg_graph),
	.prepare = lg_prepare_chain,
	.dispose = lg_dispose_chain,
	.tell = lg_tell_deadlock,
	.more_bytes = LG_MAX_LINKED * LG_LINK_LINE_BYTES,
	.tells_itself = true,
};
