/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of lockstat: by event, as Solaris prints them. */
#ifndef LK_REPORT_STAT_H
#define LK_REPORT_STAT_H

#include "lk_rows.h"
#include "lk_stat_option.h"

static u64 lk_stat_heat(const struct lk_rec *r)
{
	return lk_stat.by_time ? r->total_ns : r->count;
}

static int lk_stat_order(void *priv, const struct list_head *a, const struct list_head *b)
{
	const struct lk_rec *x = list_entry(a, struct lk_rec, order);
	const struct lk_rec *y = list_entry(b, struct lk_rec, order);

	if (x->event != y->event)
		return x->event > y->event ? 1 : -1;
	return lk_stat_heat(x) < lk_stat_heat(y) ? 1 : lk_stat_heat(x) > lk_stat_heat(y) ? -1 : 0;
}

static u64 lk_stat_key(const struct lk_rec *r)
{
	u64 key = lk_stat.by == LK_STAT_CALLERS ? r->by : r->name;

	if (lk_stat.by != LK_STAT_CALLERS)
		key = lk_mix(key, r->name_is << 16 | r->kind << 8 | r->mode);
	return lk_mix(key, r->event);
}

static bool lk_stat_same(const struct lk_rec *a, const struct lk_rec *b)
{
	if (a->event != b->event)
		return false;
	if (lk_stat.by == LK_STAT_CALLERS)
		return a->by == b->by;
	return a->name == b->name && a->name_is == b->name_is && a->kind == b->kind &&
	       a->mode == b->mode;
}

/* Into one row, which keeps of the other key what most of it comes from. */
static void lk_stat_join(struct lk_rec *to, const struct lk_rec *from)
{
	bool hotter = lk_stat_heat(from) > to->heat;
	unsigned long lock = to->lock;

	lk_merge_into(to, from);
	if (hotter) {
		to->heat = lk_stat_heat(from);
		to->by = from->by;
		to->text = from->text;
		to->kind = from->kind;
		to->mode = from->mode;
		lock = from->lock;
	}
	to->lock = lock;
	to->caller = to->by;
}

/* By lock, name or caller: rows are kept by lock and caller, so that the hottest are known. */
static void lk_stat_coalesce(struct list_head *rows)
{
	struct lk_rec *r, *next, *m, **head;

	memset(lk_heads, 0, sizeof(lk_heads));
	list_for_each_entry_safe(r, next, rows, order) {
		head = &lk_heads[lk_stat_key(r) % LK_HEADS];
		for (m = *head; m; m = m->next)
			if (lk_stat_same(m, r))
				break;
		if (m) {
			lk_stat_join(m, r);
			list_del(&r->order);
			continue;
		}
		r->heat = lk_stat_heat(r);
		r->next = *head;
		*head = r;
	}
}

static void lk_stat_lock_text(const struct lk_rec *r, char *buf, size_t size)
{
	enum lk_name is;
	u64 name;

	if (r->text) {
		strscpy(buf, r->text, size);
		return;
	}
	is = lk_name_of(r->lock, &name);
	lk_lock_name(is, name, buf, size);
}

/* Rows that were never made: the errors of the recorder itself. */
static u64 lk_stat_no_room(void)
{
	static u64 told;
	struct lk_counts s;
	u64 all, now;

	lk_counts_sum(&s);
	all = s.full + s.waits_full + s.holds_full;
	now = all - told;
	told = all;
	return now;
}

/* N and a fraction of two digits. */
static const char *lk_stat_mean(u64 sum, u64 count, char *buf, size_t size)
{
	u64 hundredths = count ? div64_u64(sum * 100 + count / 2, count) : 0;

	scnprintf(buf, size, "%llu.%02llu", hundredths / 100, hundredths % 100);
	return buf;
}

static u64 lk_stat_per_second(u64 count, u64 elapsed_ns)
{
	return mul_u64_u64_div_u64(count, NSEC_PER_SEC, max(elapsed_ns, 1ull));
}

static void lk_stat_heading(unsigned int event, u64 count, u64 elapsed_ns)
{
	const struct lk_stat_name *name = lk_stat_name(event);
	char seconds[24];

	lk_print("\n%s: %llu events in %s seconds (%llu events/sec)\n", name->text, count,
		 lk_stat_mean(elapsed_ns, NSEC_PER_SEC, seconds, sizeof(seconds)),
		 lk_stat_per_second(count, elapsed_ns));
}

#define LK_STAT_LINE \
	"----------------------------------------------------------------------------------------------------\n"

/* The columns that come in between. */
static int lk_stat_who_width(void)
{
	return lk_by_who() ? 20 : lk_opt.by_address && lk_opt.addresses ? 18 : 0;
}

static void lk_stat_columns(void)
{
	int who = lk_stat_who_width();

	lk_print("%8s indv cuml rcnt %10s ", lk_stat.rates ? "ops/s" : "Count", "nsec");
	if (who)
		lk_print("%-*s ", who,
			 !lk_by_who()		    ? "Address" :
			 lk_opt.by == LK_BY_TASK    ? "Task" :
			 lk_opt.by == LK_BY_PROCESS ? "Process" :
						      "Cgroup");
	lk_print("%-24s %s\n", lk_stat.by == LK_STAT_CALLERS ? "Hottest Lock" : "Lock",
		 lk_stat.by == LK_STAT_LOCKS || lk_stat.by == LK_STAT_NAMES ? "Hottest Caller" :
									      "Caller");
}

/* The bars, and the stack beside them; either may be longer. */
static void lk_stat_distribution(const struct lk_rec *r, bool timed)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	struct lk_stack *s = lk_opt.by == LK_BY_STACK && r->by ? lk_stack_at(r->by - 1) : NULL;
	unsigned int i, lo = LK_BUCKETS, hi = 0, most = 0, frame = 0, frames = s ? s->n : 0;
	char code[KSYM_SYMBOL_LEN];

	for (i = 0; timed && lk_opt.hist && i < LK_BUCKETS; i++)
		if (r->hist[i]) {
			lo = min(lo, i);
			hi = i;
			most = max(most, r->hist[i]);
		}
	if (most)
		lk_print("\n%10s ------ Time Distribution ------ %-9s %s\n", "nsec", "count",
			 s ? "Stack" : "");
	else if (s)
		lk_print("\n%54s Stack\n", "");
	for (i = lo; (most && i <= hi) || frame < frames; i++) {
		if (most && i <= hi)
			lk_print("%10llu |%-30.*s| %-9u", 1ull << i,
				 (int)div_u64((u64)r->hist[i] * 30 + most - 1, most), bar,
				 r->hist[i]);
		else
			lk_print("%53s", "");
		if (frame < frames) {
			lk_code_text(LK_IP(s->ips[frame++]), true, code, sizeof(code));
			lk_print("  %s", code);
		}
		lk_print("\n");
	}
}

static void lk_stat_row(const struct lk_rec *r, u64 cumulated, u64 all, u64 elapsed_ns)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], who[40], mean[24], nsec[24];
	bool timed = lk_stat_timed(r->event);
	int width = lk_stat_who_width();

	if (lk_opt.hist || lk_opt.by == LK_BY_STACK) {
		lk_print(LK_STAT_LINE);
		lk_stat_columns();
	}
	strscpy(nsec, "-", sizeof(nsec));
	if (timed)
		scnprintf(nsec, sizeof(nsec), "%llu", lk_rec_avg(r));
	lk_print("%8llu %3u%% %3u%% %4s %10s ",
		 lk_stat.rates ? lk_stat_per_second(r->count, elapsed_ns) : r->count,
		 (lk_permille(lk_stat_heat(r), all) + 5) / 10,
		 (lk_permille(cumulated, all) + 5) / 10,
		 lk_stat_mean(r->readers, r->count, mean, sizeof(mean)), nsec);
	if (lk_by_who()) {
		lk_who_text(r, who, sizeof(who));
		lk_print("%-*.*s ", width, width, who);
	} else if (width) {
		lk_print("%-*s ", width, lk_address_text(r->lock, who, sizeof(who)));
	}
	lk_stat_lock_text(r, name, sizeof(name));
	lk_code_text(r->caller, false, caller, sizeof(caller));
	lk_print("%-24s %s\n", name, caller);
	if (lk_opt.hist || lk_opt.by == LK_BY_STACK)
		lk_stat_distribution(r, timed);
}

/* The rows of one event, from this one on; the row after them. */
static struct lk_rec *lk_stat_group(struct list_head *rows, struct lk_rec *first, u64 elapsed_ns)
{
	u64 count = 0, all = 0, cumulated = 0;
	struct lk_rec *r = first;
	u32 n = 0;

	list_for_each_entry_from(r, rows, order)
	{
		if (r->event != first->event)
			break;
		count += r->count;
		all += lk_stat_heat(r);
	}
	lk_stat_heading(first->event, count, elapsed_ns);
	if (!(lk_opt.hist || lk_opt.by == LK_BY_STACK)) {
		lk_print("\n");
		lk_stat_columns();
		lk_print(LK_STAT_LINE);
	}
	r = first;
	list_for_each_entry_from(r, rows, order)
	{
		if (r->event != first->event)
			break;
		cumulated += lk_stat_heat(r);
		if (n++ < lk_opt.top)
			lk_stat_row(r, cumulated, all, elapsed_ns);
	}
	if (n > lk_opt.top)
		lk_print("(%u more rows: -G top=%u shows them)\n", n - lk_opt.top, n);
	return r;
}

static void lk_stat_table(struct list_head *rows, u64 elapsed_ns, u64 no_room)
{
	struct lk_rec *r = list_first_entry(rows, struct lk_rec, order);

	if (list_empty(rows) && !no_room)
		lk_print("no events\n");
	while (&r->order != rows) {
		if (no_room && r->event > LK_EV_NO_ROOM) {
			lk_stat_heading(LK_EV_NO_ROOM, no_room, elapsed_ns);
			no_room = 0;
		}
		r = lk_stat_group(rows, r, elapsed_ns);
	}
	if (no_room)
		lk_stat_heading(LK_EV_NO_ROOM, no_room, elapsed_ns);
	lk_print("\n");
}

static void lk_stat_tsv_row(const struct lk_rec *r)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], mean[24];
	char comm[TASK_COMM_LEN];

	lk_stat_lock_text(r, name, sizeof(name));
	lk_code_text(r->caller, true, caller, sizeof(caller));
	strscpy(comm, r->comm, sizeof(comm));
	lk_print("%u\t%s\t%s\t%s\t%s\t%llu\t%s\t%llu\t%llu\t%llu\t%llu\t%s\t", r->event,
		 lk_kind_name[r->kind], lk_mode_name[r->mode], name,
		 lk_address_text(r->lock, lock, sizeof(lock)), r->count,
		 lk_stat_mean(r->readers, r->count, mean, sizeof(mean)), r->total_ns, lk_rec_avg(r),
		 lk_rec_min(r), r->max_ns, caller);
	if (lk_opt.by == LK_BY_STACK)
		lk_print_stack(r->by, true, "", "");
	else
		lk_print("-");
	lk_print("\t");
	if (lk_opt.hist && lk_stat_timed(r->event))
		lk_hist_text(r);
	else
		lk_print("-");
	if (lk_by_who())
		lk_print("\t%llu\t%s", r->by, lk_clean(comm));
	else
		lk_print("\t-\t-");
	lk_print("\t%s\n", lk_stat_name(r->event)->word);
}

/* Is this one of the rows that are wanted of its event? */
static bool lk_stat_is_top(const struct lk_rec *r, u32 *event, u32 *n)
{
	if (r->event != *event) {
		*event = r->event;
		*n = 0;
	}
	return (*n)++ < lk_opt.top;
}

static void lk_stat_tsv(struct list_head *rows, u64 no_room)
{
	u32 event = LK_EVENTS, n = 0;
	struct lk_rec *r;

	lk_print("#locktap 1 stat\n");
	lk_print(
		"#event\tkind\tmode\tname\tlock\tcount\trcnt\ttotal_ns\tavg_ns\tmin_ns\tmax_ns\tcaller\tstack\thist\tid\tcomm\tword\n");
	list_for_each_entry(r, rows, order)
		if (lk_stat_is_top(r, &event, &n))
			lk_stat_tsv_row(r);
	if (no_room)
		lk_print("%u\t-\t-\t-\t-\t%llu\t0.00\t0\t0\t0\t0\t-\t-\t-\t-\t-\t%s\n",
			 LK_EV_NO_ROOM, no_room, lk_stat_name(LK_EV_NO_ROOM)->word);
}

static void lk_stat_json_row(const struct lk_rec *r, const char *sep)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], mean[24];

	lk_stat_lock_text(r, name, sizeof(name));
	lk_code_text(r->caller, true, caller, sizeof(caller));
	lk_print(
		"%s\n{\"event\":%u,\"word\":\"%s\",\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\",\"count\":%llu,\"rcnt\":%s,\"total_ns\":%llu,\"avg_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu,\"caller\":\"%s\"",
		sep, r->event, lk_stat_name(r->event)->word, lk_kind_name[r->kind],
		lk_mode_name[r->mode], name, lk_address_text(r->lock, lock, sizeof(lock)), r->count,
		lk_stat_mean(r->readers, r->count, mean, sizeof(mean)), r->total_ns, lk_rec_avg(r),
		lk_rec_min(r), r->max_ns, caller);
	lk_json_last(r);
}

static void lk_stat_json(struct list_head *rows, u64 elapsed_ns, u64 no_room)
{
	u32 event = LK_EVENTS, n = 0;
	const char *sep = "";
	struct lk_rec *r;

	lk_print(
		"{\"locktap\":1,\"report\":\"stat\",\"elapsed_ns\":%llu,\"no_room\":%llu,\"rows\":[",
		elapsed_ns, no_room);
	list_for_each_entry(r, rows, order) {
		if (!lk_stat_is_top(r, &event, &n))
			continue;
		lk_stat_json_row(r, sep);
		sep = ",";
	}
	lk_print("],\n");
}

static void lk_stat_report(struct list_head *rows, u64 elapsed_ns)
{
	u64 no_room = lk_stat_wants(LK_EV_NO_ROOM) ? lk_stat_no_room() : 0;

	if (lk_opt.trace)
		return;
	if (lk_stat.by != LK_STAT_AS_KEPT)
		lk_stat_coalesce(rows);
	list_sort(NULL, rows, lk_stat_order);
	switch (lk_opt.format) {
	case LK_TSV:
		lk_stat_tsv(rows, no_room);
		break;
	case LK_JSON:
		lk_stat_json(rows, elapsed_ns, no_room);
		break;
	default:
		lk_stat_table(rows, elapsed_ns, no_room);
	}
}

/* trace=1: a line for the present event, from its handler. */
static void lk_stat_trace_heading(void)
{
	if (lk_opt.format == LK_TSV)
		lk_print(
			"#locktap 1 stattrace\n#event\tkind\tmode\tname\tlock\ttime_ns\towner\tcaller\n");
	else
		lk_print("%5s %12s %-20s %-24s %s\n", "Event", "Time", "Owner", "Lock", "Caller");
	lk_flush();
}

static void lk_stat_trace(struct lk_cpu *cpu, const struct lk_at *at)
{
	char caller[KSYM_SYMBOL_LEN], sym[KSYM_SYMBOL_LEN], lock[24];
	const struct lk_event *ev = &cpu->ev;
	u32 event = lk_stat_event(ev);
	const char *name = lk_event_name(cpu, at);
	struct lk_rec r = { .owner = ev->op == LK_RELEASE ? ev->hold.tid : ev->owner };
	u64 ns = ev->op == LK_RELEASE ? ev->hold_ns : ev->wait_ns, key;

	cpu->counts.recorded++;
	if (!name) {
		enum lk_name is = lk_name_of(ev->lock, &key);

		lk_lock_name(is, key, sym, sizeof(sym));
		name = sym;
	}
	lk_code_text(lk_caller(cpu, at), lk_opt.format == LK_TSV, caller, sizeof(caller));
	if (lk_opt.format == LK_TSV) {
		_stp_printf("%u\t%s\t%s\t%s\t%s\t%llu\t%d\t%s\n", event, lk_kind_name[ev->kind],
			    lk_mode_name[ev->mode], name,
			    lk_address_text(ev->lock, lock, sizeof(lock)), ns, r.owner, caller);
		return;
	}
	lk_tid_comm(r.owner, r.owner_comm);
	lk_owner_text(&r, lock, sizeof(lock), 20);
	_stp_printf("%5u %12llu %-20s %-24s %s\n", event, ns, lock, name, caller);
}

#endif
