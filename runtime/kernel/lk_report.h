/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports as a table, tsv, folded stacks or JSON, always with the loss line.
 */
#ifndef LK_REPORT_H
#define LK_REPORT_H

#include "lk_guard_loss.h"
#include "lk_rows.h"
#include "lk_report_contend.h"
#include "lk_report_hold.h"
#include "lk_report_stat.h"
#include "lk_report_blame.h"
#include "lk_report_chain.h"
#include "lk_report_order.h"

static u32 lk_reports;
static bool lk_finished;
static u64 lk_sites_unarmed; /* tapset/lock_site.stp's count */

struct lk_loss {
	const char *key;
	u64 value;
	const char *text; /* in a table: only where the value is not 0 */
};

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
	{ "spin_trylock",
	  "failed trylocks of spinlocks and rwlocks are not seen: run `locktap prep` (it needs the kernel's debug information)" },
	{ "spin_hold_after_wait",
	  "a spinlock's hold after a first waiter's wait has the wait in it: run `locktap prep`" },
	{ "percpu_rwsem_readers", "readers of a percpu_rwsem call no function: not seen" },
	{ "spin_releases",
	  "this kernel's spinlocks are let go in no function: their holds are not seen" },
	{ "waits", "whether a lock was waited for is not seen by the probes on one variable" },
	{ "names",
	  "locks in allocated memory have no names: run `locktap prep` (it needs the kernel's debug information)" },
};

/* What the report is about. */
static bool lk_tells_waits(void)
{
	return lk_opt.report == LK_CONTEND || lk_opt.report == LK_BLAME ||
	       lk_opt.report == LK_CHAIN || lk_opt.events & LK_EV_WAITS;
}

static bool lk_tells_holds(void)
{
	return lk_opt.report == LK_HOLD || lk_opt.report == LK_BLAME || lk_opt.report == LK_ORDER ||
	       (lk_opt.events && lk_stat_wants_holds());
}

static u32 lk_blind(void)
{
	u32 blind = 0;

	if (lk_tells_waits()) {
		if (!lk_kernel.sees_entry)
			blind |= 1u << 2;
		else if (lk_kernel.virt_spin)
			blind |= 1u << 0;
		else if (!lk_kernel.sees_pending)
			blind |= 1u << 1;
	}
	if (lk_tells_holds() && lk_kernel.tracks && lk_opt.report != LK_ORDER &&
	    (!lk_kernel.sees_pending || lk_kernel.virt_spin))
		blind |= 1u << 6;
	if (!lk_kernel.sees_rwsem && (lk_kernel.tracks || lk_tells_waits()))
		blind |= 1u << 3;
	if (!lk_kernel.sees_percpu && (lk_kernel.tracks || lk_tells_waits()))
		blind |= 1u << 4;
	if (lk_kernel.tells_tries && !(lk_names_nr && lk_kernel.sees_places))
		blind |= 1u << 5;
	if (lk_tells_holds() && lk_kernel.tracks &&
	    !(lk_kernel.sees_percpu_readers && lk_kernel.sees_places))
		blind |= 1u << 7;
	if (lk_opt.report == LK_HOLD && !lk_kernel.tracks && !lk_kernel.tracks_user)
		blind |= 1u << 9;
	if (lk_tells_holds() && lk_kernel.tracks && lk_kernel.no_spin_release)
		blind |= 1u << 8;
	if (!lk_names_nr)
		blind |= 1u << 10;
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
	struct lk_loss loss[40];
	bool waits = lk_tells_waits(), holds = lk_tells_holds();
	bool orders = lk_opt.report == LK_ORDER;
	unsigned int n = 0, i;
	const char *sep = "";
	u64 reads, aborts;

	lk_counts_sum(&s);
#define LK_LOSS(k, v, t) (loss[n++] = (struct lk_loss){ .key = k, .value = v, .text = t })
	LK_LOSS("seen", s.seen, NULL);
	LK_LOSS("recorded", s.recorded, NULL);
	LK_LOSS("brief", s.brief, "shorter than min_us");
	LK_LOSS("filtered", s.filtered, "filtered out");
	LK_LOSS("full", s.full,
		orders			  ? "lost, table of orders full (-DLOCKTAP_ORDERS=N)" :
		lk_opt.report == LK_CHAIN ? "lost, table of chains full (-DLOCKTAP_CHAINS=N)" :
					    "lost, record table full (-DLOCKTAP_RECORDS=N)");
	if (waits)
		LK_LOSS("waits_full", s.waits_full,
			"lost, too many waits at once (-DLOCKTAP_WAITS=N)");
	LK_LOSS("stacks_full", s.stacks_full,
		"without stack, stack table full (-DLOCKTAP_STACKS=N)");
	LK_LOSS("deep", s.deep, "stacks cut");
	LK_LOSS("skipped", lk_skips(), "probe hits skipped by stap or missed by kprobes");
	if (waits) {
		LK_LOSS("unmatched", s.unmatched, "begins or ends without their partner");
		LK_LOSS("open", lk_open_waits(), "waits not over yet");
		LK_LOSS("inner", s.inner,
			"waits on a lock's own internal lock, part of the outer wait");
		LK_LOSS("idle", s.idle, "sleeps in user space for something that is no lock");
		LK_LOSS("untimed", s.entries > s.queued ? s.entries - s.queued : 0,
			"waits not timed");
	}
	if (holds) {
		LK_LOSS("held", s.held, "released that were taken before we came");
		LK_LOSS(waits ? "open_holds" : "open", lk_open_holds(), "not released yet");
		LK_LOSS("endless", s.endless, "taken, their release not seen");
		LK_LOSS("holds_full", s.holds_full,
			"lost, too many held at once (-DLOCKTAP_HOLDS=N)");
		LK_LOSS("foreign", s.foreign, "released by another task");
		LK_LOSS("recursive", s.recursive, "taken by a task that had it");
		LK_LOSS(waits ? "inner_ops" : "inner", s.inner_ops,
			"of a lock's own internal lock, not told");
		LK_LOSS("own_ns",
			lk_own.way[LK_BY_ENTRY].before_ns + lk_own.way[LK_BY_ENTRY].after_ns, NULL);
	}
	if (orders) {
		LK_LOSS("deep_holds", s.orders_deep, "left out, too many locks held at a time");
		LK_LOSS("unproven", s.orders_unproven,
			"left out, the first lock was not held by what it says itself");
		LK_LOSS("pairs_full", s.pairs_full,
			"of which the two locks were forgotten (-DLOCKTAP_PAIRS=N)");
		LK_LOSS("names_full", lk_graph.lost, "locks without a place (-DLOCKTAP_ORDERS=N)");
		LK_LOSS("cut", lk_graph.cut, "search for circles cut short");
	}
	if (lk_opt.report == LK_BLAME) {
		LK_LOSS("uncharged", s.uncharged,
			"waits not charged, too many at once (-DLOCKTAP_WAITS=N)");
		LK_LOSS("waits_ns", s.waits_ns + lk_blame_open_ns(), NULL);
		LK_LOSS("charged_ns", s.charged_ns, NULL);
		LK_LOSS("handed_ns", s.handed_ns, NULL);
		LK_LOSS("full_ns", s.full_ns, NULL);
	}
	if (lk_opt.report == LK_CHAIN) {
		LK_LOSS("waits_ns", s.waits_ns, NULL);
		LK_LOSS("full_ns", s.full_ns, NULL);
		LK_LOSS("holders_full_ns", lk_chain.holders_full,
			"ns behind holders not told, table full (-DLOCKTAP_CHAINS=N)");
		LK_LOSS("late", lk_chain.late, "links made anew by the timer only");
		LK_LOSS("cycles_full", lk_chain.cycles_full, "deadlocks not kept, too many");
		LK_LOSS("edges_full", lk_edges_lost, "waits of this moment not told, too many");
	}
	LK_LOSS("tryfail", s.tryfails, NULL);
	if (lk_kernel.tells_tries)
		LK_LOSS("tries_blind", lk_tries_blind(),
			"trylocks of spinlocks and rwlocks in the source that cannot be probed");
	LK_LOSS("unarmed", lk_sites_unarmed, "places of the chosen locks that cannot be probed");
	if (lk_guard_sum) {
		lk_guard_sum(&reads, &aborts);
		LK_LOSS("guard_reads", reads, NULL);
		LK_LOSS("guard_aborts", aborts, "guarded reads given up");
	}
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
		lk_print("loss: %llu %s seen, %llu recorded", s.seen,
			 lk_opt.report == LK_STAT ? "events" :
			 orders			  ? "orders" :
			 lk_opt.report == LK_HOLD ? "holds" :
						    "waits",
			 s.recorded);
		for (i = 0; i < n; i++)
			if (loss[i].text && loss[i].value)
				lk_print("; %llu %s", loss[i].value, loss[i].text);
		lk_print_blind(true);
		lk_print("\n");
		break;
	default: /* in DOT it is a comment */
		lk_print("#loss ");
		for (i = 0; i < n; i++, sep = " ")
			lk_print("%s%s=%llu", sep, loss[i].key, loss[i].value);
		lk_print(" walks=%llu known=%llu blind=", s.walks, s.known);
		lk_print_blind(false);
		lk_print("\n");
	}
}

static void lk_report_rows(struct list_head *rows, u64 elapsed_ns)
{
	bool holds = lk_opt.report == LK_HOLD;

	if (lk_opt.report == LK_STAT) {
		lk_stat_report(rows, elapsed_ns);
		return;
	}
	if (lk_opt.report == LK_BLAME) {
		lk_report_blame(rows, elapsed_ns);
		return;
	}
	if (lk_opt.report == LK_ORDER) {
		lk_report_order(elapsed_ns);
		return;
	}
	switch (lk_opt.format) {
	case LK_TABLE:
		(holds ? lk_hold_table : lk_report_table)(rows, elapsed_ns);
		break;
	case LK_TSV:
		(holds ? lk_hold_tsv : lk_report_tsv)(rows);
		break;
	case LK_FOLDED:
		lk_report_folded(rows);
		break;
	case LK_JSON:
		(holds ? lk_hold_json : lk_report_json)(rows, elapsed_ns);
		break;
	case LK_DOT: /* of other reports */
		break;
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
	bool masked = irqs_disabled(), claimed = false;
	u32 which;

	if (!lk_opt.started || lk_finished)
		return;
	lk_finished = last;
	which = lk_flip();
	if (last && !in_interrupt() && masked)
		local_irq_enable();
	if (lk_opt.report == LK_CHAIN)
		claimed = lk_chain_claim();
	lk_codes_clear(); /* modules come and go */
	if (lk_opt.report != LK_CHAIN)
		lk_merge(which, &rows);
	if (lk_reports++ && lk_opt.format != LK_JSON)
		lk_print("\n");
	if (lk_opt.report == LK_CHAIN)
		lk_report_chain(now - lk_opt.start_ns, now, last);
	else
		lk_report_rows(&rows, now - lk_opt.start_ns);
	lk_report_loss();
	lk_flush();
	if (claimed)
		lk_chain_release();
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
