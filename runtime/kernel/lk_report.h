/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports: the CPUs' tables merged, sorted and written as a table, tsv,
 * folded stacks or JSON, always with the loss line.
 */
#ifndef LK_REPORT_H
#define LK_REPORT_H

#include "lk_base.h"
#include "lk_record.h"
#include "lk_option.h"

#define LK_HEADS 4096
#define LK_WIDTH 100 /* columns of a table */

static struct lk_rec *lk_heads[LK_HEADS];
static char lk_out[8192];
static unsigned int lk_out_len;
static u32 lk_reports;
static bool lk_finished;

static void lk_flush(void)
{
	if (lk_out_len)
		_stp_print(lk_out);
	lk_out_len = 0;
	lk_out[0] = '\0';
}

static __printf(1, 2) void lk_print(const char *fmt, ...)
{
	va_list args;

	if (lk_out_len > sizeof(lk_out) - 1024)
		lk_flush();
	va_start(args, fmt);
	lk_out_len += vscnprintf(lk_out + lk_out_len, sizeof(lk_out) - lk_out_len, fmt, args);
	va_end(args);
}

/* Task names are whatever a user made them: nothing that breaks a line or a string. */
static const char *lk_clean(char *s)
{
	char *p;

	for (p = s; *p; p++)
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\' || *p == ';')
			*p = '?';
	return s;
}

static const char *lk_address_text(unsigned long addr, char *buf, size_t size)
{
	if (!lk_opt.addresses || !addr)
		return "-";
	scnprintf(buf, size, "0x%lx", addr);
	return buf;
}

/* function+0xoffset [module] of a return address; without the offset for tables. */
static void lk_code_text(unsigned long ip, bool offset, char *buf, size_t size)
{
	char sym[KSYM_SYMBOL_LEN], *slash, *plus, *mod;

	if (!ip) {
		strscpy(buf, "?", size);
		return;
	}
	sprint_symbol(sym, ip);
	plus = strchr(sym, '+');
	slash = strchr(sym, '/');
	if (!plus || !slash) { /* a raw address: not for everybody's eyes */
		strscpy(buf, "?", size);
		return;
	}
	mod = strchr(slash, '[');
	*slash = '\0';
	if (!offset)
		*plus = '\0';
	if (mod && strlen(sym) + 1 + strlen(mod) >= size) /* the function's name comes first */
		mod = NULL;
	scnprintf(buf, size, "%s%s%s", sym, mod ? " " : "", mod ? mod : "");
}

static const struct lk_percpu_sym *lk_percpu_sym(unsigned long off)
{
	unsigned int lo = 0, hi = lk_percpu_nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (lk_percpu_syms[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || off - lk_percpu_syms[lo - 1].off >= lk_percpu_syms[lo - 1].size)
		return NULL;
	return &lk_percpu_syms[lo - 1];
}

/* The lock's name by symbol; `?` where it has none. */
static void lk_lock_name(enum lk_name is, u64 name, char *buf, size_t size)
{
	char sym[KSYM_SYMBOL_LEN], *plus, *slash;
	unsigned long off;

	strscpy(buf, "?", size);
	if (is == LK_NAME_CALLER || is == LK_NAME_TEXT)
		return;
	if (is == LK_NAME_PERCPU) {
		const struct lk_percpu_sym *s = lk_percpu_sym(name);

		if (s) {
			off = name - s->off;
			scnprintf(buf, size, off ? "%s+0x%lx" : "%s", s->name, off);
			return;
		}
		name += lk_kernel.percpu;
	}
	sprint_symbol(sym, name);
	plus = strchr(sym, '+');
	slash = strchr(sym, '/');
	if (!plus || !slash)
		return;
	*slash = '\0';
	if (!strcmp(plus, "+0x0"))
		*plus = '\0';
	strscpy(buf, sym, size);
}

static void lk_rec_lock_name(const struct lk_rec *r, char *buf, size_t size)
{
	if (r->text) {
		strscpy(buf, r->text, size);
		return;
	}
	lk_lock_name(r->name_is, r->name, buf, size);
}

/* Exchange the tables; wait for handlers that are still in the old one. */
static u32 lk_flip(void)
{
	u32 old = lk_turn & 1, spins = 10000000;
	unsigned int cpu;

	if (!lk_opt.interval_s)
		return old;
	WRITE_ONCE(lk_turn, lk_turn + 1);
	smp_mb(); /* pairs with lk_record() */
	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		while (lk_cpus[cpu] && smp_load_acquire(&lk_cpus[cpu]->in_record) && --spins)
			cpu_relax();
	return old;
}

static void lk_merge_into(struct lk_rec *to, const struct lk_rec *from)
{
	unsigned int i;

	to->count += from->count;
	to->failed += from->failed;
	to->total_ns += from->total_ns;
	to->spin_ns += from->spin_ns;
	to->block_ns += from->block_ns;
	to->min_ns = min(to->min_ns, from->min_ns);
	for (i = 0; i < LK_BUCKETS; i++)
		to->hist[i] += from->hist[i];
	if (from->max_ns > to->max_ns) {
		to->max_ns = from->max_ns;
		to->lock = from->lock;
		to->caller = from->caller;
		to->owner = from->owner;
		memcpy(to->owner_comm, from->owner_comm, sizeof(to->owner_comm));
	}
}

static int lk_by_total(void *priv, const struct list_head *a, const struct list_head *b)
{
	u64 x = list_entry(a, struct lk_rec, order)->total_ns;
	u64 y = list_entry(b, struct lk_rec, order)->total_ns;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* FNV-1a */
static u64 lk_text_hash(const char *text)
{
	u64 hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (u8)*text) * 0x100000001b3ull;
	return hash;
}

/*
 * Give a record its lock's NAME. Records are kept by lock or caller, so that
 * nothing is looked up while the machine runs; here those of one NAME
 * come together (but by lock each lock keeps its row).
 */
static void lk_rec_find_name(struct lk_rec *r)
{
	switch (r->name_is) {
	case LK_NAME_STATIC:
		r->text = lk_fixed_name(r->name);
		break;
	case LK_NAME_PERCPU:
		r->text = lk_percpu_name(r->name);
		break;
	case LK_NAME_CALLER:
		r->text = lk_site_name(lk_opt.by == LK_BY_LOCK ? r->caller : r->name);
		break;
	}
	if (!r->text || lk_opt.by == LK_BY_LOCK)
		return;
	r->name_is = LK_NAME_TEXT;
	r->name = lk_text_hash(r->text);
	r->hash = lk_mix(lk_mix(r->kind << 8 | r->mode, r->name), r->by) >> 32;
}

static void lk_merge(u32 which, struct list_head *rows)
{
	unsigned int cpu;
	u32 i;

	lk_names_find();
	INIT_LIST_HEAD(rows);
	memset(lk_heads, 0, sizeof(lk_heads));
	for (cpu = 0; cpu < lk_nr_cpus; cpu++) {
		struct lk_table *t = lk_cpus[cpu] ? &lk_cpus[cpu]->table[which] : NULL;

		for (i = 0; t && i < t->used; i++) {
			struct lk_rec *r = lk_rec(t, i), *m, **head;

			lk_rec_find_name(r);
			head = &lk_heads[r->hash % LK_HEADS];
			for (m = *head; m; m = m->next)
				if (m->name == r->name && m->by == r->by && m->kind == r->kind &&
				    m->mode == r->mode && m->name_is == r->name_is)
					break;
			if (m) {
				lk_merge_into(m, r);
				continue;
			}
			r->next = *head;
			*head = r;
			list_add_tail(&r->order, rows);
		}
	}
	list_sort(NULL, rows, lk_by_total);
}

/* 1234 ns and the like, in at most six characters. */
static const char *lk_time_text(u64 ns, char *buf, size_t size)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	u64 scale = 1;
	unsigned int u = 0;

	while (u < 3 && ns / scale >= 1000) {
		scale *= 1000;
		u++;
	}
	if (!u || ns / scale >= 100)
		scnprintf(buf, size, "%llu%s", ns / scale, unit[u]);
	else if (ns / scale >= 10)
		scnprintf(buf, size, "%llu.%llu%s", ns / scale, ns % scale * 10 / scale, unit[u]);
	else
		scnprintf(buf, size, "%llu.%02llu%s", ns / scale, ns % scale * 100 / scale,
			  unit[u]);
	return buf;
}

static unsigned int lk_permille(u64 part, u64 whole)
{
	return whole ? div64_u64(part * 1000 + whole / 2, whole) : 0;
}

static const char *lk_kind_text(const struct lk_rec *r, char *buf, size_t size)
{
	if (r->mode == LK_X)
		return lk_kind_name[r->kind];
	scnprintf(buf, size, "%s:%s", lk_kind_name[r->kind], lk_mode_name[r->mode]);
	return buf;
}

/* NAME/TID, of which the name is cut to fit into `width`. */
static void lk_owner_text(const struct lk_rec *r, char *buf, size_t size, int width)
{
	char comm[TASK_COMM_LEN], tid[16];
	int len;

	strscpy(comm, r->owner_comm, sizeof(comm));
	len = scnprintf(tid, sizeof(tid), "/%d", r->owner);
	if (!r->owner)
		strscpy(buf, "-", size);
	else
		scnprintf(buf, size, "%.*s%s", max(width - len, 1), comm[0] ? lk_clean(comm) : "?",
			  tid);
}

static void lk_who_text(const struct lk_rec *r, char *buf, size_t size)
{
	char comm[TASK_COMM_LEN];

	strscpy(comm, r->comm, sizeof(comm));
	scnprintf(buf, size, "%s/%llu", lk_clean(comm), r->by);
}

static bool lk_by_who(void)
{
	return lk_opt.by == LK_BY_TASK || lk_opt.by == LK_BY_PROCESS || lk_opt.by == LK_BY_CGROUP;
}

static void lk_print_stack(u32 id, bool outermost_first, const char *before, const char *after)
{
	char code[KSYM_SYMBOL_LEN];
	struct lk_stack *s;
	u32 i;

	if (!id) {
		lk_print("%s[stack table full]%s", before, after);
		return;
	}
	s = lk_stack_at(id - 1);
	for (i = 0; i < s->n; i++) {
		u32 at = outermost_first ? s->n - 1 - i : i;

		lk_code_text(LK_IP(s->ips[at]), !outermost_first, code, sizeof(code));
		if (outermost_first)
			lk_print("%s%s", i ? ";" : "", code);
		else
			lk_print("%s%s%s", before, code, after);
	}
}

static void lk_table_hist(const struct lk_rec *r)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	unsigned int i, lo = LK_BUCKETS, hi = 0, most = 0;
	char from[24], to[24];

	for (i = 0; i < LK_BUCKETS; i++)
		if (r->hist[i]) {
			lo = min(lo, i);
			hi = i;
			most = max(most, r->hist[i]);
		}
	for (i = lo; i <= hi && lo < LK_BUCKETS; i++)
		lk_print("    %7s - %-7s %9u |%-40.*s|\n",
			 lk_time_text(i ? 1ull << i : 0, from, sizeof(from)),
			 lk_time_text(2ull << i, to, sizeof(to)), r->hist[i],
			 (int)div_u64((u64)r->hist[i] * 40 + most - 1, most), bar);
}

struct lk_widths {
	int kind, who, owner, name, caller;
};

/* Make a column as wide as `wanted` at the cost of another, which keeps `least`. */
static void lk_widen(int *column, int wanted, int *other, int least)
{
	int more = min(wanted - *column, *other - least);

	if (more > 0) {
		*column += more;
		*other -= more;
	}
}

static void lk_table_widths(struct list_head *rows, struct lk_widths *w)
{
	char buf[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	*w = (struct lk_widths){ .kind = 4, .owner = 5, .name = 4, .who = 0 };
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		w->kind = max_t(int, w->kind, strlen(lk_kind_text(r, buf, sizeof(buf))));
		lk_owner_text(r, buf, sizeof(buf), sizeof(buf));
		w->owner = max_t(int, w->owner, strlen(buf));
		lk_rec_lock_name(r, buf, sizeof(buf));
		w->name = max_t(int, w->name, strlen(buf));
		if (lk_by_who()) {
			lk_who_text(r, buf, sizeof(buf));
			w->who = max_t(int, w->who, strlen(buf));
		} else if (lk_opt.by == LK_BY_LOCK && lk_opt.addresses) {
			w->who = 18;
		}
	}
	w->owner = min(w->owner, 14);
	w->name = min(w->name, 24);
	/* The figures and the spaces between columns take 46. */
	w->caller = LK_WIDTH - 46 - w->kind - w->owner - w->name - (w->who ? w->who + 1 : 0);
	lk_widen(&w->caller, 16, &w->owner, 10);
	lk_widen(&w->caller, 12, &w->name, 14);
	w->caller = max(w->caller, 1);
}

static void lk_table_row(const struct lk_rec *r, const struct lk_widths *w, u64 all_ns)
{
	char kind[24], name[KSYM_SYMBOL_LEN], owner[40], who[40], caller[KSYM_SYMBOL_LEN];
	char total[24], avg[24], max[24];
	unsigned int share = lk_permille(r->total_ns, all_ns);

	lk_rec_lock_name(r, name, sizeof(name));
	lk_owner_text(r, owner, sizeof(owner), w->owner);
	lk_code_text(r->caller, false, caller, min_t(size_t, sizeof(caller), w->caller + 1));
	lk_print("%-*s ", w->kind, lk_kind_text(r, kind, sizeof(kind)));
	if (w->who) {
		if (lk_by_who())
			lk_who_text(r, who, sizeof(who));
		else
			scnprintf(who, sizeof(who), "0x%lx", r->lock);
		lk_print("%-*.*s ", w->who, w->who, who);
	}
	lk_print("%-*.*s %9llu %6s %6s %6s %3u.%u%% %3u%% %-*.*s %.*s\n", w->name, w->name, name,
		 r->count, lk_time_text(r->total_ns, total, sizeof(total)),
		 lk_time_text(div64_u64(r->total_ns, r->count), avg, sizeof(avg)),
		 lk_time_text(r->max_ns, max, sizeof(max)), share / 10, share % 10,
		 (lk_permille(r->spin_ns, r->total_ns) + 5) / 10, w->owner, w->owner, owner,
		 w->caller, caller);
	if (lk_opt.by == LK_BY_STACK)
		lk_print_stack(r->by, false, "        ", "\n");
	if (lk_opt.hist)
		lk_table_hist(r);
}

static void lk_report_table(struct list_head *rows, u64 elapsed_ns)
{
	struct lk_widths w;
	u64 all_ns = 0, waits = 0;
	struct lk_rec *r;
	u32 n = 0, total = 0;
	char time[24], sum[24];

	list_for_each_entry(r, rows, order) {
		all_ns += r->total_ns;
		waits += r->count;
		total++;
	}
	lk_table_widths(rows, &w);
	lk_print("%llu contended waits, %s in all, in %s\n", waits,
		 lk_time_text(all_ns, sum, sizeof(sum)),
		 lk_time_text(elapsed_ns, time, sizeof(time)));
	lk_print("%-*s ", w.kind, "KIND");
	if (w.who)
		lk_print("%-*s ", w.who,
			 lk_opt.by == LK_BY_LOCK    ? "LOCK" :
			 lk_opt.by == LK_BY_TASK    ? "TASK" :
			 lk_opt.by == LK_BY_PROCESS ? "PROCESS" :
						      "CGROUP");
	lk_print("%-*s %9s %6s %6s %6s %6s %4s %-*s %s\n", w.name, "NAME", "CONTENDED", "TOTAL",
		 "AVG", "MAX", "SHARE", "SPIN", w.owner, "OWNER", "CALLER");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_table_row(r, &w, all_ns);
	}
	if (total > lk_opt.top)
		lk_print("(%u more rows: -G top=%u shows them)\n", total - lk_opt.top, total);
}

static void lk_hist_text(const struct lk_rec *r)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < LK_BUCKETS; i++)
		if (r->hist[i]) {
			lk_print("%s%u:%u", any ? "," : "", i, r->hist[i]);
			any = true;
		}
}

static void lk_report_tsv(struct list_head *rows)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("#locktap 1 contend\n");
	lk_print(
		"#kind\tmode\tname\tlock\tcontended\tfailed\ttotal_ns\tavg_ns\tmin_ns\tmax_ns\tspin_ns\tblock_ns\towner\tcaller\tstack\tid\tcomm\thist\n");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_code_text(r->caller, true, caller, sizeof(caller));
		strscpy(comm, r->comm, sizeof(comm));
		lk_print("%s\t%s\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%d\t%s\t",
			 lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			 lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->failed,
			 r->total_ns, div64_u64(r->total_ns, r->count), r->min_ns, r->max_ns,
			 r->spin_ns, r->block_ns, r->owner, caller);
		if (lk_opt.by == LK_BY_STACK)
			lk_print_stack(r->by, true, "", "");
		else
			lk_print("-");
		if (lk_by_who())
			lk_print("\t%llu\t%s\t", r->by, lk_clean(comm));
		else
			lk_print("\t-\t-\t");
		if (lk_opt.hist)
			lk_hist_text(r);
		else
			lk_print("-");
		lk_print("\n");
	}
}

static void lk_report_folded(struct list_head *rows)
{
	struct lk_rec *r;
	u32 n = 0;

	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_print_stack(r->by, true, "", "");
		lk_print(" %llu\n", r->total_ns);
	}
}

static void lk_json_stack(u32 id)
{
	char code[KSYM_SYMBOL_LEN];
	u32 i;

	lk_print(",\"stack\":[");
	for (i = 0; id && i < lk_stack_at(id - 1)->n; i++) {
		lk_code_text(LK_IP(lk_stack_at(id - 1)->ips[i]), true, code, sizeof(code));
		lk_print("%s\"%s\"", i ? "," : "", code);
	}
	lk_print("]");
}

static void lk_json_hist(const struct lk_rec *r)
{
	unsigned int i, last = LK_BUCKETS;

	while (last && !r->hist[last - 1])
		last--;
	lk_print(",\"hist\":[");
	for (i = 0; i < last; i++)
		lk_print("%s%u", i ? "," : "", r->hist[i]);
	lk_print("]");
}

static void lk_report_json(struct list_head *rows, u64 elapsed_ns)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print(
		"{\"locktap\":1,\"report\":\"contend\",\"by\":\"%s\",\"elapsed_ns\":%llu,\"rows\":[",
		lk_by_word[lk_opt.by], elapsed_ns);
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_code_text(r->caller, true, caller, sizeof(caller));
		lk_print(
			"%s\n{\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\",\"contended\":%llu,\"failed\":%llu,\"total_ns\":%llu,\"avg_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu,\"spin_ns\":%llu,\"block_ns\":%llu,\"owner\":%d,\"caller\":\"%s\"",
			n > 1 ? "," : "", lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->failed,
			r->total_ns, div64_u64(r->total_ns, r->count), r->min_ns, r->max_ns,
			r->spin_ns, r->block_ns, r->owner, caller);
		if (lk_opt.by == LK_BY_STACK)
			lk_json_stack(r->by);
		if (lk_by_who()) {
			strscpy(comm, r->comm, sizeof(comm));
			lk_print(",\"id\":%llu,\"comm\":\"%s\"", r->by, lk_clean(comm));
		}
		if (lk_opt.hist)
			lk_json_hist(r);
		lk_print("}");
	}
	lk_print("],\n");
}

static u64 lk_sites_unarmed; /* tapset/lock_site.stp's count */

struct lk_loss {
	const char *key;
	u64 value;
	const char *text; /* in a table: only where the value is not 0 */
};

static void lk_counts_sum(struct lk_counts *sum)
{
	unsigned int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		for (i = 0; lk_cpus[cpu] && i < sizeof(*sum) / sizeof(u64); i++)
			((u64 *)sum)[i] += ((u64 *)&lk_cpus[cpu]->counts)[i];
}

/* What this kernel, or this run, cannot show. */
static const struct {
	const char *word;
	const char *text;
} lk_blinds[] = {
	{ "virt_spin_lock",
	  "waits for spinlocks are counted, not timed: this guest has a test-and-set lock" },
	{ "spin_first_waiter",
	  "a spinlock's first waiter is counted, not timed: run `locktap prep` (it needs the kernel's debug information)" },
	{ "spin_first_waiter_count",
	  "a spinlock's first waiter is not seen: stap needs /boot/System.map-RELEASE" },
	{ "rwsem_spinner",
	  "a writer that spins for a rwsem is not seen: stap needs /boot/System.map-RELEASE" },
	{ "percpu_rwsem_writer",
	  "a percpu_rwsem's writer behind readers is not seen: stap needs /boot/System.map-RELEASE" },
	{ "names",
	  "locks in allocated memory have no names: run `locktap prep` (it needs the kernel's debug information)" },
};

static u32 lk_blind(void)
{
	u32 blind = 0;

	if (!lk_kernel.sees_entry)
		blind |= 1u << 2;
	else if (lk_kernel.virt_spin)
		blind |= 1u << 0;
	else if (!lk_kernel.sees_pending)
		blind |= 1u << 1;
	if (!lk_kernel.sees_rwsem)
		blind |= 1u << 3;
	if (!lk_kernel.sees_percpu)
		blind |= 1u << 4;
	if (!lk_names_nr)
		blind |= 1u << 5;
	return blind;
}

/* The words with commas between, `-` for none; or their texts. */
static void lk_print_blind(bool text)
{
	u32 blind = lk_blind();
	unsigned int i;
	bool any = false;

	for (i = 0; i < ARRAY_SIZE(lk_blinds); i++)
		if (blind & 1u << i) {
			lk_print("%s%s",
				 text ? "; " :
				 any  ? "," :
					"",
				 text ? lk_blinds[i].text : lk_blinds[i].word);
			any = true;
		}
	if (!any && !text)
		lk_print("-");
}

static void lk_report_loss(void)
{
	struct lk_counts s;
	struct lk_loss loss[16];
	unsigned int n = 0, i;
	const char *sep = "";

	lk_counts_sum(&s);
#define LK_LOSS(k, v, t) (loss[n++] = (struct lk_loss){ .key = k, .value = v, .text = t })
	LK_LOSS("seen", s.seen, NULL);
	LK_LOSS("recorded", s.recorded, NULL);
	LK_LOSS("brief", s.brief, "shorter than min_us");
	LK_LOSS("filtered", s.filtered, "filtered out");
	LK_LOSS("full", s.full, "lost, record table full (-DLOCKTAP_RECORDS=N)");
	LK_LOSS("waits_full", s.waits_full, "lost, too many waits at once (-DLOCKTAP_WAITS=N)");
	LK_LOSS("stacks_full", s.stacks_full,
		"without stack, stack table full (-DLOCKTAP_STACKS=N)");
	LK_LOSS("deep", s.deep, "stacks cut");
	LK_LOSS("skipped", lk_skips(), "probe hits skipped by stap or missed by kprobes");
	LK_LOSS("unmatched", s.unmatched, "begins or ends without their partner");
	LK_LOSS("open", lk_open_waits(), "waits not over yet");
	LK_LOSS("inner", s.inner, "waits on a lock's own internal lock, part of the outer wait");
	LK_LOSS("untimed", s.entries > s.queued ? s.entries - s.queued : 0, "waits not timed");
	LK_LOSS("unarmed", lk_sites_unarmed, "places of the chosen locks that cannot be probed");
#undef LK_LOSS
	switch (lk_opt.format) {
	case LK_JSON:
		lk_print("\"loss\":{");
		for (i = 0; i < n; i++)
			lk_print("\"%s\":%llu,", loss[i].key, loss[i].value);
		lk_print("\"walks\":%llu,\"known\":%llu,\"blind\":\"", s.walks, s.known);
		lk_print_blind(false);
		lk_print("\"}}\n");
		break;
	case LK_TABLE:
		lk_print("loss: %llu waits seen, %llu recorded", s.seen, s.recorded);
		for (i = 0; i < n; i++)
			if (loss[i].text && loss[i].value)
				lk_print("; %llu %s", loss[i].value, loss[i].text);
		lk_print_blind(true);
		lk_print("\n");
		break;
	default:
		lk_print("#loss ");
		for (i = 0; i < n; i++, sep = " ")
			lk_print("%s%s=%llu", sep, loss[i].key, loss[i].value);
		lk_print(" walks=%llu known=%llu blind=", s.walks, s.known);
		lk_print_blind(false);
		lk_print("\n");
	}
}

/*
 * One report; the last one runs after all probes are gone, in a process:
 * with many rows the symbols take a while, so interrupts are let in.
 */
static void lk_report(bool last)
{
	struct list_head rows;
	u64 now = lk_now_ns();
	bool masked = irqs_disabled();
	u32 which;

	if (!lk_opt.started || lk_finished)
		return;
	lk_finished = last;
	which = lk_flip();
	if (last && !in_interrupt() && masked)
		local_irq_enable();
	lk_merge(which, &rows);
	if (lk_reports++ && lk_opt.format != LK_JSON)
		lk_print("\n");
	switch (lk_opt.format) {
	case LK_TABLE:
		lk_report_table(&rows, now - lk_opt.start_ns);
		break;
	case LK_TSV:
		lk_report_tsv(&rows);
		break;
	case LK_FOLDED:
		lk_report_folded(&rows);
		break;
	case LK_JSON:
		lk_report_json(&rows, now - lk_opt.start_ns);
		break;
	}
	lk_report_loss();
	lk_flush();
	lk_opt.start_ns = now;
	if (lk_opt.interval_s) {
		unsigned int cpu;

		for (cpu = 0; cpu < lk_nr_cpus; cpu++)
			if (lk_cpus[cpu])
				lk_table_clear(&lk_cpus[cpu]->table[which]);
	}
	if (last && !in_interrupt() && masked)
		local_irq_disable();
}

#endif
