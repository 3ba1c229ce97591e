/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of holds. */
#ifndef LK_REPORT_HOLD_H
#define LK_REPORT_HOLD_H

#include "lk_rows.h"

static void lk_hold_row(const struct lk_rec *r, const struct lk_widths *w, u64 all_ns)
{
	unsigned int contended = lk_permille(r->contended, r->count);
	unsigned int share = lk_permille(r->total_ns, all_ns);
	char total[24], avg[24], max[24];

	lk_table_first(r, w);
	lk_print("%8llu %3u.%u%% ", r->count, contended / 10, contended % 10);
	if (w->tryfail)
		lk_print("%*llu ", w->tryfail, r->tryfail);
	lk_print("%6s %6s %6s %3u.%u%% ", lk_time_text(r->total_ns, total, sizeof(total)),
		 lk_time_text(lk_rec_avg(r), avg, sizeof(avg)),
		 lk_time_text(r->max_ns, max, sizeof(max)), share / 10, share % 10);
	lk_table_last(r, w);
}

static void lk_hold_table(struct list_head *rows, u64 elapsed_ns)
{
	char time[24], sum[24], raw[24], own[24], name[KSYM_SYMBOL_LEN], owner[40], kind[24];
	const struct lk_rec *longest = NULL;
	u64 own_ns = lk_own.way[LK_BY_ENTRY].before_ns + lk_own.way[LK_BY_ENTRY].after_ns;
	u64 all_ns = 0, raw_ns = 0, holds = 0;
	struct lk_widths w;
	struct lk_rec *r;
	u32 n = 0, total = 0;

	list_for_each_entry(r, rows, order) {
		all_ns += r->total_ns;
		raw_ns += r->raw_ns;
		holds += r->count;
		total++;
		if (r->count && (!longest || r->max_ns > longest->max_ns))
			longest = r;
	}
	lk_table_widths(rows, &w, 4, 47);
	lk_print("%llu acquisitions, held for %s in all, in %s\n", holds,
		 lk_time_text(all_ns, sum, sizeof(sum)),
		 lk_time_text(elapsed_ns, time, sizeof(time)));
	if (own_ns)
		lk_print("(the probes' own time, %s of a hold, is taken off: %s with it)\n",
			 lk_time_text(own_ns, own, sizeof(own)),
			 lk_time_text(raw_ns, raw, sizeof(raw)));
	else
		lk_print("(the probes' own time is not known: it is part of each hold)\n");
	lk_table_head(&w);
	lk_print("%8s %6s ", "ACQUIRED", "WAITED");
	if (w.tryfail)
		lk_print("%*s ", w.tryfail, "TRYFAIL");
	lk_print("%6s %6s %6s %6s %-*s %s\n", "TOTAL", "AVG", "MAX", "SHARE", w.owner, "TASK",
		 "CALLER");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_hold_row(r, &w, all_ns);
	}
	lk_table_more(total);
	if (!longest)
		return;
	lk_rec_lock_name(longest, name, sizeof(name));
	lk_owner_text(longest, owner, sizeof(owner), sizeof(owner));
	lk_print("longest: %s, %s %s, by %s, let go at\n",
		 lk_time_text(longest->max_ns, time, sizeof(time)),
		 lk_kind_text(longest, kind, sizeof(kind)), name, owner);
	lk_print_stack(longest->max_stack, false, "        ", "\n");
}

static void lk_hold_tsv(struct list_head *rows)
{
	char caller[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("#locktap 1 hold\n");
	lk_print(
		"#kind\tmode\tname\tlock\tacquired\tcontended\ttryfail\ttotal_ns\tavg_ns\tmin_ns\tmax_ns\tcaller\tstack\traw_ns\ttid\tid\tcomm\thist\tmax_stack\n");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_tsv_first(r);
		lk_print("%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\t", r->count, r->contended,
			 r->tryfail, r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns,
			 lk_code_text(r->caller, true, caller, sizeof(caller)));
		lk_tsv_stack(lk_opt.by == LK_BY_STACK, r->by);
		lk_print("\t%llu\t%d", r->raw_ns, r->owner);
		lk_tsv_who_hist(r);
		lk_print("\t");
		lk_tsv_stack(r->max_stack, r->max_stack);
		lk_print("\n");
	}
}

static void lk_hold_json(struct list_head *rows, u64 elapsed_ns)
{
	char caller[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_json_head("hold", elapsed_ns);
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_json_first(r, n > 1);
		lk_print(
			",\"acquired\":%llu,\"contended\":%llu,\"tryfail\":%llu,\"total_ns\":%llu,\"avg_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu,\"raw_ns\":%llu,\"tid\":%d,\"caller\":\"%s\"",
			r->count, r->contended, r->tryfail, r->total_ns, lk_rec_avg(r),
			lk_rec_min(r), r->max_ns, r->raw_ns, r->owner,
			lk_code_text(r->caller, true, caller, sizeof(caller)));
		lk_json_stack("max_stack", r->max_stack);
		lk_json_last(r);
	}
	lk_print("],\n");
}

#endif
