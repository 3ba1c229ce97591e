// SPDX-License-Identifier: GPL-2.0-or-later
/* Adds up reports of intervals, or of several files. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "locktap.h"
#include "report_read.h"
#include "words.h"

static int out_of_memory(void)
{
	return locktap_fail("out of memory");
}

/* ------------------------------------------------------------------------ */
/* What a row stands for                                                     */

/* Rows with the same texts there, and the same numbers, stand for the same. */
static const struct {
	const char *always;
	/* With these as well, where several rows of a report are the same else. */
	const char *maybe;
	/* Of the row with the largest one the texts are kept. */
	const char *largest;
} keys[REPORT_KINDS] = {
	[REPORT_CONTEND] = { "kind mode name stack id comm", "lock caller",
			     "max_ns" },
	[REPORT_HOLD] = { "kind mode name stack id comm", "lock caller",
			  "max_ns" },
	[REPORT_STAT] = { "event kind mode name stack id comm", "lock caller",
			  "max_ns" },
	[REPORT_BLAME] = { "kind mode name holder_caller holder_stack waiter_caller waiter_stack id comm",
			   "lock holder_tid holder_comm", "total_ns" },
	/* Of a whole chain: of each of its rows. */
	[REPORT_CHAIN] = { "what depth comm kind mode name caller owner_comm",
			   "", "max_ns" },
};

/* Columns whose numbers are added. */
static const char sums[] =
	"acquired block_ns contended count failed lock_ns raw_ns run_ns runnable_ns sleep_ns spin_ns total_ns tryfail waits";

static bool is_among(const char *columns, const char *name)
{
	return words_have(columns, ' ', name, strlen(name));
}

/* The rows of a chain, or a row alone. */
struct entry {
	struct report *report;
	size_t first, count;
	size_t order; /* as they come */
	char *key;
};

struct merge {
	struct report_set *set;
	enum report_kind kind;
	struct entry *entries;
	size_t count;
};

static size_t group_size(const struct report *report, size_t first)
{
	size_t count = 1;
	uint64_t chain;

	if (report->kind != REPORT_CHAIN)
		return 1;
	chain = report_number(report, &report->rows[first], "chain");
	while (first + count < report->row_count &&
	       report_number(report, &report->rows[first + count], "chain") ==
		       chain)
		count++;
	return count;
}

static char *make_key(struct report_set *set, const struct entry *entry,
		      const char *words)
{
	const struct report *report = entry->report;
	char *key, *at;
	size_t size = 1;

	for (size_t row = 0; row < entry->count; row++)
		for (size_t i = 0; i < report->column_count; i++)
			if (is_among(words, report->columns[i].name))
				size += strlen(report->rows[entry->first + row]
						       .cells[i]
						       .text) +
					1;
	key = at = report_alloc(set, size);
	if (!key)
		return NULL;
	for (size_t row = 0; row < entry->count; row++)
		for (size_t i = 0; i < report->column_count; i++)
			if (is_among(words, report->columns[i].name)) {
				at = stpcpy(at, report->rows[entry->first + row]
							.cells[i]
							.text);
				*at++ = '\t';
			}
	return key;
}

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	return order ? order : (a->order > b->order) - (a->order < b->order);
}

static bool sort_by(struct merge *merge, const char *words)
{
	for (size_t i = 0; i < merge->count; i++) {
		struct entry *entry = &merge->entries[i];

		entry->key = make_key(merge->set, entry, words);
		if (!entry->key)
			return false;
	}
	qsort(merge->entries, merge->count, sizeof(*merge->entries), compare);
	return true;
}

/* Are there two of one report? Then they stand for two things. */
static bool is_ambiguous(const struct merge *merge)
{
	for (size_t i = 1; i < merge->count; i++)
		if (merge->entries[i].report == merge->entries[i - 1].report &&
		    strcmp(merge->entries[i].key, merge->entries[i - 1].key) ==
			    0)
			return true;
	return false;
}

/* ------------------------------------------------------------------------ */
/* Sums                                                                      */

/* The other report's column of that name: versions may have others. */
static const struct report_cell *cell_of(const struct report *report,
					 const struct report_row *row,
					 const char *name)
{
	static const struct report_cell none = { .text = "-" };
	int column = report_column(report, name);

	return column < 0 ? &none : &row->cells[column];
}

/* The other row keeps its own. False: out of memory. */
static bool add_hist(struct report_set *set, struct report_row *row,
		     const uint64_t *hist)
{
	if (!hist)
		return true;
	if (!row->hist)
		row->hist =
			report_alloc(set, REPORT_BUCKETS * sizeof(*row->hist));
	if (!row->hist)
		return false;
	for (size_t i = 0; i < REPORT_BUCKETS; i++)
		row->hist[i] += hist[i];
	return true;
}

static bool copy_row(struct report_set *set, struct report *to,
		     const struct report *from, const struct report_row *row)
{
	struct report_row *copy = &to->rows[to->row_count];

	copy->cells =
		report_alloc(set, to->column_count * sizeof(*copy->cells));
	if (!copy->cells)
		return false;
	for (size_t i = 0; i < to->column_count; i++)
		copy->cells[i] = *cell_of(from, row, to->columns[i].name);
	if (!add_hist(set, copy, row->hist))
		return false;
	to->row_count++;
	return true;
}

/* Events that were counted, for averages and for the smallest. */
static const char *count_column(enum report_kind kind)
{
	return kind == REPORT_CONTEND ? "contended" :
	       kind == REPORT_HOLD    ? "acquired" :
					"count";
}

/* The numbers of a row, added to `row', whose count was `before'. */
static void add_number(struct report_cell *cell, const char *name, bool chain,
		       uint64_t other, uint64_t before, uint64_t count)
{
	if (is_among(sums, name) || (chain && strcmp(name, "wait_ns") == 0))
		cell->number += other;
	else if (strcmp(name, "max_ns") == 0 && other > cell->number)
		cell->number = other;
	else if (strcmp(name, "min_ns") == 0 && count &&
		 (!before || other < cell->number))
		cell->number = other;
}

/* How many readers there were on average. */
static bool add_readers(struct report_set *set, struct report *to,
			struct report_row *row, const struct report *from,
			const struct report_row *other, const char **text)
{
	int column = report_column(to, "rcnt");
	double count = (double)report_number(to, row, "count");
	double more = (double)report_number(from, other, "count");
	double sum;

	*text = column < 0 ? NULL : row->cells[column].text;
	if (!*text || count + more == 0)
		return true;
	sum = strtod(*text, NULL) * count +
	      strtod(report_text(from, other, "rcnt"), NULL) * more;
	*text = report_print(set, "%.2f", sum / (count + more));
	return *text != NULL;
}

static bool add_row(struct report_set *set, struct report *to,
		    struct report_row *row, const struct report *from,
		    const struct report_row *other)
{
	const char *counted = count_column(to->kind);
	const char *largest = keys[to->kind].largest, *readers;
	uint64_t before = report_number(to, row, counted);
	uint64_t count = report_number(from, other, counted);
	bool larger = report_number(from, other, largest) >
		      report_number(to, row, largest);
	int average = report_column(to, "avg_ns");

	if (!add_readers(set, to, row, from, other, &readers) ||
	    !add_hist(set, row, other->hist))
		return false;
	for (size_t i = 0; i < to->column_count; i++) {
		const char *name = to->columns[i].name;
		const struct report_cell *cell = cell_of(from, other, name);

		if (to->columns[i].type == REPORT_NUMBER)
			add_number(&row->cells[i], name,
				   to->kind == REPORT_CHAIN, cell->number,
				   before, count);
		else if (larger)
			row->cells[i] = *cell;
	}
	if (average >= 0 && before + count)
		row->cells[average].number =
			report_number(to, row, "total_ns") / (before + count);
	if (readers)
		row->cells[report_column(to, "rcnt")].text = readers;
	return true;
}

static bool add_entry(struct merge *merge, struct report *to, size_t at,
		      const struct entry *entry)
{
	for (size_t i = 0; i < entry->count; i++)
		if (!add_row(merge->set, to, &to->rows[at + i], entry->report,
			     &entry->report->rows[entry->first + i]))
			return false;
	return true;
}

/* Of chains the whole ones only: waits of a moment, and deadlocks, are no sums. */
static bool is_sum(const struct entry *entry)
{
	return entry->report->kind != REPORT_CHAIN ||
	       strcmp(report_text(entry->report,
				  &entry->report->rows[entry->first], "what"),
		      "chain") == 0;
}

/* Is it of a report that has a later one of the same file? */
static bool is_past(const struct merge *merge, const struct report *report)
{
	/* Those of order have no intervals: each is a run of its own. */
	for (size_t i = 0;
	     report->kind != REPORT_ORDER && i < merge->set->count; i++)
		if (&merge->set->reports[i] > report &&
		    merge->set->reports[i].kind == report->kind &&
		    merge->set->reports[i].source == report->source)
			return true;
	return false;
}

static bool is_left_out(const struct merge *merge, const struct entry *entry)
{
	return entry->report->kind == REPORT_CHAIN && !is_sum(entry) &&
	       strcmp(report_text(entry->report,
				  &entry->report->rows[entry->first], "what"),
		      "now") == 0 &&
	       is_past(merge, entry->report);
}

/* ------------------------------------------------------------------------ */
/* The loss line                                                             */

/* The words of two lists with commas between, each once. NULL: out of memory. */
static const char *add_words(struct report_set *set, const char *list,
			     const char *more)
{
	for (; list && *more; more += *more == ',') {
		size_t length = strcspn(more, ",");

		if (length && !words_have(list, ',', more, length))
			list = report_print(set, "%s,%.*s", list, (int)length,
					    more);
		more += length;
	}
	return list;
}

/* Numbers of a file count from its run's start, so that the last one has all. */
static bool add_loss(struct report_set *set, struct report *sum,
		     const struct report *report)
{
	struct report_loss *loss =
		report_alloc(set, (sum->loss_count + report->loss_count + 1) *
					  sizeof(*loss));
	size_t count = sum->loss_count;

	if (!loss)
		return false;
	if (count)
		memcpy(loss, sum->loss, count * sizeof(*loss));
	for (size_t i = 0; i < report->loss_count; i++) {
		const struct report_loss *more = &report->loss[i];
		size_t at = 0;

		while (at < count && strcmp(loss[at].key, more->key) != 0)
			at++;
		if (at == count) {
			loss[count++] = *more;
		} else if (loss[at].is_number && more->is_number) {
			if (strcmp(more->key, "own_ns") != 0)
				loss[at].number += more->number;
		} else if (strcmp(loss[at].text, "-") == 0) {
			loss[at].text = more->text;
		} else if (strcmp(more->text, "-") != 0) {
			loss[at].text =
				add_words(set, loss[at].text, more->text);
			if (!loss[at].text)
				return false;
		}
	}
	sum->loss = loss;
	sum->loss_count = count;
	return true;
}

/* ------------------------------------------------------------------------ */

static int compare_order(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return (a->order > b->order) - (a->order < b->order);
}

static bool copy_entry(struct merge *merge, struct report *sum,
		       const struct entry *entry)
{
	for (size_t i = 0; i < entry->count; i++)
		if (!copy_row(merge->set, sum, entry->report,
			      &entry->report->rows[entry->first + i]))
			return false;
	return true;
}

/* Two files may have the same numbers. */
static void number_chain(struct report *sum, size_t at, size_t number)
{
	int column = report_column(sum, "chain");

	for (; column >= 0 && at < sum->row_count; at++)
		sum->rows[at].cells[column].number = number;
}

/* Entries of one key, which stand together, become one. */
static bool join(struct merge *merge, struct report *sum)
{
	const struct entry *first = NULL;
	size_t at = 0;

	for (size_t i = 0; i < merge->count; i++) {
		const struct entry *entry = &merge->entries[i];

		if (is_left_out(merge, entry))
			continue;
		if (first && is_sum(entry) &&
		    strcmp(first->key, entry->key) == 0) {
			if (!add_entry(merge, sum, at, entry))
				return false;
			continue;
		}
		first = entry;
		at = sum->row_count;
		if (!copy_entry(merge, sum, entry))
			return false;
		number_chain(sum, at, i + 1);
	}
	return true;
}

/* Each order stays a row of its own; inversions get numbers that go on. */
static bool join_orders(struct merge *merge, struct report *sum)
{
	const struct report *report = NULL;
	uint64_t before = 0, most = 0;

	for (size_t i = 0; i < merge->count; i++) {
		struct report_cell *inversion;

		if (merge->entries[i].report != report)
			before = most;
		report = merge->entries[i].report;
		if (!copy_entry(merge, sum, &merge->entries[i]))
			return false;
		inversion = &sum->rows[sum->row_count - 1]
				     .cells[report_column(sum, "inversion")];
		if (inversion->number)
			inversion->number += before;
		if (inversion->number > most)
			most = inversion->number;
	}
	return true;
}

static int compare_weight(const void *left, const void *right, void *context)
{
	const struct report *report = context;
	const struct report_row *a = left, *b = right;
	bool stat = report->kind == REPORT_STAT;
	const char *name = stat ? "count" : "total_ns";
	uint64_t x = report_number(report, a, name);
	uint64_t y = report_number(report, b, name);
	uint64_t d = report_number(report, a, "event");
	uint64_t e = report_number(report, b, "event");

	if (d != e)
		return d > e ? 1 : -1;
	if (x != y)
		return x < y ? 1 : -1;
	x = report_number(report, a, "tryfail");
	y = report_number(report, b, "tryfail");
	return (x < y) - (x > y);
}

/* The largest first, as the scripts have it; chains stay as they come. */
static void rank(struct report *sum)
{
	if (sum->kind != REPORT_CHAIN && sum->kind != REPORT_ORDER)
		qsort_r(sum->rows, sum->row_count, sizeof(*sum->rows),
			compare_weight, sum);
}

static bool merge_entries(struct merge *merge, struct report *sum)
{
	const char *always = keys[merge->kind].always;
	char words[200];

	if (merge->kind == REPORT_ORDER)
		return join_orders(merge, sum);
	if (!sort_by(merge, always))
		return false;
	snprintf(words, sizeof(words), "%s %s", always,
		 keys[merge->kind].maybe);
	if (*keys[merge->kind].maybe && is_ambiguous(merge) &&
	    !sort_by(merge, words))
		return false;
	if (merge->kind == REPORT_CHAIN)
		/* Chains of one key stand together, in the order of the first. */
		for (size_t i = 1; i < merge->count; i++)
			if (is_sum(&merge->entries[i]) &&
			    strcmp(merge->entries[i].key,
				   merge->entries[i - 1].key) == 0)
				merge->entries[i].order =
					merge->entries[i - 1].order;
	if (merge->kind == REPORT_CHAIN)
		qsort(merge->entries, merge->count, sizeof(*merge->entries),
		      compare_order);
	return join(merge, sum);
}

/* Rows and entries of all reports of the kind. */
static bool collect(struct merge *merge, struct report *sum)
{
	size_t rows = 0, order = 0;

	for (size_t i = 0; i < merge->set->count; i++)
		if (merge->set->reports[i].kind == merge->kind)
			rows += merge->set->reports[i].row_count;
	merge->entries = calloc(rows + 1, sizeof(*merge->entries));
	sum->rows = report_alloc(merge->set, (rows + 1) * sizeof(*sum->rows));
	if (!merge->entries || !sum->rows)
		return false;
	for (size_t i = 0; i < merge->set->count; i++) {
		struct report *report = &merge->set->reports[i];

		if (report->kind != merge->kind)
			continue;
		if (!sum->columns) {
			sum->columns = report->columns;
			sum->column_count = report->column_count;
		}
		for (size_t row = 0; row < report->row_count;) {
			struct entry *entry = &merge->entries[merge->count++];

			entry->report = report;
			entry->first = row;
			entry->count = group_size(report, row);
			entry->order = order++;
			row += entry->count;
		}
		if (!is_past(merge, report) &&
		    !add_loss(merge->set, sum, report))
			return false;
	}
	return true;
}

static int merge_kind(struct report_set *set, enum report_kind kind,
		      struct report_set *sums_of)
{
	struct merge merge = { .set = set, .kind = kind };
	struct report *sum;
	bool good;

	if (!report_set_grow(sums_of))
		return out_of_memory();
	sum = &sums_of->reports[sums_of->count];
	*sum = (struct report){ .kind = kind };
	good = collect(&merge, sum) && merge_entries(&merge, sum);
	free(merge.entries);
	if (!good)
		return out_of_memory();
	rank(sum);
	sums_of->count++;
	return LOCKTAP_DONE;
}

static size_t count_kind(const struct report_set *set, enum report_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < set->count; i++)
		count += set->reports[i].kind == kind;
	return count;
}

static const struct report *only_one(const struct report_set *set,
				     enum report_kind kind)
{
	const struct report *report = set->reports;

	while (report->kind != kind)
		report++;
	return report;
}

int report_merge(struct report_set *set, struct report_set *sum)
{
	for (int kind = 0; kind < REPORT_KINDS; kind++) {
		size_t count = count_kind(set, (enum report_kind)kind);

		if (!count)
			continue;
		if (count == 1) {
			if (!report_set_grow(sum))
				return out_of_memory();
			sum->reports[sum->count++] =
				*only_one(set, (enum report_kind)kind);
			continue;
		}
		if (merge_kind(set, (enum report_kind)kind, sum) !=
		    LOCKTAP_DONE)
			return LOCKTAP_FAILED;
	}
	return LOCKTAP_DONE;
}

/* ------------------------------------------------------------------------ */
/* By lock                                                                   */

static const char lock_key[] = "event kind mode name";

bool report_same_lock(const struct report *report, const struct report_row *a,
		      const struct report_row *b)
{
	for (size_t i = 0; i < report->column_count; i++)
		if (is_among(lock_key, report->columns[i].name) &&
		    strcmp(a->cells[i].text, b->cells[i].text) != 0)
			return false;
	return true;
}

/* What a row of several has no word for. */
static void forget(struct report *sum)
{
	for (size_t i = 0; i < sum->column_count; i++) {
		const char *name = sum->columns[i].name;

		if (!is_among("stack holder_stack waiter_stack id comm", name))
			continue;
		for (size_t row = 0; row < sum->row_count; row++)
			sum->rows[row].cells[i] =
				(struct report_cell){ .text = "-" };
	}
}

bool report_by_lock(struct report_set *set, struct report *report,
		    struct report *sum)
{
	struct merge merge = { .set = set, .kind = report->kind };
	bool good;

	*sum = *report;
	sum->row_count = 0;
	sum->rows =
		report_alloc(set, (report->row_count + 1) * sizeof(*sum->rows));
	merge.entries = calloc(report->row_count + 1, sizeof(*merge.entries));
	good = sum->rows && merge.entries;
	for (size_t i = 0; good && i < report->row_count; i++)
		merge.entries[merge.count++] =
			(struct entry){ report, i, 1, i, NULL };
	good = good && sort_by(&merge, lock_key) && join(&merge, sum);
	free(merge.entries);
	if (!good)
		return false;
	forget(sum);
	rank(sum);
	return true;
}
