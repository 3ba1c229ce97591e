/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of who waits behind whom. */
#ifndef LK_REPORT_CHAIN_H
#define LK_REPORT_CHAIN_H

#include "lk_rows.h"
#include "lk_chain.h"

#define LK_NAME_TEXT_MAX 160

/* --- The waits of this moment ------------------------------------------------------------ */

/* One wait, and who holds the lock. */
struct lk_edge {
	struct lk_hop waiter, owner;
	u64 wait_ns;
	bool owned; /* the owner is known */
	bool followed; /* somebody waits behind the waiter */
	u32 told; /* in this chain */
	u32 next; /* the owner's own wait, from 1; 0: it waits for none */
};

#define LK_EDGES_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_edge))
#define LK_EDGE_PIECES 16
#define LK_EDGES_MAX (LK_EDGE_PIECES * LK_EDGES_PER_PIECE)

static struct lk_edge *lk_edge_pieces[LK_EDGE_PIECES];
static u32 lk_edges_nr, lk_edges_lost;

static struct lk_edge *lk_edge_at(u32 i)
{
	return &lk_edge_pieces[i / LK_EDGES_PER_PIECE][i % LK_EDGES_PER_PIECE];
}

static bool lk_edges_alloc(void)
{
	u32 i;

	for (i = 0; i < LK_EDGE_PIECES; i++) {
		lk_edge_pieces[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!lk_edge_pieces[i])
			return false;
	}
	return true;
}

/* Numbers for what is told of more than once: threads by tid, locks by address. */
#define LK_IDS 16384

static struct {
	u64 key[LK_IDS];
	u32 id[LK_IDS];
	u32 nr;
} lk_ids;

static void lk_ids_clear(void)
{
	memset(&lk_ids, 0, sizeof(lk_ids));
}

/* From 1; `fresh` where it has just been given. Full: 0. */
static u32 lk_id(u64 key, bool *fresh)
{
	u32 at = hash_64(key, ilog2(LK_IDS)), i;

	*fresh = false;
	for (i = 0; i < 64; i++, at = (at + 1) & (LK_IDS - 1)) {
		if (lk_ids.key[at] == key)
			return lk_ids.id[at];
		if (!lk_ids.key[at]) {
			lk_ids.key[at] = key;
			*fresh = true;
			return lk_ids.id[at] = ++lk_ids.nr;
		}
	}
	return 0;
}

/* Does the wait still last? After the probes are gone only the sleeper can tell. */
static bool lk_still_waits(const struct lk_wait *w, bool last)
{
	if (!lk_is_live(w, lk_link_of(w)) || lk_hinted(w->task) != w->task)
		return false;
	return !last || lk_sleeps_for(w);
}

/* Its time since the last look: the report is of this moment. */
static void lk_edge_count(const struct lk_wait *w, u64 now)
{
	struct lk_chain_cpu *c = lk_chain_here();
	struct lk_cpu *cpu = lk_this_cpu();
	struct lk_link *l = lk_link_of(w);

	if (!c || !cpu || !lk_is_task_wait(w) || !lk_link_lock(l))
		return;
	if (l->live)
		lk_link_count(cpu, c, w, l, now);
	lk_link_unlock(l);
}

static void lk_edge_add(const struct lk_wait *w, u64 now, bool last)
{
	struct task_struct *holder;
	struct lk_edge *e;
	bool proven;

	if (!lk_still_waits(w, last))
		return;
	lk_edge_count(w, now);
	if (lk_edges_nr == LK_EDGES_MAX) {
		lk_edges_lost++;
		return;
	}
	e = lk_edge_at(lk_edges_nr);
	memset(e, 0, sizeof(*e));
	lk_hop_set(&e->waiter, w->task, w);
	e->wait_ns = now - w->begin_ns;
	holder = lk_holder_of(&e->waiter, &proven);
	if (holder == w->task && (!proven || e->waiter.state != LK_ST_WAITING))
		holder = NULL; /* no hint at another, or it has just got the lock */
	if (holder) {
		lk_hop_set(&e->owner, holder, lk_holder_wait(holder, w->lock));
		e->owner.proven = proven;
		e->owned = true;
	}
	lk_edges_nr++;
}

/* Each wait's number, by the wait's own; then the owners'. */
static void lk_edges_link(void)
{
	static u32 number[2 * LK_EDGES_MAX + 1];
	bool fresh;
	u32 i, id;

	lk_ids_clear();
	memset(number, 0, sizeof(number));
	for (i = 0; i < lk_edges_nr; i++) {
		id = lk_id((unsigned long)lk_edge_at(i)->waiter.wait, &fresh);
		if (id)
			number[id] = i + 1;
	}
	for (i = 0; i < lk_edges_nr; i++) {
		struct lk_edge *e = lk_edge_at(i);

		if (!e->owned || !e->owner.wait)
			continue;
		id = lk_id((unsigned long)e->owner.wait, &fresh);
		e->next = id ? number[id] : 0;
		if (e->next)
			lk_edge_at(e->next - 1)->followed = true;
	}
}

/* All waits of this moment, each with the number of its owner's wait. */
static void lk_edges_find(u64 now, bool last)
{
	unsigned int cpu, i;

	lk_edges_nr = lk_edges_lost = 0;
	for (i = 0; i < LK_WAIT_SETS * LK_WAYS; i++)
		if (lk_wait_task_at(i)) {
			touch_nmi_watchdog();
			lk_edge_add(lk_wait_at(i), now, last);
		}
	for (cpu = 0; cpu < lk_nr_cpus && !last; cpu++) {
		u32 n = lk_cpus[cpu] ? READ_ONCE(lk_cpus[cpu]->nspin) : 0;

		for (i = 0; i < n && i < LK_SPIN_DEPTH; i++)
			if (!lk_cpus[cpu]->spin[i].level)
				lk_edge_add(&lk_cpus[cpu]->spin[i], now, last);
	}
	lk_edges_link();
}

/* --- What has been counted ---------------------------------------------------------------- */

static struct lk_shape *lk_shape_heads[LOCKTAP_CHAINS];

static void lk_sum_cpus(u32 i, bool holders, struct lk_chain_sum *sum)
{
	unsigned int cpu;

	memset(sum, 0, sizeof(*sum));
	for (cpu = 0; cpu < lk_nr_cpus; cpu++) {
		const struct lk_chain_sum *s;

		if (!lk_chain_cpus[cpu])
			continue;
		s = holders ? &lk_chain_cpus[cpu]->holder[i] : &lk_chain_cpus[cpu]->shape[i];
		sum->ns += s->ns;
		sum->count += s->count;
	}
}

static int lk_by_shape_total(void *priv, const struct list_head *a, const struct list_head *b)
{
	u64 x = list_entry(a, struct lk_shape, order)->total_ns;
	u64 y = list_entry(b, struct lk_shape, order)->total_ns;

	return x < y ? 1 : x > y ? -1 : 0;
}

static int lk_by_holder_total(void *priv, const struct list_head *a, const struct list_head *b)
{
	u64 x = list_entry(a, struct lk_holder, order)->total_ns;
	u64 y = list_entry(b, struct lk_holder, order)->total_ns;

	return x < y ? 1 : x > y ? -1 : 0;
}

/*
 * A lock's NAME. A variable's by its own address or, where that is one of an array
 * that is reached in another way, by who asks for it.
 */
static void lk_hop_name(u8 name_is, u64 name, u32 ip, char *buf, size_t size)
{
	const char *text =
		name_is == LK_NAME_STATIC && !lk_fixed_name(name) ? lk_site_name(LK_IP(ip)) : NULL;

	if (text)
		strscpy(buf, text, size);
	else
		lk_key_name(name_is, name, buf, size);
}

/* By NAME: two callers of one lock are not two shapes. */
static u64 lk_shape_text_hash(const struct lk_shape *s)
{
	char name[LK_NAME_TEXT_MAX];
	u64 hash = s->back << 8 | s->n << 3 | s->cycle << 2 | s->cut << 1 | s->open;
	u32 i;

	for (i = 0; i < s->n; i++) {
		const struct lk_shape_node *n = &s->node[i];

		hash = lk_mix_comm(hash, n->comm);
		if (lk_chain.by_task)
			hash = lk_mix(hash, n->tid);
		if (!n->waits)
			continue;
		lk_hop_name(n->name_is, n->name, n->ip, name, sizeof(name));
		hash = lk_mix(lk_mix(hash, !strcmp(name, "?") ? n->name : lk_text_hash(name)),
			      n->kind << 8 | n->mode);
	}
	return hash;
}

static void lk_shapes_merge(struct list_head *shapes)
{
	u32 i;

	INIT_LIST_HEAD(shapes);
	memset(lk_shape_heads, 0, sizeof(lk_shape_heads));
	for (i = 0; i < LOCKTAP_CHAINS; i++) {
		struct lk_shape *s = lk_shape_at(i), *m;
		struct lk_chain_sum sum;
		u64 ns, count;

		if (!smp_load_acquire(&s->n))
			continue;
		touch_nmi_watchdog();
		lk_sum_cpus(i, false, &sum);
		ns = sum.ns - s->told_ns;
		count = sum.count - s->told_count;
		s->told_ns = sum.ns;
		s->told_count = sum.count;
		s->last_ns = ns;
		if (!ns)
			continue;
		s->total_ns = ns;
		s->count = max(count, 1ull);
		s->text_hash = lk_shape_text_hash(s);
		for (m = lk_shape_heads[s->text_hash % LOCKTAP_CHAINS]; m; m = m->same)
			if (m->text_hash == s->text_hash)
				break;
		if (m) {
			m->total_ns += s->total_ns;
			m->count += s->count;
			if (s->longest.ns > m->longest.ns)
				m->longest = s->longest;
			continue;
		}
		s->same = lk_shape_heads[s->text_hash % LOCKTAP_CHAINS];
		lk_shape_heads[s->text_hash % LOCKTAP_CHAINS] = s;
		list_add_tail(&s->order, shapes);
	}
	list_sort(NULL, shapes, lk_by_shape_total);
}

static void lk_holders_sort(struct list_head *holders)
{
	u32 i;

	INIT_LIST_HEAD(holders);
	for (i = 0; i < LOCKTAP_CHAINS; i++) {
		struct lk_holder *h = &lk_holders[i];
		struct lk_chain_sum sum;

		if (!smp_load_acquire(&h->ready))
			continue;
		lk_sum_cpus(i, true, &sum);
		h->total_ns = sum.ns - h->told_ns;
		h->count = sum.count - h->told_count;
		h->told_ns = sum.ns;
		h->told_count = sum.count;
		if (h->total_ns)
			list_add_tail(&h->order, holders);
	}
	list_sort(NULL, holders, lk_by_holder_total);
}

/* --- Table --------------------------------------------------------------------------------- */

static const char *lk_clean_comm(const char *comm, char *buf)
{
	strscpy(buf, comm, TASK_COMM_LEN);
	return buf[0] ? lk_clean(buf) : "?";
}

static void lk_print_mode(u8 kind, u8 mode)
{
	lk_print("%s%s%s", lk_kind_name[kind], mode == LK_X ? "" : ":",
		 mode == LK_X ? "" : lk_mode_name[mode]);
}

#define LK_CHAIN_INDENT 37 /* what a row's numbers take */

/* A thread, `indent` columns from here, and below it its lock. */
static void lk_chain_lines(int indent, const char *before, const struct lk_shape_node *n,
			   const struct lk_instance *seen, u32 i)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX], code[KSYM_SYMBOL_LEN];

	lk_print("%*s%s%s/%d", indent, "", before, lk_clean_comm(n->comm, comm), seen->tid[i]);
	if (!n->waits)
		return;
	lk_code_text(LK_IP(n->ip), false, code, sizeof(code));
	lk_hop_name(n->name_is, n->name, n->ip, name, sizeof(name));
	lk_print("\n%*swaits for %s (", LK_CHAIN_INDENT + 2, "", name);
	lk_print_mode(n->kind, n->mode);
	lk_print(") in %s\n", code);
	if (lk_chain.stacks)
		lk_print_stack(seen->stack[i], false, "                                    ", "\n");
}

static bool lk_is_proven(const struct lk_instance *seen, u32 i)
{
	return seen->proven & 1u << i;
}

/* Who holds what a chain's thread waits for, and whether the lock says so for sure. */
struct lk_shape_owner {
	bool known, proven;
	u32 i;
};

static struct lk_shape_owner lk_shape_owner(const struct lk_shape *s, u32 i)
{
	struct lk_shape_owner o = { .known = true, .i = i + 1 };

	if (i + 1 < s->n) {
		o.proven = lk_is_proven(&s->longest, i + 1);
		return o;
	}
	o.known = s->cycle;
	o.i = s->back;
	o.proven = s->longest.proven & LK_BACK_PROVEN;
	return o;
}

static void lk_chain_row(const struct lk_shape *s, u64 all_ns)
{
	const struct lk_instance *seen = &s->longest;
	unsigned int share = lk_permille(s->total_ns, all_ns);
	char total[24], longest[24];
	u32 i;

	lk_print("%6s %7llu %3u.%u%% %7s %5u ", lk_time_text(s->total_ns, total, sizeof(total)),
		 s->count, share / 10, share % 10, lk_time_text(seen->ns, longest, sizeof(longest)),
		 s->n - !s->node[s->n - 1].waits);
	for (i = 0; i < s->n; i++) {
		const char *before = !i			   ? "" :
				     lk_is_proven(seen, i) ? "held by " :
							     "perhaps held by ";

		lk_chain_lines(i ? LK_CHAIN_INDENT : 0, before, &s->node[i], seen, i);
	}
	if (s->cycle)
		lk_print("%*sheld by a thread above: a deadlock\n", LK_CHAIN_INDENT, "");
	else if (s->cut)
		lk_print("%*sand so on, deeper than %u waits\n", LK_CHAIN_INDENT, "",
			 LK_CHAIN_DEPTH);
	else if (s->open)
		lk_print("%*sheld by ?: this lock does not tell\n", LK_CHAIN_INDENT, "");
	else
		lk_print(", %s\n", lk_state_word[seen->state]);
	if (lk_chain.stacks && seen->state_stack)
		lk_print_stack(seen->state_stack, false, "                                    ",
			       "\n");
}

static void lk_holder_row(const struct lk_holder *h)
{
	char total[24], comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX], kind[24];
	u64 looks = 0;
	u32 i;

	for (i = 0; i < LK_STATES; i++)
		looks += h->states[i];
	lk_hop_name(h->name_is, h->name, h->ip, name, sizeof(name));
	scnprintf(kind, sizeof(kind), "%s%s%s", lk_kind_name[h->kind], h->mode == LK_X ? "" : ":",
		  h->mode == LK_X ? "" : lk_mode_name[h->mode]);
	lk_print("%6s %7llu ", lk_time_text(h->total_ns, total, sizeof(total)), h->count);
	for (i = LK_ST_RUNNING; i <= LK_ST_SLEEPING; i++)
		if (looks)
			lk_print("%4u%% ", (lk_permille(h->states[i], looks) + 5) / 10);
		else
			lk_print("%5s ", "-");
	lk_print("%-12s %.30s of %s/%d\n", kind, name, lk_clean_comm(h->comm, comm), h->tid);
	if (h->stack && lk_chain.stacks)
		lk_print_stack(h->stack, false, "            ", "\n");
}

/* The table's waits of this moment: each thread below the one that it waits for. */
static noinline void lk_edge_lines(const struct lk_edge *e, u32 depth)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX], time[24];

	lk_hop_name(e->waiter.name_is, e->waiter.name, e->waiter.ip, name, sizeof(name));
	lk_print("%*s%s/%d waits for %s (", 2 + 2 * min(depth, 20u), "",
		 lk_clean_comm(e->waiter.comm, comm), e->waiter.tid, name);
	lk_print_mode(e->waiter.kind, e->waiter.mode);
	lk_print("), since %s\n", lk_time_text(e->wait_ns, time, sizeof(time)));
	if (lk_chain.stacks)
		lk_print_stack(e->waiter.stack, false, "                    ", "\n");
}

static u32 lk_edges_below(u32 number, u32 depth, u32 budget)
{
	u32 i;

	for (i = 0; i < lk_edges_nr && budget; i++) {
		if (lk_edge_at(i)->next != number)
			continue;
		lk_edge_lines(lk_edge_at(i), depth);
		budget--;
		if (depth < LK_CHAIN_DEPTH)
			budget = lk_edges_below(i + 1, depth + 1, budget);
	}
	return budget;
}

/* In a cycle nobody waits for no lock: it is entered at its first wait. */
static bool lk_edge_in_cycle(u32 number)
{
	u32 at = number, steps;

	for (steps = 0; steps <= LK_CHAIN_DEPTH && at; steps++) {
		at = lk_edge_at(at - 1)->next;
		if (at == number)
			return true;
	}
	return false;
}

/* Those in deadlocks, each with who waits behind it from outside. */
static u32 lk_edges_in_cycles(u32 budget)
{
	bool any = false;
	u32 i, j;

	for (i = 0; i < lk_edges_nr && budget; i++) {
		if (!lk_edge_at(i)->followed || !lk_edge_in_cycle(i + 1))
			continue;
		if (!any)
			lk_print("in a deadlock:\n");
		any = true;
		lk_edge_lines(lk_edge_at(i), 0);
		budget--;
		for (j = 0; j < lk_edges_nr && budget; j++) {
			if (lk_edge_at(j)->next != i + 1 || lk_edge_in_cycle(j + 1))
				continue;
			lk_edge_lines(lk_edge_at(j), 1);
			budget = lk_edges_below(j + 1, 2, budget - 1);
		}
	}
	return budget;
}

/* The holder of all that is below. */
static void lk_edge_head(const struct lk_edge *e)
{
	char comm[TASK_COMM_LEN];

	if (!e->owned)
		lk_print("? (the lock does not tell its holder)\n");
	else
		lk_print("%s%s/%d, %s\n", e->owner.proven ? "" : "perhaps ",
			 lk_clean_comm(e->owner.comm, comm), e->owner.tid,
			 lk_state_word[e->owner.state]);
}

static void lk_edges_table(void)
{
	u32 i, j, budget = lk_opt.top > 1000 ? 4096 : lk_opt.top * 20;

	if (!lk_edges_nr) {
		lk_print("no thread waits now\n");
		return;
	}
	lk_print("%u waits now, below who holds them up:\n", lk_edges_nr);
	for (i = 0; i < lk_edges_nr; i++) {
		const struct lk_edge *e = lk_edge_at(i);
		bool told = false;

		if (e->next || !budget)
			continue;
		/* Once for each holder, or lock without. */
		for (j = 0; j < i && !told; j++) {
			const struct lk_edge *f = lk_edge_at(j);

			told = !f->next && f->owned == e->owned &&
			       (e->owned ? f->owner.tid == e->owner.tid :
					   f->waiter.lock == e->waiter.lock);
		}
		if (told)
			continue;
		lk_edge_head(e);
		for (j = i; j < lk_edges_nr && budget; j++) {
			const struct lk_edge *f = lk_edge_at(j);

			if (f->next || f->owned != e->owned ||
			    (e->owned ? f->owner.tid != e->owner.tid :
					f->waiter.lock != e->waiter.lock))
				continue;
			lk_edge_lines(f, 0);
			budget = lk_edges_below(j + 1, 1, budget - 1);
		}
	}
	budget = lk_edges_in_cycles(budget);
	if (!budget)
		lk_print("(more waits: -G top=N shows them)\n");
}

/* Where a lock only hints at its holder, it may be none. */
static bool lk_cycle_is_proven(const struct lk_cycle *cycle)
{
	u32 i;

	for (i = cycle->path.back; i < cycle->path.n; i++)
		if (!cycle->path.node[i].proven)
			return false;
	return true;
}

static void lk_cycle_table(const struct lk_cycle *cycle)
{
	const struct lk_path *p = &cycle->path;
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX], code[KSYM_SYMBOL_LEN], lock[24];
	u32 i;

	lk_print("%s of %u threads, found %s after it closed:\n",
		 lk_cycle_is_proven(cycle) ? "DEADLOCK" : "DEADLOCK, perhaps,", p->n - p->back,
		 lk_time_text(cycle->found_ns, lock, sizeof(lock)));
	for (i = p->back; i < p->n; i++) {
		const struct lk_hop *n = &p->node[i];
		const struct lk_hop *owner = &p->node[i + 1 < p->n ? i + 1 : p->back];

		lk_hop_name(n->name_is, n->name, n->ip, name, sizeof(name));
		lk_print("  %s/%d waits for %s (", lk_clean_comm(n->comm, comm), n->tid, name);
		lk_print_mode(n->kind, n->mode);
		lk_print(", %s)", lk_address_text(n->lock, lock, sizeof(lock)));
		lk_print(" %s by %s/%d\n", owner->proven ? "held" : "perhaps held",
			 lk_clean_comm(owner->comm, comm), owner->tid);
		if (n->stack)
			lk_print_stack(n->stack, false, "      ", "\n");
		else
			lk_print("      %s\n",
				 lk_code_text(LK_IP(n->ip), true, code, sizeof(code)));
	}
}

static void lk_chain_table(struct list_head *shapes, struct list_head *holders, u64 elapsed_ns)
{
	u64 all_ns = 0;
	char time[24], sum[24];
	u32 n = 0, total = 0;
	struct lk_shape *s;
	struct lk_holder *h;

	list_for_each_entry(s, shapes, order) {
		all_ns += s->total_ns;
		total++;
	}
	lk_print("%s of waits in %s; the longest chain had %u threads\n",
		 lk_time_text(all_ns, sum, sizeof(sum)),
		 lk_time_text(elapsed_ns, time, sizeof(time)), lk_chain.deepest);
	lk_print("%6s %7s %6s %7s %5s %s\n", "TOTAL", "WAITS", "SHARE", "LONGEST", "LOCKS",
		 "CHAIN");
	list_for_each_entry(s, shapes, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_chain_row(s, all_ns);
	}
	lk_table_more(total);
	lk_print("\n%6s %7s %5s %5s %5s %-12s %s\n", "BEHIND", "WAITS", "RUN", "READY", "SLEEP",
		 "KIND", "HOLDER");
	n = total = 0;
	list_for_each_entry(h, holders, order) {
		total++;
		if (n++ < lk_opt.top)
			lk_holder_row(h);
	}
	lk_table_more(total);
	lk_print("\n");
	lk_edges_table();
	if (lk_cycles_nr)
		lk_print("%u deadlocks were seen\n", lk_cycles_nr);
}

/* --- tsv ------------------------------------------------------------------------------------ */

static void lk_chain_tsv_head(void)
{
	lk_print("#locktap 1 chain\n");
	lk_print(
		"#chain\tdepth\ttid\tcomm\tkind\tname\tlock\towner\towner_state\twait_ns\tcount\tmode\tpid\towner_comm\tproven\twhat\tmax_ns\tcaller\tstack\tfound_ns\n");
}

struct lk_tsv_link {
	u32 chain, depth;
	s32 tid, pid, owner;
	const char *comm, *owner_comm, *what;
	u8 kind, mode, name_is, owner_state;
	u64 name, wait_ns, max_ns, count, found_ns;
	unsigned long lock;
	u32 ip, stack;
	bool proven;
};

static void lk_chain_tsv_row(const struct lk_tsv_link *l)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX], code[KSYM_SYMBOL_LEN], lock[24];

	lk_hop_name(l->name_is, l->name, l->ip, name, sizeof(name));
	lk_print("%u\t%u\t%d\t%s\t%s\t%s\t%s\t", l->chain, l->depth, l->tid,
		 lk_clean_comm(l->comm, comm), lk_kind_name[l->kind], name,
		 lk_address_text(l->lock, lock, sizeof(lock)));
	if (l->owner_comm)
		lk_print("%d\t%s\t", l->owner, lk_state_word[l->owner_state]);
	else
		lk_print("0\t?\t");
	lk_print("%llu\t%llu\t%s\t%d\t%s\t%d\t%s\t%llu\t", l->wait_ns, l->count,
		 lk_mode_name[l->mode], l->pid,
		 l->owner_comm ? lk_clean_comm(l->owner_comm, comm) : "-", l->proven, l->what,
		 l->max_ns);
	lk_print("%s\t", lk_code_text(LK_IP(l->ip), true, code, sizeof(code)));
	lk_tsv_stack(l->stack != 0, l->stack);
	lk_print("\t%llu\n", l->found_ns);
}

static void lk_chain_tsv_shape(const struct lk_shape *s, u32 chain)
{
	const struct lk_instance *seen = &s->longest;
	u32 i;

	for (i = 0; i < s->n && s->node[i].waits; i++) {
		const struct lk_shape_node *n = &s->node[i];
		struct lk_shape_owner o = lk_shape_owner(s, i);
		struct lk_tsv_link l = {
			.chain = chain,
			.depth = i,
			.tid = seen->tid[i],
			.pid = seen->pid[i],
			.comm = n->comm,
			.kind = n->kind,
			.mode = n->mode,
			.name_is = n->name_is,
			.name = n->name,
			.lock = seen->lock[i],
			.ip = n->ip,
			.stack = seen->stack[i],
			.wait_ns = s->total_ns,
			.max_ns = seen->ns,
			.count = s->count,
			.what = "chain",
			.owner = o.known ? seen->tid[o.i] : 0,
			.owner_comm = o.known ? s->node[o.i].comm : NULL,
			.owner_state = s->node[o.i].waits ? LK_ST_WAITING : seen->state,
			.proven = o.known && o.proven,
		};

		lk_chain_tsv_row(&l);
	}
}

static void lk_tsv_edge(const struct lk_edge *e, u32 chain, u32 depth, const char *what,
			u64 found_ns)
{
	struct lk_tsv_link l = {
		.chain = chain,
		.depth = depth,
		.tid = e->waiter.tid,
		.pid = e->waiter.pid,
		.comm = e->waiter.comm,
		.kind = e->waiter.kind,
		.mode = e->waiter.mode,
		.name_is = e->waiter.name_is,
		.name = e->waiter.name,
		.lock = e->waiter.lock,
		.ip = e->waiter.ip,
		.stack = e->waiter.stack,
		.wait_ns = e->wait_ns,
		.max_ns = e->wait_ns,
		.count = 1,
		.what = what,
		.found_ns = found_ns,
		.owner = e->owner.tid,
		.owner_comm = e->owned ? e->owner.comm : NULL,
		.owner_state = e->owner.state,
		.proven = e->owned && e->owner.proven,
	};

	lk_chain_tsv_row(&l);
}

/* One chain, to its end or to where it comes back to itself. */
static void lk_tsv_now(u32 first, u32 chain)
{
	struct lk_edge *e = lk_edge_at(first);
	u32 depth;

	for (depth = 0; depth < LK_CHAIN_DEPTH && e->told != chain; depth++) {
		lk_tsv_edge(e, chain, depth, "now", 0);
		e->told = chain;
		if (!e->next)
			return;
		e = lk_edge_at(e->next - 1);
	}
}

/* From each wait that nobody waits behind; a cycle alone from its first wait. */
static u32 lk_chain_tsv_now(u32 chain)
{
	u32 i;

	for (i = 0; i < lk_edges_nr; i++)
		if (!lk_edge_at(i)->followed)
			lk_tsv_now(i, ++chain);
	for (i = 0; i < lk_edges_nr; i++)
		if (!lk_edge_at(i)->told && lk_edge_in_cycle(i + 1))
			lk_tsv_now(i, ++chain);
	return chain;
}

static void lk_cycle_tsv(const struct lk_cycle *cycle, u32 chain, u64 now)
{
	const struct lk_path *p = &cycle->path;
	u32 i;

	for (i = p->back; i < p->n; i++) {
		struct lk_edge e = { .waiter = p->node[i],
				     .owner = p->node[i + 1 < p->n ? i + 1 : p->back],
				     .owned = true,
				     .wait_ns = (lk_hop_waits(&p->node[i]) ?
							 now :
							 cycle->at_ns + cycle->found_ns) -
						p->node[i].begin_ns };

		lk_tsv_edge(&e, chain, i - p->back, "deadlock", cycle->found_ns);
	}
}

static void lk_chain_tsv(struct list_head *shapes, u64 now)
{
	static u32 chain; /* no number comes twice in a run */
	struct lk_shape *s;
	u32 n = 0, i;

	lk_chain_tsv_head();
	list_for_each_entry(s, shapes, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_chain_tsv_shape(s, ++chain);
	}
	chain = lk_chain_tsv_now(chain);
	for (i = lk_cycles_told; i < lk_cycles_nr; i++)
		lk_cycle_tsv(&lk_cycles[i], ++chain, now);
}

/* --- folded: from the one that holds all up to the last waiter ------------------------------ */

static void lk_chain_folded(struct list_head *shapes)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX];
	struct lk_shape *s;
	u32 n = 0, i;

	list_for_each_entry(s, shapes, order) {
		if (n++ >= lk_opt.top)
			break;
		if (s->node[s->n - 1].waits)
			lk_print("%s;", s->cycle ? "[deadlock]" : s->cut ? "[deeper]" : "?");
		for (i = s->n; i--;) {
			const struct lk_shape_node *at = &s->node[i];

			if (at->waits) {
				lk_hop_name(at->name_is, at->name, at->ip, name, sizeof(name));
				lk_print("%s (%s);", name, lk_kind_name[at->kind]);
			}
			lk_print("%s%s", lk_clean_comm(at->comm, comm), i ? ";" : "");
		}
		lk_print(" %llu\n", s->total_ns);
	}
}

/* --- JSON: the form is in locktap(1) ---------------------------------------------------------- */

/* Each lock has the number of its address. */
static u64 lk_lock_key(const struct lk_hop *n)
{
	/* Two programs may have one at the same address. */
	return (u64)n->lock ^ (u64)n->kind << 56 ^ (lk_is_user(n->kind) ? (u64)n->pid << 32 : 0) ^
	       1;
}

static bool lk_json_more;

static void lk_json_lock(const struct lk_hop *n)
{
	char name[LK_NAME_TEXT_MAX], lock[24];
	bool fresh;
	u32 id = lk_id(lk_lock_key(n), &fresh);

	if (!id || !fresh)
		return;
	lk_hop_name(n->name_is, n->name, n->ip, name, sizeof(name));
	lk_print("%s\n{\"id\":\"L%u\",\"kind\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\"}",
		 lk_json_more ? "," : "", id, lk_kind_name[n->kind], name,
		 lk_address_text(n->lock, lock, sizeof(lock)));
	lk_json_more = true;
}

static u32 lk_json_lock_id(const struct lk_hop *n)
{
	bool fresh;

	return lk_id(lk_lock_key(n), &fresh);
}

/* Threads have numbers beside the locks'. */
static void lk_json_thread(const struct lk_hop *n)
{
	char comm[TASK_COMM_LEN];
	bool fresh;

	if (!lk_id((u64)n->tid << 1 | 1ull << 40, &fresh) || !fresh)
		return;
	lk_print("%s\n{\"tid\":%d,\"pid\":%d,\"comm\":\"%s\",\"state\":\"%s\"",
		 lk_json_more ? "," : "", n->tid, n->pid, lk_clean_comm(n->comm, comm),
		 lk_state_word[n->state]);
	if (n->wait && n->stack)
		lk_json_stack("stack", n->stack);
	lk_print("}");
	lk_json_more = true;
}

static void lk_json_wait(const struct lk_edge *e)
{
	char code[KSYM_SYMBOL_LEN];

	lk_print(
		"%s\n{\"tid\":%d,\"lock\":\"L%u\",\"mode\":\"%s\",\"wait_ns\":%llu,\"caller\":\"%s\"",
		lk_json_more ? "," : "", e->waiter.tid, lk_json_lock_id(&e->waiter),
		lk_mode_name[e->waiter.mode], e->wait_ns,
		lk_code_text(LK_IP(e->waiter.ip), true, code, sizeof(code)));
	if (e->waiter.stack)
		lk_json_stack("stack", e->waiter.stack);
	lk_print("}");
	lk_json_more = true;
}

static void lk_json_cycle(const struct lk_cycle *cycle)
{
	const struct lk_path *p = &cycle->path;
	u32 i;

	lk_print("%s\n{\"tids\":[", lk_json_more ? "," : "");
	for (i = p->back; i < p->n; i++)
		lk_print("%s%d", i > p->back ? "," : "", p->node[i].tid);
	lk_print("],\"locks\":[");
	for (i = p->back; i < p->n; i++)
		lk_print("%s\"L%u\"", i > p->back ? "," : "", lk_json_lock_id(&p->node[i]));
	lk_print("],\"at_ns\":%llu,\"found_ns\":%llu}", cycle->at_ns, cycle->found_ns);
	lk_json_more = true;
}

static void lk_json_shape(const struct lk_shape *s)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX], code[KSYM_SYMBOL_LEN];
	u32 i;

	lk_print("%s\n{\"count\":%llu,\"total_ns\":%llu,\"max_ns\":%llu,\"cycle\":%s,",
		 lk_json_more ? "," : "", s->count, s->total_ns, s->longest.ns,
		 s->cycle ? "true" : "false");
	if (s->cycle)
		lk_print("\"back\":%u,", s->back);
	lk_print("\"links\":[");
	for (i = 0; i < s->n; i++) {
		const struct lk_shape_node *n = &s->node[i];

		lk_print("%s{\"comm\":\"%s\",\"tid\":%d", i ? "," : "",
			 lk_clean_comm(n->comm, comm), s->longest.tid[i]);
		if (i)
			lk_print(",\"proven\":%s", lk_is_proven(&s->longest, i) ? "true" : "false");
		if (n->waits) {
			lk_hop_name(n->name_is, n->name, n->ip, name, sizeof(name));
			lk_print(
				",\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"caller\":\"%s\"",
				lk_kind_name[n->kind], lk_mode_name[n->mode], name,
				lk_code_text(LK_IP(n->ip), true, code, sizeof(code)));
			if (s->longest.stack[i])
				lk_json_stack("stack", s->longest.stack[i]);
		} else {
			lk_print(",\"state\":\"%s\"", lk_state_word[s->longest.state]);
			if (s->longest.state_stack)
				lk_json_stack("stack", s->longest.state_stack);
		}
		lk_print("}");
	}
	lk_print("]}");
	lk_json_more = true;
}

static void lk_json_holder(const struct lk_holder *h)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX];

	lk_hop_name(h->name_is, h->name, h->ip, name, sizeof(name));
	lk_print(
		"%s\n{\"tid\":%d,\"pid\":%d,\"comm\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",\"count\":%llu,\"total_ns\":%llu,\"running\":%u,\"runnable\":%u,\"sleeping\":%u",
		lk_json_more ? "," : "", h->tid, h->pid, lk_clean_comm(h->comm, comm),
		lk_kind_name[h->kind], name, h->count, h->total_ns, h->states[LK_ST_RUNNING],
		h->states[LK_ST_RUNNABLE], h->states[LK_ST_SLEEPING]);
	if (h->stack)
		lk_json_stack("stack", h->stack);
	lk_print("}");
	lk_json_more = true;
}

static void lk_json_list(const char *key)
{
	lk_print("\"%s\":[", key);
	lk_json_more = false;
}

static void lk_json_list_end(const char *next)
{
	lk_print("],\n\"%s\":[", next);
	lk_json_more = false;
}

static void lk_chain_json(struct list_head *shapes, struct list_head *holders, u64 elapsed_ns)
{
	struct lk_shape *s;
	struct lk_holder *h;
	u32 i, j, n = 0;

	lk_ids_clear();
	lk_json_more = false;
	lk_print("{\"locktap\":1,\"report\":\"chain\",\"elapsed_ns\":%llu,\n", elapsed_ns);
	lk_json_list("locks");
	for (i = 0; i < lk_edges_nr; i++)
		lk_json_lock(&lk_edge_at(i)->waiter);
	for (i = lk_cycles_told; i < lk_cycles_nr; i++)
		for (j = lk_cycles[i].path.back; j < lk_cycles[i].path.n; j++)
			lk_json_lock(&lk_cycles[i].path.node[j]);
	lk_json_list_end("threads");
	for (i = 0; i < lk_edges_nr; i++)
		lk_json_thread(&lk_edge_at(i)->waiter);
	for (i = 0; i < lk_edges_nr; i++)
		if (lk_edge_at(i)->owned)
			lk_json_thread(&lk_edge_at(i)->owner);
	for (i = lk_cycles_told; i < lk_cycles_nr; i++)
		for (j = lk_cycles[i].path.back; j < lk_cycles[i].path.n; j++)
			lk_json_thread(&lk_cycles[i].path.node[j]);
	lk_json_list_end("waits");
	for (i = 0; i < lk_edges_nr; i++)
		lk_json_wait(lk_edge_at(i));
	lk_json_list_end("holds");
	for (i = 0; i < lk_edges_nr; i++) {
		const struct lk_edge *e = lk_edge_at(i);
		bool fresh = false;

		/* Once for each lock. */
		if (e->owned)
			lk_id(lk_lock_key(&e->waiter) ^ 2, &fresh);
		if (!fresh)
			continue;
		lk_print("%s\n{\"tid\":%d,\"lock\":\"L%u\",\"proven\":%s}", lk_json_more ? "," : "",
			 e->owner.tid, lk_json_lock_id(&e->waiter),
			 e->owner.proven ? "true" : "false");
		lk_json_more = true;
	}
	lk_json_list_end("cycles");
	for (i = lk_cycles_told; i < lk_cycles_nr; i++)
		lk_json_cycle(&lk_cycles[i]);
	lk_json_list_end("chains");
	list_for_each_entry(s, shapes, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_json_shape(s);
	}
	lk_json_list_end("holders");
	n = 0;
	list_for_each_entry(h, holders, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_json_holder(h);
	}
	lk_print("],\n");
}

/* --- DOT: what `locktap graph` draws from JSON, as far as it goes without --------------------- */

static void lk_dot_text(const char *text)
{
	for (; *text; text++)
		lk_print(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void lk_chain_dot(struct list_head *shapes)
{
	char comm[TASK_COMM_LEN], name[LK_NAME_TEXT_MAX];
	struct lk_shape *s;
	u64 most = 1;
	u32 n = 0, i;

	lk_print("digraph locktap {\nrankdir=LR;\nnode [fontname=sans];\nedge [fontname=sans];\n");
	list_for_each_entry(s, shapes, order)
		most = max(most, s->total_ns);
	list_for_each_entry(s, shapes, order) {
		if (n++ >= lk_opt.top)
			break;
		for (i = 0; i < s->n; i++) {
			const struct lk_shape_node *at = &s->node[i];
			struct lk_shape_owner o = lk_shape_owner(s, i);
			unsigned int width = 1 + lk_permille(s->total_ns, most) * 5 / 1000;
			char time[24];

			lk_print("\"t:%s\" [shape=box label=\"%s\"];\n",
				 lk_clean_comm(at->comm, comm), comm);
			if (!at->waits)
				continue;
			lk_hop_name(at->name_is, at->name, at->ip, name, sizeof(name));
			lk_print("\"l:%s:", lk_kind_name[at->kind]);
			lk_dot_text(name);
			lk_print("\" [shape=ellipse label=\"");
			lk_dot_text(name);
			lk_print("\\n%s\"];\n\"t:%s\" -> \"l:%s:", lk_kind_name[at->kind], comm,
				 lk_kind_name[at->kind]);
			lk_dot_text(name);
			lk_print("\" [penwidth=%u%s label=\"%s\"];\n", width,
				 s->cycle ? " color=red" : "",
				 lk_time_text(s->total_ns, time, sizeof(time)));
			if (!o.known)
				continue;
			lk_print("\"l:%s:", lk_kind_name[at->kind]);
			lk_dot_text(name);
			lk_print("\" -> \"t:%s\" [style=%s penwidth=%u%s];\n",
				 lk_clean_comm(s->node[o.i].comm, comm),
				 o.proven ? "solid" : "dashed", width,
				 s->cycle ? " color=red" : "");
		}
	}
	lk_print("}\n");
}

/* --- The report ------------------------------------------------------------------------------- */

/* The longest of the next report is its own. */
static void lk_chain_next(void)
{
	u32 i;

	for (i = 0; i < LOCKTAP_CHAINS; i++)
		WRITE_ONCE(lk_shape_at(i)->longest.ns, 0);
	for (i = 0; i < LOCKTAP_CHAINS; i++)
		memset(lk_holders[i].states, 0, sizeof(lk_holders[i].states));
}

/*
 * A script that reports for days meets ever new chains: those in which nothing has
 * waited since the last report make room. First a chain is hidden from those who look
 * for one; a report later, when no link has its number any more, it is free.
 */
static DECLARE_BITMAP(lk_shapes_live, LOCKTAP_CHAINS + 1);
static DECLARE_BITMAP(lk_holders_live, LOCKTAP_CHAINS + 1);

static void lk_link_is_live(const struct lk_link *l)
{
	u32 shape = READ_ONCE(l->shape), holder = READ_ONCE(l->holder);

	if (shape <= LOCKTAP_CHAINS)
		__set_bit(shape, lk_shapes_live);
	if (holder <= LOCKTAP_CHAINS)
		__set_bit(holder, lk_holders_live);
}

static void lk_live_find(void)
{
	unsigned int i, cpu, n;

	bitmap_zero(lk_shapes_live, LOCKTAP_CHAINS + 1);
	bitmap_zero(lk_holders_live, LOCKTAP_CHAINS + 1);
	for (i = 0; i < LK_WAIT_SETS * LK_WAYS; i++)
		if (lk_wait_task_at(i))
			lk_link_is_live(lk_link_of(lk_wait_at(i)));
	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		for (n = 0; lk_chain_cpus[cpu] && n < LK_SPIN_DEPTH; n++)
			lk_link_is_live(&lk_chain_cpus[cpu]->spin[n]);
}

static void lk_sum_clear(u32 i, bool holders)
{
	unsigned int cpu;

	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		if (lk_chain_cpus[cpu])
			memset(holders ? &lk_chain_cpus[cpu]->holder[i] :
					 &lk_chain_cpus[cpu]->shape[i],
			       0, sizeof(struct lk_chain_sum));
}

/* Whether it is to be forgotten now; *key is its key. */
static bool lk_leaves(u64 *key, u64 ns, u32 i, const unsigned long *live)
{
	if (!*key || ns || test_bit(i + 1, live))
		return false;
	if (*key == LK_LEAVES)
		return true;
	WRITE_ONCE(*key, LK_LEAVES);
	return false;
}

static void lk_chain_forget(void)
{
	u32 i;

	lk_live_find();
	for (i = 0; i < LOCKTAP_CHAINS; i++) {
		struct lk_shape *s = lk_shape_at(i);
		struct lk_holder *h = &lk_holders[i];

		if (s->n && lk_leaves(&s->hash, s->last_ns, i, lk_shapes_live)) {
			lk_sum_clear(i, false);
			s->told_ns = s->told_count = 0;
			s->n = 0;
			smp_store_release(&s->hash, 0);
		}
		if (h->ready && lk_leaves(&h->key, h->total_ns, i, lk_holders_live)) {
			lk_sum_clear(i, true);
			h->told_ns = h->told_count = 0;
			h->stack = 0;
			h->ready = false;
			smp_store_release(&h->key, 0);
		}
	}
}

static void lk_report_chain(u64 elapsed_ns, u64 now, bool last)
{
	struct list_head shapes, holders;
	struct lk_cpu *cpu = lk_this_cpu();

	lk_names_find();
	if (cpu)
		cpu->may_look = 1;
	lk_edges_find(now, last);
	if (cpu)
		cpu->may_look = 0;
	lk_shapes_merge(&shapes);
	lk_holders_sort(&holders);
	switch (lk_opt.format) {
	case LK_TABLE:
		lk_chain_table(&shapes, &holders, elapsed_ns);
		break;
	case LK_TSV:
		lk_chain_tsv(&shapes, now);
		break;
	case LK_FOLDED:
		lk_chain_folded(&shapes);
		break;
	case LK_JSON:
		lk_chain_json(&shapes, &holders, elapsed_ns);
		break;
	case LK_DOT:
		lk_chain_dot(&shapes);
		break;
	}
	lk_cycles_told = lk_cycles_nr;
	lk_chain_next();
	if (!last)
		lk_chain_forget();
}

/* A deadlock, when it is found: at once where people read, else as a warning. */
static void lk_chain_tell(const struct lk_cycle *cycle)
{
	const struct lk_path *p = &cycle->path;
	char comm[TASK_COMM_LEN];

	if (lk_opt.format == LK_TABLE) {
		lk_names_find();
		lk_cycle_table(cycle);
		lk_flush();
		return;
	}
	_stp_warn("%sdeadlock of %u threads, among them %s/%d\n",
		  lk_cycle_is_proven(cycle) ? "" : "perhaps a ", p->n - p->back,
		  lk_clean_comm(p->node[p->back].comm, comm), p->node[p->back].tid);
}

#endif
