// SPDX-License-Identifier: GPL-2.0-or-later
/* The page: one file, which needs nothing from anywhere. */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "report_formats.h"
#include "report_page.h"

enum {
	ROWS = 30, /* if --top is not given */
	MEMBERS = 20, /* of a lock's rows */
};

/* Rows that are unfolded at first, where what is below them is the point. */
enum { UNFOLDED = 3 };

void page_text(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*text, out);
		}
}

static void put_element(FILE *out, const char *tag, const char *class,
			const char *text)
{
	fprintf(out, "<%s class=\"%s\">", tag, class);
	page_text(out, text);
	fprintf(out, "</%s>", tag);
}

/* ------------------------------------------------------------------------ */
/* Histograms                                                                */

/* Beside a row's name: only the shape, over the same times in all rows. */
static void put_small_hist(FILE *out, const uint64_t *hist, size_t from,
			   size_t to)
{
	size_t first, last;
	uint64_t most;

	if (!view_buckets(hist, &first, &last, &most))
		return;
	fputs("<span class=\"shape\" aria-hidden=\"true\">", out);
	for (size_t i = from; i <= to; i++)
		fprintf(out, "<i style=\"height:%.0f%%\"></i>",
			hist[i] ? 10 + 90.0 * (double)hist[i] / (double)most :
				  0);
	fputs("</span>", out);
}

static void put_hist(FILE *out, const uint64_t *hist)
{
	char from[VIEW_TIME], to[VIEW_TIME];
	size_t first, last;
	uint64_t most;

	if (!view_buckets(hist, &first, &last, &most))
		return;
	fputs("<div class=\"hist\">", out);
	for (size_t i = first; i <= last; i++)
		fprintf(out,
			"<span>%s to %s</span><span class=\"bar\"><i style=\"width:%.1f%%\"></i></span><span>%" PRIu64
			"</span>",
			view_time(view_bucket_ns(i), from),
			view_time(view_bucket_ns(i + 1), to),
			100.0 * (double)hist[i] / (double)most, hist[i]);
	fputs("</div>\n", out);
}

/* ------------------------------------------------------------------------ */
/* Rows                                                                      */

/* Columns of numbers that stand beside the name where there is room. */
static bool is_side(const struct view_column *column)
{
	return column->right && column->role == VIEW_PLAIN;
}

static const char *cell_of(const struct view *view,
			   const struct view_line *line, enum view_role role)
{
	for (size_t i = 0; i < view->column_count; i++)
		if (view->columns[i].role == role && line->cells[i])
			return line->cells[i];
	return "";
}

static bool is_told(const char *cell)
{
	return cell && *cell && strcmp(cell, "-") != 0;
}

/* Under the name: what it is about, as in "held in vfs_write". */
static void put_about(FILE *out, const struct view *view,
		      const struct view_line *line)
{
	fputs("<span class=\"about\">", out);
	for (size_t i = 0; i < view->column_count; i++) {
		const struct view_column *column = &view->columns[i];

		if (column->right || !is_told(line->cells[i]) ||
		    (column->role != VIEW_PLAIN && column->role != VIEW_CODE))
			continue;
		fputs("<span>", out);
		put_element(out, "small", "quiet", column->words);
		fputc(' ', out);
		page_text(out, line->cells[i]);
		fputs("</span> ", out);
	}
	fputs("</span>", out);
}

/* All columns, each with what it is. */
static void put_cells(FILE *out, const struct view *view,
		      const struct view_line *line)
{
	fputs("<dl>", out);
	for (size_t i = 0; i < view->column_count; i++) {
		if (!is_told(line->cells[i]) ||
		    view->columns[i].role == VIEW_NAME)
			continue;
		fputs("<div>", out);
		put_element(out, "dt", "", view->columns[i].words);
		put_element(out, "dd", "", line->cells[i]);
		fputs("</div>", out);
	}
	fputs("</dl>\n", out);
}

static void put_part(FILE *out, const struct view *view,
		     const struct view_line *line)
{
	bool first = true;

	for (size_t i = 0; i < view->column_count; i++) {
		if (!is_told(line->cells[i]))
			continue;
		if (!first) {
			fputc(' ', out);
			put_element(out, "small", "quiet",
				    view->columns[i].words);
			fputc(' ', out);
		}
		page_text(out, line->cells[i]);
		first = false;
	}
}

/* The lines below `parent', which begin at `at'; returns the one behind them. */
static size_t put_parts(FILE *out, const struct view *view, size_t parent,
			size_t at)
{
	bool any = at < view->line_count && view->lines[at].parent == parent;

	if (any)
		fputs("<ul>", out);
	while (at < view->line_count && view->lines[at].parent == parent) {
		const struct view_line *line = &view->lines[at];

		fprintf(out, "<li%s>", line->alarm ? " class=\"alarm\"" : "");
		put_part(out, view, line);
		at = put_parts(out, view, at, at + 1);
		fputs("</li>\n", out);
	}
	if (any)
		fputs("</ul>\n", out);
	return at;
}

/* What a row is drawn with. */
struct list {
	FILE *out;
	const struct view *view;
	uint64_t most; /* the largest weight */
	size_t from,
		to; /* buckets of all histograms; 0 and 0: there are none */
	const struct report *report; /* whose lines are sums of rows, or NULL */
	const struct view *rows; /* these rows, each a line */
};

static void put_summary(const struct list *list, const struct view_line *line,
			size_t rank)
{
	const struct view *view = list->view;
	FILE *out = list->out;

	fprintf(out,
		"<summary><span class=\"rank\">%zu</span><span class=\"what\">",
		rank);
	put_element(out, "b", "name", cell_of(view, line, VIEW_NAME));
	if (is_told(cell_of(view, line, VIEW_KIND)))
		put_element(out, "span", "kind",
			    cell_of(view, line, VIEW_KIND));
	put_about(out, view, line);
	if (list->most)
		fprintf(out,
			"<span class=\"bar\"><i style=\"width:%.2f%%\"></i></span>",
			100.0 * (double)line->weight / (double)list->most);
	fputs("</span>", out);
	if (line->row && line->row->hist)
		put_small_hist(out, line->row->hist, list->from, list->to);
	else
		fputs("<span class=\"shape\"></span>", out);
	put_element(out, "span", "main", cell_of(view, line, VIEW_MAIN));
	for (size_t i = 0; i < view->column_count; i++)
		if (is_side(&view->columns[i]))
			put_element(out, "span", "side",
				    line->cells[i] ? line->cells[i] : "");
	fputs("</summary>\n", out);
}

static void put_head(const struct list *list)
{
	static const enum view_role roles[] = { VIEW_NAME, VIEW_MAIN };
	const struct view *view = list->view;
	FILE *out = list->out;

	fputs("<div class=\"head\"><span></span>", out);
	for (size_t role = 0; role < 2; role++) {
		for (size_t i = 0; i < view->column_count; i++)
			if (view->columns[i].role == roles[role])
				put_element(out, "span", role ? "main" : "",
					    view->columns[i].words);
		if (!role)
			fprintf(out, "<span>%s</span>",
				list->to ? "how long" : "");
	}
	for (size_t i = 0; i < view->column_count; i++)
		if (is_side(&view->columns[i]))
			put_element(out, "span", "side",
				    view->columns[i].words);
	fputs("</div>\n", out);
}

/* ------------------------------------------------------------------------ */
/* The rows that a lock's line is the sum of                                 */

/* A row as one line, with its stacks below it. */
static size_t put_member(const struct list *list, size_t at)
{
	const struct view *rows = list->rows;
	const struct view_line *line = &rows->lines[at];
	FILE *out = list->out;

	fputs("<li><b>", out);
	page_text(out, cell_of(rows, line, VIEW_MAIN));
	fputs("</b>", out);
	for (size_t i = 0; i < rows->column_count; i++)
		if (is_side(&rows->columns[i]) && is_told(line->cells[i])) {
			fputc(' ', out);
			put_element(out, "small", "quiet",
				    rows->columns[i].words);
			fputc(' ', out);
			page_text(out, line->cells[i]);
		}
	fputc(' ', out);
	put_about(out, rows, line);
	at = put_parts(out, rows, at, at + 1);
	fputs("</li>\n", out);
	return at;
}

static void put_members(const struct list *list, const struct view_line *sum)
{
	const struct view *rows = list->rows;
	size_t count = 0;

	fputs("<ul class=\"members\">", list->out);
	for (size_t at = 0; at < rows->line_count;) {
		if (rows->lines[at].parent != VIEW_TOP ||
		    !report_same_lock(list->report, rows->lines[at].row,
				      sum->row) ||
		    ++count > MEMBERS) {
			at++;
			continue;
		}
		at = put_member(list, at);
	}
	if (count > MEMBERS)
		fprintf(list->out, "<li class=\"quiet\">and %zu more</li>",
			count - MEMBERS);
	fputs("</ul>\n", list->out);
}

/* ------------------------------------------------------------------------ */
/* Lists                                                                     */

static bool has_children(const struct view *view, size_t at)
{
	return at + 1 < view->line_count && view->lines[at + 1].parent == at;
}

/* A row that can be unfolded; returns the one behind it. */
static size_t put_row(const struct list *list, size_t at, size_t rank)
{
	const struct view *view = list->view;
	const struct view_line *line = &view->lines[at];
	FILE *out = list->out;
	/* Of chains and inversions the parts are the point. */
	bool open = rank <= UNFOLDED && has_children(view, at) &&
		    is_told(cell_of(view, &view->lines[at + 1], VIEW_NAME));

	fprintf(out, "<details class=\"row%s%s\"%s>",
		line->alarm ? " alarm" : "", line->faded ? " faded" : "",
		open ? " open" : "");
	put_summary(list, line, rank);
	fputs("<div class=\"more\">", out);
	put_cells(out, view, line);
	if (line->row)
		put_hist(out, line->row->hist);
	if (list->rows)
		put_members(list, line);
	at = put_parts(out, view, at, at + 1);
	fputs("</div></details>\n", out);
	return at;
}

static void measure(struct list *list)
{
	uint64_t all[REPORT_BUCKETS] = { 0 }, most;

	for (size_t i = 0; i < list->view->line_count; i++) {
		const struct view_line *line = &list->view->lines[i];

		if (line->parent != VIEW_TOP)
			continue;
		if (line->weight > list->most)
			list->most = line->weight;
		for (size_t b = 0;
		     line->row && line->row->hist && b < REPORT_BUCKETS; b++)
			all[b] += line->row->hist[b];
	}
	view_buckets(all, &list->from, &list->to, &most);
}

static void put_list(struct list *list)
{
	const struct view *view = list->view;
	FILE *out = list->out;
	size_t rank = 0;

	put_element(out, "h2", "", view->title);
	put_element(out, "p", "lead",
		    view->line_count ? view->summary : view->none);
	if (!view->line_count)
		return;
	measure(list);
	fputs("<div class=\"rows\" style=\"--sides:", out);
	for (size_t i = 0; i < view->column_count; i++)
		if (is_side(&view->columns[i]))
			fputs(" 5.5rem", out);
	fputs(" \">\n", out);
	put_head(list);
	for (size_t at = 0; at < view->line_count;)
		at = put_row(list, at, ++rank);
	fputs("</div>\n", out);
	if (view->more)
		fprintf(out,
			"<p class=\"quiet\">%zu more are not shown in this list (--top=%zu shows them); the graphs have them.</p>\n",
			view->more, view->more + rank);
}

/* Locks, and what their numbers are made of. */
static bool put_locks(FILE *out, struct report_set *set, struct report *report,
		      uint64_t top)
{
	struct view views[VIEWS], rows[VIEWS];
	struct list list = { .out = out, .view = views, .report = report };
	struct report sum;
	size_t count;

	if (!report_by_lock(set, report, &sum) ||
	    !view_make(set, &sum, top, views, &count) ||
	    !view_make(set, report, 0, rows, &count))
		return false;
	list.rows = rows;
	/* It may be about what only rows have. */
	views[0].summary = rows[0].summary;
	put_list(&list);
	return true;
}

static bool put_lists(FILE *out, struct report_set *set, struct report *report,
		      uint64_t top)
{
	struct view views[VIEWS];
	size_t count;

	if (report->kind != REPORT_CHAIN && report->kind != REPORT_ORDER)
		return put_locks(out, set, report, top);
	if (!view_make(set, report, top, views, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct list list = { .out = out, .view = &views[i] };

		put_list(&list);
	}
	return true;
}

/* ------------------------------------------------------------------------ */
/* The page                                                                  */

static bool put_flames(FILE *out, struct report_set *set,
		       const struct report *report)
{
	bool chain = report->kind == REPORT_CHAIN;

	return page_flame(out, set, report, STACKS_WAITERS,
			  "Flame graph of waiters, with the lock on top",
			  "waiters") &&
	       page_flame(
		       out, set, report, STACKS_HOLDERS,
		       chain ? "Flame graph of holders, with those that wait behind them on top" :
		       report->kind == REPORT_BLAME ?
			       "Flame graph of holders: the time that others waited, with the lock on top" :
			       "Flame graph of holders, with the lock on top",
		       "holders");
}

static bool put_report(FILE *out, struct report_set *set, struct report *report,
		       uint64_t top)
{
	const char *loss = view_loss(set, report);

	if (!loss)
		return false;
	fprintf(out, "<section class=\"%s\">\n",
		report_kind_name(report->kind));
	if (!put_lists(out, set, report, top ? top : ROWS) ||
	    !page_graph(out, report) || !put_flames(out, set, report))
		return false;
	if (report->kind != REPORT_ORDER && report->row_count &&
	    !report_has_stacks(report))
		fputs("<p class=\"quiet\">The flame graphs have the callers only: a report made by=stack has whole stacks.</p>\n",
		      out);
	fputs("<p class=\"loss\"><b>What may be missing:</b> ", out);
	page_text(out, loss);
	fputs("</p>\n</section>\n", out);
	return true;
}

static void put_end(FILE *out, const struct report_page *page)
{
	fputs("<footer><p>Made from ", out);
	page_text(out, page->input);
	fputs(" by " PACKAGE_STRING ".", out);
	if (page->reports > 1)
		fprintf(out, " Reports of a kind are added up: %zu of them.",
			page->reports);
	fputs("</p>\n", out);
	if (page->how) {
		fputs("<p>The report was made by <code>", out);
		page_text(out, page->how);
		fputs("</code></p>\n", out);
	}
	fputs("</footer>\n", out);
}

bool report_put_html(FILE *out, struct report_set *set,
		     const struct report_page *page)
{
	bool good = true;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>Locktap: ",
	      out);
	for (size_t i = 0; i < set->count; i++)
		fprintf(out, "%s%s", i ? ", " : "",
			report_kind_name(set->reports[i].kind));
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		page_style);
	fputs("<h1>Locktap</h1>\n", out);
	for (size_t i = 0; good && i < set->count; i++)
		good = put_report(out, set, &set->reports[i], page->top);
	put_end(out, page);
	fprintf(out, "<script>\n%s</script>\n</body>\n</html>\n", page_script);
	return good;
}
