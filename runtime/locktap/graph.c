// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap graph: makes a picture of a chain or order report. */
#include <config.h>

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "files.h"
#include "graph.h"
#include "locktap.h"

struct options {
	const char *file;
	const char *output; /* NULL: standard output */
	bool dot;
	uint64_t number; /* --report, 0: the last */
	uint64_t top; /* 0: all */
};

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

enum { KEY_DOT = 256, KEY_REPORT, KEY_TOP };

static const struct argp_option option_list[] = {
	{ "output", 'o', "FILE", 0,
	  "Write to FILE, as a whole or not at all; default: standard output",
	  0 },
	{ "dot", KEY_DOT, NULL, 0,
	  "Write DOT, the language of graphviz, instead of SVG", 0 },
	{ "report", KEY_REPORT, "N", 0,
	  "The Nth report of FILE; default: the last", 0 },
	{ "top", KEY_TOP, "N", 0,
	  "Only the N longest waits (each with what it waits behind), or the N largest chains or orders; cycles and inversions are always there",
	  0 },
	{ 0 },
};

static const char documentation[] =
	"Makes a picture, in SVG, of a report of lockchain.stp or lockorder.stp "
	"that FILE (or standard input: `-') has in JSON or DOT.\v"
	"Threads are boxes, locks are ellipses; an arrow leads from a thread to "
	"the lock that it waits for, and from a lock to who holds it, dashed "
	"where that is not proven.  Lines are the wider the longer the wait.  "
	"Cycles and inversions are red, harmless inversions grey.  Stacks and "
	"whole names are shown when the pointer is held over something.\n"
	"\n"
	"  stap lockchain.stp -T 10 -G format=json > chain.json\n"
	"  locktap graph -o chain.svg chain.json\n"
	"  locktap graph --report=3 --top=20 -o third.svg chain.json\n"
	"  stap lockorder.stp -T 10 -G format=json | locktap graph - > order.svg\n"
	"  locktap graph --dot chain.json | dot -Tpdf -o chain.pdf\n"
	"\n"
	"SVG needs dot, of graphviz.  The exit status is 0 if the picture is "
	"made, 1 if something failed, 2 for wrong usage.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		argument_name(argument, "output", state);
		options->output = files_is_output(argument) ? NULL : argument;
		return 0;
	case KEY_DOT:
		options->dot = true;
		return 0;
	case KEY_REPORT:
		options->number = argument_number(argument, "report", state);
		return 0;
	case KEY_TOP:
		options->top = argument_number(argument, "top", state);
		return 0;
	case ARGP_KEY_ARG:
		argument_once(&options->file, argument, "FILE", state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no FILE given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ------------------------------------------------------------------------ */
/* Output                                                                    */

/* DOT to what is asked for. */
static int finish(const struct options *options, const char *dot,
		  size_t dot_length)
{
	char *svg = NULL;
	size_t svg_length = 0;
	int status;

	if (options->dot)
		return files_write(options->output, dot, dot_length);
	status = graph_render(dot, dot_length, &svg, &svg_length);
	if (status == LOCKTAP_DONE)
		status = files_write(options->output, svg, svg_length);
	free(svg);
	return status;
}

/* ------------------------------------------------------------------------ */

static int from_json(const struct options *options,
		     const struct graph_source *source)
{
	struct graph_report report = { 0 };
	char *dot = NULL;
	size_t dot_length = 0;
	FILE *out = NULL;
	int status = graph_read_json(source, options->number, &report);

	if (status == LOCKTAP_DONE) {
		out = open_memstream(&dot, &dot_length);
		status = out ? graph_draw(out, &report, options->top) :
			       locktap_fail("out of memory");
	}
	if (out && fclose(out) != 0 && status == LOCKTAP_DONE)
		status = locktap_fail("out of memory");
	graph_report_free(&report);
	if (status == LOCKTAP_DONE)
		status = finish(options, dot, dot_length);
	free(dot);
	return status;
}

static int from_dot(const struct options *options,
		    const struct graph_source *source)
{
	const char *begin;
	size_t length;

	if (options->top)
		return locktap_fail(
			"%s is in DOT: --top needs JSON, as -G format=json writes it",
			source->file);
	if (graph_find_dot(source, options->number, &begin, &length) !=
	    LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	if (!options->dot)
		return finish(options, begin, length);
	/* For the newline that DOT in a file ends with. */
	if (begin[length] == '\n')
		length++;
	return finish(options, begin, length);
}

static int from_text(const struct options *options,
		     const struct graph_source *source)
{
	size_t at = strspn(source->text, " \t\r\n");

	if (at == source->length)
		return locktap_fail(
			"%s is empty: has the script that made it failed?",
			source->file);
	if (source->text[at] == '{')
		return from_json(options, source);
	if (strncmp(source->text + at, "digraph", 7) == 0 ||
	    strncmp(source->text + at, "strict", 6) == 0)
		return from_dot(options, source);
	return locktap_fail(
		"%s is neither JSON nor DOT: make it with -G format=json or -G format=dot of lockchain.stp or lockorder.stp",
		source->file);
}

static int run(const struct options *options)
{
	struct graph_source source = { .file = files_name(options->file) };
	char *text = NULL;
	int status;

	if (!options->dot && !options->output && isatty(STDOUT_FILENO)) {
		locktap_fail(
			"SVG is not for a terminal: give -o FILE, or --dot to see the graph as text");
		return LOCKTAP_USAGE;
	}
	status = files_read_named(options->file, &text, &source.length);
	source.text = text;
	if (status == LOCKTAP_DONE)
		status = from_text(options, &source);
	free(text);
	return status;
}

int locktap_graph(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "FILE",
		.doc = documentation,
	};
	struct options options = { 0 };

	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return LOCKTAP_USAGE;
	return run(&options);
}
