/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all reports are made with: the CPUs' tables merged and sorted, and
 * the parts of a row as text.
 */
#ifndef LK_ROWS_H
#define LK_ROWS_H

#include "lk_base.h"
#include "lk_record.h"
#include "lk_option.h"

#define LK_HEADS 4096
#define LK_WIDTH 100 /* columns of a table */

static struct lk_rec *lk_heads[LK_HEADS];
static char lk_out[8192];
static unsigned int lk_out_len;

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

static void lk_code_look(unsigned long ip, bool offset, char *buf, size_t size)
{
	char sym[KSYM_SYMBOL_LEN], *slash, *plus, *mod;

	touch_nmi_watchdog(); /* a long report is made with interrupts masked */
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

/*
 * What has been looked up in this report: a module's symbols are searched one by
 * one, and a report with stacks asks for the same ones again and again.
 */
#define LK_CODE_TEXTS 1024
#define LK_CODE_TEXT_MAX 104

static struct lk_code {
	unsigned long ip; /* 0: nothing here */
	char text[2][LK_CODE_TEXT_MAX]; /* without the offset, and with it */
} lk_codes[LK_CODE_TEXTS];

static void lk_codes_clear(void)
{
	unsigned int i;

	for (i = 0; i < LK_CODE_TEXTS; i++)
		lk_codes[i].ip = 0;
}

/* function+0xoffset [module] of a return address; without the offset for tables. */
static const char *lk_code_text(unsigned long ip, bool offset, char *buf, size_t size)
{
	struct lk_code *c = &lk_codes[hash_long(ip, ilog2(LK_CODE_TEXTS))];

	if (!ip) {
		strscpy(buf, "?", size);
		return buf;
	}
	if (lk_is_place(ip)) {
		lk_user_place_text(ip, buf, size);
		return buf;
	}
	if (size < LK_CODE_TEXT_MAX) { /* cut in its own way */
		lk_code_look(ip, offset, buf, size);
		return buf;
	}
	if (c->ip != ip) {
		lk_code_look(ip, false, c->text[0], LK_CODE_TEXT_MAX);
		lk_code_look(ip, true, c->text[1], LK_CODE_TEXT_MAX);
		c->ip = ip;
	}
	strscpy(buf, c->text[offset], size);
	return buf;
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

/* The lock's NAME; of one in allocated memory by the caller that waits for it. */
static void lk_key_name(enum lk_name is, u64 name, char *buf, size_t size)
{
	const char *text = is == LK_NAME_STATIC ? lk_fixed_name(name) :
			   is == LK_NAME_PERCPU ? lk_percpu_name(name) :
			   is == LK_NAME_CALLER ? lk_site_name(name) :
			   is == LK_NAME_USER	? lk_user_place_name(name) :
						  NULL;

	if (text) {
		strscpy(buf, text, size);
		if (is == LK_NAME_USER) /* a program's debug information has said so */
			lk_clean(buf);
	} else if (is == LK_NAME_USER) {
		lk_user_place_text(name, buf, size);
	} else {
		lk_lock_name(is, name, buf, size);
	}
}

static void lk_rec_lock_name(const struct lk_rec *r, char *buf, size_t size)
{
	if (r->text) {
		strscpy(buf, r->text, size);
		return;
	}
	if (lk_is_user(r->kind)) {
		lk_user_place_text(r->user_name, buf, size);
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
	to->contended += from->contended;
	to->tryfail += from->tryfail;
	to->raw_ns += from->raw_ns;
	to->readers += from->readers;
	to->total_ns += from->total_ns;
	to->spin_ns += from->spin_ns;
	to->block_ns += from->block_ns;
	to->min_ns = min(to->min_ns, from->min_ns);
	if (lk_opt.report == LK_BLAME)
		lk_blame_merge(to, from);
	for (i = 0; i < LK_BUCKETS && lk_opt.report != LK_BLAME; i++)
		to->hist[i] += from->hist[i];
	if (from->max_ns > to->max_ns) {
		to->max_ns = from->max_ns;
		to->lock = from->lock;
		to->user_name = from->user_name;
		to->caller = from->caller;
		to->max_stack = from->max_stack;
		to->owner = from->owner;
		memcpy(to->owner_comm, from->owner_comm, sizeof(to->owner_comm));
	}
}

static void lk_counts_sum(struct lk_counts *sum)
{
	unsigned int cpu, i;

	memset(sum, 0, sizeof(*sum));
	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		for (i = 0; lk_cpus[cpu] && i < sizeof(*sum) / sizeof(u64); i++)
			((u64 *)sum)[i] += ((u64 *)&lk_cpus[cpu]->counts)[i];
}

static int lk_by_total(void *priv, const struct list_head *a, const struct list_head *b)
{
	u64 x = list_entry(a, struct lk_rec, order)->total_ns;
	u64 y = list_entry(b, struct lk_rec, order)->total_ns;

	if (x == y) { /* rows of failed trylocks alone have no time */
		x = list_entry(a, struct lk_rec, order)->tryfail;
		y = list_entry(b, struct lk_rec, order)->tryfail;
	}
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
	u64 offset;

	switch (r->name_is) {
	case LK_NAME_STATIC:
		r->text = lk_fixed_name(r->name);
		break;
	case LK_NAME_PERCPU:
		offset = r->name;
		if (lk_opt.by_address)
			lk_name_of(r->name, &offset);
		r->text = lk_percpu_name(offset);
		break;
	case LK_NAME_CALLER:
		if (lk_is_user(r->kind)) {
			r->text = lk_user_place_name(r->user_name);
			break;
		}
		r->text = lk_site_name(lk_opt.by == LK_BY_LOCK ? r->caller :
				       lk_opt.by_address       ? r->by :
								 r->name);
		break;
	}
	if (!r->text || lk_opt.by == LK_BY_LOCK || lk_opt.by_address)
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

			if (lk_opt.report == LK_BLAME)
				lk_blame_functions(r);
			lk_rec_find_name(r);
			head = &lk_heads[r->hash % LK_HEADS];
			for (m = *head; m; m = m->next)
				if (m->name == r->name && m->by == r->by && m->kind == r->kind &&
				    m->mode == r->mode && m->name_is == r->name_is &&
				    m->event == r->event)
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

static inline u64 lk_rec_avg(const struct lk_rec *r)
{
	return r->count ? div64_u64(r->total_ns, r->count) : 0;
}

static inline u64 lk_rec_min(const struct lk_rec *r)
{
	return r->count ? r->min_ns : 0;
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
	if (part > U64_MAX / 2000) {
		part /= 1024;
		whole /= 1024;
	}
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

static void lk_report_folded(struct list_head *rows)
{
	struct lk_rec *r;
	u32 n = 0;

	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		if (!r->count)
			continue;
		lk_print_stack(r->by, true, "", "");
		lk_print(" %llu\n", r->total_ns);
	}
}

static void lk_json_stack(const char *key, u32 id)
{
	char code[KSYM_SYMBOL_LEN];
	u32 i;

	lk_print(",\"%s\":[", key);
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

struct lk_widths {
	int kind, who, owner, name, caller;
	int tryfail; /* 0: no such column */
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

/* The widths of a table; `figures`: what the numbers and the spaces between columns take. */
static void lk_table_widths(struct list_head *rows, struct lk_widths *w, int owner, int figures)
{
	char buf[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	*w = (struct lk_widths){ .kind = 4, .owner = owner, .name = 4 };
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		if (r->tryfail)
			w->tryfail = 7;
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
	w->caller = LK_WIDTH - figures - (w->tryfail ? w->tryfail + 1 : 0) - w->kind - w->owner -
		    w->name - (w->who ? w->who + 1 : 0);
	lk_widen(&w->caller, 16, &w->owner, 10);
	lk_widen(&w->caller, 12, &w->name, 14);
	w->caller = max(w->caller, 1);
}

/* The first columns' headings, and those of a row. */
static void lk_table_head(const struct lk_widths *w)
{
	lk_print("%-*s ", w->kind, "KIND");
	if (w->who)
		lk_print("%-*s ", w->who,
			 lk_opt.by == LK_BY_LOCK    ? "LOCK" :
			 lk_opt.by == LK_BY_TASK    ? "TASK" :
			 lk_opt.by == LK_BY_PROCESS ? "PROCESS" :
						      "CGROUP");
	lk_print("%-*s ", w->name, "NAME");
}

static void lk_table_first(const struct lk_rec *r, const struct lk_widths *w)
{
	char kind[24], name[KSYM_SYMBOL_LEN], who[40];

	lk_print("%-*s ", w->kind, lk_kind_text(r, kind, sizeof(kind)));
	if (w->who) {
		if (lk_by_who())
			lk_who_text(r, who, sizeof(who));
		else
			scnprintf(who, sizeof(who), "0x%lx", r->lock);
		lk_print("%-*.*s ", w->who, w->who, who);
	}
	lk_rec_lock_name(r, name, sizeof(name));
	lk_print("%-*.*s ", w->name, w->name, name);
}

/* The last columns of a row: a task, code; and what is below it. */
static void lk_table_last(const struct lk_rec *r, const struct lk_widths *w)
{
	char owner[40], caller[KSYM_SYMBOL_LEN];

	lk_owner_text(r, owner, sizeof(owner), w->owner);
	lk_code_text(r->caller, false, caller, min_t(size_t, sizeof(caller), w->caller + 1));
	lk_print("%-*.*s %.*s\n", w->owner, w->owner, owner, w->caller, caller);
	if (lk_opt.by == LK_BY_STACK)
		lk_print_stack(r->by, false, "        ", "\n");
	if (lk_opt.hist)
		lk_table_hist(r);
}

static void lk_table_more(u32 total)
{
	if (total > lk_opt.top)
		lk_print("(%u more rows: -G top=%u shows them)\n", total - lk_opt.top, total);
}

/* Columns of tsv and keys of JSON that several reports have. */
static void lk_tsv_first(const struct lk_rec *r)
{
	char name[KSYM_SYMBOL_LEN], lock[24];

	lk_rec_lock_name(r, name, sizeof(name));
	lk_print("%s\t%s\t%s\t%s\t", lk_kind_name[r->kind], lk_mode_name[r->mode], name,
		 lk_address_text(r->lock, lock, sizeof(lock)));
}

static void lk_tsv_stack(bool shown, u32 stack)
{
	if (shown)
		lk_print_stack(stack, true, "", "");
	else
		lk_print("-");
}

static void lk_tsv_who_hist(const struct lk_rec *r)
{
	char comm[TASK_COMM_LEN];

	strscpy(comm, r->comm, sizeof(comm));
	if (lk_by_who())
		lk_print("\t%llu\t%s\t", r->by, lk_clean(comm));
	else
		lk_print("\t-\t-\t");
	if (lk_opt.hist)
		lk_hist_text(r);
	else
		lk_print("-");
}

static void lk_json_head(const char *report, u64 elapsed_ns)
{
	lk_print("{\"locktap\":1,\"report\":\"%s\",\"by\":\"%s\",\"elapsed_ns\":%llu,\"rows\":[",
		 report, lk_by_word[lk_opt.by], elapsed_ns);
}

static void lk_json_first(const struct lk_rec *r, bool more)
{
	char name[KSYM_SYMBOL_LEN], lock[24];

	lk_rec_lock_name(r, name, sizeof(name));
	lk_print("%s\n{\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\"",
		 more ? "," : "", lk_kind_name[r->kind], lk_mode_name[r->mode], name,
		 lk_address_text(r->lock, lock, sizeof(lock)));
}

static void lk_json_last(const struct lk_rec *r)
{
	char comm[TASK_COMM_LEN];

	if (lk_opt.by == LK_BY_STACK)
		lk_json_stack("stack", r->by);
	if (lk_by_who()) {
		strscpy(comm, r->comm, sizeof(comm));
		lk_print(",\"id\":%llu,\"comm\":\"%s\"", r->by, lk_clean(comm));
	}
	if (lk_opt.hist)
		lk_json_hist(r);
	lk_print("}");
}

#endif
