/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is to blame for a wait.
 *
 * Open waits are kept by lock. Whoever lets go of a lock looks for them, which
 * is one cache line where there are none, and takes what has passed since the
 * release before, as far as he held the lock: the wait's time is shared out
 * among all who held the lock one after another. What passes between two holds
 * is nobody's: the lock was handed over.
 *
 * Of n readers inside, the one that lets go takes an n-th of what nobody has
 * taken yet; the others find the rest.
 *
 * What a holder did meanwhile is kept with its holds: the times that its task
 * was off its CPU, from the scheduler's event, or waited for another lock.
 */
#ifndef LK_BLAME_H
#define LK_BLAME_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_wait.h"
#include "lk_hold.h"
#include "lk_record.h"
#include "lk_user.h"

/* What tells a lock from all others: two programs may have one at the same address. */
static inline unsigned long lk_blame_id(unsigned int kind, unsigned long lock,
					const struct mm_struct *mm)
{
	return lk_is_user(kind) ? lk_mix((unsigned long)mm, lock) | 1 : lock;
}

/* --- What holders do ----------------------------------------------------------------------- */

enum lk_why { LK_READY, LK_SLEEPS, LK_WAITS_FOR, LK_WHYS };

struct lk_span {
	u64 from, to;
	unsigned long lock; /* waited for, asked for at `ip`; */
	u32 ip; /* of a user lock the place that names it */
	u8 why;
	u8 kind;
};

#define LK_SPANS 6

/* Of one hold of a sleeping lock. Written by its task, or while this is off its CPU. */
struct lk_busy {
	u64 off_ns; /* when it left its CPU; 0: it is there */
	u64 run_delay; /* what the scheduler had counted then */
	u64 old_ns[LK_WHYS]; /* of spans that had to make room, */
	u64 old_end; /* and where the last of them ended */
	u32 spans; /* ever */
	bool ready; /* it left its CPU able to run */
	struct lk_span span[LK_SPANS];
};

#define LK_BUSY_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_busy))
#define LK_BUSY_PIECES DIV_ROUND_UP(LK_HOLD_SETS *LK_WAYS, LK_BUSY_PER_PIECE)

static struct lk_busy *lk_busy_pieces[LK_BUSY_PIECES];

static inline struct lk_busy *lk_busy_of(const struct lk_hold *h)
{
	unsigned int i = h - &lk_holds[0][0];

	return &lk_busy_pieces[i / LK_BUSY_PER_PIECE][i % LK_BUSY_PER_PIECE];
}

/* A hold begins, or is asked for. */
static void lk_blame_fresh(const struct lk_hold *h)
{
	struct lk_busy *b = lk_busy_of(h);

	b->off_ns = 0;
	b->spans = 0;
	b->old_end = 0;
	memset(b->old_ns, 0, sizeof(b->old_ns));
}

static void lk_busy_add(struct lk_busy *b, enum lk_why why, u64 from, u64 to,
			const struct lk_event *waited, u32 ip)
{
	struct lk_span *s = &b->span[b->spans % LK_SPANS];

	if (to <= from)
		return;
	if (b->spans >= LK_SPANS) {
		b->old_ns[s->why] += s->to - s->from;
		b->old_end = s->to;
	}
	b->spans++;
	s->from = from;
	s->to = to;
	s->why = why;
	s->lock = waited ? waited->lock : 0;
	s->kind = waited ? waited->kind : 0;
	s->ip = ip;
}

/* Each hold of a task's sleeping locks. */
#define lk_for_each_hold(task, set, turn, i)                                          \
	for (turn = 0, set = lk_hold_set((unsigned long)(task));                      \
	     turn <= READ_ONCE(lk_hold_spilled); turn++, set = lk_hold_next_set(set)) \
		for (i = 0; i < LK_WAYS; i++)                                         \
			if (lk_hold_key[set][i] == (unsigned long)(task))

static bool lk_task_waits(struct task_struct *task)
{
	unsigned int set = lk_wait_set(task), i;

	for (i = 0; i < LK_WAYS; i++)
		if (lk_wait_task[set][i] == task && !lk_waits[set][i].tentative &&
		    lk_is_of_task(&lk_waits[set][i], task) && !lk_is_interrupted(&lk_waits[set][i]))
			return true;
	return false;
}

static inline u64 lk_run_delay(const struct task_struct *task)
{
#ifdef CONFIG_SCHED_INFO
	return task->sched_info.run_delay;
#else
	return 0;
#endif
}

/* How long a task that now gets a CPU has been able to run. */
static u64 lk_ready_ns(const struct task_struct *task, const struct lk_busy *b)
{
#ifdef CONFIG_SCHED_INFO
	u64 queued = task->sched_info.last_queued, now = local_clock();

	return task->sched_info.run_delay - b->run_delay +
	       (queued && now > queued ? now - queued : 0);
#else
	return 0;
#endif
}

/*
 * The scheduler takes a CPU from one task and gives it to another: a look at the
 * holds of both. A task that waits for a lock is told of when that wait is over.
 */
static void lk_blame_switch(struct task_struct *prev, struct task_struct *next, bool ready)
{
	unsigned int set, turn, i;
	int waits = -1;
	u64 now = 0;

	if (unlikely(!lk_kernel.blames))
		return;
	lk_for_each_hold(prev, set, turn, i)
	{
		struct lk_busy *b = lk_busy_of(&lk_holds[set][i]);

		if (waits < 0)
			waits = lk_task_waits(prev);
		if (waits)
			break;
		now = now ? now : lk_now_ns();
		b->run_delay = lk_run_delay(prev);
		b->ready = ready;
		b->off_ns = now;
	}
	lk_for_each_hold(next, set, turn, i)
	{
		struct lk_busy *b = lk_busy_of(&lk_holds[set][i]);
		u64 from = b->off_ns, ready_ns;

		if (!from)
			continue;
		now = now ? now : lk_now_ns();
		b->off_ns = 0;
		ready_ns = b->ready ? now - from : min(lk_ready_ns(next, b), now - from);
		lk_busy_add(b, LK_SLEEPS, from, now - ready_ns, NULL, 0);
		lk_busy_add(b, LK_READY, now - ready_ns, now, NULL, 0);
	}
}

/* A task's wait for a lock is over: what it did with the others that it holds. */
static void lk_blame_waited(const struct lk_at *at)
{
	struct lk_cpu *cpu = lk_this_cpu();
	const struct lk_event *ev;
	unsigned int set, turn, i;
	u32 ip = 0;

	if (unlikely(!cpu || !lk_kernel.blames) || lk_level(at))
		return;
	ev = &cpu->ev;
	if (ev->op != LK_END || !ev->valid)
		return;
	lk_for_each_hold(current, set, turn, i)
	{
		if (lk_holds[set][i].lock == ev->lock)
			continue;
		if (!ip)
			ip = lk_is_user(ev->kind) ? ev->user_name : (u32)lk_caller(cpu, at);
		lk_busy_add(lk_busy_of(&lk_holds[set][i]), LK_WAITS_FOR, ev->begin_ns,
			    ev->begin_ns + ev->wait_ns, ev, ip);
	}
}

/* --- A part of a wait, and whose it is ---------------------------------------------------- */

enum lk_whose { LK_HOLDERS, LK_NOBODYS };

struct lk_charge {
	u64 ns;
	u64 part_ns[LK_WHYS]; /* the rest ran */
	unsigned long other; /* what it waited for, */
	u32 other_ip; /* asked for where, or what names it, */
	u8 other_kind;
	u8 whose;
	bool ready; /* written, and may be read */
	u32 ip; /* where the holder let go */
	u32 stack;
	s32 tid;
	u64 who; /* by task, process, cgroup */
};

static u64 lk_overlap(u64 from, u64 to, u64 lo, u64 hi)
{
	from = max(from, lo);
	to = min(to, hi);
	return to > from ? to - from : 0;
}

/* What the holder did from `from` to `to`, as parts of c->ns. */
static void lk_busy_parts(const struct lk_busy *b, u64 start, u64 from, u64 to, struct lk_charge *c)
{
	u64 most = 0, left = c->ns, all = to - from, old = READ_ONCE(b->old_end);
	u32 n = min_t(u32, b->spans, LK_SPANS), i;

	if (!all)
		return;

	/* Where it began in the middle of those that had to make room: in proportion. */
	for (i = 0; i < LK_WHYS && old > from; i++)
		c->part_ns[i] = from <= start ?
					b->old_ns[i] :
					mul_u64_u64_div_u64(b->old_ns[i], old - from, old - start);
	for (i = 0; i < n; i++) {
		const struct lk_span *s = &b->span[i];
		u64 ns = lk_overlap(s->from, s->to, from, to);

		if (s->why >= LK_WHYS)
			continue;
		c->part_ns[s->why] += ns;
		if (s->why == LK_WAITS_FOR && ns > most) {
			most = ns;
			c->other = s->lock;
			c->other_ip = s->ip;
			c->other_kind = s->kind;
		}
	}
	if (b->off_ns) /* not its own release */
		c->part_ns[b->ready ? LK_READY : LK_SLEEPS] += lk_overlap(b->off_ns, to, from, to);
	for (i = 0; i < LK_WHYS; i++) {
		if (c->ns != all)
			c->part_ns[i] = mul_u64_u64_div_u64(c->part_ns[i], c->ns, all);
		c->part_ns[i] = min(c->part_ns[i], left);
		left -= c->part_ns[i];
	}
}

/* --- Open waits by lock ------------------------------------------------------------------- */

#define LK_OVER (~0ull)
#define LK_BLAME_WAYS 7
#define LK_BLAME_SETS DIV_ROUND_UP(LOCKTAP_WAITS, LK_BLAME_WAYS)
#define LK_BLAME_FAR 32 /* sets that one lock's waits may spread over */
#define LK_PENDING 4

struct lk_blame_set {
	unsigned long far; /* of the locks whose first set this is: those behind in use */
	unsigned long id[LK_BLAME_WAYS];
};

struct lk_blamed {
	u64 begin_ns;
	u64 name;
	unsigned long id, lock;
	struct task_struct *task;
	u32 ip; /* the waiter's */
	u32 stack;
	u32 user_name;
	u8 kind, mode, name_is;
};

/*
 * One wait. Time up to `until` has been taken; it moves on by compare and
 * exchange, and who moves it has that time. As a time stamp comes only once it
 * also tells that the rest is still the same wait's.
 */
struct lk_blame {
	u64 until;
	struct lk_blamed w;
	atomic_t pending_nr; /* taken while it was not known whether the wait is long enough */
	bool told; /* some of it has been recorded */
	struct lk_charge pending[LK_PENDING];
};

#define LK_BLAMES_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_blame))
#define LK_BLAME_PIECES DIV_ROUND_UP(LK_BLAME_SETS *LK_BLAME_WAYS, LK_BLAMES_PER_PIECE)

static struct lk_blame_set lk_blame_sets[LK_BLAME_SETS] ____cacheline_aligned;
static struct lk_blame *lk_blame_pieces[LK_BLAME_PIECES];

static inline struct lk_blame *lk_blame_at(unsigned int set, unsigned int way)
{
	unsigned int i = set * LK_BLAME_WAYS + way;

	return &lk_blame_pieces[i / LK_BLAMES_PER_PIECE][i % LK_BLAMES_PER_PIECE];
}

static inline unsigned int lk_blame_home(unsigned long id)
{
	return hash_long(id, 32) % LK_BLAME_SETS;
}

static bool lk_blame_alloc(void)
{
	unsigned int i;

	for (i = 0; i < LK_BLAME_PIECES; i++) {
		lk_blame_pieces[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!lk_blame_pieces[i])
			return false;
	}
	for (i = 0; i < LK_BUSY_PIECES; i++) {
		lk_busy_pieces[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!lk_busy_pieces[i])
			return false;
	}
	return true;
}

/* --- Recording ----------------------------------------------------------------------------- */

static u64 lk_blame_by(const struct lk_blamed *w, const struct lk_charge *c)
{
	switch (lk_opt.by) {
	case LK_BY_LOCK:
		return w->id;
	case LK_BY_CALLER:
		return (u64)c->ip << 32 | w->ip;
	case LK_BY_STACK:
		return (u64)c->stack << 32 | w->stack;
	case LK_BY_TASK:
	case LK_BY_PROCESS:
	case LK_BY_CGROUP:
		return c->who;
	default:
		return 0;
	}
}

static void lk_blame_add(struct lk_rec *r, const struct lk_blamed *w, const struct lk_charge *c)
{
	struct lk_rec_blame *b = &r->blame;

	r->count++;
	r->total_ns += c->ns;
	r->min_ns = min(r->min_ns, c->ns);
	b->ready_ns += c->part_ns[LK_READY];
	b->sleep_ns += c->part_ns[LK_SLEEPS];
	b->lock_ns += c->part_ns[LK_WAITS_FOR];
	if (c->other) {
		u64 ns = c->part_ns[LK_WAITS_FOR], name;
		u8 is = lk_name_of(c->other, &name);

		if (lk_is_user(c->other_kind)) {
			is = LK_NAME_USER;
			name = c->other_ip;
		} else if (is == LK_NAME_CALLER) {
			name = LK_IP(c->other_ip);
		}
		if (b->other_ns && b->other == name && b->other_is == is) {
			b->other_ns += ns;
		} else if (ns > b->other_ns) {
			b->other_ns = ns;
			b->other = name;
			b->other_is = is;
			b->other_kind = c->other_kind;
		}
	}
	if (c->ns > r->max_ns || r->count == 1) {
		r->max_ns = c->ns;
		r->lock = w->lock;
		r->user_name = w->user_name;
		r->caller = LK_IP(w->ip);
		r->owner = c->tid;
		lk_tid_comm(c->tid, r->owner_comm);
		b->holder = c->ip;
		b->holder_stack = c->stack;
		b->waiter_stack = w->stack;
	}
}

static void lk_blame_record(struct lk_cpu *cpu, const struct lk_blamed *w,
			    const struct lk_charge *c)
{
	struct lk_rec key = { .kind = w->kind,
			      .mode = w->mode,
			      .name_is = w->name_is,
			      .name = w->name,
			      .event = c->whose },
		      *r;

	if (!c->ns)
		return;
	key.by = lk_blame_by(w, c);
	key.hash = lk_mix(lk_mix(key.kind << 8 | key.mode, key.name), key.by) >> 32;
	if (lk_opt.interval_s) {
		WRITE_ONCE(cpu->in_record, 1);
		smp_mb(); /* pairs with lk_flip() */
	}
	r = lk_rec_find(&cpu->table[READ_ONCE(lk_turn) & 1], &key);
	if (r) {
		if (!r->count && c->whose == LK_HOLDERS && c->tid == current->pid)
			lk_rec_name(r);
		else if (!r->count && (lk_opt.by == LK_BY_TASK || lk_opt.by == LK_BY_PROCESS))
			lk_tid_comm(c->who, r->comm);
		lk_blame_add(r, w, c);
		if (c->whose == LK_NOBODYS)
			cpu->counts.handed_ns += c->ns;
		else
			cpu->counts.charged_ns += c->ns;
	} else {
		cpu->counts.full++;
		cpu->counts.full_ns += c->ns;
	}
	if (lk_opt.interval_s)
		smp_store_release(&cpu->in_record, 0);
}

/* Recorded at once, or kept until it is known that the wait is not too short. */
static void lk_blame_tell(struct lk_cpu *cpu, struct lk_blame *e, const struct lk_blamed *w,
			  const struct lk_charge *c, u64 now)
{
	int i;

	if (lk_opt.min_ns && now - w->begin_ns < lk_opt.min_ns) {
		i = atomic_inc_return(&e->pending_nr) - 1;
		if (i >= 0 && i < LK_PENDING) {
			e->pending[i] = *c;
			smp_store_release(&e->pending[i].ready, true);
			return;
		}
	}
	WRITE_ONCE(e->told, true);
	lk_blame_record(cpu, w, c);
}

static void lk_blame_nobodys(struct lk_charge *c, u64 ns)
{
	memset(c, 0, sizeof(*c));
	c->ns = ns;
	c->whose = LK_NOBODYS;
}

/* lk_user_blame.h: a wait for a user lock begins, or is over; who has it still? */
static void lk_blame_user_owner(struct lk_cpu *cpu, const struct lk_event *ev);
static void lk_blame_user_got(struct lk_cpu *cpu, const struct lk_event *ev);
static struct lk_hold *lk_blame_user_hold(const struct lk_event *ev, struct task_struct **task);

/* --- A wait begins ------------------------------------------------------------------------- */

static void lk_blame_open(struct lk_cpu *cpu, const struct lk_at *at, struct lk_blame *e)
{
	const struct lk_event *ev = &cpu->ev;
	unsigned long caller = 0;
	unsigned int i;

	e->w.stack = lk_opt.by == LK_BY_STACK ? lk_stack_id(cpu, at, &caller) : 0;
	if (!caller)
		caller = lk_caller(cpu, at);
	e->w.ip = (u32)caller;
	e->w.begin_ns = ev->begin_ns;
	e->w.id = lk_blame_id(ev->kind, ev->lock, current->mm);
	e->w.lock = ev->lock;
	e->w.user_name = ev->user_name;
	e->w.task = current;
	e->w.kind = ev->kind;
	e->w.mode = ev->mode;
	e->w.name_is = lk_is_user(ev->kind) ? LK_NAME_CALLER : lk_name_of(ev->lock, &e->w.name);
	if (e->w.name_is == LK_NAME_CALLER)
		e->w.name = lk_opt.by == LK_BY_LOCK ? 0 :
			    lk_is_user(ev->kind)    ? ev->user_name :
						      caller;
	atomic_set(&e->pending_nr, 0);
	for (i = 0; i < LK_PENDING; i++)
		e->pending[i].ready = false;
	e->told = false;
	smp_store_release(&e->until, ev->begin_ns);
}

/* The task's that began then. */
static struct lk_blame *lk_blame_find(unsigned long id, const struct task_struct *task,
				      u64 begin_ns, unsigned long **key)
{
	unsigned int home = lk_blame_home(id), turn, i;
	unsigned long far = READ_ONCE(lk_blame_sets[home].far) | 1;

	for (turn = 0; far; turn++, far >>= 1) {
		unsigned int set = (home + turn) % LK_BLAME_SETS;

		for (i = 0; far & 1 && i < LK_BLAME_WAYS; i++) {
			struct lk_blame *e = lk_blame_at(set, i);

			*key = &lk_blame_sets[set].id[i];
			if (**key == id && e->w.task == task && e->w.begin_ns == begin_ns)
				return e;
		}
	}
	return NULL;
}

static void lk_blame_begin(struct lk_cpu *cpu, const struct lk_at *at)
{
	unsigned int home, set, turn, i;
	unsigned long id, *key;

	if (!cpu->ev.valid || !lk_wanted(cpu, at))
		return;
	id = lk_blame_id(cpu->ev.kind, cpu->ev.lock, current->mm);
	if (lk_blame_find(id, current, cpu->ev.begin_ns, &key)) /* another handler's */
		return;
	home = set = lk_blame_home(id);
	for (turn = 0; turn < LK_BLAME_FAR; turn++, set = set + 1 < LK_BLAME_SETS ? set + 1 : 0) {
		for (i = 0; i < LK_BLAME_WAYS; i++) {
			struct lk_blame *e = lk_blame_at(set, i);

			key = &lk_blame_sets[set].id[i];
			if (READ_ONCE(*key) || cmpxchg(key, 0, id))
				continue;
			e->until = LK_OVER;
			if (turn)
				set_bit(turn, &lk_blame_sets[home].far);
			lk_blame_open(cpu, at, e);
			if (lk_is_user(cpu->ev.kind))
				lk_blame_user_owner(cpu, &cpu->ev);
			return;
		}
	}
}

/* --- A lock is let go ---------------------------------------------------------------------- */

struct lk_releaser {
	bool known;
	u64 start_ns; /* of its hold; 0: not known */
	u64 now;
	const struct lk_busy *busy;
	u32 ip, stack;
	s32 tid;
	u64 who;
	u64 share; /* how many hold it, with this one */
};

/* Those of a program's rwlock: glibc, nptl; the low three bits are flags. */
static u64 lk_user_readers(unsigned long lock)
{
	struct lk_pthread_rwlock rw;

	return lk_user_peek(current, lock, &rw, sizeof(rw)) ? rw.readers >> 3 : 1;
}

/* How many readers are inside: kernel/locking/rwsem.c, asm-generic/qrwlock.h. */
static u64 lk_readers(const struct lk_event *ev)
{
	unsigned long lock = ev->lock;
	unsigned int set, i;
	s64 n = 1;

	switch (ev->kind) {
	case LK_RWSEM:
		n = (atomic_long_read(&((struct rw_semaphore *)lock)->count) & LONG_MAX) >> 8;
		break;
	case LK_RWLOCK:
#if !defined(CONFIG_PREEMPT_RT)
		n = atomic_read(&((rwlock_t *)lock)->raw_lock.cnts) >> 9;
#endif
		break;
	case LK_PERCPU_RWSEM:
		n = (int)lk_percpu_readers(lock);
		break;
	case LK_SEM:
		n = 0;
		set = lk_hold_set(lock);
		for (i = 0; i < LK_WAYS; i++)
			n += lk_hold_key[set][i] == lock;
		break;
	case LK_PTHREAD_RWLOCK:
		n = lk_user_readers(lock);
		break;
	}
	return n > 0 && n < 1 << 20 ? n : 1;
}

static void lk_releaser_know(struct lk_cpu *cpu, const struct lk_at *at, struct lk_releaser *by)
{
	struct lk_event *ev = &cpu->ev;
	unsigned long caller = 0;

	by->known = true;
	if (lk_opt.by == LK_BY_STACK)
		by->stack = lk_stack_id(cpu, at, &caller);
	by->ip = (u32)(caller ? caller : lk_caller(cpu, at));
	switch (lk_opt.by) {
	case LK_BY_TASK:
		by->who = current->pid;
		break;
	case LK_BY_PROCESS:
		by->who = current->tgid;
		break;
	case LK_BY_CGROUP:
		by->who = lk_cgroup_id(NULL);
		break;
	default:
		break;
	}
	by->share = ev->mode == LK_R || ev->kind == LK_SEM ? lk_readers(ev) : 1;
}

/*
 * For the present event's lock? A lock's internal lock may have its address; what a user lock
 * is, is seen by its word.
 */
static bool lk_blame_is_of(const struct lk_cpu *cpu, const struct lk_blamed *w)
{
	return w->lock == cpu->ev.lock && (w->kind == cpu->ev.kind || lk_is_user(w->kind));
}

/* A wait's time up to now, as far as it is this holder's. */
static void lk_blame_charge(struct lk_cpu *cpu, struct lk_blame *e, const struct lk_releaser *by)
{
	u64 until = READ_ONCE(e->until), now = by->now, held = now - by->start_ns, all, from;
	struct lk_blamed w = e->w;
	struct lk_charge c = { .whose = LK_HOLDERS,
			       .ip = by->ip,
			       .stack = by->stack,
			       .tid = by->tid,
			       .who = by->who };

	if (until == LK_OVER || until >= now || !lk_blame_is_of(cpu, &w))
		return;
	all = now - until;
	c.ns = min(by->share > 1 ? div64_u64(all, by->share) : all, held);
	if (cmpxchg(&e->until, until, by->share > 1 ? until + c.ns : now) != until)
		return;
	if (by->busy && c.ns) {
		from = max(by->share > 1 ? w.begin_ns : until, by->start_ns);
		if (now > from)
			lk_busy_parts(by->busy, by->start_ns, from, now, &c);
	}
	lk_blame_tell(cpu, e, &w, &c, now);
	if (by->share > 1 || c.ns == all)
		return;
	lk_blame_nobodys(&c, all - c.ns);
	lk_blame_tell(cpu, e, &w, &c, now);
}

/* What was taken while it was not known whether the wait is long enough: it is. */
static void lk_blame_pending(struct lk_cpu *cpu, const struct lk_blame *e)
{
	int i, n = min(atomic_read(&e->pending_nr), LK_PENDING);

	for (i = 0; i < n; i++)
		if (smp_load_acquire(&e->pending[i].ready))
			lk_blame_record(cpu, &e->w, &e->pending[i]);
}

/* It was no wait after all, or its end was not seen: what has been told of it stays. */
static void lk_blame_drop(struct lk_cpu *cpu, struct lk_blame *e, unsigned long *key)
{
	u64 until = xchg(&e->until, LK_OVER);

	if (until != LK_OVER && READ_ONCE(e->told)) {
		cpu->counts.waits_ns += until - e->w.begin_ns;
		lk_blame_pending(cpu, e);
	}
	smp_store_release(key, 0);
}

/* Who lets go of a lock does not wait for it: the end of that wait was not seen. */
static bool lk_blame_is_over(const struct lk_cpu *cpu, const struct lk_at *at,
			     const struct lk_blame *e)
{
	return smp_load_acquire(&e->until) != LK_OVER && e->w.task == current && !lk_level(at) &&
	       lk_blame_is_of(cpu, &e->w) && e->w.kind != LK_SEM;
}

/* Its end was not seen: the wait is given up with what is kept of it here. */
static void lk_blame_over(struct lk_cpu *cpu, struct lk_blame *e, unsigned long *key)
{
	struct lk_wait *w = lk_spins(e->w.kind) ? NULL : lk_task_wait(current, e->w.lock);

	if (w && w->begin_ns == e->w.begin_ns)
		lk_task_wait_lose(cpu, w);
	else
		lk_blame_drop(cpu, e, key);
}

/* The entry of an unlock function: `h` ends, NULL where its begin was not seen. */
static void lk_blame_release(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h, u64 now)
{
	unsigned long lock = cpu->ev.lock, far;
	unsigned long id = lk_blame_id(cpu->ev.kind, lock, current->mm);
	unsigned int home = lk_blame_home(id), turn, i;
	struct lk_releaser by = {};
	struct lk_hold *own = h;

	if (h && h->kind == LK_SEM) {
		own = lk_hold_find((unsigned long)current, lock, LK_WANT_LOCK);
		if (!own)
			own = lk_hold_find((unsigned long)h->task, lock, LK_WANT_LOCK);
	}
	far = READ_ONCE(lk_blame_sets[home].far) | 1;
	for (turn = 0; far; turn++, far >>= 1) {
		unsigned int set = (home + turn) % LK_BLAME_SETS;

		for (i = 0; far & 1 && i < LK_BLAME_WAYS; i++) {
			struct lk_blame *e = lk_blame_at(set, i);

			if (likely(READ_ONCE(lk_blame_sets[set].id[i]) != id))
				continue;
			if (unlikely(lk_blame_is_over(cpu, at, e))) {
				lk_blame_over(cpu, e, &lk_blame_sets[set].id[i]);
				continue;
			}
			if (!by.known) {
				by.now = now;
				if (h) {
					by.start_ns = own && own->kind == LK_SEM && own != h ?
							      max(own->start_ns, h->start_ns) :
							      h->start_ns;
					by.tid = h->tid;
				} else {
					by.tid = current->pid;
				}
				if (own && !lk_spins(cpu->ev.kind))
					by.busy = lk_busy_of(own);
				lk_releaser_know(cpu, at, &by);
			}
			lk_blame_charge(cpu, e, &by);
		}
	}
	if (own && own != h)
		lk_hold_drop(cpu, own);
}

/* --- A wait is over ------------------------------------------------------------------------ */

/* A wait that ended without the lock: who has it still? */
static u64 lk_blame_present(struct lk_cpu *cpu, const struct lk_blame *e, struct lk_charge *c,
			    u64 from, u64 now)
{
	const struct lk_event *ev = &cpu->ev;
	s32 tid = lk_owner(ev->kind, ev->lock);
	struct task_struct *task = tid ? pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID) :
					 NULL;
	struct lk_hold *h = NULL;

	if (ev->kind == LK_SEM)
		h = lk_hold_find(ev->lock, ev->lock, LK_WANT_LOCK);
	else if (lk_is_user(ev->kind))
		h = lk_blame_user_hold(ev, &task);
	else if (task)
		h = lk_hold_find((unsigned long)task, ev->lock, LK_WANT_LOCK);
	else if (!lk_spins(ev->kind)) /* readers do not tell who they are */
		h = lk_hold_foreign(cpu, ev->lock, LK_R);
	if (!h || h->task == current || h->start_ns >= now)
		return 0;
	memset(c, 0, sizeof(*c));
	c->ns = min(now - from, now - h->start_ns);
	c->ip = h->ip;
	c->tid = h->tid;
	c->who = lk_opt.by == LK_BY_TASK	    ? h->tid :
		 lk_opt.by == LK_BY_PROCESS && task ? task->tgid :
						      0;
	if (ev->kind != LK_SEM)
		lk_busy_parts(lk_busy_of(h), h->start_ns, max(from, h->start_ns), now, c);
	return c->ns;
}

static void lk_blame_end(struct lk_cpu *cpu, const struct lk_at *at)
{
	const struct lk_event *ev = &cpu->ev;
	u64 now = ev->begin_ns + ev->wait_ns, until, left;
	struct lk_charge c;
	struct lk_blame *e;
	unsigned long *key;

	if (!ev->valid)
		return;
	if (lk_is_user(ev->kind))
		lk_blame_user_got(cpu, ev);
	if (!lk_wanted(cpu, at)) {
		cpu->counts.filtered++;
		return;
	}
	cpu->counts.seen++;
	e = lk_blame_find(lk_blame_id(ev->kind, ev->lock, current->mm), current, ev->begin_ns,
			  &key);
	if (!e) {
		cpu->counts.uncharged++;
		return;
	}
	until = xchg(&e->until, LK_OVER);
	if (ev->wait_ns < lk_opt.min_ns && !READ_ONCE(e->told)) {
		cpu->counts.brief++;
		smp_store_release(key, 0);
		return;
	}
	cpu->counts.recorded++;
	cpu->counts.waits_ns += ev->wait_ns;
	left = now > until ? now - until : 0;
	if (until > now) /* a release at the very end */
		cpu->counts.waits_ns += until - now;
	lk_blame_pending(cpu, e);
	if (left && ev->ret && lk_blame_present(cpu, e, &c, until, now)) {
		left -= c.ns;
		lk_blame_record(cpu, &e->w, &c);
	}
	lk_blame_nobodys(&c, left);
	lk_blame_record(cpu, &e->w, &c);
	smp_store_release(key, 0);
}

static void lk_blame_none(struct lk_cpu *cpu, const struct lk_wait *w)
{
	unsigned long *key;
	struct lk_blame *e =
		lk_blame_find(lk_blame_id(w->kind, w->lock, w->mm), w->task, w->begin_ns, &key);

	if (e)
		lk_blame_drop(cpu, e, key);
}

/* For lock_record(): of a release, lk_blame_release() has done all. */
static void lk_blame_event(struct lk_cpu *cpu, const struct lk_at *at)
{
	if (cpu->ev.op == LK_BEGIN)
		lk_blame_begin(cpu, at);
	else if (cpu->ev.op == LK_END)
		lk_blame_end(cpu, at);
}

/* What has been taken of waits that are not over: so that the loss line's sums agree. */
static u64 lk_blame_open_ns(void)
{
	unsigned int set, i, k;
	u64 ns = 0;

	for (set = 0; lk_kernel.blames && set < LK_BLAME_SETS; set++)
		for (i = 0; i < LK_BLAME_WAYS; i++) {
			struct lk_blame *e = lk_blame_at(set, i);
			u64 until = READ_ONCE(e->until);

			if (!lk_blame_sets[set].id[i] || until == LK_OVER)
				continue;
			ns += until - e->w.begin_ns;
			for (k = 0; k < LK_PENDING; k++)
				if (e->pending[k].ready)
					ns -= e->pending[k].ns;
		}
	return ns;
}

/* --- While a report is made ---------------------------------------------------------------- */

/* Where the function begins that an address is in. */
static u32 lk_function_of(u32 ip)
{
	char sym[KSYM_SYMBOL_LEN], *plus;
	unsigned long offset;

	if (!ip || lk_is_place(ip)) /* a program's functions are not known */
		return ip;
	sprint_symbol(sym, LK_IP(ip));
	plus = strrchr(sym, '+');
	if (!plus || sscanf(plus, "+0x%lx/", &offset) != 1)
		return ip;
	return ip - (u32)offset;
}

/* By caller: the functions, not each place in them. */
static void lk_blame_functions(struct lk_rec *r)
{
	if (lk_opt.by != LK_BY_CALLER)
		return;
	r->by = (u64)lk_function_of(r->by >> 32) << 32 | lk_function_of((u32)r->by);
	r->hash = lk_mix(lk_mix(r->kind << 8 | r->mode, r->name), r->by) >> 32;
}

static void lk_blame_merge(struct lk_rec *to, const struct lk_rec *from)
{
	struct lk_rec_blame *t = &to->blame;
	const struct lk_rec_blame *f = &from->blame;

	t->ready_ns += f->ready_ns;
	t->sleep_ns += f->sleep_ns;
	t->lock_ns += f->lock_ns;
	if (t->other_ns && t->other == f->other && t->other_is == f->other_is) {
		t->other_ns += f->other_ns;
	} else if (f->other_ns > t->other_ns) {
		t->other_ns = f->other_ns;
		t->other = f->other;
		t->other_is = f->other_is;
		t->other_kind = f->other_kind;
	}
	if (from->max_ns > to->max_ns) {
		t->holder = f->holder;
		t->holder_stack = f->holder_stack;
		t->waiter_stack = f->waiter_stack;
	}
}

#endif
