/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the calls of lock functions to holds.
 *
 * Two probes make a hold: one at the entry of the function that takes the
 * lock, one at the entry of the function that lets it go. Where the lock was
 * not free, the end of the wait moves the hold's begin. Nothing stands on
 * the return of a spinning lock's function; that a trylock of theirs failed
 * is seen on its failing path, where `locktap prep` has found it.
 *
 * What spins is held on one CPU and lives on that CPU's stack of holds; what
 * sleeps lives in a table by task, a semaphore (which has no owner) by its
 * own address.
 */
#ifndef LK_HOLD_H
#define LK_HOLD_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_wait.h"

#ifndef LOCKTAP_HOLDS /* sleeping locks held at one time */
#define LOCKTAP_HOLDS 4096
#endif
#if LOCKTAP_HOLDS < 16 || LOCKTAP_HOLDS > (1 << 20)
#error "locktap: LOCKTAP_HOLDS must be 16 to 1048576"
#endif
#define LK_HOLD_SETS (LOCKTAP_HOLDS / LK_WAYS)

/* By task, or by lock; apart, so that a set's keys are one cache line. 0: free. */
static unsigned long lk_hold_key[LK_HOLD_SETS][LK_WAYS] ____cacheline_aligned;
static struct lk_hold lk_holds[LK_HOLD_SETS][LK_WAYS];
static bool lk_hold_spilled; /* some are in the set after their own */

/* lk_blame.h, where lk_kernel.blames: a hold begins, a lock is let go. */
static void lk_blame_fresh(const struct lk_hold *h);
static void lk_blame_release(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h,
			     u64 now);

/* lk_order.h, where lk_kernel.orders: a lock is asked for, a semaphore let go. */
static void lk_order_ask(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h, bool entry);
static void lk_order_up(struct lk_cpu *cpu, const struct lk_hold *of);
static void lk_order_user(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h);

/*
 * What this recorder's own probes add to each hold: from the end of the
 * handler that sees its begin to the caller, and from the caller to the begin
 * of the handler at the release. Measured on locks of our own, by what kind of
 * probe sees the begin: at a function's entry, at its return, or at a place in
 * the code, where another probe sees the release.
 */
enum lk_way { LK_BY_ENTRY, LK_BY_RETURN, LK_BY_PLACE, LK_WAYS_IN };

#define LK_OWN_ROUNDS 33

static struct {
	struct {
		u64 before_ns, after_ns; /* 0: not measured (yet) */
	} way[LK_WAYS_IN];
	u64 begun_ns, ended_ns; /* of the hold that was just seen */
	struct percpu_rw_semaphore *place_lock;
	u32 place_cpu; /* that measures by it, and 1; 0: none */
	bool timer;
	u32 tries, again;
} lk_own;

static DEFINE_RWLOCK(lk_own_lock);
static struct semaphore lk_own_sem;
static struct timer_list lk_own_timer;

/* A semaphore's internal spinlock has the semaphore's address. */
static inline bool lk_is_own(unsigned int kind, unsigned long lock)
{
	return unlikely((kind == LK_RWLOCK && lock == (unsigned long)&lk_own_lock) ||
			(kind == LK_SEM && lock == (unsigned long)&lk_own_sem));
}

/* A place in cpus_read_lock() or cpus_read_unlock() that was called to be measured? */
static inline bool lk_is_own_place(unsigned long lock)
{
	return unlikely(READ_ONCE(lk_own.place_cpu) == smp_processor_id() + 1) &&
	       lock == (unsigned long)lk_own.place_lock;
}

/* What a lock function's value says. */
enum lk_says { LK_SAYS_NOTHING, LK_SAYS_ZERO, LK_SAYS_TRUE };

/*
 * How many handlers of this script stand at a point. Several are called one
 * after another for one event, and only the first may change anything.
 */
struct lk_point {
	const char *point;
	u32 handlers;
};

static struct lk_point *lk_points;
static u32 lk_points_size; /* a power of two */
static bool lk_points_shared; /* some point has several */

static u32 lk_point_handlers(const char *point)
{
	u32 at = hash_ptr((void *)point, ilog2(lk_points_size));

	while (lk_points[at].point) {
		if (lk_points[at].point == point)
			return lk_points[at].handlers;
		at = (at + 1) & (lk_points_size - 1);
	}
	return 1;
}

static void lk_point_add(const char *point)
{
	u32 at = hash_ptr((void *)point, ilog2(lk_points_size));

	while (lk_points[at].point && lk_points[at].point != point)
		at = (at + 1) & (lk_points_size - 1);
	lk_points[at].point = point;
	lk_points_shared |= ++lk_points[at].handlers > 1;
}

static bool lk_points_alloc(u32 probes)
{
	lk_points_size = roundup_pow_of_two(2 * probes + 2);
	lk_points = lk_alloc(lk_points_size * sizeof(*lk_points));
	return lk_points;
}

/* What a mark says besides "no handler has run": one has, and has made cpu->ev; or not. */
enum { LK_MARK_NONE, LK_MARK_EVENT, LK_MARK_KEPT, LK_MARK_KEPT_AGAIN };

/*
 * Has another handler of this event run? SystemTap joins the handlers of a
 * point in one function, where it can: these find the mark that the first one
 * left. Elsewhere each is called by itself, and is in the list.
 */
static inline bool lk_not_first(struct lk_cpu *cpu, const struct lk_at *at)
{
	const struct lk_event *ev = &cpu->ev;

	if (*at->mark)
		return true;
	return unlikely(lk_points_shared) && ev->point == at->point && ev->sp == at->regs->sp &&
	       ev->task == current && ev->calls < lk_point_handlers(at->point);
}

/*
 * Is this the first handler of an event? The others find its answer in
 * cpu->ev; at one address can be the places of two locks.
 */
static inline bool lk_first(struct lk_cpu *cpu, const struct lk_at *at)
{
	struct lk_event *ev = &cpu->ev;
	bool again = lk_not_first(cpu, at);

	cpu->stay_masked = 1;
	if (!*at->mark)
		ev->calls = again ? ev->calls + 1 : 1;
	*at->mark = LK_MARK_EVENT;
	ev->point = at->point;
	ev->sp = at->regs->sp;
	return !again;
}

static inline void lk_op_event(struct lk_cpu *cpu, enum lk_op op, unsigned long lock,
			       unsigned int kind, unsigned int mode)
{
	struct lk_event *ev = &cpu->ev;

	ev->op = op;
	ev->task = current;
	ev->lock = lock;
	ev->kind = kind;
	ev->mode = mode;
	ev->at_return = 0;
	ev->at_entry = 1;
	ev->owner = 0;
	ev->ip = 0;
	ev->ret = 0;
	ev->wait_ns = ev->spin_ns = ev->block_ns = 0;
	ev->hold_ns = 0;
	ev->got = 0;
	ev->got_known = 0;
	ev->hold = (struct lk_ended){};
	ev->valid = 1;
}

static inline bool lk_spins(unsigned int kind)
{
	return kind == LK_SPIN || kind == LK_RWLOCK;
}

/*
 * Would a spinning lock be had at once? asm-generic/qspinlock.h: any bit set
 * means held or waited for; qrwlock.h: the low nine bits are the writer's
 * and the waiting writer's.
 */
static inline bool lk_is_free(unsigned int kind, unsigned int mode, unsigned long lock)
{
	u32 word = READ_ONCE(*(u32 *)lock);

	return mode == LK_R ? !(word & 0x1ff) : !word;
}

/*
 * The return address at a function's entry, and whether a lock function is
 * there: then the lock is an internal one of another lock.
 */
static inline u32 lk_entry_caller(struct lk_cpu *cpu, const struct lk_at *at, bool *inner)
{
	u32 ip = (u32)lk_return_address((unsigned long *)at->regs->sp);
	u64 *e = lk_frame_find(ip);
	u32 flags;

	*inner = false;
	if (likely(e && !(LK_FR_FLAGS(*e) & LK_FR_SKIP)))
		return ip;
	flags = e ? LK_FR_FLAGS(*e) : lk_frame_class(LK_IP(ip));
	*inner = (flags & (LK_FR_SKIP | LK_FR_WRAPPER)) == LK_FR_SKIP;
	cpu->ev.ip = 0; /* of an event before */
	cpu->ev.at_entry = 1;
	return (u32)lk_caller(cpu, at); /* learns the frame */
}

/* --- Spinning locks: the CPU's stack --------------------------------------------------- */

static void lk_held_remove(struct lk_cpu *cpu, unsigned int i)
{
	cpu->nheld--;
	if (i < cpu->nheld)
		memmove(&cpu->held[i], &cpu->held[i + 1], (cpu->nheld - i) * sizeof(cpu->held[0]));
}

static struct lk_hold *lk_held_find(struct lk_cpu *cpu, unsigned long lock)
{
	unsigned int i = cpu->nheld;

	while (i--)
		if (cpu->held[i].lock == lock)
			return &cpu->held[i];
	return NULL;
}

/*
 * A new one on top. What an interrupt left that is over, and the same lock
 * held exclusively, are holds whose end was not seen.
 */
static struct lk_hold *lk_held_push(struct lk_cpu *cpu, unsigned int level, unsigned long lock,
				    unsigned int mode, bool tries, bool *recursive)
{
	struct lk_hold *h;

	while (cpu->nheld && cpu->held[cpu->nheld - 1].level > level) {
		cpu->nheld--;
		cpu->counts.endless++;
	}
	h = lk_held_find(cpu, lock);
	if (h && h->mode == LK_R && mode == LK_R) {
		*recursive = h->level == level && !tries;
	} else if (h && h->mode != LK_R && !tries) {
		lk_held_remove(cpu, h - cpu->held);
		cpu->counts.endless++;
	}
	if (unlikely(cpu->nheld == LK_HELD_DEPTH)) {
		lk_held_remove(cpu, 0);
		cpu->counts.holds_full++;
	}
	return &cpu->held[cpu->nheld++];
}

/* --- Sleeping locks: the table ----------------------------------------------------------- */

static inline unsigned int lk_hold_set(unsigned long key)
{
	return hash_long(key, 32) % LK_HOLD_SETS;
}

static inline unsigned int lk_hold_next_set(unsigned int set)
{
	return set + 1 < LK_HOLD_SETS ? set + 1 : 0;
}

static inline unsigned long *lk_hold_place(const struct lk_hold *h)
{
	return &lk_hold_key[0][0] + (h - &lk_holds[0][0]);
}

static inline void lk_hold_drop(struct lk_cpu *cpu, struct lk_hold *h)
{
	if (likely(h == &cpu->recent))
		WRITE_ONCE(cpu->recent_key, 0);
	else
		smp_store_release(lk_hold_place(h), 0);
}

/* What a search may ask for besides the key. */
enum lk_want { LK_WANT_LOCK, LK_WANT_ASKED, LK_WANT_TRIED };

static inline bool lk_hold_is(const struct lk_hold *h, unsigned long lock, enum lk_want want)
{
	switch (want) {
	case LK_WANT_ASKED: /* of the kind */
		return !h->got && !h->tries && h->kind == lock;
	case LK_WANT_TRIED:
		return !h->got && h->tries && h->kind == lock;
	default:
		return h->lock == lock;
	}
}

/* The newest that is wanted of a key's. */
static struct lk_hold *lk_hold_find(unsigned long key, unsigned long lock, enum lk_want want)
{
	unsigned int set = lk_hold_set(key), i, turn;
	struct lk_hold *found = NULL;

	for (turn = 0; turn <= READ_ONCE(lk_hold_spilled); turn++, set = lk_hold_next_set(set)) {
		const unsigned long *keys = lk_hold_key[set];
		struct lk_hold *h = lk_holds[set];

		for (i = 0; i < LK_WAYS; i++, h++)
			if (keys[i] == key && lk_hold_is(h, lock, want) &&
			    (!found || h->start_ns >= found->start_ns))
				found = h;
	}
	return found;
}

/*
 * The place of a program's lock whose thread has ended with it, where there is no other: as
 * the program has, mostly, there is nothing to be let go any more.
 */
static struct lk_hold *lk_hold_heir(struct lk_cpu *cpu, unsigned long key)
{
	unsigned int set = lk_hold_set(key), i, turn;

	for (turn = 0; turn < 2; turn++, set = lk_hold_next_set(set))
		for (i = 0; i < LK_WAYS; i++) {
			unsigned long *place = &lk_hold_key[set][i], old = READ_ONCE(*place);
			struct lk_hold *h = &lk_holds[set][i];

			if (old == (unsigned long)h->task && lk_is_user(h->kind) &&
			    !lk_hinted(h->task) && cmpxchg(place, old, key) == old) {
				cpu->counts.endless += h->got;
				return h;
			}
		}
	return NULL;
}

/* A place; where there is none the oldest has to go. */
static noinline struct lk_hold *lk_hold_new(struct lk_cpu *cpu, unsigned long key)
{
	unsigned int set = lk_hold_set(key), i, turn;
	struct lk_hold *oldest = NULL, *h;

	for (turn = 0; turn < 2; turn++, set = lk_hold_next_set(set)) {
		if (turn)
			WRITE_ONCE(lk_hold_spilled, true);
		for (i = 0; i < LK_WAYS; i++) {
			unsigned long *place = &lk_hold_key[set][i];

			if (!READ_ONCE(*place) && cmpxchg(place, 0, key) == 0) {
				if (lk_kernel.blames)
					lk_blame_fresh(&lk_holds[set][i]);
				return &lk_holds[set][i];
			}
			if (!oldest || lk_holds[set][i].start_ns < oldest->start_ns)
				oldest = &lk_holds[set][i];
		}
	}
	h = lk_hold_heir(cpu, key);
	if (!h) {
		cpu->counts.holds_full++;
		*lk_hold_place(oldest) = key;
		h = oldest;
	}
	if (lk_kernel.blames)
		lk_blame_fresh(h);
	return h;
}

/*
 * Most sleeping locks are let go before their task takes another one, on the
 * same CPU: the newest is kept there, and goes into the table when the next
 * one comes. Only its own CPU puts one in; who takes one out, here or on the
 * CPU that the task has gone to, must win the key.
 */
static struct lk_hold *lk_recent_new(struct lk_cpu *cpu)
{
	unsigned long key = READ_ONCE(cpu->recent_key);

	if (lk_kernel.in_table)
		return lk_hold_new(cpu, (unsigned long)current);
	if (unlikely(key) && cmpxchg(&cpu->recent_key, key, 0) == key)
		*lk_hold_new(cpu, key) = cpu->recent;
	return &cpu->recent;
}

/* A new one has been filled. */
static inline void lk_recent_ready(struct lk_cpu *cpu, const struct lk_hold *h)
{
	if (likely(h == &cpu->recent))
		WRITE_ONCE(cpu->recent_key, (unsigned long)current);
}

/* What another CPU has kept is brought to this one; NULL where it is gone meanwhile. */
static struct lk_hold *lk_recent_fetch(struct lk_cpu *cpu, struct lk_cpu *other, unsigned long key,
				       unsigned long lock, enum lk_want want)
{
	struct lk_hold copy = other->recent, *h;

	if (!lk_hold_is(&copy, lock, want) || cmpxchg(&other->recent_key, key, 0) != key)
		return NULL;
	h = lk_recent_new(cpu);
	*h = copy;
	WRITE_ONCE(cpu->recent_key, key);
	return h;
}

static noinline struct lk_hold *lk_held_elsewhere(struct lk_cpu *cpu, unsigned long key,
						  unsigned long lock, enum lk_want want)
{
	struct lk_hold *h = lk_hold_find(key, lock, want);
	unsigned int i;

	for (i = 0; !h && !lk_kernel.in_table && i < lk_nr_cpus; i++) {
		struct lk_cpu *other = lk_cpus[i];

		if (other && READ_ONCE(other->recent_key) == key)
			h = lk_recent_fetch(cpu, other, key, lock, want);
	}
	return h;
}

/*
 * Does the present task hold this lock? Not where another CPU has kept it: this is
 * asked at each acquisition, and the answer is nearly always no.
 */
static inline struct lk_hold *lk_held_near(struct lk_cpu *cpu, unsigned long lock)
{
	unsigned long key = (unsigned long)current;

	if (cpu->recent_key == key && cpu->recent.lock == lock)
		return &cpu->recent;
	return lk_hold_find(key, lock, LK_WANT_LOCK);
}

/* The newest hold of the present task that is wanted. */
static inline struct lk_hold *lk_held_by_task(struct lk_cpu *cpu, unsigned long lock,
					      enum lk_want want)
{
	unsigned long key = (unsigned long)current;

	if (likely(cpu->recent_key == key && lk_hold_is(&cpu->recent, lock, want)))
		return &cpu->recent;
	return lk_held_elsewhere(cpu, key, lock, want);
}

/* Somebody else's hold of a lock that a task lets go for another: seldom. */
static struct lk_hold *lk_hold_foreign(struct lk_cpu *cpu, unsigned long lock, unsigned int mode)
{
	struct lk_hold *found = NULL, *h = &lk_holds[0][0];
	const unsigned long *key = &lk_hold_key[0][0];
	struct lk_cpu *keeper = NULL;
	unsigned long kept = 0;
	unsigned int i;

	for (i = 0; i < LK_HOLD_SETS * LK_WAYS; i++, key++, h++)
		if (*key && h->lock == lock && h->mode == mode &&
		    (!found || h->start_ns < found->start_ns))
			found = h;
	for (i = 0; !lk_kernel.in_table && i < lk_nr_cpus; i++) {
		struct lk_cpu *other = lk_cpus[i];
		unsigned long holder = other ? READ_ONCE(other->recent_key) : 0;

		if (!holder || other->recent.lock != lock || other->recent.mode != mode ||
		    (found && other->recent.start_ns >= found->start_ns))
			continue;
		found = &other->recent;
		keeper = other;
		kept = holder;
	}
	return keeper && keeper != cpu ? lk_recent_fetch(cpu, keeper, kept, lock, LK_WANT_LOCK) :
					 found;
}

/* --- A lock function is entered ----------------------------------------------------------- */

static inline void lk_hold_fill(struct lk_hold *h, unsigned long lock, unsigned int kind,
				unsigned int mode, u32 ip, bool tries)
{
	h->lock = lock;
	h->task = current;
	h->tid = current->pid;
	h->wait_ns = h->spin_ns = h->block_ns = 0;
	h->ip = ip;
	h->stack = 0;
	h->user_name = 0;
	h->kind = kind;
	h->mode = mode;
	h->level = 0;
	h->got = h->told = h->contended = h->inner = 0;
	h->tries = tries;
	h->by_return = h->by_site = 0;
}

/* By which function a lock is asked for. */
enum lk_tries { LK_WAITS, LK_TRIES };

/*
 * Nothing tells that a spinning trylock failed before its caller goes on: what
 * the lock is at the entry decides, and a failure that is seen later corrects.
 */
static struct lk_hold *lk_ask_spin(struct lk_cpu *cpu, const struct lk_at *at, unsigned int kind,
				   unsigned int mode, enum lk_tries tries, bool *recursive)
{
	unsigned long lock = at->regs->di;
	unsigned int level = lk_level(at);
	struct lk_hold *h;
	bool inner;
	u32 ip;

	if (tries && !lk_is_free(kind, mode, lock))
		return NULL;
	ip = lk_entry_caller(cpu, at, &inner);
	h = lk_held_push(cpu, level, lock, mode, tries, recursive);
	lk_hold_fill(h, lock, kind, mode, ip, tries);
	h->level = level;
	h->inner = inner;
	cpu->counts.inner_ops += inner;
	return h;
}

/* One that the task has already: 1 where it asks again, -1 where nothing is asked. */
static noinline int lk_ask_again(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h,
				 unsigned int kind, unsigned int mode, enum lk_tries tries)
{
	bool inner;

	lk_entry_caller(cpu, at, &inner);
	if (inner) /* one lock function calls another */
		return -1;
	if (h->tid == current->pid) {
		if (h->mode == LK_R || mode == LK_R)
			return h->mode == mode && !tries;
		if (lk_owner(kind, h->lock) == current->pid)
			return !tries;
	}
	lk_hold_drop(cpu, h);
	cpu->counts.endless++;
	return 0;
}

/* A task asks for a lock that it holds; at the place `ip`, or at a function's entry. */
static noinline void lk_recursion(struct lk_cpu *cpu, const struct lk_at *at, unsigned long lock,
				  unsigned int kind, unsigned int mode, u32 ip)
{
	cpu->counts.recursive++;
	if (!lk_kernel.recursion)
		return;
	lk_op_event(cpu, LK_ACQUIRE, lock, kind, mode);
	cpu->ev.at_entry = !ip;
	cpu->ev.ip = ip;
	cpu->ev.recursive = 1;
	lk_kernel.recursion(at);
}

/*
 * Sleeping locks. An exclusive one that its task asks for again is told by its
 * own owner word; only for the others the table is looked through.
 */
static __always_inline struct lk_hold *lk_ask_task(struct lk_cpu *cpu, const struct lk_at *at,
						   unsigned int kind, unsigned int mode,
						   enum lk_tries tries, bool *recursive)
{
	unsigned long lock = at->regs->di;
	struct lk_hold *h = NULL;

	if (mode == LK_R || kind == LK_SEM || kind == LK_PERCPU_RWSEM ||
	    lk_owner(kind, lock) == current->pid)
		h = lk_held_near(cpu, lock);
	else if (cpu->recent_key == (unsigned long)current && cpu->recent.lock == lock)
		h = &cpu->recent;
	if (unlikely(h)) {
		int again = lk_ask_again(cpu, at, h, kind, mode, tries);

		if (again < 0)
			return NULL;
		*recursive = again;
	}
	h = lk_recent_new(cpu);
	lk_hold_fill(h, lock, kind, mode, (u32)lk_return_address((unsigned long *)at->regs->sp),
		     tries);
	if (kind == LK_PERCPU_RWSEM) /* its first waiter has no tracepoint */
		h->contended = lk_percpu_busy(lock);
	lk_recent_ready(cpu, h);
	return h;
}

/* The hold's begin is taken last, so that the handler is not part of it. */
static __always_inline struct lk_hold *lk_ask(struct lk_cpu *cpu, const struct lk_at *at,
					      unsigned int kind, unsigned int mode,
					      enum lk_tries tries, bool *recursive)
{
	struct lk_hold *h = lk_spins(kind) ? lk_ask_spin(cpu, at, kind, mode, tries, recursive) :
					     lk_ask_task(cpu, at, kind, mode, tries, recursive);

	if (unlikely(*recursive && !(h && h->inner)))
		lk_recursion(cpu, at, at->regs->di, kind, mode, 0);
	if (h && lk_kernel.stacks) {
		cpu->ev.lock = h->lock;
		cpu->ev.at_entry = 1;
		h->stack = lk_kernel.stacks(cpu, at);
	}
	if (h && lk_kernel.orders)
		lk_order_ask(cpu, at, h, true);
	if (h)
		h->start_ns = lk_now_ns();
	return h;
}

static inline bool lk_ignores(unsigned int kind, unsigned long lock)
{
	return unlikely(lk_opt.started && !(lk_opt.kinds & 1u << kind)) && !lk_is_own(kind, lock);
}

/* The entry of a lock function. 1: an acquire, to be told. */
static noinline int lk_enter(const struct lk_at *at, unsigned int kind, unsigned int mode,
			     enum lk_tries tries)
{
	struct lk_cpu *cpu = lk_this_cpu();
	bool recursive = false;
	struct lk_event *ev;
	struct lk_hold *h;
	u32 kept;

	if (unlikely(!cpu))
		return 0;
	ev = &cpu->ev;
	kept = *at->mark >= LK_MARK_KEPT ? *at->mark : 0;
	if (!lk_first(cpu, at) && !kept) {
		ev->op = LK_ACQUIRE;
		return ev->valid;
	}
	if (lk_ignores(kind, at->regs->di)) {
		ev->valid = 0;
		ev->task = NULL;
		return 0;
	}
	lk_op_event(cpu, LK_ACQUIRE, at->regs->di, kind, mode);
	ev->recursive = 0;
	if (!(lk_kernel.tracks || (tries && lk_kernel.tracks_tries && !lk_spins(kind))))
		return 1;
	if (kept) {
		recursive = kept == LK_MARK_KEPT_AGAIN;
		h = lk_spins(kind) ? lk_held_find(cpu, ev->lock) :
				     lk_held_by_task(cpu, ev->lock, LK_WANT_LOCK);
	} else {
		h = lk_ask(cpu, at, kind, mode, tries, &recursive);
	}
	ev->recursive = recursive;
	if (h ? h->inner : !lk_spins(kind))
		ev->valid = 0;
	if (lk_is_own(kind, ev->lock))
		ev->valid = 0;
	return ev->valid;
}

/* The same where nobody asks for `acquire`: the hold alone is kept. */
static __always_inline int lk_keep(const struct lk_at *at, unsigned int kind, unsigned int mode,
				   enum lk_tries tries)
{
	struct lk_cpu *cpu = lk_this_cpu();
	bool recursive = false;

	if (unlikely(!cpu))
		return 0;
	if (unlikely(lk_points_shared))
		return lk_enter(at, kind, mode, tries);
	cpu->stay_masked = 1;
	if (*at->mark) /* an acquire's handler was joined with this one, and came first */
		return 0;
	if (!lk_ignores(kind, at->regs->di))
		lk_ask(cpu, at, kind, mode, tries, &recursive);
	*at->mark = recursive ? LK_MARK_KEPT_AGAIN : LK_MARK_KEPT;
	return 0;
}

/* The same for a probe that asks for `acquired`: 1 where the lock will be had at once. */
static int lk_enter_got(const struct lk_at *at, unsigned int kind, unsigned int mode)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (!lk_enter(at, kind, mode, LK_WAITS))
		return 0;
	if (!cpu->ev.got_known) {
		h = lk_held_find(cpu, cpu->ev.lock);
		cpu->ev.got = h && lk_is_free(kind, mode, cpu->ev.lock);
		cpu->ev.got_known = 1;
		if (cpu->ev.got)
			h->told = 1;
	}
	cpu->ev.op = LK_ACQUIRED;
	return cpu->ev.got;
}

/* --- A wait is over ------------------------------------------------------------------------ */

/*
 * A semaphore and an rt mutex begin with their internal lock, which has the
 * same address: the event is the internal lock's where the spinlock's slow
 * path tells it.
 */
static bool lk_is_of_spin(struct lk_cpu *cpu)
{
	u32 ip;

	return lk_stack_here(cpu, LK_FR_OWN, &ip, 1) &&
	       LK_IP(ip) - lk_kernel.slowpath < lk_kernel.slowpath_size;
}

static struct lk_hold *lk_waited(struct lk_cpu *cpu, unsigned long lock)
{
	struct lk_hold *h = cpu->nheld ? lk_held_find(cpu, lock) : NULL;

	if (h && (!h->inner || lk_is_of_spin(cpu)))
		return h;
	return lk_held_by_task(cpu, lock, LK_WANT_LOCK);
}

/* What the wait was, where the event that ended it is the present one. */
static void lk_hold_wait(struct lk_hold *h, const struct lk_event *ev)
{
	if (ev->op != LK_END || ev->lock != h->lock || ev->task != current)
		return;
	h->wait_ns = ev->wait_ns;
	h->spin_ns = ev->spin_ns;
	h->block_ns = ev->block_ns;
}

/* The lock:contention_end tracepoint: here begins the hold. */
static void lk_hold_after_wait(unsigned long lock, s64 ret)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu || !lk_kernel.tracks))
		return;
	h = lk_waited(cpu, lock);
	if (!h) { /* a hold that will be seen at a place, after this */
		cpu->waited_lock = lock;
		cpu->waited_task = current;
		return;
	}
	/* Of these the tracepoint may come without a wait; the entry has looked. */
	if (h->kind != LK_PERCPU_RWSEM || h->mode != LK_W)
		h->contended = 1;
	if (ret && !lk_spins(h->kind) && !lk_kernel.tracks_returns && h->kind != LK_SEM) {
		lk_hold_drop(cpu, h); /* a wait that a signal ended */
		return;
	}
	lk_hold_wait(h, &cpu->ev);
	h->start_ns = lk_now_ns();
}

/* A spinlock's first waiter has it: the newest of this level. */
static void lk_hold_after_spin(const struct lk_at *at)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu || !lk_kernel.tracks || !cpu->nheld))
		return;
	h = &cpu->held[cpu->nheld - 1];
	if (h->kind != LK_SPIN || h->level != lk_level(at))
		return;
	h->contended = 1;
	lk_hold_wait(h, &cpu->ev);
	h->start_ns = lk_now_ns();
}

/* A slow path returns: its waits may have had no tracepoint. */
static void lk_hold_after_slow(unsigned int kind)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu || !lk_kernel.tracks))
		return;
	h = lk_held_by_task(cpu, kind, LK_WANT_ASKED);
	if (!h || h->kind != kind)
		return;
	h->contended = 1;
	h->by_return = 1;
	lk_hold_wait(h, &cpu->ev);
	h->start_ns = lk_now_ns();
}

/* After contention_end of a spinning lock: 1 where its `acquired` is still to be told. */
static int lk_wait_got(void)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_event *ev;
	struct lk_hold *h;

	if (unlikely(!cpu))
		return 0;
	ev = &cpu->ev;
	if (ev->op != LK_END || !ev->valid || !lk_spins(ev->kind))
		return 0;
	if (!ev->got_known) {
		h = lk_held_find(cpu, ev->lock);
		ev->got = !h || !(h->told || h->inner); /* as `acquire` was not */
		ev->got_known = 1;
		if (h)
			h->told = 1;
	}
	return ev->got;
}

/* --- A lock function returns (sleeping locks) -------------------------------------------- */

/* A semaphore belongs to nobody: from now on it is found by its address. */
static struct lk_hold *lk_hold_to_lock(struct lk_cpu *cpu, struct lk_hold *h)
{
	struct lk_hold *to = lk_hold_new(cpu, h->lock);

	*to = *h;
	if (lk_kernel.in_table) /* what its task does, or holds, is kept there, until the release */
		h->got = 1;
	else
		lk_hold_drop(cpu, h);
	return to;
}

static bool lk_says_got(enum lk_says says, long value)
{
	return says == LK_SAYS_NOTHING || (says == LK_SAYS_ZERO) == !value;
}

/*
 * The return of a sleeping lock's function. What happened is in ev: `got`, and
 * the op ACQUIRED or TRYFAIL. 1: the event that `op` asks for.
 */
static int lk_returned(const struct lk_at *at, unsigned int kind, enum lk_says says, bool tries,
		       enum lk_op op)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_event *ev;
	struct lk_hold *h;
	long value;

	if (unlikely(!cpu))
		return 0;
	ev = &cpu->ev;
	if (!lk_first(cpu, at))
		return ev->op == op && ev->valid;
	value = (int)regs_return_value(at->regs);
	h = lk_held_by_task(cpu, kind, tries ? LK_WANT_TRIED : LK_WANT_ASKED);
	if (!h || h->kind != kind) {
		ev->valid = 0; /* entered before the probes were armed */
		return 0;
	}
	lk_op_event(cpu, tries && !lk_says_got(says, value) ? LK_TRYFAIL : LK_ACQUIRED, h->lock,
		    kind, h->mode);
	ev->at_entry = 0;
	ev->ip = h->ip;
	ev->ret = says == LK_SAYS_ZERO && !tries ? value : 0;
	ev->wait_ns = h->wait_ns;
	ev->spin_ns = h->spin_ns;
	ev->block_ns = h->block_ns;
	if (!lk_says_got(says, value) || !lk_kernel.tracks) {
		lk_hold_drop(cpu, h);
		return ev->op == op;
	}
	if (kind == LK_SEM)
		h = lk_hold_to_lock(cpu, h);
	h->got = h->told = 1;
	h->by_return = 1;
	ev->valid = !lk_is_own(kind, h->lock);
	h->start_ns = lk_now_ns();
	return ev->op == op && ev->valid;
}

/* A trylock has failed: its caller goes on. 1: a tryfail. */
static int lk_try_failed(const struct lk_at *at, unsigned long lock, unsigned int kind,
			 unsigned int mode)
{
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_hold *h;

	if (unlikely(!cpu))
		return 0;
	if (!lk_first(cpu, at) && cpu->ev.lock == lock) {
		cpu->ev.op = LK_TRYFAIL;
		return cpu->ev.valid;
	}
	lk_op_event(cpu, LK_TRYFAIL, lock, kind, mode);
	cpu->ev.at_entry = 0;
	cpu->ev.ip = (u32)at->regs->ip;
	h = lk_spins(kind) ? lk_held_find(cpu, lock) : NULL;
	if (h && h->tries && h->level == lk_level(at)) {
		cpu->ev.valid = !h->inner;
		lk_held_remove(cpu, h - cpu->held);
	}
	return cpu->ev.valid;
}

/* --- An unlock function is entered -------------------------------------------------------- */

static inline u64 lk_own_ns(const struct lk_hold *h)
{
	enum lk_way way = h->by_site ? LK_BY_PLACE : h->by_return ? LK_BY_RETURN : LK_BY_ENTRY;

	if (!lk_own.way[way].after_ns && way == LK_BY_RETURN)
		way = LK_BY_ENTRY;
	/* After a wait the begin is seen by the event that ends it, which is nearer. */
	return lk_own.way[way].after_ns +
	       (h->contended && way == LK_BY_ENTRY ? 0 : lk_own.way[way].before_ns);
}

/* __always_inline: most of what lk_op_event() has set is set again. */
static __always_inline void lk_ended(struct lk_cpu *cpu, const struct lk_hold *h, u64 now)
{
	struct lk_event *ev = &cpu->ev;
	u64 raw = now > h->start_ns ? now - h->start_ns : 0;
	u64 own = lk_is_user(h->kind) ? 0 : lk_own_ns(h);

	ev->hold.raw_ns = raw;
	ev->hold.ip = h->ip;
	ev->hold.stack = h->stack;
	ev->hold.user_name = h->user_name;
	ev->hold.tid = h->tid;
	ev->hold.contended = h->contended;
	ev->hold.mode = h->mode;
	ev->hold.seen = 1;
	ev->hold_ns = raw > own ? raw - own : 0;
	ev->mode = h->mode;
	ev->got = !h->told && !h->inner;
	ev->got_known = 1;
	ev->valid = !h->inner;
	ev->wait_ns = h->wait_ns;
	ev->spin_ns = h->spin_ns;
	ev->block_ns = h->block_ns;
}

static void lk_own_ended(struct lk_event *ev, const struct lk_hold *h, u64 now)
{
	lk_own.begun_ns = h->start_ns;
	lk_own.ended_ns = now;
	ev->valid = 0;
}

/* A lock is let go. 1: a release. */
static __always_inline int lk_leave_lock(const struct lk_at *at, unsigned long lock,
					 unsigned int kind, unsigned int mode, bool place)
{
	u64 now = lk_now_ns();
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_event *ev;
	struct lk_hold *h;

	if (unlikely(!cpu))
		return 0;
	ev = &cpu->ev;
	if (!lk_first(cpu, at) && cpu->ev.lock == lock) {
		ev->op = LK_RELEASE;
		ev->mode = ev->hold.seen ? ev->hold.mode : mode;
		ev->ip = 0;
		return ev->valid;
	}
	if (lk_ignores(kind, lock)) {
		ev->valid = 0;
		ev->task = NULL;
		return 0;
	}
	lk_op_event(cpu, LK_RELEASE, lock, kind, mode);
	if (place) {
		ev->at_entry = 0;
		ev->ip = (u32)at->regs->ip;
	}
	if (lk_spins(kind)) {
		h = lk_held_find(cpu, lock);
		if (likely(h)) {
			lk_ended(cpu, h, now);
			if (lk_is_own(kind, lock))
				lk_own_ended(ev, h, now);
			if (lk_kernel.blames)
				lk_blame_release(cpu, at, h, now);
			lk_held_remove(cpu, h - cpu->held);
			return ev->valid;
		}
	} else {
		h = kind == LK_SEM ? lk_hold_find(lock, lock, LK_WANT_LOCK) : NULL;
		if (!h)
			h = lk_held_by_task(cpu, lock, LK_WANT_LOCK);
		if (unlikely(!h && (mode == LK_R || kind == LK_PERCPU_RWSEM)))
			h = lk_hold_foreign(cpu, lock, mode);
		if (likely(h)) {
			lk_ended(cpu, h, now);
			cpu->counts.foreign += h->tid != current->pid;
			if (lk_is_own(kind, lock))
				lk_own_ended(ev, h, now);
			if (lk_kernel.blames)
				lk_blame_release(cpu, at, h, now);
			if (kind == LK_SEM && lk_kernel.orders)
				lk_order_up(cpu, h);
			lk_hold_drop(cpu, h);
			return ev->valid;
		}
	}
	if (lk_spins(kind) && !place) {
		bool inner;

		lk_entry_caller(cpu, at, &inner);
		if (inner) {
			cpu->counts.inner_ops++;
			ev->valid = 0;
			return 0;
		}
	}
	if (lk_kernel.blames)
		lk_blame_release(cpu, at, NULL, now);
	cpu->counts.held++;
	ev->got_known = 1;
	return 1;
}

/* The entry of an unlock function. */
static __always_inline int lk_leave(const struct lk_at *at, unsigned int kind, unsigned int mode)
{
	return lk_leave_lock(at, at->regs->di, kind, mode, false);
}

/* A writer becomes a reader: one hold ends, another begins. */
static int lk_downgrade(const struct lk_at *at, unsigned int kind)
{
	struct lk_cpu *cpu = lk_this_cpu();
	bool inner;
	struct lk_hold *h;
	int told;
	u32 ip;

	if (unlikely(!cpu))
		return 0;
	if (lk_not_first(cpu, at))
		return lk_leave(at, kind, LK_W); /* not the first handler */
	ip = lk_entry_caller(cpu, at, &inner);
	told = lk_leave(at, kind, LK_W);
	if (!cpu->ev.task || !lk_kernel.tracks)
		return told;
	h = lk_recent_new(cpu);
	lk_hold_fill(h, cpu->ev.lock, kind, LK_R, ip, false);
	h->got = h->told = 1;
	if (lk_kernel.stacks) {
		u32 was = cpu->ev.ip;

		cpu->ev.at_entry = 1;
		cpu->ev.ip = 0;
		h->stack = lk_kernel.stacks(cpu, at);
		cpu->ev.ip = was;
	}
	h->start_ns = lk_now_ns();
	lk_recent_ready(cpu, h);
	return told;
}

/* ... and is told as acquired in its new mode. */
static int lk_downgrade_got(const struct lk_at *at, unsigned int kind)
{
	struct lk_cpu *cpu = lk_this_cpu();

	if (!lk_downgrade(at, kind))
		return 0;
	cpu->ev.op = LK_ACQUIRED;
	cpu->ev.mode = LK_R;
	return 1;
}

/* 1 where the lock's `acquired` could not be told before its release. */
static int lk_leave_late(const struct lk_at *at, unsigned int kind, unsigned int mode)
{
	struct lk_cpu *cpu = lk_this_cpu();

	if (!lk_leave(at, kind, mode) || !cpu->ev.got)
		return 0;
	cpu->ev.op = LK_ACQUIRED;
	cpu->ev.ip = cpu->ev.hold.ip;
	return 1;
}

/* --- Probes at the places that take and let go, instead of in the functions ------------- */

/* The lock has just been taken here. */
static int lk_site_got(const struct lk_at *at, unsigned long lock, unsigned int kind,
		       unsigned int mode)
{
	struct lk_cpu *cpu = lk_this_cpu();
	unsigned int level = lk_level(at);
	bool recursive = false;
	struct lk_hold *h;
	struct lk_event was;

	if (unlikely(!cpu))
		return 0;
	was = cpu->ev;
	if (!lk_first(cpu, at) && cpu->ev.lock == lock) {
		cpu->ev.op = LK_ACQUIRED;
		return cpu->ev.valid;
	}
	if (lk_ignores(kind, lock) && !lk_is_own_place(lock)) {
		cpu->ev.valid = 0;
		cpu->ev.task = NULL;
		return 0;
	}
	lk_op_event(cpu, LK_ACQUIRED, lock, kind, mode);
	cpu->ev.at_entry = 0;
	cpu->ev.ip = (u32)at->regs->ip;
	if (lk_is_own_place(lock)) {
		cpu->ev.valid = 0;
		lk_own.begun_ns = lk_now_ns();
		return 0;
	}
	h = lk_spins(kind) || kind == LK_SEM ? NULL : lk_held_near(cpu, lock);
	if (h && mode == LK_R) {
		lk_recursion(cpu, at, lock, kind, mode, cpu->ev.ip);
		cpu->ev.op = LK_ACQUIRED;
	} else if (h) { /* let go where no probe can stand */
		lk_hold_drop(cpu, h);
		cpu->counts.endless++;
	}
	h = lk_spins(kind) ? lk_held_push(cpu, level, lock, mode, false, &recursive) :
	    kind == LK_SEM ? lk_hold_new(cpu, lock) :
			     lk_recent_new(cpu);
	lk_hold_fill(h, lock, kind, mode, cpu->ev.ip, false);
	h->level = level;
	h->got = h->told = h->by_site = 1;
	lk_hold_wait(h, &was);
	h->contended = h->wait_ns != 0 || (cpu->waited_lock == lock && cpu->waited_task == current);
	cpu->waited_lock = 0;
	cpu->ev.wait_ns = h->wait_ns;
	cpu->ev.spin_ns = h->spin_ns;
	cpu->ev.block_ns = h->block_ns;
	lk_recent_ready(cpu, h);
	if (lk_kernel.stacks)
		h->stack = lk_kernel.stacks(cpu, at);
	if (lk_kernel.orders)
		lk_order_ask(cpu, at, h, false);
	h->start_ns = lk_now_ns();
	return 1;
}

/* It is let go here. */
static int lk_site_gave(const struct lk_at *at, unsigned long lock, unsigned int kind,
			unsigned int mode)
{
	struct lk_cpu *cpu = lk_this_cpu();
	int told;

	if (lk_is_own_place(lock)) {
		lk_own.ended_ns = lk_now_ns();
		return 0;
	}
	told = lk_leave_lock(at, lock, kind, mode, true);
	if (cpu) {
		cpu->ev.at_entry = 0;
		cpu->ev.ip = (u32)at->regs->ip;
	}
	return told;
}

/* Holds that had begun and are not over: told at the end. */
static unsigned int lk_open_holds(void)
{
	unsigned int i, j, open = 0;

	/* Those of other kinds are from before kinds= was known. */
	for (i = 0; i < LK_HOLD_SETS * LK_WAYS; i++)
		open += lk_hold_key[i / LK_WAYS][i % LK_WAYS] &&
			lk_opt.kinds & 1u << lk_holds[i / LK_WAYS][i % LK_WAYS].kind;
	for (i = 0; i < lk_nr_cpus; i++) {
		const struct lk_cpu *cpu = lk_cpus[i];

		for (j = 0; cpu && j < cpu->nheld; j++)
			open += !!(lk_opt.kinds & 1u << cpu->held[j].kind);
		open += cpu && cpu->recent_key && lk_opt.kinds & 1u << cpu->recent.kind;
	}
	return open;
}

/* --- The probes' own cost ------------------------------------------------------------------ */

static u64 lk_own_median(u64 *ns)
{
	unsigned int i, j;

	for (i = 1; i < LK_OWN_ROUNDS; i++) {
		u64 x = ns[i];

		for (j = i; j && ns[j - 1] > x; j--)
			ns[j] = ns[j - 1];
		ns[j] = x;
	}
	return ns[LK_OWN_ROUNDS / 2];
}

/*
 * might_sleep() says where a function may sleep. Elsewhere than here it may report
 * a quiescent state to RCU, or complain.
 */
#if defined(CONFIG_PREEMPT_RCU) && !defined(CONFIG_DEBUG_ATOMIC_SLEEP) && \
	!defined(CONFIG_LOCKDEP) && !defined(CONFIG_PREEMPT_RT)
#define LK_MIGHT_SLEEP_IS_NOTHING
#endif

/*
 * By places: cpus_read_lock() has one, and does not wait here. A writer lets
 * pass an RCU grace period between leaving the idle state, in which no reader
 * waits, and keeping readers out; this softirq is a reader of RCU.
 */
static bool lk_own_cpus_lock(void)
{
#ifdef LK_MIGHT_SLEEP_IS_NOTHING
	if (!lk_own.place_lock || READ_ONCE(lk_own.place_lock->rss.gp_state))
		return false;
	WRITE_ONCE(lk_own.place_cpu, smp_processor_id() + 1);
	barrier();
	cpus_read_lock();
	return true;
#else
	return false;
#endif
}

static bool lk_own_take_sem(void)
{
#ifdef LK_MIGHT_SLEEP_IS_NOTHING
	down(&lk_own_sem); /* it is free */
	return true;
#else
	return !down_trylock(&lk_own_sem);
#endif
}

static bool lk_own_take(enum lk_way way)
{
	switch (way) {
	case LK_BY_ENTRY:
		write_lock_bh(&lk_own_lock);
		return true;
	case LK_BY_RETURN:
		return lk_own_take_sem();
	default:
		return lk_own_cpus_lock();
	}
}

static void lk_own_give(enum lk_way way)
{
	switch (way) {
	case LK_BY_ENTRY:
		write_unlock_bh(&lk_own_lock);
		break;
	case LK_BY_RETURN:
		up(&lk_own_sem);
		break;
	default:
		cpus_read_unlock();
		barrier();
		WRITE_ONCE(lk_own.place_cpu, 0);
	}
}

/* False: nothing has seen it. */
static bool lk_own_way(enum lk_way way)
{
	u64 before[LK_OWN_ROUNDS], after[LK_OWN_ROUNDS];
	unsigned int i;

	for (i = 0; i < LK_OWN_ROUNDS; i++) {
		u64 got, gives;

		lk_own.begun_ns = lk_own.ended_ns = 0;
		if (!lk_own_take(way))
			return false;
		got = lk_now_ns();
		gives = lk_now_ns();
		lk_own_give(way);
		if (!lk_own.begun_ns || !lk_own.ended_ns)
			return false;
		before[i] = got - lk_own.begun_ns;
		after[i] = lk_own.ended_ns - gives;
	}
	lk_own.way[way].before_ns = lk_own_median(before);
	lk_own.way[way].after_ns = lk_own_median(after);
	return true;
}

static void lk_own_measure(struct timer_list *timer)
{
	/* Not before all are armed, which takes some time. */
	if (!lk_own_way(LK_BY_ENTRY)) {
		if (lk_own.tries++ < 6000)
			mod_timer(timer, jiffies + HZ / 20);
		return;
	}
	lk_own_way(LK_BY_RETURN);
	lk_own_way(LK_BY_PLACE);
	/* The kernel makes probes cheaper some time after they have been armed. */
	if (lk_own.again++ < 3)
		mod_timer(timer, jiffies + HZ);
}

/* Where nothing but the measuring needs a probe on these functions. */
static void lk_own_enter(const struct lk_at *at)
{
	if (at->regs->di == (unsigned long)&lk_own_lock)
		lk_keep(at, LK_RWLOCK, LK_W, LK_WAITS);
}

static void lk_own_leave(const struct lk_at *at)
{
	if (at->regs->di == (unsigned long)&lk_own_lock)
		lk_leave(at, LK_RWLOCK, LK_W);
}

static void lk_own_start(void)
{
	if (lk_own.timer)
		return;
	sema_init(&lk_own_sem, 1);
	lk_own.place_lock = (void *)kallsyms_lookup_name("cpu_hotplug_lock");
	timer_setup(&lk_own_timer, lk_own_measure, 0);
	lk_own.timer = true;
	mod_timer(&lk_own_timer, jiffies + 1);
}

static void lk_own_stop(void)
{
	if (!lk_own.timer)
		return;
	lk_own.timer = false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	timer_delete_sync(&lk_own_timer);
#else
	del_timer_sync(&lk_own_timer);
#endif
}

#endif
