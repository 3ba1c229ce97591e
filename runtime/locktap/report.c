// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap report: renders saved reports. */
#include <config.h>

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "files.h"
#include "locktap.h"
#include "report.h"
#include "report_formats.h"
#include "report_stack.h"

/* ------------------------------------------------------------------------ */
/* Formats                                                                   */

static const struct {
	const char *word;
	enum report_format format;
	bool single; /* has one kind of report */
} formats[] = {
	{ "table", REPORT_TABLE, false },
	{ "json", REPORT_JSON, false },
	{ "folded", REPORT_FOLDED, true },
	{ "pprof", REPORT_PPROF, true },
	{ "prometheus", REPORT_PROMETHEUS, false },
	{ "html", REPORT_HTML, false },
};

bool report_format_named(const char *word, enum report_format *format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(formats[i].word, word) == 0) {
			*format = formats[i].format;
			return true;
		}
	return false;
}

const char *report_format_names(void)
{
	return "table, json, folded, pprof, prometheus, html";
}

static int out_of_memory(void)
{
	return locktap_fail("out of memory");
}

/* ------------------------------------------------------------------------ */
/* Rendering                                                                 */

/* Stacks and profiles are of one kind of report. */
static int check_single(const struct report_set *sum, const char *name,
			const char *word)
{
	const struct report *report = &sum->reports[0];

	if (sum->count > 1)
		return locktap_fail(
			"%s: %s and %s reports are there, whose times are no sum: --report=N chooses one for the format %s",
			name, report_kind_name(sum->reports[0].kind),
			report_kind_name(sum->reports[1].kind), word);
	if (report->kind == REPORT_ORDER)
		return locktap_fail(
			"%s is an order report, which has no times: the format %s is not for it; take table, json, prometheus or html",
			name, word);
	if (strcmp(word, "folded") == 0 && report->row_count &&
	    !report_has_stacks(report))
		return locktap_fail(
			"%s has no stacks: make it with -G by=stack", name);
	return LOCKTAP_DONE;
}

static bool put_each(FILE *out, struct report_set *set,
		     const struct report_options *options, bool terminal)
{
	bool good = true;

	for (size_t i = 0; good && i < set->count; i++) {
		const struct report *report = &set->reports[i];

		if (options->format == REPORT_JSON) {
			good = report_put_json(out, report);
			continue;
		}
		if (i)
			fputc('\n', out);
		good = report_put_table(out, set, report, options->top,
					terminal);
	}
	return good;
}

/* Written by one of the formats; of most of them the sum. */
static bool put(FILE *out, struct report_set *set, struct report_set *sum,
		enum report_format format, const struct report_options *options)
{
	const struct report_page page = { .input = options->name,
					  .how = options->how,
					  .reports = set->count,
					  .top = options->top };
	bool terminal = !options->output && isatty(STDOUT_FILENO);

	switch (format) {
	case REPORT_FOLDED:
		return report_put_folded(out, sum);
	case REPORT_PPROF:
		return report_put_pprof(out, sum);
	case REPORT_PROMETHEUS:
		return report_put_prometheus(out, sum);
	case REPORT_HTML:
		return report_put_html(out, sum, &page);
	default:
		return put_each(out, set, options, terminal);
	}
}

static int render(struct report_set *set, struct report_set *sum,
		  enum report_format format, const char *output,
		  const struct report_options *options)
{
	char *text = NULL;
	size_t length = 0;
	int status = LOCKTAP_DONE;
	FILE *out;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i].format == format && formats[i].single)
			status = check_single(sum, options->name,
					      formats[i].word);
	if (status != LOCKTAP_DONE)
		return status;
	out = open_memstream(&text, &length);
	if (!out)
		return out_of_memory();
	if (!put(out, set, sum, format, options))
		status = out_of_memory();
	if (fclose(out) != 0 && status == LOCKTAP_DONE)
		status = out_of_memory();
	if (status == LOCKTAP_DONE)
		status = files_write(output, text, length);
	free(text);
	return status;
}

static int render_all(struct report_set *set,
		      const struct report_options *options)
{
	struct report_set sum = { 0 };
	int merged = report_merge(set, &sum), status = merged;

	/* What is made of the sum lies in its own memory. */
	if (merged == LOCKTAP_DONE && options->html)
		status = render(set, &sum, REPORT_HTML, options->html, options);
	/* One is made though the other could not be written. */
	if (merged == LOCKTAP_DONE && options->format != REPORT_NOTHING &&
	    render(set, &sum, options->format, options->output, options) !=
		    LOCKTAP_DONE)
		status = LOCKTAP_FAILED;
	report_set_free(&sum);
	return status;
}

/* Only the one that is wanted. */
static int choose(struct report_set *set, const struct report_options *options)
{
	if (!set->count)
		return locktap_fail("%s has no report", options->name);
	if (!options->number)
		return LOCKTAP_DONE;
	if (options->number > set->count)
		return locktap_fail("%s: there is no report %llu, only %zu",
				    options->name,
				    (unsigned long long)options->number,
				    set->count);
	set->reports[0] = set->reports[options->number - 1];
	set->count = 1;
	return LOCKTAP_DONE;
}

int report_render(FILE *in, const struct report_options *options)
{
	struct report_options named = *options;
	struct report_set set = { 0 };
	int status;

	if (!named.name)
		named.name = "the report";
	status = report_read(in, named.name, named.number, &set);
	if (status == LOCKTAP_DONE)
		status = choose(&set, &named);
	if (status == LOCKTAP_DONE)
		status = render_all(&set, &named);
	report_set_free(&set);
	return status;
}

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

enum { KEY_FORMAT = 256, KEY_HTML, KEY_NOTE, KEY_REPORT, KEY_TOP };

static const struct argp_option option_list[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "How it is written: table, json, folded, pprof, prometheus, html; default: table",
	  0 },
	{ "html", KEY_HTML, "FILE", 0,
	  "Write a page to look at to FILE; without --format and --output nothing else",
	  0 },
	{ "note", KEY_NOTE, "TEXT", 0,
	  "What the page says of how the report was made, as a command line",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Write to FILE, as a whole or not at all; default: standard output",
	  0 },
	{ "report", KEY_REPORT, "N", 0,
	  "The Nth report of the files; default: all", 0 },
	{ "top", KEY_TOP, "N", 0,
	  "So many rows of a table (default: 20) or of the page (30)", 0 },
	{ 0 },
};

static const char documentation[] =
	"Renders reports that were saved in tsv (locktap contend -o FILE, or -G "
	"format=tsv) of contend, hold, stat, blame, chain and order; FILE is `-' "
	"for standard input.\v"
	"Tables and JSON have each report by itself, the other formats the sum of "
	"all reports of a kind.  locktap-report(1) has more.\n"
	"\n"
	"Examples:\n"
	"  locktap report waits.tsv\n"
	"  locktap report --html page.html waits.tsv holds.tsv chains.tsv\n"
	"  locktap report --format=pprof -o waits.pb.gz waits.tsv\n"
	"  locktap report --format=prometheus -o locktap.prom today/*.tsv\n"
	"\n"
	"The exit status is 0 if all is done, 1 if something failed, 2 for "
	"wrong usage.";

struct arguments {
	struct report_options options;
	char **files;
	size_t file_count;
	bool has_output;
};

/* What a page does not leave to the table is what --output asks for. */
static void check_outputs(struct arguments *arguments, struct argp_state *state)
{
	struct report_options *options = &arguments->options;

	if (options->format == REPORT_NOTHING &&
	    (!options->html || arguments->has_output))
		options->format = REPORT_TABLE;
	if (!options->html || options->format == REPORT_NOTHING)
		return;
	if (!options->output && files_is_output(options->html))
		argp_error(
			state,
			"--html and the report are both standard output: name a file for one of them");
	if (options->output && files_are_same(options->output, options->html))
		argp_error(state, "--html and --output are the same file, %s",
			   options->output);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct report_options *options = &arguments->options;

	switch (key) {
	case KEY_FORMAT:
		if (!report_format_named(argument, &options->format))
			argp_error(state, "there is no format \"%s\", only %s",
				   argument, report_format_names());
		return 0;
	case 'o':
		argument_name(argument, "output", state);
		options->output = files_is_output(argument) ? NULL : argument;
		arguments->has_output = true;
		return 0;
	case KEY_HTML:
		options->html = argument_name(argument, "html", state);
		return 0;
	case KEY_NOTE:
		options->how = argument;
		return 0;
	case KEY_REPORT:
		options->number = argument_number(argument, "report", state);
		return 0;
	case KEY_TOP:
		options->top = argument_number(argument, "top", state);
		return 0;
	case ARGP_KEY_ARGS:
		arguments->files = state->argv + state->next;
		arguments->file_count = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no FILE given");
		return 0;
	case ARGP_KEY_END:
		check_outputs(arguments, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ------------------------------------------------------------------------ */

static int read_file(const char *file, uint64_t number, struct report_set *set)
{
	FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
	int status;

	if (!in)
		return locktap_fail("cannot open %s: %s", file,
				    strerror(errno));
	status = report_read(in, files_name(file), number, set);
	if (in != stdin)
		fclose(in);
	return status;
}

static int run(struct arguments *arguments)
{
	struct report_options *options = &arguments->options;
	struct report_set set = { 0 };
	int status = LOCKTAP_DONE;

	for (size_t i = 0;
	     status == LOCKTAP_DONE && i < arguments->file_count &&
	     (!options->number || set.count < options->number);
	     i++)
		status = read_file(arguments->files[i], options->number, &set);
	options->name = arguments->file_count == 1 ?
				files_name(arguments->files[0]) :
				"the files";
	if (status == LOCKTAP_DONE)
		status = choose(&set, options);
	if (status == LOCKTAP_DONE)
		status = render_all(&set, options);
	report_set_free(&set);
	return status;
}

static bool writes_binary(const struct report_options *options)
{
	return options->format == REPORT_PPROF && !options->output &&
	       isatty(STDOUT_FILENO);
}

int locktap_report(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = documentation,
	};
	struct arguments arguments = { .options.format = REPORT_NOTHING };

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return LOCKTAP_USAGE;
	if (writes_binary(&arguments.options)) {
		locktap_fail("a profile is not for a terminal: give -o FILE");
		return LOCKTAP_USAGE;
	}
	return run(&arguments);
}
