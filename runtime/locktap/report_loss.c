// SPDX-License-Identifier: GPL-2.0-or-later
/* The loss line in words. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_view.h"

/* What a key's number counts; "": it is no loss. Others are told by their keys. */
static const struct {
	const char *key, *text;
} words[] = {
	{ "seen", "" },
	{ "recorded", "" },
	{ "own_ns", "" },
	{ "waits_ns", "" },
	{ "charged_ns", "" },
	{ "handed_ns", "" },
	{ "full_ns", "" },
	{ "tryfail", "" },
	{ "walks", "" },
	{ "known", "" },
	{ "brief", "shorter than min_us" },
	{ "filtered", "filtered out" },
	{ "full", "lost, record table full (-DLOCKTAP_RECORDS=N)" },
	{ "waits_full", "lost, too many waits at once (-DLOCKTAP_WAITS=N)" },
	{ "stacks_full",
	  "without stack, stack table full (-DLOCKTAP_STACKS=N)" },
	{ "deep", "stacks cut" },
	{ "skipped", "probe hits skipped by stap or missed by kprobes" },
	{ "unmatched", "begins or ends without their partner" },
	{ "open", "waits not over yet" },
	{ "inner",
	  "waits on a lock's own internal lock, part of the outer wait" },
	{ "idle", "sleeps in user space for something that is no lock" },
	{ "untimed", "waits not timed" },
	{ "held", "released that were taken before the script came" },
	{ "open_holds", "not released yet" },
	{ "endless", "taken, their release not seen" },
	{ "holds_full", "lost, too many held at once (-DLOCKTAP_HOLDS=N)" },
	{ "foreign", "released by another task" },
	{ "recursive", "taken by a task that had it" },
	{ "inner_ops", "of a lock's own internal lock, not told" },
	{ "deep_holds", "left out, too many locks held at a time" },
	{ "unproven",
	  "left out, the first lock was not held by what it says itself" },
	{ "pairs_full",
	  "of which the two locks were forgotten (-DLOCKTAP_PAIRS=N)" },
	{ "names_full", "locks without a place (-DLOCKTAP_ORDERS=N)" },
	{ "cut", "search for circles cut short" },
	{ "uncharged",
	  "waits not charged, too many at once (-DLOCKTAP_WAITS=N)" },
	{ "holders_full_ns",
	  "ns behind holders not told, table full (-DLOCKTAP_CHAINS=N)" },
	{ "late", "links made anew by the timer only" },
	{ "cycles_full", "deadlocks not kept, too many" },
	{ "edges_full", "waits of this moment not told, too many" },
	{ "tries_blind",
	  "trylocks of spinlocks and rwlocks in the source that cannot be probed" },
	{ "unarmed", "places of the chosen locks that cannot be probed" },
	{ "guard_reads", "" },
	{ "guard_aborts", "guarded reads given up" },
};

/* Keys that mean something else in some reports. */
static const struct {
	enum report_kind kind;
	const char *key, *text;
} others[] = {
	{ REPORT_HOLD, "open", "not released yet" },
	{ REPORT_HOLD, "inner", "of a lock's own internal lock, not told" },
	{ REPORT_ORDER, "open", "not released yet" },
	{ REPORT_ORDER, "inner", "of a lock's own internal lock, not told" },
	{ REPORT_ORDER, "full",
	  "lost, table of orders full (-DLOCKTAP_ORDERS=N)" },
	{ REPORT_CHAIN, "full",
	  "lost, table of chains full (-DLOCKTAP_CHAINS=N)" },
};

/* What a kernel or a run cannot show. */
static const struct {
	const char *word, *text;
} blinds[] = {
	{ "virt_spin_lock",
	  "waits for spinlocks are counted, not timed: this guest has a test-and-set lock" },
	{ "spin_first_waiter",
	  "a spinlock's first waiter is counted, not timed: run `locktap prep`" },
	{ "spin_first_waiter_count",
	  "a spinlock's first waiter is not seen: stap needs /boot/System.map-RELEASE" },
	{ "rwsem_spinner",
	  "a writer that spins for a rwsem is not seen: stap needs /boot/System.map-RELEASE" },
	{ "percpu_rwsem_writer",
	  "a percpu_rwsem's writer behind readers is not seen: stap needs /boot/System.map-RELEASE" },
	{ "spin_trylock",
	  "failed trylocks of spinlocks and rwlocks are not seen: run `locktap prep`" },
	{ "spin_hold_after_wait",
	  "a spinlock's hold after a first waiter's wait has the wait in it: run `locktap prep`" },
	{ "percpu_rwsem_readers",
	  "readers of a percpu_rwsem call no function: not seen" },
	{ "spin_releases",
	  "this kernel's spinlocks are let go in no function: their holds are not seen" },
	{ "waits",
	  "whether a lock was waited for is not seen by the probes on one variable" },
	{ "names",
	  "locks in allocated memory have no names: run `locktap prep`" },
};

static const char *words_for(enum report_kind kind, const char *key)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i].kind == kind && strcmp(others[i].key, key) == 0)
			return others[i].text;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].key, key) == 0)
			return words[i].text;
	return key;
}

static void put_blind(FILE *out, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, ","), i = 0;

		while (i < sizeof(blinds) / sizeof(*blinds) &&
		       (strlen(blinds[i].word) != length ||
			strncmp(blinds[i].word, list, length) != 0))
			i++;
		if (i < sizeof(blinds) / sizeof(*blinds))
			fprintf(out, "; %s", blinds[i].text);
		else if (length && strncmp(list, "-", length) != 0)
			fprintf(out, "; not seen: %.*s", (int)length, list);
		list += length + (list[length] == ',');
	}
}

static void put_loss(FILE *out, const struct report *report)
{
	fprintf(out, "%" PRIu64 " %s seen, %" PRIu64 " recorded",
		report_loss(report, "seen"),
		report->kind == REPORT_STAT  ? "events" :
		report->kind == REPORT_ORDER ? "orders" :
		report->kind == REPORT_HOLD  ? "holds" :
					       "waits",
		report_loss(report, "recorded"));
	for (size_t i = 0; i < report->loss_count; i++) {
		const struct report_loss *loss = &report->loss[i];
		const char *text = words_for(report->kind, loss->key);

		if (strcmp(loss->key, "blind") == 0)
			put_blind(out, loss->text);
		else if (!loss->is_number)
			fprintf(out, "; %s %s", loss->key, loss->text);
		else if (loss->number && *text)
			fprintf(out, "; %" PRIu64 " %s", loss->number, text);
	}
}

const char *view_loss(struct report_set *set, const struct report *report)
{
	char *text = NULL, *copy = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	put_loss(out, report);
	if (fclose(out) == 0)
		copy = report_print(set, "%s", text);
	free(text);
	return copy;
}
