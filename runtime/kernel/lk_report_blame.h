/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of who is to blame for waits. */
#ifndef LK_REPORT_BLAME_H
#define LK_REPORT_BLAME_H

#include "lk_rows.h"
#include "lk_blame.h"

#define LK_TEXT 200 /* of names and functions */
#define LK_HANDED "(handed over)"

static bool lk_is_handed(const struct lk_rec *r)
{
	return r->event == LK_NOBODYS;
}

static u64 lk_blame_run_ns(const struct lk_rec *r)
{
	const struct lk_rec_blame *b = &r->blame;

	return lk_is_handed(r) ? 0 : r->total_ns - b->ready_ns - b->sleep_ns - b->lock_ns;
}

/* The lock that the holder itself waited for, of several the one with the most time. */
static void lk_other_name(const struct lk_rec *r, char *buf, size_t size)
{
	const struct lk_rec_blame *b = &r->blame;

	if (!b->other_ns) {
		strscpy(buf, "-", size);
		return;
	}
	lk_key_name(b->other_is, b->other, buf, size);
}

/* Who made others wait: a function, or the task and the like that rows are by. */
static void lk_holder_text(const struct lk_rec *r, bool offset, char *buf, size_t size)
{
	if (lk_is_handed(r))
		strscpy(buf, LK_HANDED, size);
	else
		lk_code_text(r->blame.holder ? LK_IP(r->blame.holder) : 0, offset, buf, size);
}

static void lk_blame_stack(u32 id, bool outermost_first, const char *before, const char *after,
			   bool handed)
{
	if (handed)
		lk_print("%s" LK_HANDED "%s", before, after);
	else
		lk_print_stack(id, outermost_first, before, after);
}

/* The names of user locks' kinds are longer than those of the kernel's. */
static int lk_blame_kind_width(struct list_head *rows)
{
	int width = 12;
	char kind[24];
	struct lk_rec *r;
	u32 n = 0;

	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		width = max_t(int, width, strlen(lk_kind_text(r, kind, sizeof(kind))));
	}
	return width;
}

static void lk_blame_row(const struct lk_rec *r, int width, u64 all_ns)
{
	char total[24], kind[24], name[LK_TEXT], holder[LK_TEXT], owner[40];
	char waiter[LK_TEXT], other[LK_TEXT];
	unsigned int share = lk_permille(r->total_ns, all_ns);
	bool handed = lk_is_handed(r);
	u64 part[4] = { lk_blame_run_ns(r), r->blame.ready_ns, r->blame.sleep_ns,
			r->blame.lock_ns };
	unsigned int i;

	lk_rec_lock_name(r, name, sizeof(name));
	lk_other_name(r, other, sizeof(other));
	lk_holder_text(r, false, holder, sizeof(holder));
	lk_code_text(r->caller, false, waiter, sizeof(waiter));
	if (lk_by_who() && !handed)
		lk_who_text(r, owner, sizeof(owner));
	else
		lk_owner_text(r, owner, sizeof(owner), 24);
	lk_print("%6s %7llu %3u.%u%% %-*s ", lk_time_text(r->total_ns, total, sizeof(total)),
		 r->count, share / 10, share % 10, width, lk_kind_text(r, kind, sizeof(kind)));
	for (i = 0; i < 4; i++)
		if (handed)
			lk_print("%5s ", "-");
		else
			lk_print("%4u%% ", (lk_permille(part[i], r->total_ns) + 5) / 10);
	if (handed)
		lk_print("%.40s\n", holder);
	else
		lk_print("%.*s %s\n", max(1, (int)(LK_WIDTH - 48 - width - strlen(owner))), holder,
			 owner);
	lk_print("%22s kept from %.24s: %.41s\n", "", name, waiter);
	if (r->blame.other_ns)
		lk_print("%22s waits for %s %.41s\n", "", lk_kind_name[r->blame.other_kind], other);
	if (lk_opt.by != LK_BY_STACK)
		return;
	if (!handed) {
		lk_print("        held by\n");
		lk_print_stack((u32)(r->by >> 32), false, "            ", "\n");
	}
	lk_print("        waited for by\n");
	lk_print_stack((u32)r->by, false, "            ", "\n");
}

static void lk_blame_table(struct list_head *rows, u64 elapsed_ns)
{
	u64 all_ns = 0, handed_ns = 0;
	char time[24], sum[24], handed[24];
	int width = lk_blame_kind_width(rows);
	u32 n = 0, total = 0;
	struct lk_rec *r;

	list_for_each_entry(r, rows, order) {
		all_ns += r->total_ns;
		handed_ns += lk_is_handed(r) ? r->total_ns : 0;
		total++;
	}
	lk_print("%s of waits, in %s; for %s of it nobody held the lock\n",
		 lk_time_text(all_ns, sum, sizeof(sum)),
		 lk_time_text(elapsed_ns, time, sizeof(time)),
		 lk_time_text(handed_ns, handed, sizeof(handed)));
	lk_print("%6s %7s %6s %-*s %5s %5s %5s %5s %s\n", "TOTAL", "WAITS", "SHARE", width, "KIND",
		 "RUN", "READY", "SLEEP", "LOCK", "HOLDER, TASK");
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_blame_row(r, width, all_ns);
	}
	if (total > lk_opt.top)
		lk_print("(%u more rows: -G top=%u shows them)\n", total - lk_opt.top, total);
}

static void lk_blame_tsv(struct list_head *rows)
{
	char name[LK_TEXT], other[LK_TEXT], code[LK_TEXT], lock[24];
	char comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("#locktap 1 blame\n");
	lk_print(
		"#kind\tmode\tname\tlock\twaits\ttotal_ns\trun_ns\trunnable_ns\tsleep_ns\tlock_ns\twaits_for\tholder_tid\tholder_comm\tholder_caller\tholder_stack\twaiter_caller\twaiter_stack\tid\tcomm\n");
	list_for_each_entry(r, rows, order) {
		bool handed = lk_is_handed(r);

		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_other_name(r, other, sizeof(other));
		strscpy(comm, r->owner_comm, sizeof(comm));
		lk_print("%s\t%s\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%s\t%d\t%s\t",
			 lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			 lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->total_ns,
			 lk_blame_run_ns(r), r->blame.ready_ns, r->blame.sleep_ns, r->blame.lock_ns,
			 other, r->owner, comm[0] ? lk_clean(comm) : "-");
		lk_holder_text(r, true, code, sizeof(code));
		lk_print("%s\t", code);
		if (lk_opt.by == LK_BY_STACK)
			lk_blame_stack((u32)(r->by >> 32), true, "", "", handed);
		else
			lk_print("-");
		lk_code_text(r->caller, true, code, sizeof(code));
		lk_print("\t%s\t", code);
		if (lk_opt.by == LK_BY_STACK)
			lk_print_stack((u32)r->by, true, "", "");
		else
			lk_print("-");
		strscpy(comm, r->comm, sizeof(comm));
		if (lk_by_who() && !handed)
			lk_print("\t%llu\t%s\n", r->by, comm[0] ? lk_clean(comm) : "-");
		else
			lk_print("\t-\t-\n");
	}
}

/*
 * From the holder's outermost function to the waiter's, so that a flame graph
 * has what was waited for between the two.
 */
static void lk_blame_folded(struct list_head *rows)
{
	char name[LK_TEXT];
	struct lk_rec *r;
	u32 n = 0;

	list_for_each_entry(r, rows, order) {
		char code[LK_TEXT];
		struct lk_stack *s;
		u32 i;

		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_blame_stack((u32)(r->by >> 32), true, "", "", lk_is_handed(r));
		lk_print(";-- waits for %s --", name);
		s = (u32)r->by ? lk_stack_at((u32)r->by - 1) : NULL;
		for (i = 0; s && i < s->n; i++) {
			lk_code_text(LK_IP(s->ips[i]), false, code, sizeof(code));
			lk_print(";%s", code);
		}
		lk_print("%s %llu\n", s ? "" : ";[stack table full]", r->total_ns);
	}
}

static void lk_blame_json(struct list_head *rows, u64 elapsed_ns)
{
	char name[LK_TEXT], other[LK_TEXT], code[LK_TEXT], lock[24];
	char comm[TASK_COMM_LEN];
	struct lk_rec *r;
	u32 n = 0;

	lk_print("{\"locktap\":1,\"report\":\"blame\",\"by\":\"%s\",\"elapsed_ns\":%llu,\"rows\":[",
		 lk_by_word[lk_opt.by], elapsed_ns);
	list_for_each_entry(r, rows, order) {
		if (n++ >= lk_opt.top)
			break;
		lk_rec_lock_name(r, name, sizeof(name));
		lk_other_name(r, other, sizeof(other));
		lk_holder_text(r, true, code, sizeof(code));
		strscpy(comm, r->owner_comm, sizeof(comm));
		lk_print(
			"%s\n{\"kind\":\"%s\",\"mode\":\"%s\",\"name\":\"%s\",\"lock\":\"%s\",\"waits\":%llu,\"total_ns\":%llu,\"run_ns\":%llu,\"runnable_ns\":%llu,\"sleep_ns\":%llu,\"lock_ns\":%llu,\"waits_for\":\"%s\",\"holder_tid\":%d,\"holder_comm\":\"%s\",\"holder_caller\":\"%s\"",
			n > 1 ? "," : "", lk_kind_name[r->kind], lk_mode_name[r->mode], name,
			lk_address_text(r->lock, lock, sizeof(lock)), r->count, r->total_ns,
			lk_blame_run_ns(r), r->blame.ready_ns, r->blame.sleep_ns, r->blame.lock_ns,
			other, r->owner, lk_clean(comm), code);
		lk_code_text(r->caller, true, code, sizeof(code));
		lk_print(",\"waiter_caller\":\"%s\"", code);
		if (lk_opt.by == LK_BY_STACK) {
			lk_json_stack("holder_stack", (u32)(r->by >> 32));
			lk_json_stack("waiter_stack", (u32)r->by);
		}
		if (lk_by_who()) {
			strscpy(comm, r->comm, sizeof(comm));
			lk_print(",\"id\":%llu,\"comm\":\"%s\"", r->by, lk_clean(comm));
		}
		lk_print("}");
	}
	lk_print("],\n");
}

static void lk_report_blame(struct list_head *rows, u64 elapsed_ns)
{
	switch (lk_opt.format) {
	case LK_TABLE:
		lk_blame_table(rows, elapsed_ns);
		break;
	case LK_TSV:
		lk_blame_tsv(rows);
		break;
	case LK_FOLDED:
		lk_blame_folded(rows);
		break;
	case LK_JSON:
		lk_blame_json(rows, elapsed_ns);
		break;
	case LK_DOT: /* of other reports */
		break;
	}
}

#endif
