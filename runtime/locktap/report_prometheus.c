// SPDX-License-Identifier: GPL-2.0-or-later
/* Metrics in Prometheus' text format, for a node exporter's textfile collector. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_formats.h"
#include "report_view.h"

enum how { SUM, MOST };

struct metric {
	enum report_kind kind;
	const char *name, *help;
	const char *column; /* a time if it ends in _ns */
	enum how how;
	const char *label; /* one more, with its value: state="run" */
};

/* Those of one name stand together. */
static const struct metric metrics[] = {
	{ REPORT_CONTEND, "locktap_contentions_total",
	  "Waits for a lock that are over.", "contended", SUM, NULL },
	{ REPORT_CONTEND, "locktap_failed_waits_total",
	  "Waits that ended without the lock.", "failed", SUM, NULL },
	{ REPORT_CONTEND, "locktap_wait_seconds_total",
	  "Time that was waited for a lock.", "total_ns", SUM, NULL },
	{ REPORT_CONTEND, "locktap_wait_spin_seconds_total",
	  "The part of it that was spent spinning.", "spin_ns", SUM, NULL },
	{ REPORT_CONTEND, "locktap_wait_block_seconds_total",
	  "The part of it that was spent asleep or queued.", "block_ns", SUM,
	  NULL },
	{ REPORT_CONTEND, "locktap_wait_max_seconds",
	  "The longest wait for a lock.", "max_ns", MOST, NULL },
	{ REPORT_CONTEND, "locktap_failed_trylocks_total",
	  "Trylocks that failed.", "tryfail", SUM, NULL },

	{ REPORT_HOLD, "locktap_acquisitions_total",
	  "Holds of a lock that are over.", "acquired", SUM, NULL },
	{ REPORT_HOLD, "locktap_contended_acquisitions_total",
	  "Those of them that came after a wait.", "contended", SUM, NULL },
	{ REPORT_HOLD, "locktap_held_seconds_total",
	  "Time for which a lock was held.", "total_ns", SUM, NULL },
	{ REPORT_HOLD, "locktap_held_max_seconds",
	  "The longest hold of a lock.", "max_ns", MOST, NULL },
	{ REPORT_HOLD, "locktap_hold_failed_trylocks_total",
	  "Trylocks that failed.", "tryfail", SUM, NULL },

	{ REPORT_STAT, "locktap_events_total", "Events on a lock.", "count",
	  SUM, NULL },
	{ REPORT_STAT, "locktap_event_seconds_total", "Their time.", "total_ns",
	  SUM, NULL },
	{ REPORT_STAT, "locktap_event_max_seconds", "The longest of them.",
	  "max_ns", MOST, NULL },

	{ REPORT_BLAME, "locktap_blamed_waits_total",
	  "Waits for a lock, each counted in every hold that it fell into.",
	  "waits", SUM, NULL },
	{ REPORT_BLAME, "locktap_blamed_seconds_total",
	  "Time that others waited for who held a lock, by what the holder did.",
	  "run_ns", SUM, "state=\"run\"" },
	{ REPORT_BLAME, "locktap_blamed_seconds_total", "", "runnable_ns", SUM,
	  "state=\"runnable\"" },
	{ REPORT_BLAME, "locktap_blamed_seconds_total", "", "sleep_ns", SUM,
	  "state=\"sleep\"" },
	{ REPORT_BLAME, "locktap_blamed_seconds_total", "", "lock_ns", SUM,
	  "state=\"lock\"" },

	{ REPORT_CHAIN, "locktap_chain_waits_total",
	  "Waits at the beginning of a chain, by the lock that ends it.",
	  "count", SUM, NULL },
	{ REPORT_CHAIN, "locktap_chain_wait_seconds_total", "Their time.",
	  "wait_ns", SUM, NULL },

	{ REPORT_ORDER, "locktap_lock_orders",
	  "Orders of two locks that are part of an inversion, or all.", NULL,
	  SUM, NULL },
};

/* A row with its labels; of one set of labels the first one counts all. */
struct series {
	const struct report_row *row;
	const char *labels;
};

struct table {
	struct report_set *set;
	const struct report *report;
	struct series *series;
	size_t count;
	bool failed;
};

/* ------------------------------------------------------------------------ */
/* Labels                                                                    */

static void put_label(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s%s=\"", ftell(out) ? "," : "", name);
	for (; *text; text++)
		if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	fputc('"', out);
}

static void put_lock(FILE *out, const struct report *report,
		     const struct report_row *row)
{
	put_label(out, "lock", report_text(report, row, "name"));
	put_label(out, "kind", report_text(report, row, "kind"));
	put_label(out, "mode", report_text(report, row, "mode"));
}

/* Tasks by their names: their numbers would make a new series of each. */
static void put_row_labels(FILE *out, const struct report *report,
			   const struct report_row *row)
{
	switch (report->kind) {
	case REPORT_ORDER:
		put_label(out, "first", report_text(report, row, "first_name"));
		put_label(out, "then", report_text(report, row, "then_name"));
		put_label(out, "inversion",
			  !report_number(report, row, "inversion") ? "no" :
			  report_has(report, row, "gate") ? "harmless" :
							    "yes");
		return;
	case REPORT_CHAIN:
		put_lock(out, report, row);
		put_label(out, "holder",
			  report_has(report, row, "owner_comm") ?
				  report_text(report, row, "owner_comm") :
				  "?");
		return;
	case REPORT_BLAME:
		put_lock(out, report, row);
		put_label(out, "holder",
			  report_has(report, row, "holder_comm") ?
				  report_text(report, row, "holder_comm") :
				  "");
		return;
	case REPORT_STAT:
		put_label(out, "event", report_text(report, row, "word"));
		break;
	default:
		break;
	}
	put_lock(out, report, row);
	if (report_has(report, row, "comm"))
		put_label(out, "task", report_text(report, row, "comm"));
}

static const char *labels_of(struct table *table, const struct report_row *row)
{
	char *text = NULL, *copy = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out) {
		put_row_labels(out, table->report, row);
		if (fclose(out) == 0)
			copy = report_print(table->set, "%s", text);
		free(text);
	}
	if (!copy)
		table->failed = true;
	return copy ? copy : "";
}

static int compare(const void *left, const void *right)
{
	const struct series *a = left, *b = right;

	return strcmp(a->labels, b->labels);
}

/* The number that stands for a row: of chains the last one, which holds all up. */
static bool is_counted(const struct report *report, size_t at)
{
	const struct report_row *row = &report->rows[at];

	if (report->kind != REPORT_CHAIN)
		return true;
	return strcmp(report_text(report, row, "what"), "chain") == 0 &&
	       (at + 1 == report->row_count ||
		report_number(report, row + 1, "chain") !=
			report_number(report, row, "chain"));
}

static void fill(struct table *table)
{
	const struct report *report = table->report;

	table->series = report_alloc(table->set, (report->row_count + 1) *
							 sizeof(struct series));
	if (!table->series) {
		table->failed = true;
		return;
	}
	for (size_t i = 0; i < report->row_count; i++) {
		struct series *series = &table->series[table->count];

		if (!is_counted(report, i))
			continue;
		series->row = &report->rows[i];
		series->labels = labels_of(table, series->row);
		table->count++;
	}
	qsort(table->series, table->count, sizeof(struct series), compare);
}

/* ------------------------------------------------------------------------ */
/* Values                                                                    */

static void put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000,
		ns % 1000000000);
}

static bool is_time(const char *column)
{
	size_t length = column ? strlen(column) : 0;

	return length > 3 && strcmp(column + length - 3, "_ns") == 0;
}

static uint64_t value_of(const struct table *table, const struct metric *metric,
			 size_t *at)
{
	const struct series *first = &table->series[*at];
	uint64_t value = 0;

	for (; *at < table->count && compare(first, &table->series[*at]) == 0;
	     *at += 1) {
		const struct report_row *row = table->series[*at].row;
		uint64_t number = metric->column ?
					  report_number(table->report, row,
							metric->column) :
					  1;

		if (metric->how == SUM)
			value += number;
		else if (number > value)
			value = number;
	}
	return value;
}

static void put_head(FILE *out, const char *name, const char *help,
		     const char *type)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static const char *type_of(const char *name)
{
	size_t length = strlen(name);

	return length > 6 && strcmp(name + length - 6, "_total") == 0 ?
		       "counter" :
		       "gauge";
}

static void put_metric(FILE *out, const struct table *table,
		       const struct metric *metric)
{
	if (*metric->help)
		put_head(out, metric->name, metric->help,
			 type_of(metric->name));
	for (size_t at = 0; at < table->count;) {
		const char *labels = table->series[at].labels;
		uint64_t value = value_of(table, metric, &at);

		fprintf(out, "%s{%s%s%s} ", metric->name, labels,
			metric->label ? "," : "",
			metric->label ? metric->label : "");
		if (is_time(metric->column))
			put_seconds(out, value);
		else
			fprintf(out, "%" PRIu64, value);
		fputc('\n', out);
	}
}

/* ------------------------------------------------------------------------ */
/* Histograms                                                                */

static void add_hist(uint64_t *sum, const uint64_t *hist)
{
	for (size_t i = 0; hist && i < REPORT_BUCKETS; i++)
		sum[i] += hist[i];
}

/*
 * The same buckets in every report, as they have to be to be added up: from 1 us to
 * 17 s, each four times the one before it.
 */
enum { FIRST_BUCKET = 9, LAST_BUCKET = 33, BUCKET_STEP = 2 };

static void put_series_hist(FILE *out, const char *name, const char *labels,
			    const uint64_t *hist, uint64_t ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < REPORT_BUCKETS; i++) {
		count += hist[i];
		if (i < FIRST_BUCKET || i > LAST_BUCKET ||
		    (i - FIRST_BUCKET) % BUCKET_STEP)
			continue;
		fprintf(out, "%s_bucket{%s,le=\"", name, labels);
		/* Less than 2^(i+1) ns is at most 2^(i+1) - 1. */
		put_seconds(out, view_bucket_ns(i + 1) - 1);
		fprintf(out, "\"} %" PRIu64 "\n", count);
	}
	fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels,
		count);
	fprintf(out, "%s_sum{%s} ", name, labels);
	put_seconds(out, ns);
	fprintf(out, "\n%s_count{%s} %" PRIu64 "\n", name, labels, count);
}

static void put_hist(FILE *out, const struct table *table, const char *name,
		     const char *help)
{
	static const struct metric total = { .column = "total_ns", .how = SUM };
	bool any = false;

	for (size_t i = 0; i < table->count; i++)
		any |= table->series[i].row->hist != NULL;
	if (!any)
		return;
	put_head(out, name, help, "histogram");
	for (size_t at = 0; at < table->count;) {
		uint64_t hist[REPORT_BUCKETS] = { 0 };
		size_t begin = at;
		uint64_t ns = value_of(table, &total, &at);

		for (size_t i = begin; i < at; i++)
			add_hist(hist, table->series[i].row->hist);
		put_series_hist(out, name, table->series[begin].labels, hist,
				ns);
	}
}

/* ------------------------------------------------------------------------ */
/* What is of a report as a whole                                            */

static void put_deadlocks(FILE *out, const struct report *report)
{
	uint64_t deadlocks = 0, waits = 0;

	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		const char *what = report_text(report, row, "what");

		deadlocks += strcmp(what, "deadlock") == 0 &&
			     !report_number(report, row, "depth");
		waits += strcmp(what, "now") == 0 &&
			 !report_number(report, row, "depth");
	}
	put_head(out, "locktap_deadlocks_total", "Deadlocks that were seen.",
		 "counter");
	fprintf(out, "locktap_deadlocks_total %" PRIu64 "\n", deadlocks);
	put_head(out, "locktap_chains_waiting",
		 "Chains of waits at the end of the report.", "gauge");
	fprintf(out, "locktap_chains_waiting %" PRIu64 "\n", waits);
}

/* Words after blind=, with commas between. */
static void put_blind(FILE *out, const struct report *report, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, ",");

		if (length && (length != 1 || *list != '-')) {
			char word[80];

			snprintf(word, sizeof(word), "%.*s", (int)length, list);
			fprintf(out, "locktap_blind{report=\"%s\"",
				report_kind_name(report->kind));
			put_label(out, "what", word);
			fputs("} 1\n", out);
		}
		list += length + (list[length] == ',');
	}
}

static void put_losses(FILE *out, const struct report_set *set)
{
	put_head(out, "locktap_loss",
		 "What the report's loss line says; key names it.", "gauge");
	for (size_t i = 0; i < set->count; i++)
		for (size_t at = 0; at < set->reports[i].loss_count; at++) {
			const struct report_loss *loss =
				&set->reports[i].loss[at];

			if (!loss->is_number)
				continue;
			fprintf(out, "locktap_loss{report=\"%s\"",
				report_kind_name(set->reports[i].kind));
			put_label(out, "key", loss->key);
			fprintf(out, "} %" PRIu64 "\n", loss->number);
		}
	put_head(out, "locktap_blind",
		 "What this kernel, or the run, could not show.", "gauge");
	for (size_t i = 0; i < set->count; i++)
		for (size_t at = 0; at < set->reports[i].loss_count; at++)
			if (strcmp(set->reports[i].loss[at].key, "blind") == 0)
				put_blind(out, &set->reports[i],
					  set->reports[i].loss[at].text);
}

bool report_put_prometheus(FILE *out, struct report_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct table table = { .set = set, .report = &set->reports[i] };

		fill(&table);
		if (table.failed)
			return false;
		for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++)
			if (metrics[m].kind == table.report->kind)
				put_metric(out, &table, &metrics[m]);
		if (table.report->kind == REPORT_CONTEND)
			put_hist(out, &table, "locktap_wait_seconds",
				 "How long waits for a lock were.");
		if (table.report->kind == REPORT_HOLD)
			put_hist(out, &table, "locktap_held_seconds",
				 "How long a lock was held.");
		if (table.report->kind == REPORT_CHAIN)
			put_deadlocks(out, table.report);
	}
	put_losses(out, set);
	return true;
}
