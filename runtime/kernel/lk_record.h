/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder: one table of records per CPU, filled without locks or
 * allocation, merged when a report is made.
 */
#ifndef LK_RECORD_H
#define LK_RECORD_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_wait.h"
#include "lk_hold.h"
#include "lk_user.h"
#include "lk_names.h"

/* What a record's `name` holds. */
enum lk_name {
	LK_NAME_STATIC, /* the address of a variable of the kernel or a module */
	LK_NAME_PERCPU, /* an offset in the static per-CPU area */
	LK_NAME_CALLER, /* the caller: the lock is in allocated memory */
	LK_NAME_TEXT, /* once a report is made: a hash of the NAME */
	LK_NAME_USER, /* a place in a program, lk_user.h; of chains and orders */
};

/* Who made others wait: total_ns is their time, of which it was ... */
struct lk_rec_blame {
	u64 ready_ns; /* ... able to run, without a CPU */
	u64 sleep_ns;
	u64 lock_ns; /* ... itself waiting for a lock, */
	u64 other_ns; /* mostly this one: */
	u64 other;
	u8 other_is;
	u8 other_kind;
	/* of the longest */
	u32 holder; /* where it let go */
	u32 holder_stack;
	u32 waiter_stack;
};

struct lk_rec {
	u64 name;
	u64 by;
	u8 kind;
	u8 mode;
	u8 name_is;
	u8 event; /* of a report that has several */
	u32 hash;

	u64 count; /* waits, or holds */
	u64 failed; /* waits that ended without the lock */
	u64 contended; /* holds that had to be waited for */
	u64 tryfail;
	u64 total_ns, min_ns, max_ns, spin_ns, block_ns;
	u64 raw_ns; /* holds with the probes' own cost */
	u64 readers; /* lockstat's: that held the lock, of all waits together */

	/* of the longest wait or hold */
	unsigned long lock;
	unsigned long caller;
	s32 owner; /* who held the lock */
	u32 max_stack;
	u32 user_name; /* of a user lock: the place that names it */
	char owner_comm[TASK_COMM_LEN];

	char comm[TASK_COMM_LEN]; /* by task, process, cgroup */
	union {
		u32 hist[LK_BUCKETS];
		struct lk_rec_blame blame;
	};

	/* while a report is made */
	const char *text; /* the NAME that locktap prep knows, or NULL */
	u64 heat; /* lockstat's: the largest part that the row is made of */
	struct lk_rec *next;
	struct list_head order;
};

#define LK_RECS_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_rec))
#define LK_PIECES DIV_ROUND_UP(LOCKTAP_RECORDS, LK_RECS_PER_PIECE)
#define LK_INDEX_SIZE roundup_pow_of_two(2 * LOCKTAP_RECORDS)
#define LK_INDEX_PROBES 32

/* Stacks are shared by all CPUs: claimed once, by their hash, then read only. */
struct lk_stack {
	u64 hash;
	u32 n;
	u32 ips[LK_DEPTH];
};

#define LK_STACKS_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_stack))
#define LK_STACK_PIECES DIV_ROUND_UP(LOCKTAP_STACKS, LK_STACKS_PER_PIECE)
#define LK_STACK_PROBES 16

static struct lk_stack **lk_stacks;
static u32 lk_turn; /* counts reports; its low bit is the table being filled */

static struct lk_rec *lk_rec(const struct lk_table *t, u32 i)
{
	return &t->chunks[i / LK_RECS_PER_PIECE][i % LK_RECS_PER_PIECE];
}

static struct lk_stack *lk_stack_at(u32 i)
{
	return &lk_stacks[i / LK_STACKS_PER_PIECE][i % LK_STACKS_PER_PIECE];
}

static inline u64 lk_mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio */
	return h ^ h >> 29;
}

/* Number of this stack, from 1; 0 when the table is full. */
static u32 lk_stack_number(struct lk_cpu *cpu, const u32 *ips, u32 n)
{
	u64 hash = 0;
	u32 i, place;

	for (i = 0; i < n; i++)
		hash = lk_mix(hash, ips[i]);
	hash |= !hash;
	place = (hash >> 32) % LOCKTAP_STACKS;
	for (i = 0; i < LK_STACK_PROBES && i < LOCKTAP_STACKS; i++) {
		struct lk_stack *s = lk_stack_at(place);
		u64 there = READ_ONCE(s->hash);

		if (!there) {
			there = cmpxchg(&s->hash, 0, hash);
			if (!there) {
				memcpy(s->ips, ips, n * sizeof(ips[0]));
				smp_store_release(&s->n, n);
				return place + 1;
			}
		}
		if (there == hash)
			return place + 1;
		place = place + 1 < LOCKTAP_STACKS ? place + 1 : 0;
	}
	cpu->counts.stacks_full++;
	return 0;
}

/* The whole of a stack that was kept. */
static u32 lk_seen_ips(const struct lk_seen *s, u32 *ips)
{
	u32 n = 0, i;

	if (!s->inner && s->caller == s->ip && !s->probed)
		ips[n++] = s->ip;
	for (i = s->inner; i < s->n; i++)
		ips[n++] = s->frame[i].ip;
	if (s->top)
		ips[n++] = s->top;
	return n;
}

/* Number of the present stack, from 1; 0 when the table is full. */
static u32 lk_stack_id(struct lk_cpu *cpu, const struct lk_at *at, unsigned long *caller)
{
	struct lk_seen *s;

	if (lk_is_user(cpu->ev.kind)) { /* the kernel's part of it says nothing */
		*caller = LK_IP(cpu->ev.ip);
		return lk_stack_number(cpu, &cpu->ev.ip, 1);
	}
	s = lk_seen(cpu, at);
	if (likely(s)) {
		*caller = LK_IP(s->caller);
		if (unlikely(!s->id))
			s->id = lk_stack_number(cpu, cpu->ips, lk_seen_ips(s, cpu->ips));
		return s->id;
	}
	*caller = cpu->nips ? LK_IP(cpu->ips[0]) : 0;
	cpu->counts.deep += cpu->nips == LK_DEPTH;
	return lk_stack_number(cpu, cpu->ips, cpu->nips);
}

/* At the entry of a lock function, of who takes the lock. */
static u32 lk_stack_at_entry(struct lk_cpu *cpu, const struct lk_at *at)
{
	unsigned long caller;

	return lk_stack_id(cpu, at, &caller);
}

/* Offset of a lock in the static per-CPU area; false where it is not in it. */
static bool lk_percpu_offset(unsigned long lock, unsigned long *offset)
{
	unsigned int cpu;

	if (likely(lock < lk_kernel.percpu_min || lock >= lk_kernel.percpu_max))
		return false;
	for_each_possible_cpu(cpu) {
		*offset = lock - (lk_kernel.percpu + per_cpu_offset(cpu));
		if (*offset < lk_kernel.percpu_size)
			return true;
	}
	return false;
}

static inline bool lk_is_static(unsigned long addr)
{
	return (addr >= lk_kernel.text && addr < lk_kernel.etext) ||
	       (addr >= MODULES_VADDR && addr < MODULES_END);
}

static enum lk_name lk_name_of(unsigned long lock, u64 *name)
{
	unsigned long offset;

	*name = lock;
	if (lk_is_static(lock))
		return LK_NAME_STATIC;
	if (!lk_percpu_offset(lock, &offset))
		return LK_NAME_CALLER;
	*name = offset;
	return LK_NAME_PERCPU;
}

/* The NAME of an event's lock, or NULL where only a symbol can tell. */
static const char *lk_event_name(struct lk_cpu *cpu, const struct lk_at *at)
{
	const char *taken = NULL;
	u64 name;

	if (lk_is_user(cpu->ev.kind))
		return lk_user_place_name(cpu->ev.user_name);
	switch (lk_name_of(cpu->ev.lock, &name)) {
	case LK_NAME_STATIC:
		return lk_fixed_name(name);
	case LK_NAME_PERCPU:
		return lk_percpu_name(name);
	default:
		/* Where it is let go may be a tail call, which is in another function's name. */
		if (cpu->ev.op == LK_RELEASE && cpu->ev.hold.seen)
			taken = lk_site_name(LK_IP(cpu->ev.hold.ip));
		return taken ? taken : lk_site_name(lk_caller(cpu, at));
	}
}

/* By only=: an address or a symbol's range, or a NAME. */
static bool lk_is_only(struct lk_cpu *cpu, const struct lk_at *at)
{
	unsigned long lock = cpu->ev.lock;
	const char *name;

	if (lk_opt.only_hi && (!lk_opt.only_percpu || lk_percpu_offset(lock, &lock)) &&
	    lock >= lk_opt.only_lo && lock < lk_opt.only_hi)
		return true;
	if (!lk_opt.only_name[0])
		return false;
	name = lk_event_name(cpu, at);
	if (!name && lk_is_user(cpu->ev.kind)) {
		char text[sizeof(lk_opt.only_name)];

		lk_user_place_text(cpu->ev.user_name, text, sizeof(text));
		return !strcmp(text, lk_opt.only_name);
	}
	return name && lk_same_name(name, lk_opt.only_name);
}

static bool lk_wanted(struct lk_cpu *cpu, const struct lk_at *at)
{
	const struct lk_event *ev = &cpu->ev;

	if (!(lk_opt.kinds & 1u << ev->kind))
		return false;
	if (lk_opt.pid && current->tgid != lk_opt.pid)
		return false;
	return !lk_opt.only || lk_is_only(cpu, at);
}

static u64 lk_cgroup_id(char *name)
{
	struct cgroup *cgrp = task_dfl_cgroup(current);
	const char *leaf = lk_peek_pointer(&cgrp->kn->name);

	if (name && leaf && !copy_from_kernel_nofault(name, leaf, TASK_COMM_LEN))
		name[TASK_COMM_LEN - 1] = '\0';
	if (name && !name[0]) /* the root of the hierarchy has none */
		strscpy(name, "/", TASK_COMM_LEN);
	return cgroup_id(cgrp);
}

static struct lk_rec *lk_rec_find(struct lk_table *t, const struct lk_rec *key)
{
	u32 at = key->hash & (LK_INDEX_SIZE - 1), i;

	for (i = 0; i < LK_INDEX_PROBES; i++) {
		u16 *slot = &t->index[at];
		struct lk_rec *r;

		if (!*slot) {
			if (t->used >= LOCKTAP_RECORDS)
				return NULL;
			r = lk_rec(t, t->used++);
			*slot = t->used;
			memset(r, 0, sizeof(*r));
			r->name = key->name;
			r->by = key->by;
			r->kind = key->kind;
			r->mode = key->mode;
			r->name_is = key->name_is;
			r->event = key->event;
			r->hash = key->hash;
			r->min_ns = ~0ull;
			return r;
		}
		r = lk_rec(t, *slot - 1);
		if (r->hash == key->hash && r->name == key->name && r->by == key->by &&
		    r->kind == key->kind && r->mode == key->mode && r->name_is == key->name_is &&
		    r->event == key->event)
			return r;
		at = (at + 1) & (LK_INDEX_SIZE - 1);
	}
	return NULL;
}

/* The tid's name, if it is still there: interrupts are off, so RCU is held. */
static void lk_tid_comm(s32 tid, char *comm)
{
	struct task_struct *task;

	comm[0] = '\0';
	if (!tid)
		return;
	task = pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID);
	if (task)
		strscpy(comm, task->comm, TASK_COMM_LEN);
}

static void lk_rec_name(struct lk_rec *r)
{
	if (lk_opt.by == LK_BY_TASK)
		strscpy(r->comm, current->comm, TASK_COMM_LEN);
	else if (lk_opt.by == LK_BY_PROCESS)
		strscpy(r->comm, current->group_leader->comm, TASK_COMM_LEN);
	else if (lk_opt.by == LK_BY_CGROUP)
		lk_cgroup_id(r->comm);
}

static inline void lk_rec_time(struct lk_rec *r, u64 ns)
{
	r->total_ns += ns;
	if (ns < r->min_ns)
		r->min_ns = ns;
	r->hist[ns ? min_t(unsigned int, ilog2(ns), LK_BUCKETS - 1) : 0]++;
}

static void lk_rec_add_wait(struct lk_cpu *cpu, const struct lk_at *at, struct lk_rec *r,
			    unsigned long caller)
{
	const struct lk_event *ev = &cpu->ev;
	u64 wait = ev->wait_ns;

	r->count++;
	r->failed += ev->ret != 0;
	r->spin_ns += ev->spin_ns;
	r->block_ns += ev->block_ns;
	lk_rec_time(r, wait);
	if (wait > r->max_ns || r->count == 1) {
		r->max_ns = wait;
		r->lock = ev->lock;
		r->user_name = ev->user_name;
		r->owner = ev->owner;
		lk_tid_comm(ev->owner, r->owner_comm);
		r->caller = caller ? caller : lk_caller(cpu, at);
	}
}

static void lk_rec_add_hold(struct lk_cpu *cpu, const struct lk_at *at, struct lk_rec *r)
{
	const struct lk_event *ev = &cpu->ev;

	r->count++;
	r->contended += ev->hold.contended;
	r->raw_ns += ev->hold.raw_ns;
	lk_rec_time(r, ev->hold_ns);
	if (ev->hold_ns > r->max_ns || r->count == 1) {
		unsigned long here;

		r->max_ns = ev->hold_ns;
		r->lock = ev->lock;
		r->user_name = ev->user_name;
		r->owner = ev->hold.tid;
		lk_tid_comm(ev->hold.tid, r->owner_comm);
		r->caller = LK_IP(ev->hold.ip);
		r->max_stack = lk_stack_id(cpu, at, &here);
	}
}

static void lk_rec_add_tryfail(struct lk_cpu *cpu, const struct lk_at *at, struct lk_rec *r)
{
	if (!r->tryfail++ && !r->count) {
		r->lock = cpu->ev.lock;
		r->user_name = cpu->ev.user_name;
		r->caller = lk_caller(cpu, at);
	}
}

/* The second part of the key, for what is to be recorded by. */
static inline u64 lk_rec_by(struct lk_cpu *cpu, const struct lk_at *at, unsigned long *caller)
{
	switch (lk_opt.by) {
	case LK_BY_LOCK: /* two programs may have one at the same address */
		return lk_is_user(cpu->ev.kind) ? lk_mix((unsigned long)current->mm, cpu->ev.lock) :
						  cpu->ev.lock;
	case LK_BY_CALLER:
		return *caller = lk_caller(cpu, at);
	case LK_BY_STACK:
		return cpu->ev.op == LK_RELEASE && cpu->ev.hold.seen ? cpu->ev.hold.stack :
								       lk_stack_id(cpu, at, caller);
	case LK_BY_TASK: /* a hold is whose who took the lock */
		return cpu->ev.op == LK_RELEASE && cpu->ev.hold.seen ? cpu->ev.hold.tid :
								       current->pid;
	case LK_BY_PROCESS:
		return current->tgid;
	case LK_BY_CGROUP:
		return lk_cgroup_id(NULL);
	default:
		return 0;
	}
}

static void lk_rec_add_stat(struct lk_cpu *cpu, const struct lk_at *at, struct lk_rec *r,
			    unsigned long caller)
{
	const struct lk_event *ev = &cpu->ev;
	u64 ns = ev->op == LK_RELEASE ? ev->hold_ns : ev->wait_ns;

	r->count++;
	if (lk_stat_timed(r->event)) {
		r->readers += ev->op == LK_END ? ev->readers : 0;
		lk_rec_time(r, ns);
	} else {
		ns = r->min_ns = 0;
	}
	if (ns > r->max_ns || r->count == 1) {
		r->max_ns = ns;
		r->lock = ev->lock;
		r->owner = ev->op == LK_RELEASE ? ev->hold.tid : ev->owner;
		r->caller = caller ? caller : lk_caller(cpu, at);
	}
}

/* The record by its whole key; remembered where the lock and `by` say it all. */
static noinline struct lk_rec *lk_rec_look(struct lk_cpu *cpu, const struct lk_at *at, u32 turn,
					   u64 by, unsigned long *caller)
{
	struct lk_rec key = { .kind = cpu->ev.kind, .mode = cpu->ev.mode, .by = by }, *r;
	u8 event = lk_opt.events ? lk_stat_event(&cpu->ev) : 0;
	bool says_all = true;

	key.name_is = lk_is_user(cpu->ev.kind) ? LK_NAME_CALLER :
						 lk_name_of(cpu->ev.lock, &key.name);
	if (lk_is_user(cpu->ev.kind)) {
		says_all = lk_opt.by == LK_BY_LOCK || lk_opt.by == LK_BY_CALLER;
		key.name = lk_opt.by == LK_BY_LOCK ? 0 : cpu->ev.user_name;
	} else if (key.name_is == LK_NAME_CALLER) {
		says_all = lk_opt.by == LK_BY_LOCK || lk_opt.by == LK_BY_CALLER ||
			   (lk_opt.by == LK_BY_STACK && by);
		if (lk_opt.by == LK_BY_LOCK)
			key.name = 0;
		else
			key.name = *caller = *caller ? *caller : lk_caller(cpu, at);
	}
	if (lk_opt.by_address)
		key.name = cpu->ev.lock;
	key.event = event;
	key.hash = lk_mix(lk_mix(event << 16 | key.kind << 8 | key.mode, key.name), key.by) >> 32;
	r = lk_rec_find(&cpu->table[turn & 1], &key);
	if (r && !r->count && !r->tryfail) {
		if (lk_opt.by == LK_BY_TASK && by != current->pid)
			lk_tid_comm(by, r->comm);
		else
			lk_rec_name(r);
	}
	cpu->last.rec = says_all ? r : NULL;
	cpu->last.lock = cpu->ev.lock;
	cpu->last.by = by;
	cpu->last.turn = turn;
	cpu->last.kind = cpu->ev.kind;
	cpu->last.mode = cpu->ev.mode;
	cpu->last.event = event;
	return r;
}

static bool lk_stat_is_recorded(struct lk_cpu *cpu, const struct lk_at *at)
{
	const struct lk_event *ev = &cpu->ev;
	enum lk_stat_event event = lk_stat_event(ev);

	if (event >= LK_EVENTS || !lk_stat_wants(event))
		return false;
	if (!lk_wanted(cpu, at) ||
	    (lk_opt.in_bytes && lk_caller(cpu, at) - lk_opt.in >= lk_opt.in_bytes)) {
		cpu->counts.filtered++;
		return false;
	}
	cpu->counts.seen++;
	if (lk_stat_timed(event) &&
	    (ev->op == LK_END ? ev->wait_ns : ev->hold_ns) < lk_opt.min_ns) {
		cpu->counts.brief++;
		return false;
	}
	return true;
}

/* Is the present event one that the report is about, and not too short for it? */
static bool lk_is_recorded(struct lk_cpu *cpu, const struct lk_at *at)
{
	const struct lk_event *ev = &cpu->ev;

	if (!ev->valid)
		return false;
	if (lk_opt.events)
		return lk_stat_is_recorded(cpu, at);
	switch (ev->op) {
	case LK_END:
		if (lk_opt.report != LK_CONTEND)
			return false;
		break;
	case LK_RELEASE:
		if (lk_opt.report != LK_HOLD || !ev->hold.seen)
			return false;
		break;
	case LK_TRYFAIL:
		break;
	default:
		return false;
	}
	if (!lk_wanted(cpu, at)) {
		cpu->counts.filtered++;
		return false;
	}
	if (ev->op == LK_TRYFAIL) {
		cpu->counts.tryfails++;
		return true;
	}
	cpu->counts.seen++;
	if ((ev->op == LK_END ? ev->wait_ns : ev->hold_ns) < lk_opt.min_ns) {
		cpu->counts.brief++;
		return false;
	}
	return true;
}

/* The record of the last event, where this one belongs there for sure. */
static inline struct lk_rec *lk_rec_last(struct lk_cpu *cpu, u32 turn, u64 by)
{
	if (cpu->last.lock != cpu->ev.lock || cpu->last.by != by || cpu->last.turn != turn ||
	    cpu->last.kind != cpu->ev.kind || cpu->last.mode != cpu->ev.mode ||
	    (lk_opt.events && cpu->last.event != lk_stat_event(&cpu->ev)))
		return NULL;
	return cpu->last.rec;
}

static void lk_stat_trace(struct lk_cpu *cpu, const struct lk_at *at);
static void lk_blame_event(struct lk_cpu *cpu, const struct lk_at *at);
static void lk_chain_event(struct lk_cpu *cpu, const struct lk_at *at);

static noinline void lk_record_any(struct lk_cpu *cpu, const struct lk_at *at)
{
	unsigned long caller = 0;
	struct lk_rec *r;
	u32 turn;
	u64 by;

	if (lk_opt.report == LK_BLAME) {
		lk_blame_event(cpu, at);
		return;
	}
	if (lk_opt.report == LK_CHAIN) {
		lk_chain_event(cpu, at);
		return;
	}
	if (cpu->ev.op == LK_RELEASE && cpu->ev.hold.seen) /* it belongs to where it was taken */
		cpu->ev.ip = cpu->ev.hold.ip;
	if (!lk_is_recorded(cpu, at))
		return;
	if (unlikely(lk_opt.trace)) {
		lk_stat_trace(cpu, at);
		return;
	}
	if (lk_opt.interval_s) {
		WRITE_ONCE(cpu->in_record, 1);
		smp_mb(); /* pairs with lk_flip(): it sees us, or we the other table */
	}
	turn = READ_ONCE(lk_turn);
	by = lk_rec_by(cpu, at, &caller);
	r = lk_rec_last(cpu, turn, by);
	if (!r)
		r = lk_rec_look(cpu, at, turn, by, &caller);
	if (!r) {
		cpu->counts.full++;
	} else if (cpu->ev.op == LK_TRYFAIL && !lk_opt.events) {
		lk_rec_add_tryfail(cpu, at, r);
	} else {
		cpu->counts.recorded++;
		if (lk_opt.events)
			lk_rec_add_stat(cpu, at, r, caller);
		else if (cpu->ev.op == LK_END)
			lk_rec_add_wait(cpu, at, r, caller);
		else
			lk_rec_add_hold(cpu, at, r);
	}
	if (lk_opt.interval_s)
		smp_store_release(&cpu->in_record, 0);
}

/* Record the wait, the hold or the failed trylock that the present event tells of. */
static inline void lk_record(const struct lk_at *at)
{
	struct lk_cpu *cpu = lk_this_cpu();
	unsigned long caller = 0;
	struct lk_event *ev;

	if (unlikely(!cpu || !lk_opt.started))
		return;
	ev = &cpu->ev;
	/* Most are of the lock that the last one was of. */
	if (ev->op == lk_opt.plain_op && ev->valid && (ev->op == LK_END || ev->hold.seen)) {
		if (ev->op == LK_RELEASE)
			ev->ip = ev->hold.ip;
		if (lk_rec_last(cpu, 0, lk_rec_by(cpu, at, &caller))) {
			cpu->counts.seen++;
			cpu->counts.recorded++;
			if (ev->op == LK_END)
				lk_rec_add_wait(cpu, at, cpu->last.rec, caller);
			else
				lk_rec_add_hold(cpu, at, cpu->last.rec);
			return;
		}
	}
	lk_record_any(cpu, at);
}

static bool lk_table_alloc(struct lk_table *t)
{
	unsigned int i;

	t->chunks = lk_alloc(LK_PIECES * sizeof(*t->chunks));
	t->index = lk_alloc(LK_INDEX_SIZE * sizeof(*t->index));
	if (!t->chunks || !t->index)
		return false;
	for (i = 0; i < LK_PIECES; i++) {
		t->chunks[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!t->chunks[i])
			return false;
	}
	return true;
}

static void lk_table_clear(struct lk_table *t)
{
	memset(t->index, 0, LK_INDEX_SIZE * sizeof(*t->index));
	t->used = 0;
}

static bool lk_stacks_alloc(void)
{
	unsigned int i;

	lk_stacks = lk_alloc(LK_STACK_PIECES * sizeof(*lk_stacks));
	if (!lk_stacks)
		return false;
	for (i = 0; i < LK_STACK_PIECES; i++) {
		lk_stacks[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!lk_stacks[i])
			return false;
	}
	return true;
}

#endif
