/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the orders of locks say together: which of them make a circle, and
 * the report.
 */
#ifndef LK_REPORT_ORDER_H
#define LK_REPORT_ORDER_H

#include "lk_rows.h"
#include "lk_order.h"

#define LK_CYCLE 4 /* locks in a circle, at most */
#define LK_INVERSIONS 256
#define LK_CYCLE_STEPS 2000000 /* of the last report */
#define LK_CYCLE_STEPS_LIVE 200000
#define LK_ORDER_HEADS 4096 /* a power of two */
#define LK_ORDER_TEXT 160

/* All locks of one name. */
struct lk_node {
	u64 name;
	const char *text; /* the NAME that locktap prep knows, or NULL */
	unsigned long lock; /* one of them */
	u32 ip; /* where that was taken */
	u32 rows; /* that begin with it, from 1 */
	u32 next; /* of its hash, from 1 */
	u8 kind;
	u8 name_is;
	bool alone; /* the name says nothing of other locks that have it */
	bool written; /* somebody asked to write it */
	bool used; /* in what is printed */
};

/* All orders of two names and their modes. */
struct lk_order_row {
	u64 count;
	u32 first, then; /* nodes, from 1 */
	u32 most; /* the most frequent order of it */
	u32 orders; /* all, from 1 */
	u32 next; /* of the first node */
	u32 next_in_hash;
	u32 place; /* in the list of the JSON report, from 1 */
	u32 inversion; /* the first one that it is in, from 1 */
	u8 first_mode, then_mode;
	bool recursive;
	bool harmless; /* that one is */
	u8 gates;
	struct lk_gate gate[LK_GATES];
};

struct lk_inversion {
	u64 key; /* a hash of the nodes */
	u64 count; /* of its rarest order */
	u32 row[LK_CYCLE];
	u32 order[LK_CYCLE]; /* of each row the one that is shown */
	u8 n;
	bool same; /* the very same locks were seen in both orders */
	bool harmless;
	bool around_all; /* the gate: around all of them, not two alone */
	struct lk_gate gate;
};

static struct {
	struct lk_array node, row;
	u32 *node_heads, *row_heads;
	struct lk_inversion *inversion;
	u64 *told; /* keys of those that have been told at once */
	u32 nodes, rows, inversions, told_nr;
	u32 steps; /* that the search may take still */
	u32 resolved; /* orders whose locks have their nodes */
	int changes; /* when it was searched last */
	u64 lost; /* locks without a place */
	bool cut; /* not everything could be searched */
} lk_graph;

static bool lk_order_tables(void)
{
	if (!lk_order_alloc())
		return false;
	lk_graph.node_heads = lk_alloc(LK_ORDER_HEADS * sizeof(u32));
	lk_graph.row_heads = lk_alloc(LK_ORDER_HEADS * sizeof(u32));
	lk_graph.inversion = lk_alloc(LK_INVERSIONS * sizeof(*lk_graph.inversion));
	lk_graph.told = lk_alloc(LK_INVERSIONS * sizeof(u64));
	return lk_graph.node_heads && lk_graph.row_heads && lk_graph.inversion && lk_graph.told &&
	       lk_array_alloc(&lk_graph.node, sizeof(struct lk_node), LOCKTAP_ORDERS) &&
	       lk_array_alloc(&lk_graph.row, sizeof(struct lk_order_row), LOCKTAP_ORDERS);
}

static struct lk_node *lk_node(u32 number)
{
	return lk_array_at(&lk_graph.node, number - 1);
}

static struct lk_order_row *lk_row(u32 number)
{
	return lk_array_at(&lk_graph.row, number - 1);
}

static bool lk_shares(const struct lk_node *node)
{
	return node->kind == LK_RWLOCK || node->kind == LK_RWSEM || node->kind == LK_PERCPU_RWSEM;
}

/* --- Locks by name -------------------------------------------------------------------------- */

/*
 * Locks that lie in something which is a part of many others: two of the name have no
 * more to do with each other than any two locks.
 */
static const char *const lk_part_of_many[] = {
	"wait_queue_head.",
	"swait_queue_head.",
	"completion.",
	"sk_buff_head.",
	"xarray.",
	"lockref.",
	"percpu_counter.",
	"list_lru_",
	"local_lock.",
	"ida.",
	"idr.",
	"kfifo.",
	"klist.",
	"ratelimit_state.",
	"seqlock_t.",
	"raw_spinlock.",
	"spinlock.",
	"mutex.",
	"rw_semaphore.",
	"semaphore.",
};

static bool lk_is_part_of_many(const char *text)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lk_part_of_many); i++)
		if (!strncmp(text, lk_part_of_many[i], strlen(lk_part_of_many[i])))
			return true;
	return false;
}

static const char *lk_text_of(enum lk_name is, u64 name)
{
	switch (is) {
	case LK_NAME_STATIC:
		return lk_fixed_name(name);
	case LK_NAME_PERCPU:
		return lk_percpu_name(name);
	case LK_NAME_CALLER:
		return lk_site_name(name);
	case LK_NAME_USER:
		return lk_user_place_name(name);
	default:
		return NULL;
	}
}

/* Two programs may have locks of one NAME. */
static u64 lk_node_text_hash(enum lk_name is, u64 name, const char *text)
{
	u64 hash = lk_text_hash(text);

	return is == LK_NAME_USER ? lk_mix(hash, LK_PLACE_FILE(lk_user_places[name])) : hash;
}

/* Number of the node of a lock, from 1; 0: no room. */
static u32 lk_node_of(unsigned int kind, enum lk_name is, u64 name, unsigned long lock, u32 ip)
{
	const char *text = lk_text_of(is, name);
	struct lk_node *node;
	u32 *head, number;

	if (text) {
		name = lk_node_text_hash(is, name, text);
		is = LK_NAME_TEXT;
	}
	head = &lk_graph.node_heads[lk_mix(lk_mix(kind << 8 | is, name), 0) >> 32 &
				    (LK_ORDER_HEADS - 1)];
	for (number = *head; number; number = lk_node(number)->next) {
		node = lk_node(number);
		if (node->kind == kind && node->name_is == is && node->name == name)
			return number;
	}
	if (lk_graph.nodes == LOCKTAP_ORDERS) {
		lk_graph.lost++;
		return 0;
	}
	number = ++lk_graph.nodes;
	node = lk_node(number);
	*node = (struct lk_node){ .name = name,
				  .text = text,
				  .lock = lock,
				  .ip = ip,
				  .kind = kind,
				  .name_is = is,
				  .next = *head };
	node->alone = is == LK_NAME_CALLER || is == LK_NAME_USER ||
		      (text && lk_is_part_of_many(text));
	*head = number;
	return number;
}

static u32 lk_node_of_lock(const struct lk_order_lock *l)
{
	return lk_node_of(l->kind, l->name_is, l->name, l->lock, l->ip);
}

static u32 lk_node_of_gate(const struct lk_gate *gate)
{
	enum lk_name is;
	u64 name;

	if (lk_order_is_user(gate->kind))
		return lk_node_of(gate->kind, LK_NAME_USER, gate->user_name, 0, gate->ip);
	is = lk_name_of(gate->lock, &name);
	return lk_node_of(gate->kind, is, is == LK_NAME_CALLER ? LK_IP(gate->ip) : name, gate->lock,
			  gate->ip);
}

static void lk_node_name(const struct lk_node *node, char *buf, size_t size)
{
	if (node->text) {
		strscpy(buf, node->text, size);
		if (lk_order_is_user(node->kind)) /* a program's debug information has said so */
			lk_clean(buf);
	} else {
		lk_key_name(node->name_is, node->name, buf, size);
	}
}

/* With its kind, and the mode where readers can share it; in a table also where `?` is taken. */
static const char *lk_node_text(const struct lk_node *node, unsigned int mode, char *buf,
				size_t size)
{
	char name[LK_ORDER_TEXT], code[LK_ORDER_TEXT];

	lk_node_name(node, name, sizeof(name));
	code[0] = '\0';
	if (node->name_is == LK_NAME_CALLER)
		lk_code_text(LK_IP(node->ip), false, code, sizeof(code));
	scnprintf(buf, size, "%s%s%s %s%s%s%s", lk_kind_name[node->kind], mode == LK_X ? "" : ":",
		  mode == LK_X ? "" : lk_mode_name[mode], name, code[0] ? " (in " : "", code,
		  code[0] ? ")" : "");
	return buf;
}

/* --- Orders by name -------------------------------------------------------------------------- */

static void lk_orders_resolve(void)
{
	u32 used = min_t(u32, atomic_read(&lk_orders.used), LOCKTAP_ORDERS);
	bool behind = true; /* all before are resolved */
	u32 i;

	for (i = lk_graph.resolved + 1; i <= used; i++) {
		struct lk_order *o = lk_order_at(i);

		if (smp_load_acquire(&o->ready) && !o->resolved) {
			o->first_node = lk_node_of_lock(&o->first);
			o->then_node = lk_node_of_lock(&o->then);
			o->resolved = true;
		}
		behind = behind && o->resolved;
		if (behind)
			lk_graph.resolved = i;
	}
	for (i = 0; i < LK_WRITTEN; i++) {
		struct lk_written *w = &lk_orders.written[i];
		u32 node;

		if (!smp_load_acquire(&w->ready))
			continue;
		node = lk_node_of(w->kind, w->name_is, w->name, 0, (u32)w->name);
		if (node)
			lk_node(node)->written = true;
	}
}

/* Only what was held around all of them, every time. */
static void lk_row_narrow(struct lk_order_row *row, const struct lk_order *o)
{
	u8 n = 0, g, k;

	for (g = 0; g < row->gates; g++) {
		struct lk_gate gate = row->gate[g];

		for (k = 0; k < o->gates; k++)
			if (o->gate[k].lock == gate.lock && !READ_ONCE(o->gate[k].gone))
				break;
		if (k == o->gates)
			continue;
		if (o->gate[k].mode == LK_R)
			gate.mode = LK_R;
		row->gate[n++] = gate;
	}
	row->gates = n;
}

static void lk_row_begin(struct lk_order_row *row, const struct lk_order *o, u32 number)
{
	u8 g;

	*row = (struct lk_order_row){ .first = o->first_node,
				      .then = o->then_node,
				      .first_mode = o->first.mode,
				      .then_mode = o->then.mode,
				      .recursive = o->recursive,
				      .most = number };
	for (g = 0; g < o->gates; g++)
		if (!READ_ONCE(o->gate[g].gone))
			row->gate[row->gates++] = o->gate[g];
}

static void lk_row_add(struct lk_order *o, u32 number)
{
	u32 *head = &lk_graph.row_heads[lk_mix((u64)o->first_node << 32 | o->then_node, 0) >> 32 &
					(LK_ORDER_HEADS - 1)];
	struct lk_order_row *row;
	u32 i;

	for (i = *head; i; i = row->next_in_hash) {
		row = lk_row(i);
		if (row->first == o->first_node && row->then == o->then_node &&
		    row->first_mode == o->first.mode && row->then_mode == o->then.mode &&
		    row->recursive == o->recursive)
			break;
	}
	if (!i) {
		i = ++lk_graph.rows; /* never more than orders */
		row = lk_row(i);
		lk_row_begin(row, o, number);
		row->next_in_hash = *head;
		*head = i;
		row->next = lk_node(o->first_node)->rows;
		lk_node(o->first_node)->rows = i;
	} else {
		lk_row_narrow(row, o);
	}
	row->count += o->count;
	if (o->count > lk_order_at(row->most)->count)
		row->most = number;
	o->next_in_row = row->orders;
	row->orders = number;
	o->row = i;
}

static void lk_rows_make(bool last)
{
	u32 used = min_t(u32, atomic_read(&lk_orders.used), LOCKTAP_ORDERS), i;
	unsigned int cpu;

	/* A CPU's own counts are its own until no probe is left. */
	for (cpu = 0; last && cpu < lk_nr_cpus; cpu++)
		for (i = 0; lk_cpus[cpu] && i < LK_ORDER_RECENT; i++)
			lk_order_flush(&lk_orders.cpus[cpu]->recent[i]);
	lk_graph.rows = 0;
	memset(lk_graph.row_heads, 0, LK_ORDER_HEADS * sizeof(u32));
	for (i = 1; i <= lk_graph.nodes; i++)
		lk_node(i)->rows = 0;
	for (i = 1; i <= used; i++) {
		struct lk_order *o = lk_order_at(i);

		o->row = 0;
		if (o->resolved && o->first_node && o->then_node)
			lk_row_add(o, i);
	}
}

/* --- Circles ---------------------------------------------------------------------------------- */

/*
 * Can who has the one order wait, for its second lock, for who has the other, which
 * is that one's first? Readers do not keep readers out, but for a writer
 * that waits between the two.
 */
static bool lk_can_wait(unsigned int node, unsigned int asked, bool recursive, unsigned int held)
{
	if (asked != LK_R || held != LK_R)
		return true;
	return !recursive && (lk_orders.written_full || lk_node(node)->written);
}

static bool lk_rows_wait(const struct lk_order_row *row, const struct lk_order_row *next)
{
	return lk_can_wait(row->then, row->then_mode, row->recursive, next->first_mode);
}

/* A lock that is held around both, so that there is never one in each. */
static const struct lk_gate *lk_common_gate(const struct lk_gate *a, u8 na, const struct lk_gate *b,
					    u8 nb)
{
	u8 i, k;

	for (i = 0; i < na; i++)
		for (k = 0; k < nb; k++)
			if (a[i].lock == b[k].lock && !a[i].gone && !b[k].gone &&
			    (a[i].mode != LK_R || b[k].mode != LK_R))
				return &a[i];
	return NULL;
}

static bool lk_is_gate_of(const struct lk_gate *gate, const struct lk_order_row *row)
{
	u8 g;

	for (g = 0; g < row->gates; g++)
		if (row->gate[g].lock == gate->lock)
			return true;
	return false;
}

/* Two of them that exclude each other are enough: a circle needs all at once. */
static void lk_inversion_gate(struct lk_inversion *inv)
{
	u8 i, k;

	for (i = 0; i < inv->n; i++) {
		const struct lk_order_row *a = lk_row(inv->row[i]);

		for (k = i + 1; k < inv->n; k++) {
			const struct lk_order_row *b = lk_row(inv->row[k]);
			const struct lk_gate *gate =
				lk_common_gate(a->gate, a->gates, b->gate, b->gates);

			if (!gate)
				continue;
			inv->harmless = true;
			inv->gate = *gate;
			inv->around_all = true;
			for (i = 0; i < inv->n; i++)
				inv->around_all &= lk_is_gate_of(gate, lk_row(inv->row[i]));
			return;
		}
	}
}

/* The two orders of the rows in which the very same two locks were seen. */
static bool lk_rows_both_ways(u32 row, u32 other, u32 *order)
{
	int i, n = min(atomic_read(&lk_orders.both_nr), LK_BOTH_WAYS);

	for (i = 0; i < n; i++) {
		u32 b = smp_load_acquire(&lk_orders.both[i].other), a = lk_orders.both[i].order;

		if (!a || !b)
			continue;
		if (lk_order_at(b)->row == row && lk_order_at(a)->row == other)
			swap(a, b);
		if (lk_order_at(a)->row == row && lk_order_at(b)->row == other) {
			order[0] = a;
			order[1] = b;
			return true;
		}
	}
	return false;
}

/* One lock alone was seen of each name, and the circle is of these. */
static bool lk_is_of_same(const struct lk_inversion *inv)
{
	u8 i;

	for (i = 0; i < inv->n; i++) {
		const struct lk_order *a = lk_order_at(inv->order[i]);
		const struct lk_order *b = lk_order_at(inv->order[(i + 1) % inv->n]);

		if (a->then.id != b->first.id || a->then.varies || b->first.varies)
			return false;
	}
	return true;
}

static unsigned int lk_inversion_worth(const struct lk_inversion *inv)
{
	return 2 * !inv->harmless + inv->same;
}

/* Is every lock of this one, which is real, in the other as well? */
static bool lk_is_part(const struct lk_inversion *part, const struct lk_inversion *whole)
{
	u8 i, k;

	if (part->harmless || part->n >= whole->n)
		return false;
	for (i = 0; i < part->n; i++) {
		for (k = 0; k < whole->n; k++)
			if (lk_row(part->row[i])->first == lk_row(whole->row[k])->first)
				break;
		if (k == whole->n)
			return false;
	}
	return true;
}

/* Each circle of locks once: with the modes that make it worst. */
static void lk_inversion_add(const struct lk_inversion *inv)
{
	u32 i;

	for (i = 0; i < lk_graph.inversions; i++) {
		struct lk_inversion *old = &lk_graph.inversion[i];

		if (old->key == inv->key) {
			if (lk_inversion_worth(inv) > lk_inversion_worth(old) ||
			    (lk_inversion_worth(inv) == lk_inversion_worth(old) &&
			     inv->count > old->count))
				*old = *inv;
			return;
		}
		if (lk_is_part(old, inv))
			return;
	}
	if (lk_graph.inversions == LK_INVERSIONS)
		lk_graph.cut = true;
	else
		lk_graph.inversion[lk_graph.inversions++] = *inv;
}

static void lk_cycle_found(const u32 *path, u32 n)
{
	struct lk_inversion inv = { .n = n, .count = ~0ull };
	u32 i;

	for (i = 0; i < n; i++) {
		const struct lk_order_row *row = lk_row(path[i]);

		if (!lk_rows_wait(row, lk_row(path[(i + 1) % n])))
			return;
		inv.row[i] = path[i];
		inv.order[i] = row->most;
		inv.count = min(inv.count, row->count);
		inv.key = lk_mix(inv.key, row->first);
	}
	lk_inversion_gate(&inv);
	inv.same = (n == 2 && lk_rows_both_ways(path[0], path[1], inv.order)) ||
		   lk_is_of_same(&inv);
	lk_inversion_add(&inv);
}

static bool lk_is_on_path(const u32 *path, u32 n, u32 node)
{
	while (n--)
		if (lk_row(path[n])->first == node)
			return true;
	return false;
}

/* Circles of `n` locks of which `start` is the first: each is found once. */
static void lk_cycles_from(u32 start, u32 n)
{
	u32 path[LK_CYCLE], depth = 0;

	path[0] = lk_node(start)->rows;
	for (;;) {
		const struct lk_order_row *row;

		if (!path[depth]) {
			if (!depth)
				return;
			depth--;
			path[depth] = lk_row(path[depth])->next;
			continue;
		}
		if (!lk_graph.steps) {
			lk_graph.cut = true;
			return;
		}
		lk_graph.steps--;
		row = lk_row(path[depth]);
		if (depth + 1 == n) {
			if (row->then == start)
				lk_cycle_found(path, n);
		} else if (row->then > start && !lk_node(row->then)->alone &&
			   !lk_is_on_path(path, depth + 1, row->then)) {
			path[++depth] = lk_node(row->then)->rows;
			continue;
		}
		path[depth] = row->next;
	}
}

static bool lk_is_allocated(const struct lk_order_lock *l)
{
	return l->name_is == LK_NAME_CALLER || (l->name_is == LK_NAME_USER && !l->stays);
}

/*
 * Memory that was given back and taken again may hold the two locks the other way
 * round, if they can be of one sort: unless it is seen when locks of their kind are made.
 */
static bool lk_may_be_reused(const struct lk_order *o)
{
	const struct lk_order_lock *first = &o->first, *then = &o->then;

	if (!lk_is_allocated(first) || !lk_is_allocated(then) || first->kind != then->kind ||
	    lk_orders.sees_made & 1u << first->kind)
		return false;
	return o->first_node == o->then_node || !lk_node(o->first_node)->text ||
	       !lk_node(o->then_node)->text;
}

/*
 * The very same two locks in both orders, where their names do not say it: both have
 * one name, or none.
 */
static void lk_both_ways_found(u32 order, u32 other)
{
	const struct lk_order *a = lk_order_at(order), *b = lk_order_at(other);
	struct lk_inversion inv = { .n = 2, .row = { a->row, b->row }, .order = { order, other } };
	const struct lk_gate *gate;

	if (!a->row || !b->row || lk_may_be_reused(a) || lk_may_be_reused(b))
		return;
	if (a->first_node == b->then_node && a->then_node == b->first_node &&
	    a->first_node != a->then_node && !lk_node(a->first_node)->alone &&
	    !lk_node(a->then_node)->alone)
		return; /* found by its names */
	if (!lk_can_wait(a->then_node, a->then.mode, a->recursive, b->first.mode) ||
	    !lk_can_wait(b->then_node, b->then.mode, b->recursive, a->first.mode))
		return;
	gate = lk_common_gate(a->gate, a->gates, b->gate, b->gates);
	if (gate) {
		inv.harmless = inv.around_all = true;
		inv.gate = *gate;
	}
	inv.same = true;
	inv.count = min(a->count, b->count);
	inv.key = lk_mix(lk_mix(lk_mix(1, (u64)a->first_node + b->first_node),
				(u64)a->then_node + b->then_node),
			 min(a->first_node, b->first_node));
	lk_inversion_add(&inv);
}

/* Real ones before harmless ones, the same locks before the same names, then the frequent. */
static bool lk_inversion_after(const struct lk_inversion *a, const struct lk_inversion *b)
{
	if (lk_inversion_worth(a) != lk_inversion_worth(b))
		return lk_inversion_worth(a) < lk_inversion_worth(b);
	return a->count < b->count;
}

static void lk_inversions_sort(void)
{
	struct lk_inversion *all = lk_graph.inversion, one;
	u32 i, k;

	for (i = 1; i < lk_graph.inversions; i++) {
		one = all[i];
		for (k = i; k && lk_inversion_after(&all[k - 1], &one); k--)
			all[k] = all[k - 1];
		all[k] = one;
	}
}

static bool lk_node_is_only(const struct lk_node *node)
{
	unsigned long lock = node->name_is == LK_NAME_PERCPU ? (unsigned long)node->name :
							       node->lock;

	if (!lk_opt.only)
		return true;
	if (lk_opt.only_name[0] && node->text && lk_same_name(node->text, lk_opt.only_name))
		return true;
	if (lk_opt.only_name[0] && node->name_is == LK_NAME_USER) {
		char text[sizeof(lk_opt.only_name)];

		lk_user_place_text(node->name, text, sizeof(text));
		if (!strcmp(text, lk_opt.only_name))
			return true;
	}
	if (!lk_opt.only_hi)
		return false;
	if (lk_opt.only_percpu && node->name_is != LK_NAME_PERCPU &&
	    !lk_percpu_offset(node->lock, &lock))
		return false;
	return lock >= lk_opt.only_lo && lock < lk_opt.only_hi;
}

static bool lk_row_is_only(const struct lk_order_row *row)
{
	return lk_node_is_only(lk_node(row->first)) || lk_node_is_only(lk_node(row->then));
}

/* only= leaves those that the lock has a part in. */
static void lk_inversions_only(void)
{
	u32 i, n = 0;
	u8 k;

	for (i = 0; lk_opt.only && i < lk_graph.inversions; i++) {
		struct lk_inversion *inv = &lk_graph.inversion[i];

		for (k = 0; k < inv->n && !lk_row_is_only(lk_row(inv->row[k])); k++)
			;
		if (k < inv->n)
			lk_graph.inversion[n++] = *inv;
	}
	if (lk_opt.only)
		lk_graph.inversions = n;
}

static void lk_graph_search(bool last)
{
	int i, n = min(atomic_read(&lk_orders.both_nr), LK_BOTH_WAYS);
	u32 start, length;

	lk_graph.changes = atomic_read(&lk_orders.changes);
	lk_names_find();
	lk_orders_resolve();
	lk_rows_make(last);
	lk_graph.inversions = 0;
	lk_graph.cut = false;
	lk_graph.steps = last ? LK_CYCLE_STEPS : LK_CYCLE_STEPS_LIVE;
	for (i = 0; i < n; i++) {
		u32 other = smp_load_acquire(&lk_orders.both[i].other);

		if (other)
			lk_both_ways_found(lk_orders.both[i].order, other);
	}
	for (length = 2; length <= LK_CYCLE; length++)
		for (start = 1; start <= lk_graph.nodes && !lk_graph.cut; start++)
			if (!lk_node(start)->alone)
				lk_cycles_from(start, length);
	lk_inversions_sort();
	lk_inversions_only();
}

/* --- Text ------------------------------------------------------------------------------------- */

static u32 lk_real_inversions(void)
{
	u32 i, n = 0;

	for (i = 0; i < lk_graph.inversions; i++)
		n += !lk_graph.inversion[i].harmless;
	return n;
}

static const char *lk_plural(u64 n)
{
	return n == 1 ? "" : "s";
}

/* first, then second */
static void lk_print_order(const struct lk_order_row *row)
{
	char first[2 * LK_ORDER_TEXT], then[2 * LK_ORDER_TEXT];

	lk_print("%s, then %s",
		 lk_node_text(lk_node(row->first), row->first_mode, first, sizeof(first)),
		 lk_node_text(lk_node(row->then), row->then_mode, then, sizeof(then)));
}

static void lk_print_taker(const struct lk_order *o)
{
	char comm[TASK_COMM_LEN];

	strscpy(comm, o->comm, sizeof(comm));
	lk_print("%s/%d", comm[0] ? lk_clean(comm) : "?", o->tid);
}

/* One line for each as soon as it is seen; not those that a gate makes harmless. */
static void lk_order_tell(void)
{
	char code[LK_ORDER_TEXT];
	u32 i, t;
	u8 k;

	if (!lk_opt.started || lk_opt.format != LK_TABLE ||
	    lk_graph.changes == atomic_read(&lk_orders.changes))
		return;
	lk_graph_search(false);
	for (i = 0; i < lk_graph.inversions; i++) {
		const struct lk_inversion *inv = &lk_graph.inversion[i];

		for (t = 0; t < lk_graph.told_nr && lk_graph.told[t] != inv->key; t++)
			;
		if (inv->harmless || t < lk_graph.told_nr || t == LK_INVERSIONS)
			continue;
		lk_graph.told[lk_graph.told_nr++] = inv->key;
		lk_print("inversion%s: ", inv->same ? "" : " by name");
		for (k = 0; k < inv->n; k++) {
			const struct lk_order *o = lk_order_at(inv->order[k]);

			lk_print("%s", k ? "; " : "");
			lk_print_order(lk_row(inv->row[k]));
			lk_code_text(LK_IP(o->then.ip), false, code, sizeof(code));
			lk_print(" in %s", code);
		}
		lk_print("\n");
	}
	lk_flush();
}

static void lk_order_stack(const struct lk_node *node, const struct lk_order_lock *l, bool first)
{
	char name[LK_ORDER_TEXT], lock[24];

	lk_node_name(node, name, sizeof(name));
	lk_print("    %s %s%s%s taken in\n", first ? "first" : "then", name,
		 lk_opt.addresses ? " at " : "",
		 lk_opt.addresses ? lk_address_text(l->lock, lock, sizeof(lock)) : "");
	lk_print_stack(l->stack, false, "        ", "\n");
}

static void lk_table_inversion(const struct lk_inversion *inv, u32 number)
{
	char gate[2 * LK_ORDER_TEXT];
	u8 i;

	lk_print("\n%s %u, %s\n", inv->harmless ? "HARMLESS" : "INVERSION", number,
		 inv->same ? "of the very same locks" :
			     "of the same names, not seen of the same locks");
	if (inv->harmless) {
		u32 node = lk_node_of_gate(&inv->gate);

		lk_print("  %s held around %s\n",
			 node ? lk_node_text(lk_node(node), inv->gate.mode, gate, sizeof(gate)) :
				"another lock",
			 inv->n == 2	 ? "both" :
			 inv->around_all ? "all" :
					   "two of them");
	}
	for (i = 0; i < inv->n; i++) {
		const struct lk_order_row *row = lk_row(inv->row[i]);
		const struct lk_order *o = lk_order_at(inv->order[i]);

		lk_print("  ");
		lk_print_order(row);
		lk_print(": %llu time%s, ", row->count, lk_plural(row->count));
		lk_print_taker(o);
		lk_print("\n");
		if (inv->harmless)
			continue;
		lk_order_stack(lk_node(row->first), &o->first, true);
		lk_order_stack(lk_node(row->then), &o->then, false);
	}
}

/* The rows from the most frequent one on, as far as only= lets them; NULL at the end. */
static struct lk_order_row *lk_row_next(struct lk_order_row *last, u32 *at)
{
	struct lk_order_row *next = NULL;
	u32 i, found = 0;

	for (i = 1; i <= lk_graph.rows; i++) {
		struct lk_order_row *row = lk_row(i);

		if (!lk_row_is_only(row) ||
		    (last && (row->count > last->count || (row->count == last->count && i <= *at))))
			continue;
		if (!next || row->count > next->count) {
			next = row;
			found = i;
		}
	}
	*at = found;
	return next;
}

static void lk_table_all(void)
{
	struct lk_order_row *row = NULL;
	u32 at = 0, n = 0, all = 0, i;

	for (i = 1; i <= lk_graph.rows; i++)
		all += lk_row_is_only(lk_row(i));
	lk_print("\n%9s ORDER\n", "COUNT");
	while (n < lk_opt.top && (row = lk_row_next(row, &at)) != NULL) {
		lk_print("%9llu ", row->count);
		lk_print_order(row);
		lk_print("\n");
		n++;
	}
	if (n < all)
		lk_print("(%u more orders: -G top=%u shows them)\n", all - n, all);
}

static void lk_order_table(u64 elapsed_ns)
{
	u32 i, real = lk_real_inversions(), n = lk_graph.inversions, harmless = n - real;
	char time[24];

	lk_print("%u inversion%s, %u harmless, of %u orders in which locks were taken, in %s\n",
		 real, lk_plural(real), harmless, lk_graph.rows,
		 lk_time_text(elapsed_ns, time, sizeof(time)));
	for (i = 0; i < n && i < lk_opt.top; i++)
		lk_table_inversion(&lk_graph.inversion[i], i + 1);
	if (n > lk_opt.top)
		lk_print("\n(%u more: -G top=%u shows them)\n", n - lk_opt.top, n);
	if (lk_opt.all)
		lk_table_all();
	lk_print("\n");
}

/* --- tsv -------------------------------------------------------------------------------------- */

static void lk_tsv_row(const struct lk_order_row *row, const struct lk_order *o,
		       const struct lk_inversion *inv, u32 number)
{
	const struct lk_node *first = lk_node(row->first), *then = lk_node(row->then);
	char name[LK_ORDER_TEXT], other[LK_ORDER_TEXT], gate[LK_ORDER_TEXT], lock[2][24];

	lk_node_name(first, name, sizeof(name));
	lk_node_name(then, other, sizeof(other));
	strscpy(gate, "-", sizeof(gate));
	if (inv && inv->harmless) {
		u32 node = lk_node_of_gate(&inv->gate);

		strscpy(gate, "?", sizeof(gate));
		if (node)
			lk_node_name(lk_node(node), gate, sizeof(gate));
	}
	lk_print("%s\t%s\t%s\t%s\t%s\t%s\t%llu\t", lk_kind_name[first->kind],
		 lk_mode_name[row->first_mode], name, lk_kind_name[then->kind],
		 lk_mode_name[row->then_mode], other, row->count);
	if (inv)
		lk_print("%u\t%s\t%s", number, inv->same ? "locks" : "names", gate);
	else
		lk_print("0\t-\t-");
	strscpy(name, o->comm, sizeof(name));
	lk_print("\t%d\t%s\t%s\t%s\t", o->tid, name[0] ? lk_clean(name) : "-",
		 lk_address_text(o->first.lock, lock[0], sizeof(lock[0])),
		 lk_address_text(o->then.lock, lock[1], sizeof(lock[1])));
	lk_code_text(LK_IP(o->first.ip), true, name, sizeof(name));
	lk_code_text(LK_IP(o->then.ip), true, other, sizeof(other));
	lk_print("%s\t%s\t", name, other);
	lk_print_stack(o->first.stack, true, "", "");
	lk_print("\t");
	lk_print_stack(o->then.stack, true, "", "");
	lk_print("\n");
}

/* Numbers the orders of inversions, or all, as they are printed. */
static u32 lk_rows_place(void)
{
	u32 i, n = 0;
	u8 k;

	for (i = 0; i < lk_graph.inversions && i < lk_opt.top; i++) {
		const struct lk_inversion *inv = &lk_graph.inversion[i];

		for (k = 0; k < inv->n; k++) {
			struct lk_order_row *row = lk_row(inv->row[k]);

			if (row->place)
				continue;
			row->place = ++n;
			row->most = inv->order[k];
			row->inversion = i + 1;
			row->harmless = inv->harmless;
		}
	}
	for (i = 1; lk_opt.all && i <= lk_graph.rows; i++)
		if (!lk_row(i)->place && lk_row_is_only(lk_row(i)))
			lk_row(i)->place = ++n;
	return n;
}

static void lk_order_tsv(void)
{
	u32 i;
	u8 k;

	lk_print("#locktap 1 order\n");
	lk_print(
		"#first_kind\tfirst_mode\tfirst_name\tthen_kind\tthen_mode\tthen_name\tcount\tinversion\tsame\tgate\ttid\tcomm\tfirst_lock\tthen_lock\tfirst_caller\tthen_caller\tfirst_stack\tthen_stack\n");
	lk_rows_place();
	for (i = 0; i < lk_graph.inversions && i < lk_opt.top; i++) {
		const struct lk_inversion *inv = &lk_graph.inversion[i];

		for (k = 0; k < inv->n; k++)
			lk_tsv_row(lk_row(inv->row[k]), lk_order_at(inv->order[k]), inv, i + 1);
	}
	for (i = 1; i <= lk_graph.rows; i++)
		if (lk_row(i)->place && !lk_row(i)->inversion)
			lk_tsv_row(lk_row(i), lk_order_at(lk_row(i)->most), NULL, 0);
}

/* --- json: the form that locktap graph reads ----------------------------------------------- */

static void lk_use_nodes(void)
{
	u32 i, node;

	for (i = 1; i <= lk_graph.rows; i++)
		if (lk_row(i)->place) {
			lk_node(lk_row(i)->first)->used = true;
			lk_node(lk_row(i)->then)->used = true;
		}
	for (i = 0; i < lk_graph.inversions && i < lk_opt.top; i++) {
		node = lk_graph.inversion[i].harmless ?
			       lk_node_of_gate(&lk_graph.inversion[i].gate) :
			       0;
		if (node)
			lk_node(node)->used = true;
	}
}

static void lk_json_locks(void)
{
	char name[LK_ORDER_TEXT], lock[24];
	const char *sep = "";
	u32 i;

	lk_print("\"locks\":[");
	for (i = 1; i <= lk_graph.nodes; i++) {
		const struct lk_node *node = lk_node(i);

		if (!node->used)
			continue;
		lk_node_name(node, name, sizeof(name));
		lk_print("%s\n{\"id\":\"L%u\",\"kind\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\"}",
			 sep, i, lk_kind_name[node->kind], lk_clean(name),
			 lk_address_text(node->lock, lock, sizeof(lock)));
		sep = ",";
	}
	lk_print("],\n");
}

static void lk_json_order(const struct lk_order_row *row, const char *sep)
{
	const struct lk_order *o = lk_order_at(row->most);
	char comm[TASK_COMM_LEN];

	strscpy(comm, o->comm, sizeof(comm));
	lk_print(
		"%s\n{\"first\":\"L%u\",\"then\":\"L%u\",\"first_mode\":\"%s\",\"then_mode\":\"%s\",\"count\":%llu,\"comm\":\"%s\",\"tid\":%d",
		sep, row->first, row->then, lk_mode_name[row->first_mode],
		lk_mode_name[row->then_mode], row->count, lk_clean(comm), o->tid);
	lk_json_stack("first_stack", o->first.stack);
	lk_json_stack("then_stack", o->then.stack);
	lk_print("}");
}

/* The row whose place is `place`; those of inversions are few, and come first. */
static u32 lk_row_at_place(u32 place, u32 from)
{
	u32 i, k;

	for (k = 0; k < lk_graph.rows; k++) {
		i = (from + k) % lk_graph.rows + 1;
		if (lk_row(i)->place == place)
			return i;
	}
	return 0;
}

static void lk_json_inversion(const struct lk_inversion *inv, const char *sep)
{
	u32 node;
	u8 k;

	lk_print("%s\n{\"orders\":[", sep);
	for (k = 0; k < inv->n; k++)
		lk_print("%s%u", k ? "," : "", lk_row(inv->row[k])->place - 1);
	lk_print("],\"harmless\":%s,\"same\":\"%s\"", inv->harmless ? "true" : "false",
		 inv->same ? "locks" : "names");
	node = inv->harmless && inv->around_all ? lk_node_of_gate(&inv->gate) : 0;
	if (node)
		lk_print(",\"gate\":\"L%u\"", node);
	lk_print("}");
}

static void lk_order_json(u64 elapsed_ns)
{
	u32 i, at = 0, n = lk_rows_place();

	lk_use_nodes();
	lk_print("{\"locktap\":1,\"report\":\"order\",\"elapsed_ns\":%llu,\n", elapsed_ns);
	lk_json_locks();
	lk_print("\"orders\":[");
	for (i = 1; i <= n; i++) {
		at = lk_row_at_place(i, at);
		lk_json_order(lk_row(at), i > 1 ? "," : "");
	}
	lk_print("],\n\"inversions\":[");
	for (i = 0; i < lk_graph.inversions && i < lk_opt.top; i++)
		lk_json_inversion(&lk_graph.inversion[i], i ? "," : "");
	lk_print("],\n");
}

/* --- dot -------------------------------------------------------------------------------------- */

static void lk_order_dot(void)
{
	char text[2 * LK_ORDER_TEXT];
	u32 i;

	lk_rows_place();
	lk_use_nodes();
	lk_print("digraph order {\n\tnode [shape=box]\n");
	for (i = 1; i <= lk_graph.nodes; i++)
		if (lk_node(i)->used)
			lk_print("\tL%u [label=\"%s\"]\n", i,
				 lk_clean((char *)lk_node_text(lk_node(i), LK_X, text,
							       sizeof(text))));
	for (i = 1; i <= lk_graph.rows; i++) {
		const struct lk_order_row *row = lk_row(i);

		if (!row->place)
			continue;
		lk_print("\tL%u -> L%u [label=\"%llu time%s\"%s]\n", row->first, row->then,
			 row->count, lk_plural(row->count),
			 !row->inversion ? "" :
			 row->harmless	 ? " color=gray" :
					   " color=red");
	}
	lk_print("}\n");
}

/* 0, or lk_problem says what is wrong and what is allowed. */
static int lk_order_start(const char *top, const char *kinds, const char *only, const char *format,
			  const char *pid, const char *all)
{
	u64 n_all = 0;

	if (!lk_number("all", all, 0, 1, &n_all) ||
	    lk_start(LK_ORDER, "", top, "", kinds, only, "", "", format, pid))
		return -1;
	lk_opt.all = n_all;
	return 0;
}

static void lk_report_order(u64 elapsed_ns)
{
	lk_graph_search(true);
	switch (lk_opt.format) {
	case LK_TSV:
		lk_order_tsv();
		break;
	case LK_JSON:
		lk_order_json(elapsed_ns);
		break;
	case LK_DOT:
		lk_order_dot();
		break;
	default:
		lk_order_table(elapsed_ns);
	}
}

#endif
