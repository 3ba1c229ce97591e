/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which order locks are taken.
 *
 * Who asks for a lock while he holds others makes an order of each of these and
 * the new one, whether he has to wait or not. Orders are kept by what the
 * locks are called, or where they are taken while that is not known, in one table
 * for all CPUs. An order that was seen lately on a CPU, of the very same
 * two locks, costs a look at that CPU's own memory.
 */
#ifndef LK_ORDER_H
#define LK_ORDER_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_hold.h"
#include "lk_record.h"
#include "lk_blame.h"
#include "lk_user_event.h"

#ifndef LOCKTAP_ORDERS /* different orders */
#define LOCKTAP_ORDERS 8192
#endif
#ifndef LOCKTAP_PAIRS /* pairs of locks, to see the same two in both orders */
#define LOCKTAP_PAIRS 65536
#endif
#if LOCKTAP_ORDERS < 64 || LOCKTAP_ORDERS > (1 << 18)
#error "locktap: LOCKTAP_ORDERS must be 64 to 262144"
#endif
#if LOCKTAP_PAIRS < 64 || LOCKTAP_PAIRS > (1 << 22)
#error "locktap: LOCKTAP_PAIRS must be 64 to 4194304"
#endif

#define LK_ORDER_HELD 16 /* locks held at a time that are looked at */
#define LK_GATES 6 /* locks held around an order that are kept */
#define LK_ORDER_RECENT 256 /* orders seen lately, of each CPU; a power of two */
#define LK_WRITE_RECENT 16
#define LK_ORDER_PROBES 64
#define LK_ORDER_INDEX roundup_pow_of_two(2 * LOCKTAP_ORDERS)
#define LK_PAIR_WAYS 8 /* a cache line of each */
#define LK_PAIR_ORDER_BITS 18
#define LK_PAIR_SETS (LOCKTAP_PAIRS / LK_PAIR_WAYS)
#define LK_BOTH_WAYS 256 /* pairs of orders in which the same two locks were seen */
#define LK_WRITTEN 1024 /* locks that somebody asked to write; a power of two */
#define LK_FIRST_SITES 8192 /* bits; a power of two */
#define LK_LIVES 8192 /* a power of two */

/* An array in pieces that the page allocator has. */
struct lk_array {
	void **pieces;
	u32 bytes; /* of an element */
	u32 in_piece;
	u32 size;
};

static bool lk_array_alloc(struct lk_array *a, u32 bytes, u32 size)
{
	u32 i, pieces;

	a->bytes = bytes;
	a->size = size;
	a->in_piece = (LK_PIECE_BYTES - sizeof(struct lk_piece)) / bytes;
	pieces = DIV_ROUND_UP(size, a->in_piece);
	a->pieces = lk_alloc(pieces * sizeof(*a->pieces));
	for (i = 0; a->pieces && i < pieces; i++) {
		a->pieces[i] = lk_alloc(a->in_piece * bytes);
		if (!a->pieces[i])
			return false;
	}
	return a->pieces;
}

static inline void *lk_array_at(const struct lk_array *a, u32 i)
{
	return a->pieces[i / a->in_piece] + i % a->in_piece * a->bytes;
}

/* One of the two locks of an order. */
struct lk_order_lock {
	u64 name; /* as in a record */
	unsigned long lock; /* the first one of the name that was seen, */
	unsigned long id; /* and what tells it from all others */
	u32 ip; /* where it is taken */
	u32 stack; /* 0: not known yet, only the place */
	u8 kind;
	u8 mode;
	u8 name_is;
	bool varies; /* others of the name were seen as well */
	bool stays; /* a variable of a program: its memory is never another lock's */
};

/* A lock that was held around both, as far as seen every time. */
struct lk_gate {
	unsigned long lock; /* its id */
	u32 ip;
	u32 user_name; /* of a user lock */
	u8 kind;
	u8 mode;
	bool gone; /* not this time */
};

struct lk_order {
	struct lk_order_lock first, then;
	u64 count;
	u32 hash;
	s32 tid; /* of who was seen first */
	char comm[TASK_COMM_LEN];
	struct lk_gate gate[LK_GATES];
	u8 gates;
	bool recursive; /* `then` is a reader that passes waiting writers */
	bool ready;
	/* while a report is made */
	bool resolved;
	u32 first_node, then_node;
	u32 row; /* counted from 1 */
	u32 next_in_row;
};

/* What a CPU has seen lately, of an address each. */
struct lk_order_recent {
	unsigned long first, then;
	u32 first_ip, then_ip;
	u32 how; /* kinds and modes */
	u32 gates; /* a hash of what was held around them */
	u32 order; /* from 1; 0: nothing here, or it had no place */
	u32 count; /* not yet in the order's own */
	bool wants_stack; /* of the first */
};

struct lk_order_cpu {
	struct lk_order_recent recent[LK_ORDER_RECENT];
	struct {
		unsigned long lock;
		u32 ip;
	} written[LK_WRITE_RECENT];
};

/*
 * Each is one word, so it is read and written whole: a hash of the two addresses in
 * their order, and the number of the order in which they were seen last.
 */
struct lk_pair_set {
	u64 pair[LK_PAIR_WAYS];
	u64 gates[LK_PAIR_WAYS]; /* held around both every time: four hashes of 16 bits */
};

#define LK_PAIR_ORDER(pair) ((u32)((pair) & ((1u << LK_PAIR_ORDER_BITS) - 1)) + 1)
#define LK_PAIR_TAG(key) ((key) & ~((1ull << LK_PAIR_ORDER_BITS) - 1))

struct lk_written {
	u64 key;
	u64 name;
	u8 kind;
	u8 name_is;
	bool ready;
};

static struct {
	struct lk_array order; /* in the order in which they came */
	struct lk_array index; /* of these, from 1, by hash */
	struct lk_array pairs;
	struct lk_order_cpu **cpus;
	struct lk_written *written;
	atomic_t used;
	atomic_t both_nr;
	atomic_t changes; /* counts what may make another inversion, or no more */
	bool written_full;
	struct {
		u32 order, other; /* from 1 */
	} both[LK_BOTH_WAYS];
	u32 turn;
	unsigned long first_sites[LK_FIRST_SITES / BITS_PER_LONG];
	u16 lives[LK_LIVES]; /* by address: how often a mutex or rwsem was made there */
	u32 sees_made; /* kinds of which that is seen */
	unsigned long ww[2]; /* the functions that take a ww_mutex, */
	unsigned long read_bh; /* and one that takes a rwlock with softirqs off */
} lk_orders;

static inline struct lk_order *lk_order_at(u32 number)
{
	return lk_array_at(&lk_orders.order, number - 1);
}

/* Locks of programs follow those of the kernel; they have nothing to do with each other. */
static inline bool lk_order_is_user(unsigned int kind)
{
	return kind > LK_RQSPIN;
}

/* What tells a lock from all others: two programs may have one at the same address. */
static inline unsigned long lk_order_id(const struct lk_hold *h)
{
	return unlikely(lk_order_is_user(h->kind)) ? lk_mix((unsigned long)current->mm, h->lock) :
						     h->lock;
}

/* The locks that a task holds, the longest held first. */
struct lk_order_held {
	const struct lk_hold *hold[LK_ORDER_HELD];
	unsigned int n;
};

static void lk_order_hold(struct lk_cpu *cpu, struct lk_order_held *held, const struct lk_hold *h)
{
	unsigned int i;

	if (held->n == LK_ORDER_HELD) {
		cpu->counts.orders_deep++;
		return;
	}
	for (i = held->n++; i && held->hold[i - 1]->start_ns > h->start_ns; i--)
		held->hold[i] = held->hold[i - 1];
	held->hold[i] = h;
}

/*
 * Is a lock of the task held while it asks for another one? A program may go on without
 * a lock that it has asked for, and end with one; a thread that comes later may have
 * the same place in memory.
 */
static inline bool lk_order_counts(const struct lk_hold *h, const struct lk_hold *then)
{
	if (unlikely(lk_order_is_user(then->kind)))
		return lk_order_is_user(h->kind) && h->got && h->tid == current->pid;
	return !h->level && !(h->tries && !h->got) && !lk_order_is_user(h->kind);
}

/* An interrupt's locks are its own: what it came in on is not held by it. */
static inline void lk_order_gather(struct lk_cpu *cpu, const struct lk_hold *then,
				   struct lk_order_held *held)
{
	unsigned long key = (unsigned long)current;
	unsigned int set = lk_hold_set(key), turn, i;

	held->n = 0;
	for (turn = 0; !then->level && turn <= READ_ONCE(lk_hold_spilled);
	     turn++, set = lk_hold_next_set(set)) {
		const unsigned long *keys = lk_hold_key[set];
		const struct lk_hold *h = lk_holds[set];

		for (i = 0; i < LK_WAYS; i++, h++)
			if (keys[i] == key && h != then && lk_order_counts(h, then))
				lk_order_hold(cpu, held, h);
	}
	for (i = 0; i < cpu->nheld && !lk_order_is_user(then->kind); i++) {
		const struct lk_hold *h = &cpu->held[i];

		if (h->kind == LK_SPIN && lk_kernel.no_spin_release)
			continue;
		if (h != then && !h->inner && h->level == then->level && h->task == current)
			lk_order_hold(cpu, held, h);
	}
}

/*
 * The same of a lock in the present task's program. What all C libraries have in common is that
 * a free lock is zeroes; glibc's mutex has its owner's tid as well.
 */
static bool lk_order_user_is_held(const struct lk_hold *h)
{
	struct lk_pthread_rwlock rw;
	struct lk_pthread_mutex m;

	if (h->kind == LK_PTHREAD_RWLOCK)
		return !lk_user_peek(current, h->lock, &rw, sizeof(rw)) || rw.readers;
	if (!lk_user_peek(current, h->lock, &m, sizeof(m)))
		return true;
	if (!(m.lock | m.count | m.owner | m.nusers))
		return false;
	return !m.lock || !m.owner || m.owner == (u32)task_pid_vnr(current);
}

/*
 * Does the lock itself say that it is held? A release may have been missed, and
 * a mutex and the like may still be waited for: its task then takes no lock in
 * its own name. The address may be anything by now.
 */
static bool lk_order_is_held(const struct lk_hold *h)
{
	const void *lock = (const void *)h->lock;
	unsigned long word;
	u32 bits = 0;

	switch (h->kind) {
	case LK_SPIN:
		return !copy_from_kernel_nofault(&bits, lock, sizeof(bits)) && bits;
	case LK_RWLOCK:
		if (copy_from_kernel_nofault(&bits, lock, sizeof(bits)))
			return false;
		return h->mode == LK_R ? bits >> 9 : (bits & 0xff) == 0xff;
	case LK_MUTEX:
		word = (unsigned long)lk_peek_pointer(&((const struct mutex *)lock)->owner);
		return (word & ~7ul) == (unsigned long)h->task;
	case LK_RWSEM:
		if (h->mode == LK_R) {
			word = (unsigned long)lk_peek_pointer(
				&((const struct rw_semaphore *)lock)->count);
			return !(word & 1) && word >> 8;
		}
		word = (unsigned long)lk_peek_pointer(&((const struct rw_semaphore *)lock)->owner);
		return (word & ~7ul) == (unsigned long)h->task;
	case LK_RTMUTEX:
		word = (unsigned long)lk_peek_pointer(&((const struct rt_mutex_base *)lock)->owner);
		return (word & ~1ul) == (unsigned long)h->task;
	case LK_PTHREAD_MUTEX:
	case LK_PTHREAD_RWLOCK:
		return lk_order_user_is_held(h);
	default: /* they do not tell, or only that somebody holds it */
		return true;
	}
}

/* --- The table ----------------------------------------------------------------------------- */

/* A variable of the present task's program, or one that `locktap prep` has seen in any file. */
static bool lk_order_user_stays(const struct lk_hold *h)
{
	const struct mm_struct *mm = current->mm;

	return (mm && h->lock >= mm->start_data && h->lock < mm->start_brk) ||
	       (h->user_name < LK_PLACE_UNKNOWN && LK_PLACE_FIXED(lk_user_places[h->user_name]));
}

static void lk_order_name(struct lk_order_lock *l, const struct lk_hold *h)
{
	l->stays = false;
	if (unlikely(lk_order_is_user(h->kind))) {
		l->name_is = LK_NAME_USER;
		l->name = h->user_name;
		l->stays = lk_order_user_stays(h);
	} else {
		l->name_is = lk_name_of(h->lock, &l->name);
		if (l->name_is == LK_NAME_CALLER)
			l->name = LK_IP(h->ip);
	}
	l->lock = h->lock;
	l->id = lk_order_id(h);
	l->ip = h->ip;
	l->stack = h->stack;
	l->kind = h->kind;
	l->mode = h->mode;
	l->varies = false;
}

static inline bool lk_order_same_lock(const struct lk_order_lock *a, const struct lk_order_lock *b)
{
	return a->name == b->name && a->kind == b->kind && a->mode == b->mode &&
	       a->name_is == b->name_is;
}

/*
 * The stack on which the first lock was taken, from the present one: its function
 * calls from one place of its frame, so where a return address into the same
 * function stands there now, it has not returned, nor have its callers. Of a program
 * it is the place alone.
 */
static u32 lk_order_first_stack(struct lk_cpu *cpu, const struct lk_at *at, const struct lk_hold *h)
{
	const struct lk_seen *s = lk_order_is_user(h->kind) ? NULL : lk_seen(cpu, at);
	unsigned long base = kernel_stack_pointer(at->regs);
	u32 n = 0, i, ip, from = LK_SEEN_DEPTH;

	cpu->ips[n++] = h->ip;
	if (!s)
		return lk_stack_number(cpu, cpu->ips, n);
	if (h->sp == base && !s->probed) {
		from = 0;
		ip = s->ip;
	}
	for (i = 0; i < s->n && from == LK_SEEN_DEPTH; i++)
		if (base + s->frame[i].off * sizeof(long) == h->sp) {
			from = i + 1;
			ip = s->frame[i].ip;
		}
	if (from == LK_SEEN_DEPTH || lk_function_of(ip) != lk_function_of(h->ip))
		return lk_stack_number(cpu, cpu->ips, n);
	for (i = from; i < s->n && n < LK_DEPTH - 1; i++)
		cpu->ips[n++] = s->frame[i].ip;
	if (s->top)
		cpu->ips[n++] = s->top;
	return lk_stack_number(cpu, cpu->ips, n);
}

/* From now on, who takes a lock here keeps his stack with it. */
static inline u32 lk_order_site(u32 ip)
{
	return hash_32(ip, ilog2(LK_FIRST_SITES));
}

static inline bool lk_order_is_site(u32 ip)
{
	return test_bit(lk_order_site(ip), lk_orders.first_sites);
}

static void lk_order_fill(struct lk_cpu *cpu, const struct lk_at *at, struct lk_order *o,
			  const struct lk_order_held *held, unsigned int i)
{
	const struct lk_hold *h = held->hold[i];
	unsigned int g;

	o->then.stack = lk_stack_at_entry(cpu, at);
	if (!o->first.stack)
		o->first.stack = lk_order_first_stack(cpu, at, h);
	o->tid = current->pid;
	strscpy(o->comm, current->comm, sizeof(o->comm));
	for (g = 0; g < i && g < LK_GATES; g++) {
		const struct lk_hold *gate = held->hold[g];

		o->gate[g] = (struct lk_gate){ .lock = lk_order_id(gate),
					       .ip = gate->ip,
					       .user_name = gate->user_name,
					       .kind = gate->kind,
					       .mode = gate->mode };
	}
	o->gates = g;
}

/* Number of the order, from 1; 0 where there is no room, or it is not to be believed. */
static u32 lk_order_number(struct lk_cpu *cpu, const struct lk_at *at,
			   const struct lk_order_held *held, unsigned int i,
			   const struct lk_order *key)
{
	u32 slot = key->hash & (LK_ORDER_INDEX - 1), turn, mine = 0;

	for (turn = 0; turn < LK_ORDER_PROBES; turn++, slot = (slot + 1) & (LK_ORDER_INDEX - 1)) {
		u32 *place = lk_array_at(&lk_orders.index, slot), there = READ_ONCE(*place);
		const struct lk_order *o;

		if (!there) {
			if (!mine) {
				if (!lk_order_is_held(held->hold[i])) {
					cpu->counts.orders_unproven++;
					return 0;
				}
				if (atomic_read(&lk_orders.used) >= LOCKTAP_ORDERS)
					break;
				mine = atomic_inc_return(&lk_orders.used);
				if (mine > LOCKTAP_ORDERS)
					break;
				*lk_order_at(mine) = *key;
				lk_order_fill(cpu, at, lk_order_at(mine), held, i);
			}
			there = cmpxchg(place, 0, mine);
			if (!there) {
				smp_store_release(&lk_order_at(mine)->ready, true);
				atomic_inc(&lk_orders.changes);
				return mine;
			}
		}
		o = lk_order_at(there);
		if (o->hash == key->hash && lk_order_same_lock(&o->first, &key->first) &&
		    lk_order_same_lock(&o->then, &key->then) && o->recursive == key->recursive)
			return there;
	}
	cpu->counts.full++;
	return 0;
}

/* What was not held around it this time is no gate, or no more than as a reader. */
static void lk_order_narrow(struct lk_order *o, const struct lk_order_held *held, unsigned int i)
{
	unsigned int g, k;

	for (g = 0; g < o->gates; g++) {
		struct lk_gate *gate = &o->gate[g];

		if (gate->gone)
			continue;
		for (k = 0; k < i && lk_order_id(held->hold[k]) != gate->lock; k++)
			;
		if (k == i)
			WRITE_ONCE(gate->gone, true);
		else if (held->hold[k]->mode == LK_R && gate->mode != LK_R)
			WRITE_ONCE(gate->mode, LK_R);
		else
			continue;
		atomic_inc(&lk_orders.changes);
	}
}

/* --- The same two locks in both orders ------------------------------------------------------ */

static struct lk_pair_set *lk_pair_set(u64 key)
{
	return lk_array_at(&lk_orders.pairs, (u32)key % LK_PAIR_SETS);
}

/* Its place in the set; LK_PAIR_WAYS: it is not there. */
static unsigned int lk_pair_find(const struct lk_pair_set *set, u64 key)
{
	unsigned int i = 0;

	while (i < LK_PAIR_WAYS && LK_PAIR_TAG(READ_ONCE(set->pair[i])) != LK_PAIR_TAG(key))
		i++;
	return i;
}

/* Of the locks held before the first of the two, the outermost that keep all others out. */
static u64 lk_pair_gates(const struct lk_order_held *held, unsigned int first)
{
	unsigned int i, n = 0;
	u64 gates = 0;

	for (i = 0; i < first && n < 4; i++)
		if (held->hold[i]->mode != LK_R)
			gates |= (hash_long(lk_order_id(held->hold[i]), 16) | 1ull) << 16 * n++;
	return gates;
}

/* What is in both. */
static u64 lk_pair_common(u64 gates, u64 others)
{
	unsigned int i, k;
	u64 common = 0;

	for (i = 0; i < 64; i += 16)
		for (k = 0; k < 64 && gates >> i & 0xffff; k += 16)
			if ((gates >> i & 0xffff) == (others >> k & 0xffff))
				common |= (gates >> i & 0xffff) << i;
	return common;
}

static inline u64 lk_pair_key(unsigned long first, unsigned long then)
{
	/* Never 0 in the part that is kept. */
	return lk_mix(lk_mix(0, first), then) | 1ull << 63;
}

static inline u16 *lk_order_life(unsigned long lock)
{
	return &lk_orders.lives[hash_long(lock, ilog2(LK_LIVES))];
}

/* A mutex or rwsem is made: its memory may have been another one before. */
static void lk_order_made(unsigned long lock)
{
	if (lk_kernel.orders)
		WRITE_ONCE(*lk_order_life(lock), *lk_order_life(lock) + 1);
}

static inline unsigned long lk_pair_id(const struct lk_hold *h)
{
	if (!(lk_orders.sees_made & 1u << h->kind))
		return lk_order_id(h);
	return lk_mix(lk_order_id(h), READ_ONCE(*lk_order_life(h->lock)));
}

static void lk_pair_put(struct lk_pair_set *set, unsigned int i, u64 key, u32 order, u64 gates)
{
	WRITE_ONCE(set->gates[i], gates);
	smp_store_release(&set->pair[i], LK_PAIR_TAG(key) | (order - 1));
}

static void lk_pair_add(struct lk_cpu *cpu, struct lk_pair_set *set, u64 key, u32 order, u64 gates)
{
	unsigned int i;

	for (i = 0; i < LK_PAIR_WAYS && READ_ONCE(set->pair[i]); i++)
		;
	if (i == LK_PAIR_WAYS) {
		cpu->counts.pairs_full++;
		i = lk_orders.turn++ % LK_PAIR_WAYS;
	}
	lk_pair_put(set, i, key, order, gates);
}

static void lk_order_both_ways(struct lk_cpu *cpu, u32 order, u32 other)
{
	int i, n = min(atomic_read(&lk_orders.both_nr), LK_BOTH_WAYS);

	for (i = 0; i < n; i++)
		if ((lk_orders.both[i].order == order && lk_orders.both[i].other == other) ||
		    (lk_orders.both[i].order == other && lk_orders.both[i].other == order))
			return;
	i = n < LK_BOTH_WAYS ? atomic_inc_return(&lk_orders.both_nr) - 1 : LK_BOTH_WAYS;
	if (i >= LK_BOTH_WAYS) {
		cpu->counts.pairs_full++;
		return;
	}
	lk_orders.both[i].order = order;
	smp_store_release(&lk_orders.both[i].other, other);
	atomic_inc(&lk_orders.changes);
}

/* ... unless the same gate was held around both of them. */
static void lk_order_pair(struct lk_cpu *cpu, u32 order, unsigned long first, unsigned long then,
			  u64 gates)
{
	u64 key = lk_pair_key(first, then), pair;
	struct lk_pair_set *set = lk_pair_set(key);
	unsigned int i = lk_pair_find(set, key);

	if (i == LK_PAIR_WAYS) {
		lk_pair_add(cpu, set, key, order, gates);
	} else {
		gates = lk_pair_common(READ_ONCE(set->gates[i]), gates);
		if (gates != READ_ONCE(set->gates[i]) ||
		    LK_PAIR_ORDER(READ_ONCE(set->pair[i])) != order)
			lk_pair_put(set, i, key, order, gates);
	}
	smp_mb(); /* of two CPUs that add both orders at once one sees the other's */
	key = lk_pair_key(then, first);
	set = lk_pair_set(key);
	i = lk_pair_find(set, key);
	if (i == LK_PAIR_WAYS)
		return;
	pair = smp_load_acquire(&set->pair[i]);
	if (LK_PAIR_TAG(pair) == LK_PAIR_TAG(key) &&
	    !lk_pair_common(READ_ONCE(set->gates[i]), gates))
		lk_order_both_ways(cpu, order, LK_PAIR_ORDER(pair));
}

/* --- A lock is asked for --------------------------------------------------------------------- */

static inline u32 lk_order_how(const struct lk_hold *first, const struct lk_hold *then,
			       bool recursive)
{
	return first->kind | first->mode << 4 | then->kind << 8 | then->mode << 12 |
	       recursive << 16;
}

static void lk_order_flush(struct lk_order_recent *r)
{
	u32 count = READ_ONCE(r->count);

	if (r->order && count)
		atomic64_add(count, (atomic64_t *)&lk_order_at(r->order)->count);
	r->count = 0;
}

/* Where only the place is known that took the first lock, the next who takes it there tells. */
static void lk_order_better_stack(struct lk_order_recent *r, struct lk_order *o,
				  const struct lk_hold *first)
{
	u32 stack = READ_ONCE(o->first.stack), site = lk_order_site(first->ip);

	r->wants_stack = stack && !lk_order_is_user(first->kind) &&
			 smp_load_acquire(&lk_stack_at(stack - 1)->n) == 1;
	if (!r->wants_stack)
		return;
	if (first->stack) {
		WRITE_ONCE(o->first.stack, first->stack);
		clear_bit(site, lk_orders.first_sites);
		r->wants_stack = false;
	} else if (!lk_order_is_site(first->ip)) {
		set_bit(site, lk_orders.first_sites);
	}
}

/* Not the last one that was seen of its place: by its names. */
static noinline void lk_order_look(struct lk_cpu *cpu, const struct lk_at *at,
				   struct lk_order_recent *r, const struct lk_order_held *held,
				   unsigned int i, const struct lk_hold *then, bool recursive,
				   u32 gates)
{
	const struct lk_hold *first = held->hold[i];
	struct lk_order key = { .recursive = recursive }, *o;
	u32 how = lk_order_how(first, then, recursive);

	lk_order_name(&key.first, first);
	lk_order_name(&key.then, then);
	key.hash =
		lk_mix(lk_mix(how << 8 | key.first.name_is << 4 | key.then.name_is, key.first.name),
		       key.then.name) >>
		32;
	lk_order_flush(r);
	r->order = lk_order_number(cpu, at, held, i, &key);
	r->first = lk_order_id(first);
	r->then = lk_order_id(then);
	r->first_ip = first->ip;
	r->then_ip = then->ip;
	r->how = how;
	r->gates = gates;
	if (!r->order)
		return;
	o = lk_order_at(r->order);
	r->count = 1;
	cpu->counts.recorded++;
	if (o->first.id != lk_order_id(first))
		o->first.varies = true;
	if (o->then.id != lk_order_id(then))
		o->then.varies = true;
	lk_order_narrow(o, held, i);
	lk_order_better_stack(r, o, first);
	lk_order_pair(cpu, r->order, lk_pair_id(first), lk_pair_id(then), lk_pair_gates(held, i));
}

static inline void lk_order_one(struct lk_cpu *cpu, const struct lk_at *at,
				const struct lk_order_held *held, unsigned int i,
				const struct lk_hold *then, bool recursive, u32 gates)
{
	struct lk_order_cpu *mine = lk_orders.cpus[smp_processor_id()];
	const struct lk_hold *first = held->hold[i];
	unsigned long id = lk_order_id(first), then_id = lk_order_id(then);
	struct lk_order_recent *r;
	u64 hash;

	if (id == then_id || (first->nests && then->nests))
		return;
	cpu->counts.seen++;
	hash = lk_mix(lk_mix((u64)first->ip << 32 | then->ip, id), then_id);
	r = &mine->recent[hash >> 32 & (LK_ORDER_RECENT - 1)];
	if (likely(r->first == id && r->then == then_id && r->first_ip == first->ip &&
		   r->then_ip == then->ip && r->how == lk_order_how(first, then, recursive) &&
		   r->gates == gates && r->order && !(r->wants_stack && first->stack))) {
		r->count++;
		cpu->counts.recorded++;
		return;
	}
	lk_order_look(cpu, at, r, held, i, then, recursive, gates);
}

/* Readers wait for readers only where a writer waits between them. */
static void lk_order_write(const struct lk_hold *h)
{
	struct lk_order_cpu *mine = lk_orders.cpus[smp_processor_id()];
	u32 slot = hash_long(h->lock ^ h->ip, ilog2(LK_WRITE_RECENT)), turn;
	struct lk_order_lock l;
	u64 key;

	if (likely(mine->written[slot].lock == h->lock && mine->written[slot].ip == h->ip))
		return;
	mine->written[slot].lock = h->lock;
	mine->written[slot].ip = h->ip;
	lk_order_name(&l, h);
	key = lk_mix(lk_mix(l.kind << 8 | l.name_is, l.name), 1);
	key |= !key;
	slot = key >> 32 & (LK_WRITTEN - 1);
	for (turn = 0; turn < LK_ORDER_PROBES; turn++, slot = (slot + 1) & (LK_WRITTEN - 1)) {
		struct lk_written *w = &lk_orders.written[slot];
		u64 there = READ_ONCE(w->key);

		if (!there)
			there = cmpxchg(&w->key, 0, key);
		if (!there) {
			w->name = l.name;
			w->kind = l.kind;
			w->name_is = l.name_is;
			smp_store_release(&w->ready, true);
			atomic_inc(&lk_orders.changes);
			return;
		}
		if (there == key)
			return;
	}
	WRITE_ONCE(lk_orders.written_full, true);
}

/*
 * A rwlock's reader with softirqs off is let in whoever waits: kernel/locking/qrwlock.c.
 * So is any of a program's, unless the lock prefers writers: glibc, nptl.
 */
static inline bool lk_passes_writers(const struct lk_at *at, const struct lk_hold *h)
{
	struct lk_pthread_rwlock rw;

	if (unlikely(lk_order_is_user(h->kind)))
		return !lk_user_peek(current, h->lock, &rw, sizeof(rw)) ||
		       rw.flags != LK_RWLOCK_PREFERS_WRITERS;
	return h->level || preempt_count() & SOFTIRQ_MASK || at->regs->ip - lk_orders.read_bh < 16;
}

/* A lock is in its task's table, or on its CPU's: is an order made? */
static noinline void lk_order_taken(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h)
{
	bool recursive = (h->kind == LK_RWLOCK || h->kind == LK_PTHREAD_RWLOCK) &&
			 h->mode == LK_R && lk_passes_writers(at, h);
	struct lk_order_held held;
	unsigned int i;
	u32 gates = 0;

	if (lk_opt.pid && current->tgid != lk_opt.pid) {
		cpu->counts.filtered++;
		return;
	}
	if (h->mode == LK_W)
		lk_order_write(h);
	lk_order_gather(cpu, h, &held);
	for (i = 0; i < held.n; i++) {
		lk_order_one(cpu, at, &held, i, h, recursive, gates);
		gates = (gates ^ (u32)held.hold[i]->lock ^ held.hold[i]->mode) * 0x9e3779b1u;
	}
}

/*
 * The entry of a lock function, or a place where a lock is taken. A trylock does
 * not wait, so nothing is made of it; what it gets is held like any other.
 */
static void lk_order_ask(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h, bool entry)
{
	unsigned long ip = at->regs->ip;

	/* Where a call leaves its return address: at an entry it is there. */
	h->sp = kernel_stack_pointer(at->regs) - (entry ? 0 : sizeof(long));
	if (!lk_spins(h->kind))
		h->level = lk_level(at);
	h->nests = h->kind == LK_MUTEX && (ip - lk_orders.ww[0] < 16 || ip - lk_orders.ww[1] < 16);
	if (h->inner || lk_is_own(h->kind, h->lock))
		return;
	cpu->ev.lock = h->lock;
	cpu->ev.at_entry = entry;
	if (lk_order_is_site(h->ip))
		h->stack = lk_stack_at_entry(cpu, at);
	if (!h->tries)
		lk_order_taken(cpu, at, h);
}

/* A thread asks for a lock of its program, which it has not got yet. */
static void lk_order_user(struct lk_cpu *cpu, const struct lk_at *at, struct lk_hold *h)
{
	h->sp = 0;
	h->nests = 0;
	if (!h->tries)
		lk_order_taken(cpu, at, h);
}

/* A semaphore's hold is found by the lock, and is in its task's table as well. */
static void lk_order_up(struct lk_cpu *cpu, const struct lk_hold *of)
{
	struct lk_hold *h = lk_hold_find((unsigned long)of->task, of->lock, LK_WANT_LOCK);

	if (h)
		lk_hold_drop(cpu, h);
}

static bool lk_order_alloc(void)
{
	unsigned int cpu;

	lk_orders.ww[0] = kallsyms_lookup_name("ww_mutex_lock");
	lk_orders.ww[1] = kallsyms_lookup_name("ww_mutex_lock_interruptible");
	lk_orders.read_bh = kallsyms_lookup_name("_raw_read_lock_bh");
	lk_orders.written = lk_alloc(LK_WRITTEN * sizeof(*lk_orders.written));
	lk_orders.cpus = lk_alloc(nr_cpu_ids * sizeof(*lk_orders.cpus));
	if (!lk_orders.written || !lk_orders.cpus)
		return false;
	for (cpu = 0; cpu < lk_nr_cpus; cpu++) {
		if (!lk_cpus[cpu])
			continue;
		lk_orders.cpus[cpu] = lk_alloc(sizeof(**lk_orders.cpus));
		if (!lk_orders.cpus[cpu])
			return false;
	}
	return lk_array_alloc(&lk_orders.order, sizeof(struct lk_order), LOCKTAP_ORDERS) &&
	       lk_array_alloc(&lk_orders.index, sizeof(u32), LK_ORDER_INDEX) &&
	       lk_array_alloc(&lk_orders.pairs, sizeof(struct lk_pair_set), LK_PAIR_SETS);
}

#endif
