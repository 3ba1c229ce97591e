/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that only lockstat has. */
#ifndef LK_STAT_OPTION_H
#define LK_STAT_OPTION_H

#include "lk_base.h"
#include "lk_hold.h"
#include "lk_option.h"
#include "lk_stat.h"

static const struct lk_stat_name {
	u8 event;
	const char *word;
	const char *text;
} lk_stat_names[] = {
	{ LK_EV_MUTEX_SPIN, "mutex_spin", "Adaptive mutex spin" },
	{ LK_EV_MUTEX_BLOCK, "mutex_block", "Adaptive mutex block" },
	{ LK_EV_SPIN, "spin", "Spin lock spin" },
	{ LK_EV_WRITER_BY_WRITER, "writer_by_writer", "R/W writer blocked by writer" },
	{ LK_EV_WRITER_BY_READERS, "writer_by_readers", "R/W writer blocked by readers" },
	{ LK_EV_READER_BY_WRITER, "reader_by_writer", "R/W reader blocked by writer" },
	{ LK_EV_READER_BY_WANTED, "reader_by_wanted", "R/W reader blocked by write wanted" },
	{ LK_EV_SEM_BLOCK, "sem_block", "Semaphore block" },
	{ LK_EV_TRYFAIL, "tryfail", "Trylock failed" },
	{ LK_EV_MUTEX_HOLD, "mutex_hold", "Adaptive mutex hold" },
	{ LK_EV_SPIN_HOLD, "spin_hold", "Spin lock hold" },
	{ LK_EV_WRITER_HOLD, "writer_hold", "R/W writer hold" },
	{ LK_EV_READER_HOLD, "reader_hold", "R/W reader hold" },
	{ LK_EV_SEM_HOLD, "sem_hold", "Semaphore hold" },
	{ LK_EV_RECURSIVE, "recursive", "Recursive lock entry" },
	{ LK_EV_NO_ROOM, "no_room", "Lockstat record failure" },
	{ LK_EV_UNSEEN, "unseen", "Release without acquire seen" },
};

static const struct {
	const char *word;
	u64 events;
} lk_stat_groups[] = {
	{ "contention", LK_EV_CONTENTION },
	{ "holds", LK_EV_HOLDS },
	{ "both", LK_EV_CONTENTION | LK_EV_HOLDS },
	{ "errors", LK_EV_ERRORS },
	{ "all", LK_EV_CONTENTION | LK_EV_HOLDS | LK_EV_ERRORS },
};

/* What rows of one event are made one. */
enum lk_stat_by { LK_STAT_AS_KEPT, LK_STAT_LOCKS, LK_STAT_NAMES, LK_STAT_CALLERS };

static struct {
	enum lk_stat_by by;
	bool by_time; /* sorted by the time instead of the count */
	bool rates;
} lk_stat;

static const struct lk_stat_name *lk_stat_name(unsigned int event)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lk_stat_names); i++)
		if (lk_stat_names[i].event == event)
			return &lk_stat_names[i];
	return NULL;
}

/* The events from one number to another; 0: there is none. */
static u64 lk_stat_range(const char *item, size_t len)
{
	unsigned int lo, hi, i;
	char text[16], rest;
	u64 events = 0;

	strscpy(text, item, min(len + 1, sizeof(text)));
	if (sscanf(text, "%u-%u%c", &lo, &hi, &rest) != 2) {
		if (sscanf(text, "%u%c", &lo, &rest) != 1)
			return 0;
		hi = lo;
	}
	for (i = 0; i < ARRAY_SIZE(lk_stat_names); i++)
		if (lk_stat_names[i].event >= lo && lk_stat_names[i].event <= hi)
			events |= BIT_ULL(lk_stat_names[i].event);
	return events;
}

static u64 lk_stat_item(const char *item, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lk_stat_groups); i++)
		if (strlen(lk_stat_groups[i].word) == len &&
		    !strncmp(lk_stat_groups[i].word, item, len))
			return lk_stat_groups[i].events;
	for (i = 0; i < ARRAY_SIZE(lk_stat_names); i++)
		if (strlen(lk_stat_names[i].word) == len &&
		    !strncmp(lk_stat_names[i].word, item, len))
			return BIT_ULL(lk_stat_names[i].event);
	return lk_stat_range(item, len);
}

static bool lk_opt_events(const char *value)
{
	const char *p = value;
	unsigned int i, n;

	lk_opt.events = *value ? 0 : LK_EV_CONTENTION;
	while (*p) {
		size_t len = strcspn(p, ",."); /* stap's -G takes no commas */
		u64 events = lk_stat_item(p, len);

		if (!events || (p[len] && !p[len + 1]))
			goto bad;
		lk_opt.events |= events;
		p += len + !!p[len];
	}
	return true;
bad:
	n = scnprintf(
		lk_problem, sizeof(lk_problem),
		"events=%.40s: a list of contention, holds, both, errors, all, of numbers, ranges (0-2) or names of events, with dots between, is wanted:",
		value);
	for (i = 0; i < ARRAY_SIZE(lk_stat_names); i++)
		n += scnprintf(lk_problem + n, sizeof(lk_problem) - n, "%s %u %s", i ? "," : "",
			       lk_stat_names[i].event, lk_stat_names[i].word);
	return false;
}

/* by= for the recorder: rows by lock, by name or by caller are made of those by both. */
static const char *lk_opt_stat_by(const char *value)
{
	static const char *const words[] = { "", "lock", "name", "caller" };
	int i = lk_word(value, strlen(value), words, ARRAY_SIZE(words));

	if (i < 0)
		return value;
	lk_stat.by = i;
	lk_opt.by_address = i == LK_STAT_LOCKS;
	return "caller";
}

static bool lk_opt_sort(const char *value)
{
	if (*value && strcmp(value, "count") && strcmp(value, "time"))
		return LK_BAD("sort=%s: count or time is wanted", value);
	lk_stat.by_time = value[0] == 't';
	return true;
}

/* func=FUNCTION; of a module's too, with the module's name and a dot before it. */
static bool lk_opt_in(const char *value)
{
	char name[KSYM_NAME_LEN];
	const char *dot = strchr(value, '.');
	unsigned long addr;

	if (!*value)
		return true;
	strscpy(name, value, sizeof(name));
	addr = kallsyms_lookup_name(name);
	if (!addr && dot && dot - value < sizeof(name)) {
		name[dot - value] = ':';
		addr = kallsyms_lookup_name(name);
	}
	if (!addr)
		return LK_BAD("func=%s: no function has this name: it may be inlined into another",
			      value);
	lk_opt.in = addr;
	lk_opt.in_bytes = lk_symbol_bytes(addr);
	return true;
}

static bool lk_opt_stat_format(const char *value, bool trace)
{
	if (!strcmp(value, "folded"))
		return LK_BAD("format=folded: one of table, tsv, json is wanted");
	if (trace && !strcmp(value, "json"))
		return LK_BAD("format=json: with trace=1 table or tsv is wanted");
	return true;
}

/* What the tapset arms by. */
enum lk_stat_arms { LK_ARM_WAITS = 1, LK_ARM_HOLDS = 2, LK_ARM_TRIES = 4 };

static unsigned int lk_stat_arms(void)
{
	unsigned int arms = 0;

	if (lk_opt.events & LK_EV_WAITS)
		arms |= LK_ARM_WAITS;
	if (lk_stat_wants_holds())
		arms |= LK_ARM_HOLDS;
	if (lk_stat_wants_holds() || lk_stat_wants(LK_EV_TRYFAIL))
		arms |= LK_ARM_TRIES;
	return arms;
}

static int lk_stat_start(const char *events, const char *by, const char *sort, const char *top,
			 const char *min_us, const char *kinds, const char *only, const char *in,
			 const char *interval, const char *hist, const char *trace,
			 const char *rates, const char *format, const char *pid)
{
	u64 n_trace = 0, n_rates = 0;
	bool holds;

	if (!lk_opt_events(events) || !lk_opt_sort(sort) || !lk_opt_in(in) ||
	    !lk_number("trace", trace, 0, 1, &n_trace) ||
	    !lk_number("rates", rates, 0, 1, &n_rates) || !lk_opt_stat_format(format, n_trace))
		return -1;
	lk_stat.rates = n_rates;
	lk_opt.trace = n_trace;
	holds = lk_stat_wants_holds();
	if (lk_start(LK_STAT, lk_opt_stat_by(by), top, min_us, kinds, only, interval, hist, format,
		     pid))
		return -1;
	if (holds && lk_opt.by == LK_BY_STACK)
		lk_kernel.stacks = lk_stack_at_entry;
	if (lk_stat_wants(LK_EV_RECURSIVE))
		lk_kernel.recursion = lk_record;
	lk_kernel.tells_tries = lk_kernel.tracks_tries = lk_stat_wants(LK_EV_TRYFAIL);
	lk_kernel.tracks = holds;
	if (holds)
		lk_own_start();
	return 0;
}

#endif
