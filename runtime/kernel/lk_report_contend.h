/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of waits. */
#ifndef LK_REPORT_CONTEND_H
#define LK_REPORT_CONTEND_H

#include "lk_rows.h"

static void lk_table_row(const struct lk_rec *r, const struct lk_widths *w, u64 all_ns)
{
	unsigned int share = lk_permille(r->total_ns, all_ns);
	char total[24], avg[24], max[24];

	lk_table_first(r, w);
	lk_print("%9llu ", r->count);
	if (w->tryfail)
		lk_print("%*llu ", w->tryfail, r->tryfail);
	lk_print("%6s %6s %6s %3u.%u%% %3u%% ", lk_time_text(r->total_ns, total, sizeof(total)),
		 lk_time_text(lk_rec_avg(r), avg, sizeof(avg)),
		 lk_time_text(r->max_ns, max, sizeof(max)), share / 10, share % 10,
		 (lk_permille(r->spin_ns, r->total_ns) + 5) / 10);
	lk_table_last(r, w);
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
	lk_table_widths(rows, &w, 5, 46);
	lk_print("%llu contended waits, %s in all, in %s\n", waits,
		 lk_time_text(all_ns, sum, sizeof(sum)),
		 lk_time_text(elapsed_ns, time, sizeof(time)));
	lk_table_head(&w);
	lk_print("%9s ", "CONTENDED");
	if (w.tryfail)
		lk_print("%*s ", w.tryfail, "TRYFAIL");
	lk_print("%6s %6s %6s %6s %4s %-*s %s\n", "TOTAL", "AVG", "MAX", "SHARE", "SPIN", w.owner,
		 "OWNER", "CALLER");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_table_row(r, &w, all_ns);
	}
	lk_table_more(total);
}

static void lk_report_tsv(struct list_head *rows)
{
	char caller[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("#locktap 1 contend\n");
	lk_print(
		"#kind\tmode\tname\tlock\tcontended\tfailed\ttotal_ns\tavg_ns\tmin_ns\tmax_ns\tspin_ns\tblock_ns\towner\tcaller\tstack\tid\tcomm\thist\ttryfail\n");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_tsv_first(r);
		lk_print("%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%d\t%s\t", r->count,
			 r->failed, r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns,
			 r->spin_ns, r->block_ns, r->owner,
			 lk_code_text(r->caller, true, caller, sizeof(caller)));
		lk_tsv_stack(lk_opt.by == LK_BY_STACK, r->by);
		lk_tsv_who_hist(r);
		lk_print("\t%llu\n", r->tryfail);
	}
}

static void lk_report_json(struct list_head *rows, u64 elapsed_ns)
{
	char caller[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_json_head("contend", elapsed_ns);
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_json_first(r, n > 1);
		lk_print(
			",\"contended\":%llu,\"failed\":%llu,\"total_ns\":%llu,\"avg_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu,\"spin_ns\":%llu,\"block_ns\":%llu,\"owner\":%d,\"tryfail\":%llu,\"caller\":\"%s\"",
			r->count, r->failed, r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns,
			r->spin_ns, r->block_ns, r->owner, r->tryfail,
			lk_code_text(r->caller, true, caller, sizeof(caller)));
		lk_json_last(r);
	}
	lk_print("],\n");
}

#endif
