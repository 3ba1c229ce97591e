// SPDX-License-Identifier: GPL-2.0-or-later
/* The page's picture of who waits for whom: drawn as locktap graph does it. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph.h"
#include "locktap.h"
#include "objects.h"
#include "report_formats.h"
#include "report_page.h"

enum { MOST_DRAWN = 25 };

/* ------------------------------------------------------------------------ */
/* Rows of waits as chains of one link                                       */

/* Code without its offset, which would make a box of each. */
static void short_code(const char *code, char *text, size_t size)
{
	snprintf(text, size, "%s", code);
	text[strcspn(text, "+")] = '\0';
}

/* Who waited, and who held the lock; false: nobody that is known. */
static bool find_ends(const struct report *report, const struct report_row *row,
		      char *waiter, char *holder, size_t size)
{
	bool blame = report->kind == REPORT_BLAME;
	const char *comm = blame ? "holder_comm" : "comm";

	if (blame) {
		short_code(report_text(report, row, "waiter_caller"), waiter,
			   size);
		snprintf(holder, size, "%s", report_text(report, row, comm));
		return report_has(report, row, comm);
	}
	if (report_has(report, row, comm))
		snprintf(waiter, size, "%s", report_text(report, row, comm));
	else
		short_code(report_text(report, row, "caller"), waiter, size);
	snprintf(holder, size, "thread %s", report_text(report, row, "owner"));
	return report_number(report, row, "owner") != 0;
}

static bool put_chain(struct json_object *chains, const struct report *report,
		      const struct report_row *row, const char *waiter,
		      const char *holder)
{
	struct json_object *chain = list_new_object(chains), *links, *first,
			   *last;

	links = json_object_new_array();
	if (!chain || !object_put(chain, "links", links))
		return false;
	first = list_new_object(links);
	last = list_new_object(links);
	return first && last &&
	       object_put_number(chain, "count",
				 report_number(report, row,
					       report->kind == REPORT_BLAME ?
						       "waits" :
						       "contended")) &&
	       object_put_number(chain, "total_ns",
				 report_number(report, row, "total_ns")) &&
	       object_put_number(chain, "max_ns",
				 report_number(report, row, "max_ns")) &&
	       object_put_text(first, "comm", waiter) &&
	       object_put_text(first, "kind",
			       report_text(report, row, "kind")) &&
	       object_put_text(first, "name",
			       report_text(report, row, "name")) &&
	       object_put_text(last, "comm", holder);
}

/* *empty: nobody is known to have held anything. */
static struct json_object *rows_as_chains(const struct report *report,
					  bool *empty)
{
	struct json_object *top = json_object_new_object();
	struct json_object *chains = json_object_new_array();
	bool good = top && object_put(top, "chains", chains) &&
		    object_put_number(top, "locktap", 1) &&
		    object_put_text(top, "report", "chain");
	char waiter[100], holder[100];

	for (size_t i = 0; good && i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];

		if (find_ends(report, row, waiter, holder, sizeof(waiter)))
			good = put_chain(chains, report, row, waiter, holder);
	}
	*empty = good && !json_object_array_length(chains);
	if (good)
		return top;
	json_object_put(top);
	return NULL;
}

/* ------------------------------------------------------------------------ */
/* The picture                                                               */

static bool has_dot(void)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");
		char file[4096];

		snprintf(file, sizeof(file), "%.*s/dot", (int)length, path);
		if (access(file, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

/* Without what makes it a file of its own; names of parts would come twice. */
static void put_svg(FILE *out, const char *svg)
{
	const char *at = strstr(svg, "<svg");

	while (at && *at) {
		if (strncmp(at, " id=\"", 5) == 0)
			at += 5 + strcspn(at + 5, "\"") + 1;
		else if (strncmp(at, "<!--", 4) == 0 && strstr(at, "-->"))
			at = strstr(at, "-->") + 3;
		else
			fputc(*at++, out);
	}
}

static int draw(const char *json, FILE *dot)
{
	const struct graph_source source = { .file = "the report",
					     .text = json,
					     .length = strlen(json) };
	struct graph_report report = { 0 };
	int status = graph_read_json(&source, 1, &report);

	if (status == LOCKTAP_DONE)
		status = graph_draw(dot, &report, MOST_DRAWN);
	graph_report_free(&report);
	return status;
}

/* False: out of memory. */
static bool put_picture(FILE *out, struct json_object *json)
{
	const char *text =
		json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	char *dot = NULL, *svg = NULL;
	size_t dot_length = 0, svg_length = 0;
	FILE *file = open_memstream(&dot, &dot_length);
	bool drawn = text && file && draw(text, file) == LOCKTAP_DONE;
	bool good = text && file;

	if (file && fclose(file) != 0)
		good = false;
	/* All else of the page is worth having without it. */
	if (good && drawn &&
	    graph_render(dot, dot_length, &svg, &svg_length) == LOCKTAP_DONE) {
		fputs("<div class=\"stage\">", out);
		put_svg(out, svg);
		fputs("</div>\n", out);
	} else {
		fputs("<p class=\"quiet\">There is no picture: to draw it failed when this page was made.</p>\n",
		      out);
	}
	free(dot);
	free(svg);
	return good;
}

bool page_graph(FILE *out, const struct report *report)
{
	bool lists = report->kind == REPORT_CHAIN ||
		     report->kind == REPORT_ORDER;
	struct json_object *json;
	bool empty = false, good = true;

	if (!lists && report->kind != REPORT_CONTEND &&
	    report->kind != REPORT_BLAME)
		return true;
	json = lists ? report_json(report) : rows_as_chains(report, &empty);
	if (!json)
		return false;
	if (empty || !report->row_count) {
		json_object_put(json);
		return true;
	}
	fprintf(out, "<figure class=\"graph\"><figcaption>%s</figcaption>\n",
		report->kind == REPORT_ORDER ?
			"Which lock is taken while which is held" :
		report->kind == REPORT_CONTEND ?
			"Who waits for whom, by the thread that held the lock in each row's longest wait" :
			"Who waits for whom");
	if (has_dot())
		good = put_picture(out, json);
	else
		fputs("<p class=\"quiet\">There is no picture: the program dot of graphviz was missing when this page was made.</p>\n",
		      out);
	fputs("</figure>\n", out);
	json_object_put(json);
	return good;
}
