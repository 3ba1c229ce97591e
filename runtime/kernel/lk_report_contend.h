/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of waits. */
#ifndef LK_REPORT_CONTEND_H
#define LK_REPORT_CONTEND_H

#include "lk_rows.h"

static void lk_table_widths(struct list_head *rows, struct lk_widths *w)
{
	char buf[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	*w = (struct lk_widths){ .kind = 4, .owner = 5, .name = 4, .who = 0 };
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
	/* The figures and the spaces between columns take 46. */
	w->caller = LK_WIDTH - 46 - (w->tryfail ? w->tryfail + 1 : 0) - w->kind - w->owner -
		    w->name - (w->who ? w->who + 1 : 0);
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
	lk_print("%-*.*s %9llu ", w->name, w->name, name, r->count);
	if (w->tryfail)
		lk_print("%*llu ", w->tryfail, r->tryfail);
	lk_print("%6s %6s %6s %3u.%u%% %3u%% %-*.*s %.*s\n",
		 lk_time_text(r->total_ns, total, sizeof(total)),
		 lk_time_text(lk_rec_avg(r), avg, sizeof(avg)),
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
	lk_print("%-*s %9s ", w.name, "NAME", "CONTENDED");
	if (w.tryfail)
		lk_print("%*s ", w.tryfail, "TRYFAIL");
	lk_print("%6s %6s %6s %6s %4s %-*s %s\n", "TOTAL", "AVG", "MAX", "SHARE", "SPIN", w.owner,
		 "OWNER", "CALLER");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_table_row(r, &w, all_ns);
	}
	if (total > lk_opt.top)
		lk_print("(%u more rows: -G top=%u shows them)\n", total - lk_opt.top, total);
}

static void lk_report_tsv(struct list_head *rows)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("#locktap 1 contend\n");
	lk_print(
		"#kind\tmode\tname\tlock\tcontended\tfailed\ttotal_ns\tavg_ns\tmin_ns\tmax_ns\tspin_ns\tblock_ns\towner\tcaller\tstack\tid\tcomm\thist\ttryfail\n");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_code_text(r->caller, true, caller, sizeof(caller));
		strscpy(comm, r->comm, sizeof(comm));
		lk_print("%s\t%s\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%d\t%s\t",
			 lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			 lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->failed,
			 r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns, r->spin_ns,
			 r->block_ns, r->owner, caller);
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
		lk_print("\t%llu\n", r->tryfail);
	}
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
			"%s\n{\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\",\"contended\":%llu,\"failed\":%llu,\"total_ns\":%llu,\"avg_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu,\"spin_ns\":%llu,\"block_ns\":%llu,\"owner\":%d,\"tryfail\":%llu,\"caller\":\"%s\"",
			n > 1 ? "," : "", lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->failed,
			r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns, r->spin_ns,
			r->block_ns, r->owner, r->tryfail, caller);
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
	lk_print("],\n");
}

#endif
