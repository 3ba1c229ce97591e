/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of holds. */
#ifndef LK_REPORT_HOLD_H
#define LK_REPORT_HOLD_H

#include "lk_rows.h"

static void lk_hold_widths(struct list_head *rows, struct lk_widths *w)
{
	char buf[KSYM_SYMBOL_LEN];
	struct lk_rec *r;
	u32 n = 0;

	*w = (struct lk_widths){ .kind = 4, .owner = 4, .name = 4 };
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
	/* The figures and the spaces between columns take 47. */
	w->caller = LK_WIDTH - 47 - (w->tryfail ? w->tryfail + 1 : 0) - w->kind - w->owner -
		    w->name - (w->who ? w->who + 1 : 0);
	lk_widen(&w->caller, 16, &w->owner, 10);
	lk_widen(&w->caller, 12, &w->name, 14);
	w->caller = max(w->caller, 1);
}

static void lk_hold_row(const struct lk_rec *r, const struct lk_widths *w, u64 all_ns)
{
	char kind[24], name[KSYM_SYMBOL_LEN], owner[40], who[40], caller[KSYM_SYMBOL_LEN];
	char total[24], avg[24], max[24];
	unsigned int share = lk_permille(r->total_ns, all_ns);
	unsigned int contended = lk_permille(r->contended, r->count);

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
	lk_print("%-*.*s %8llu %3u.%u%% ", w->name, w->name, name, r->count, contended / 10,
		 contended % 10);
	if (w->tryfail)
		lk_print("%*llu ", w->tryfail, r->tryfail);
	lk_print("%6s %6s %6s %3u.%u%% %-*.*s %.*s\n",
		 lk_time_text(r->total_ns, total, sizeof(total)),
		 lk_time_text(lk_rec_avg(r), avg, sizeof(avg)),
		 lk_time_text(r->max_ns, max, sizeof(max)), share / 10, share % 10, w->owner,
		 w->owner, owner, w->caller, caller);
	if (lk_opt.by == LK_BY_STACK)
		lk_print_stack(r->by, false, "        ", "\n");
	if (lk_opt.hist)
		lk_table_hist(r);
}

static void lk_hold_table(struct list_head *rows, u64 elapsed_ns)
{
	char time[24], sum[24], raw[24], own[24], name[KSYM_SYMBOL_LEN], owner[40], kind[24];
	const struct lk_rec *longest = NULL;
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
	lk_hold_widths(rows, &w);
	lk_print("%llu acquisitions, held for %s in all, in %s\n", holds,
		 lk_time_text(all_ns, sum, sizeof(sum)),
		 lk_time_text(elapsed_ns, time, sizeof(time)));
	lk_print("(the probes' own time, %s of a hold, is taken off: %s with it)\n",
		 lk_time_text(lk_own.before_ns + lk_own.after_ns, own, sizeof(own)),
		 lk_time_text(raw_ns, raw, sizeof(raw)));
	lk_print("%-*s ", w.kind, "KIND");
	if (w.who)
		lk_print("%-*s ", w.who,
			 lk_opt.by == LK_BY_LOCK    ? "LOCK" :
			 lk_opt.by == LK_BY_TASK    ? "TASK" :
			 lk_opt.by == LK_BY_PROCESS ? "PROCESS" :
						      "CGROUP");
	lk_print("%-*s %8s %6s ", w.name, "NAME", "ACQUIRED", "WAITED");
	if (w.tryfail)
		lk_print("%*s ", w.tryfail, "TRYFAIL");
	lk_print("%6s %6s %6s %6s %-*s %s\n", "TOTAL", "AVG", "MAX", "SHARE", w.owner, "TASK",
		 "CALLER");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_hold_row(r, &w, all_ns);
	}
	if (total > lk_opt.top)
		lk_print("(%u more rows: -G top=%u shows them)\n", total - lk_opt.top, total);
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
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("#locktap 1 hold\n");
	lk_print(
		"#kind\tmode\tname\tlock\tacquired\tcontended\ttryfail\ttotal_ns\tavg_ns\tmin_ns\tmax_ns\tcaller\tstack\traw_ns\ttid\tid\tcomm\thist\tmax_stack\n");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_code_text(r->caller, true, caller, sizeof(caller));
		strscpy(comm, r->comm, sizeof(comm));
		lk_print("%s\t%s\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\t",
			 lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			 lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->contended,
			 r->tryfail, r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns, caller);
		if (lk_opt.by == LK_BY_STACK)
			lk_print_stack(r->by, true, "", "");
		else
			lk_print("-");
		lk_print("\t%llu\t%d", r->raw_ns, r->owner);
		if (lk_by_who())
			lk_print("\t%llu\t%s\t", r->by, lk_clean(comm));
		else
			lk_print("\t-\t-\t");
		if (lk_opt.hist)
			lk_hist_text(r);
		else
			lk_print("-");
		lk_print("\t");
		if (r->max_stack)
			lk_print_stack(r->max_stack, true, "", "");
		else
			lk_print("-");
		lk_print("\n");
	}
}

static void lk_hold_json(struct list_head *rows, u64 elapsed_ns)
{
	char name[KSYM_SYMBOL_LEN], caller[KSYM_SYMBOL_LEN], lock[24], comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("{\"locktap\":1,\"report\":\"hold\",\"by\":\"%s\",\"elapsed_ns\":%llu,\"rows\":[",
		 lk_by_word[lk_opt.by], elapsed_ns);
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_code_text(r->caller, true, caller, sizeof(caller));
		lk_print(
			"%s\n{\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\",\"acquired\":%llu,\"contended\":%llu,\"tryfail\":%llu,\"total_ns\":%llu,\"avg_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu,\"raw_ns\":%llu,\"tid\":%d,\"caller\":\"%s\"",
			n > 1 ? "," : "", lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->contended,
			r->tryfail, r->total_ns, lk_rec_avg(r), lk_rec_min(r), r->max_ns, r->raw_ns,
			r->owner, caller);
		lk_json_stack("max_stack", r->max_stack);
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
