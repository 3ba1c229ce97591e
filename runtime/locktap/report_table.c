// SPDX-License-Identifier: GPL-2.0-or-later
/* A report as a table, for reading. */
#include <config.h>

#include <inttypes.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "files.h"
#include "report_formats.h"
#include "report_view.h"

#define BOLD "\033[1m"

enum {
	ROWS = 20, /* if --top is not given */
	BAR_CHARS = 40,
	/* What is left of a name that is cut. */
	CUT_CHARS = 16,
	INDENT = 8,
};

struct sheet {
	struct libscols_table *table;
	const struct view *view;
	bool *shown; /* columns */
	bool tree; /* lines stand below others; else they are code, and no cells */
	size_t width; /* of the terminal; 0: it is none */
};

/* ------------------------------------------------------------------------ */
/* Columns                                                                   */

/* Do lines that belong to others have names of their own? */
static bool is_tree(const struct view *view)
{
	for (size_t column = 0; column < view->column_count; column++)
		for (size_t i = 0; view->columns[column].role == VIEW_NAME &&
				   i < view->line_count;
		     i++)
			if (view->lines[i].parent != VIEW_TOP &&
			    view->lines[i].cells[column])
				return true;
	return false;
}

static size_t count_chars(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

/* How wide a column is at least, with the blank before the next one. */
static size_t least_width(const struct view *view, size_t column)
{
	size_t most = 0, head = count_chars(view->columns[column].heading);

	for (size_t i = 0; i < view->line_count; i++) {
		const char *cell = view->lines[i].cells[column];
		size_t width = cell && view->lines[i].parent == VIEW_TOP ?
				       count_chars(cell) :
				       0;

		if (width > most)
			most = width;
	}
	if (view->columns[column].cut && most > CUT_CHARS)
		most = CUT_CHARS;
	return (most > head ? most : head) + 1;
}

/* Where there is no room, the minor ones are left out, the last ones first. */
static void choose_columns(struct sheet *sheet)
{
	const struct view *view = sheet->view;
	size_t need = 0;

	for (size_t i = 0; i < view->column_count; i++) {
		sheet->shown[i] = true;
		need += least_width(view, i);
	}
	for (size_t i = view->column_count;
	     sheet->width && i-- && need > sheet->width + 1;) {
		if (view->columns[i].role != VIEW_MINOR)
			continue;
		sheet->shown[i] = false;
		need -= least_width(view, i);
	}
}

static bool add_columns(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->view->column_count; i++) {
		const struct view_column *column = &sheet->view->columns[i];
		struct libscols_column *new;

		if (!sheet->shown[i])
			continue;
		new = scols_table_new_column(
			sheet->table, column->heading, 0,
			(column->right ? SCOLS_FL_RIGHT : 0) |
				(column->cut ? SCOLS_FL_TRUNC : 0) |
				(sheet->tree && column->role == VIEW_NAME ?
					 SCOLS_FL_TREE :
					 0));
		if (!new || scols_cell_set_color(scols_column_get_header(new),
						 BOLD) != 0)
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------ */
/* Lines of the table                                                        */

static bool fill_line(const struct sheet *sheet, struct libscols_line *new,
		      const struct view_line *line)
{
	size_t at = 0;

	if (line->alarm && scols_line_set_color(new, "red") != 0)
		return false;
	if (line->faded && scols_line_set_color(new, "darkgray") != 0)
		return false;
	for (size_t i = 0; i < sheet->view->column_count; i++) {
		if (!sheet->shown[i])
			continue;
		if (line->cells[i] &&
		    scols_line_set_data(new, at, line->cells[i]) != 0)
			return false;
		at++;
	}
	return true;
}

static bool add_lines(struct sheet *sheet)
{
	const struct view *view = sheet->view;
	struct libscols_line **lines =
		calloc(view->line_count + 1, sizeof(struct libscols_line *));
	bool good = lines != NULL;

	for (size_t i = 0; good && i < view->line_count; i++) {
		const struct view_line *line = &view->lines[i];
		bool top = line->parent == VIEW_TOP;

		if (!top && !sheet->tree)
			continue;
		lines[i] = scols_table_new_line(
			sheet->table, top ? NULL : lines[line->parent]);
		good = lines[i] && fill_line(sheet, lines[i], line);
	}
	free(lines);
	return good;
}

/* ------------------------------------------------------------------------ */
/* What stands below a line, from one margin to the other                    */

static void put_bucket(FILE *out, const uint64_t *hist, size_t bucket,
		       uint64_t most)
{
	char from[VIEW_TIME], to[VIEW_TIME], bar[BAR_CHARS + 1] = "";
	size_t length =
		(size_t)((double)hist[bucket] * BAR_CHARS / (double)most);

	/* What is there at all can be seen. */
	if (!length && hist[bucket])
		length = 1;
	memset(bar, '@', length);
	fprintf(out, "%*s%6s - %-6s %9" PRIu64 " |%-*s|\n", INDENT, "",
		view_time(view_bucket_ns(bucket), from),
		view_time(view_bucket_ns(bucket + 1), to), hist[bucket],
		BAR_CHARS, bar);
}

static void put_hist(FILE *out, const struct view_line *line)
{
	size_t first, last;
	uint64_t most;

	if (!line->row || !view_buckets(line->row->hist, &first, &last, &most))
		return;
	for (size_t i = first; i <= last; i++)
		put_bucket(out, line->row->hist, i, most);
}

/* The lines that belong to the one before them. */
static size_t put_parts(FILE *out, const struct view *view, size_t at)
{
	for (at++; at < view->line_count; at++) {
		const struct view_line *line = &view->lines[at];
		size_t depth = 0;

		if (line->parent == VIEW_TOP)
			break;
		for (size_t up = line->parent;
		     view->lines[up].parent != VIEW_TOP;
		     up = view->lines[up].parent)
			depth++;
		for (size_t i = 0; i < view->column_count; i++)
			if (line->cells[i])
				fprintf(out, "%*s%s\n",
					(int)(INDENT + 4 * depth), "",
					line->cells[i]);
	}
	return at;
}

/* The table's lines, each with what stands below it. */
static void put_lines(FILE *out, const struct view *view, const char *table)
{
	size_t at = 0, length = strcspn(table, "\n");

	/* The heading. */
	fprintf(out, "%.*s\n", (int)length, table);
	table += length + (table[length] == '\n');
	while (at < view->line_count) {
		length = strcspn(table, "\n");
		fprintf(out, "%.*s\n", (int)length, table);
		table += length + (table[length] == '\n');
		put_hist(out, &view->lines[at]);
		at = put_parts(out, view, at);
	}
}

/* ------------------------------------------------------------------------ */

static bool fill_table(struct sheet *sheet)
{
	bool colours = sheet->width && files_has_colours();

	return scols_table_set_termforce(sheet->table,
					 sheet->width ?
						 SCOLS_TERMFORCE_ALWAYS :
						 SCOLS_TERMFORCE_NEVER) == 0 &&
	       scols_table_set_termwidth(
		       sheet->table, sheet->width ? sheet->width : 80) == 0 &&
	       (!colours || scols_table_enable_colors(sheet->table, 1) == 0) &&
	       add_columns(sheet) && add_lines(sheet);
}

static bool put_view(FILE *out, const struct view *view, size_t width)
{
	struct sheet sheet = { .table = scols_new_table(),
			       .view = view,
			       .shown = calloc(view->column_count + 1,
					       sizeof(bool)),
			       .tree = is_tree(view),
			       .width = width };
	char *text = NULL;
	bool good = sheet.table && sheet.shown;

	if (good) {
		choose_columns(&sheet);
		good = fill_table(&sheet) &&
		       scols_print_table_to_string(sheet.table, &text) == 0;
	}
	if (good && sheet.tree)
		fprintf(out, "%s\n", text);
	else if (good)
		put_lines(out, view, text);
	free(text);
	free(sheet.shown);
	scols_unref_table(sheet.table);
	return good;
}

static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return 80;
}

bool report_put_table(FILE *out, struct report_set *set,
		      const struct report *report, uint64_t top, bool terminal)
{
	const char *loss = view_loss(set, report);
	struct view views[VIEWS];
	size_t count;

	/* Else the letters of other scripts are written as numbers. */
	setlocale(LC_CTYPE, "");
	if (!top)
		top = ROWS;
	if (!loss || !view_make(set, report, top, views, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct view *view = &views[i];

		if (i)
			fputc('\n', out);
		if (!view->line_count) {
			fprintf(out, "%s\n", view->none);
			continue;
		}
		fprintf(out, "%s\n", view->summary);
		if (!put_view(out, view, terminal ? terminal_width() : 0))
			return false;
		if (view->more)
			fprintf(out,
				"(%zu more: --top=%" PRIu64 " shows them)\n",
				view->more, view->more + top);
	}
	fprintf(out, "loss: %s\n", loss);
	return true;
}
