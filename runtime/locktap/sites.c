// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap sites: lists the places where locks are taken and released. */
#include <config.h>

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sites/sites.h>

#include "arguments.h"
#include "locktap.h"
#include "name.h"

enum format { FORMAT_DEFAULT, FORMAT_TABLE, FORMAT_TSV, FORMAT_JSON };

struct options {
	const char *release; /* NULL: not given */
	const char *file; /* -d */
	const char *variable; /* --var */
	enum format format;
	bool names; /* --names */
};

/* A call with what is only known here. */
struct site {
	const struct sites_call *call;
	char *file; /* as the source tree has it */
	char *probe; /* the name as a probe point has it */
};

/* A NAME with its calls. */
struct name {
	const char *name, *probe;
	unsigned int kinds; /* a bit for each */
	size_t sites;
};

struct listing {
	const struct options *options;
	struct sites_image *image;
	struct sites_calls calls;
	struct source_tree tree;
	struct site *sites;
	size_t site_count;
	struct name *names;
	size_t name_count;
};

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

enum { KEY_FORMAT = 256, KEY_VAR, KEY_NAMES };

static const struct argp_option option_list[] = {
	{ "debug-file", 'd', "FILE", 0,
	  "A kernel image (vmlinux), a kernel module or a program, with debug information",
	  0 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "tsv or json; default: a table on a terminal, else tsv", 0 },
	{ "var", KEY_VAR, "NAME", 0,
	  "Only the lock of this name; with wildcards: * stops at a dot, ** does not",
	  0 },
	{ "names", KEY_NAMES, NULL, 0,
	  "List the locks' names instead, each once, and how a probe point has them",
	  0 },
	{ 0 },
};

static const char documentation[] =
	"Lists every place in the code where a lock is taken or released, with "
	"the lock's name in the source: of the running kernel, of the kernel "
	"RELEASE, or of FILE.\v"
	"Addresses are those of the file.  The name is ? where it is not "
	"known.  The exit status is 0 if all is done, 1 if something failed or "
	"no lock has that name, 2 for wrong usage.";

static enum format format_of(const char *word, struct argp_state *state)
{
	if (strcmp(word, "tsv") == 0)
		return FORMAT_TSV;
	if (strcmp(word, "json") == 0)
		return FORMAT_JSON;
	argp_error(state, "there is no format \"%s\", only tsv and json", word);
	return FORMAT_DEFAULT;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		argument_once(&options->file, argument, "FILE", state);
		return 0;
	case KEY_FORMAT:
		options->format = format_of(argument, state);
		return 0;
	case KEY_VAR:
		options->variable = argument;
		return 0;
	case KEY_NAMES:
		options->names = true;
		return 0;
	case ARGP_KEY_ARG:
		argument_once(&options->release, argument, "RELEASE", state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ------------------------------------------------------------------------ */
/* Output: a list of columns and a function that fills them                  */

enum type { TYPE_TEXT, TYPE_NUMBER, TYPE_BOOLEAN, TYPE_LIST };

struct column {
	const char *name;
	enum type type;
	bool extra; /* not in a table */
};

struct sheet {
	const char *report;
	const struct column *columns;
	size_t column_count;
	size_t row_count;
	/* Puts a cell into *text (of *room bytes, which it may enlarge). */
	bool (*cell)(const struct listing *listing, size_t row, size_t column,
		     char **text, size_t *room);
};

/* The separator of lists within a cell. */
#define SEPARATOR ';'

/* Lines and tabs would be taken for the format's own. */
static void put_plain(const char *text)
{
	for (; *text; text++)
		putchar(iscntrl((unsigned char)*text) ? '?' : *text);
}

static bool write_tsv(const struct listing *listing, const struct sheet *sheet)
{
	size_t room = 256;
	char *text = malloc(room);
	bool good = text != NULL;

	printf("#locktap 1 %s\n", sheet->report);
	for (size_t i = 0; i < sheet->column_count; i++)
		printf("%c%s", i ? '\t' : '#', sheet->columns[i].name);
	putchar('\n');
	for (size_t row = 0; good && row < sheet->row_count; row++) {
		for (size_t i = 0; good && i < sheet->column_count; i++) {
			good = sheet->cell(listing, row, i, &text, &room);
			if (i)
				putchar('\t');
			if (good)
				put_plain(*text ? text : "-");
		}
		putchar('\n');
	}
	free(text);
	return good;
}

static bool add_column(struct libscols_table *table,
		       const struct column *column, bool json)
{
	static const int types[] = {
		[TYPE_TEXT] = SCOLS_JSON_STRING,
		[TYPE_NUMBER] = SCOLS_JSON_NUMBER,
		[TYPE_BOOLEAN] = SCOLS_JSON_BOOLEAN,
		[TYPE_LIST] = SCOLS_JSON_ARRAY_STRING,
	};
	bool list = json && column->type == TYPE_LIST;
	struct libscols_column *new = scols_table_new_column(
		table, column->name, 0,
		(column->type == TYPE_NUMBER ? SCOLS_FL_RIGHT : 0) |
			(list ? SCOLS_FL_WRAP : 0));

	if (!new || scols_column_set_json_type(new, types[column->type]) != 0)
		return false;
	/* The items of a list are lines of a cell. */
	return !list ||
	       (scols_column_set_safechars(new, "\n") == 0 &&
		scols_column_set_wrapfunc(new, scols_wrapnl_chunksize,
					  scols_wrapnl_nextchunk, NULL) == 0);
}

static bool add_row(const struct listing *listing, const struct sheet *sheet,
		    struct libscols_table *table, size_t row, char **text,
		    size_t *room)
{
	bool json = scols_table_is_json(table);
	struct libscols_line *line = scols_table_new_line(table, NULL);
	size_t at = 0;

	for (size_t i = 0; line && i < sheet->column_count; i++) {
		const struct column *column = &sheet->columns[i];

		if (!json && column->extra)
			continue;
		if (!sheet->cell(listing, row, i, text, room))
			return false;
		if (json && column->type == TYPE_LIST)
			for (char *c = *text; *c; c++)
				if (*c == SEPARATOR)
					*c = '\n';
		if (**text && scols_line_set_data(line, at, *text) != 0)
			return false;
		at++;
	}
	return line != NULL;
}

/* A table to look at, or JSON. */
static bool write_table(const struct listing *listing,
			const struct sheet *sheet, bool json)
{
	struct libscols_table *table = scols_new_table();
	size_t room = 256;
	char *text = malloc(room);
	bool good = table && text &&
		    scols_table_enable_json(table, json) == 0 &&
		    scols_table_set_name(table, sheet->report) == 0;

	for (size_t i = 0; good && i < sheet->column_count; i++)
		if (json || !sheet->columns[i].extra)
			good = add_column(table, &sheet->columns[i], json);
	for (size_t row = 0; good && row < sheet->row_count; row++)
		good = add_row(listing, sheet, table, row, &text, &room);
	if (good)
		scols_print_table(table);
	scols_unref_table(table);
	free(text);
	return good;
}

static int write_sheet(const struct listing *listing, const struct sheet *sheet)
{
	enum format format = listing->options->format;
	bool good;

	if (format == FORMAT_DEFAULT)
		format = isatty(STDOUT_FILENO) ? FORMAT_TABLE : FORMAT_TSV;
	errno = 0;
	good = format == FORMAT_TSV ?
		       write_tsv(listing, sheet) :
		       write_table(listing, sheet, format == FORMAT_JSON);
	if (!good)
		return locktap_fail("out of memory");
	return locktap_end_output(LOCKTAP_DONE);
}

/* ------------------------------------------------------------------------ */
/* Sites                                                                     */

static const struct column site_columns[] = {
	{ "address", TYPE_TEXT, false },  { "op", TYPE_TEXT, false },
	{ "kind", TYPE_TEXT, false },	  { "name", TYPE_TEXT, false },
	{ "function", TYPE_TEXT, false }, { "file", TYPE_TEXT, false },
	{ "line", TYPE_NUMBER, false },	  { "how", TYPE_TEXT, false },
	{ "mode", TYPE_TEXT, true },	  { "called", TYPE_TEXT, true },
	{ "tail", TYPE_BOOLEAN, true },	  { "after", TYPE_TEXT, true },
	{ "chain", TYPE_TEXT, true },
};

static bool make_room(char **text, size_t *room, size_t need)
{
	char *larger;

	if (need <= *room)
		return true;
	larger = realloc(*text, need);
	if (!larger)
		return false;
	*text = larger;
	*room = need;
	return true;
}

static bool put_text(const char *value, char **text, size_t *room)
{
	size_t need = strlen(value) + 1;

	if (!make_room(text, room, need))
		return false;
	memcpy(*text, value, need);
	return true;
}

/* The inlined functions, the innermost first. */
static bool put_chain(const struct sites_call *call, char **text, size_t *room)
{
	size_t need = 1, at = 0;

	for (size_t i = 0; i < call->chain_count; i++)
		need += strlen(call->chain[i].function) + 1;
	if (!make_room(text, room, need))
		return false;
	**text = '\0';
	for (size_t i = 0; i < call->chain_count; i++) {
		if (i)
			(*text)[at++] = SEPARATOR;
		strcpy(*text + at, call->chain[i].function);
		at += strlen(call->chain[i].function);
	}
	return true;
}

static bool site_cell(const struct listing *listing, size_t row, size_t column,
		      char **text, size_t *room)
{
	const struct site *site = &listing->sites[row];
	const struct sites_call *call = site->call;

	switch (column) {
	case 0:
		snprintf(*text, *room, "0x%" PRIx64, call->address);
		return true;
	case 1:
		return put_text(sites_op_name(call->op), text, room);
	case 2:
		return put_text(sites_kind_name(call->kind), text, room);
	case 3:
		return put_text(call->name, text, room);
	case 4:
		return put_text(call->function, text, room);
	case 5:
		return put_text(site->file, text, room);
	case 6:
		snprintf(*text, *room, "%d", call->line);
		return true;
	case 7:
		return put_text(sites_how_name(call->how), text, room);
	case 8:
		snprintf(*text, *room, "%c", call->mode);
		return true;
	case 9:
		return put_text(call->called, text, room);
	case 10:
		return put_text(call->tail ? "1" : "0", text, room);
	case 11:
		snprintf(*text, *room, "0x%" PRIx64, call->after);
		return true;
	default:
		return put_chain(call, text, room);
	}
}

/* ------------------------------------------------------------------------ */
/* Names                                                                     */

static const struct column name_columns[] = {
	{ "name", TYPE_TEXT, false },
	{ "kinds", TYPE_LIST, false },
	{ "sites", TYPE_NUMBER, false },
	{ "probe", TYPE_TEXT, false },
};

static bool put_kinds(unsigned int kinds, char **text, size_t *room)
{
	char all[256] = "";

	for (int kind = 0; kind < SITES_LOCK_KINDS; kind++) {
		size_t length = strlen(all);

		if (kinds & 1u << kind)
			snprintf(all + length, sizeof(all) - length, "%s%s",
				 length ? ";" : "",
				 sites_kind_name((enum sites_lock_kind)kind));
	}
	return put_text(all, text, room);
}

static bool name_cell(const struct listing *listing, size_t row, size_t column,
		      char **text, size_t *room)
{
	const struct name *name = &listing->names[row];

	switch (column) {
	case 0:
		return put_text(name->name, text, room);
	case 1:
		return put_kinds(name->kinds, text, room);
	case 2:
		snprintf(*text, *room, "%zu", name->sites);
		return true;
	default:
		return put_text(name->probe, text, room);
	}
}

static int compare_names(const void *left, const void *right)
{
	const struct site *a = left, *b = right;

	return strcmp(a->call->name, b->call->name);
}

/* Each NAME once; the sites are put into the names' order. */
static bool collect_names(struct listing *listing)
{
	listing->names = calloc(listing->site_count + 1, sizeof(struct name));
	if (!listing->names)
		return false;
	qsort(listing->sites, listing->site_count, sizeof(*listing->sites),
	      compare_names);
	for (size_t i = 0; i < listing->site_count; i++) {
		const struct site *site = &listing->sites[i];
		struct name *name = listing->names + listing->name_count;

		if (site->call->how == SITES_UNKNOWN || !site->probe)
			continue;
		if (listing->name_count &&
		    !strcmp(name[-1].name, site->call->name)) {
			name--;
		} else {
			name->name = site->call->name;
			name->probe = site->probe;
			listing->name_count++;
		}
		name->kinds |= 1u << site->call->kind;
		name->sites++;
	}
	return true;
}

/* ------------------------------------------------------------------------ */
/* --var                                                                     */

/* A module's name, from its file's: xfs.ko, nf-log.ko.xz. */
static void module_prefix(const struct listing *listing, char *text,
			  size_t size)
{
	const char *path = sites_path(listing->image);
	const char *base = strrchr(path, '/');
	size_t length;

	*text = '\0';
	if (sites_kind(listing->image) != SITES_MODULE)
		return;
	base = base ? base + 1 : path;
	length = strcspn(base, ".");
	snprintf(text, size, "%.*s.", (int)length, base);
	for (; *text; text++)
		if (*text == '-')
			*text = '_';
}

/* Whether the pattern takes PREFIX NAME [.at.FILE]. */
static bool full_name_matches(const char *pattern, const char *prefix,
			      const char *probe, const char *file)
{
	struct name_error error;
	char *text = NULL, *full;
	bool matches;

	if (asprintf(&text, "%s%s%s%s", prefix, probe, file ? "@" : "",
		     file ? file : "") < 0)
		return false;
	full = name_to_probe(text, &error);
	matches = full && name_matches(pattern, full);
	free(full);
	free(text);
	return matches;
}

/* A static's file is where the call is, or where what has it is inlined. */
static bool static_matches(const struct listing *listing,
			   const struct site *site, const char *pattern,
			   const char *prefix)
{
	const struct sites_call *call = site->call;
	bool matches =
		full_name_matches(pattern, prefix, site->probe, site->file);

	for (size_t i = 0; !matches && i < call->chain_count; i++) {
		const char *file = call->chain[i].call_file;
		char *name = file ? source_tree_name(&listing->tree, file) :
				    NULL;

		matches = name &&
			  full_name_matches(pattern, prefix, site->probe, name);
		free(name);
	}
	return matches;
}

static bool site_matches(const struct listing *listing, const struct site *site,
			 const char *pattern, const char *prefix)
{
	bool is_symbol = site->call->how == SITES_BY_SYMBOL;

	if (!site->probe || site->call->how == SITES_UNKNOWN)
		return false;
	if (name_matches(pattern, site->probe))
		return true;
	if (!is_symbol)
		return false;
	if (*prefix && full_name_matches(pattern, prefix, site->probe, NULL))
		return true;
	return strstr(pattern, ".at.") &&
	       (static_matches(listing, site, pattern, "") ||
		(*prefix && static_matches(listing, site, pattern, prefix)));
}

static void keep_matches(struct listing *listing, const char *pattern)
{
	char prefix[256];
	size_t kept = 0;

	module_prefix(listing, prefix, sizeof(prefix));
	for (size_t i = 0; i < listing->site_count; i++) {
		struct site site = listing->sites[i];

		if (site_matches(listing, &site, pattern, prefix)) {
			listing->sites[i] = listing->sites[kept];
			listing->sites[kept++] = site;
		}
	}
	/* The others stay behind, to be freed. */
	listing->site_count = kept;
}

static bool is_near(const char *wanted, const char *name)
{
	const char *member = strrchr(name, '.');

	return name_distance(wanted, name, 2) <= 2 ||
	       (member && (strcmp(member + 1, wanted) == 0 ||
			   name_distance(wanted, member + 1, 1) <= 1)) ||
	       (strlen(wanted) > 3 && strcasestr(name, wanted));
}

/* Nothing was found: which names look like what was meant? */
static int tell_near(struct listing *listing, size_t site_count,
		     const char *pattern)
{
	const char *separator = "; names near it: ";
	size_t told = 0;

	fprintf(stderr, "locktap: %s has no call on a lock \"%s\"",
		sites_path(listing->image), listing->options->variable);
	listing->site_count = site_count;
	if (!strpbrk(pattern, "*") && collect_names(listing)) {
		for (size_t i = 0; told < 8 && i < listing->name_count; i++) {
			const struct name *name = &listing->names[i];

			if (!is_near(pattern, name->probe))
				continue;
			fprintf(stderr, "%s%s", separator, name->name);
			separator = ", ";
			told++;
		}
	}
	fprintf(stderr, "%s\n",
		told ? "" : "; locktap sites --names lists all there are");
	return LOCKTAP_FAILED;
}

/* ------------------------------------------------------------------------ */

/* A program's names are in no probe points: only the [] may be left out. */
static char *plain_name(const char *name)
{
	char *plain = malloc(strlen(name) + 1), *to = plain;

	if (!plain)
		return NULL;
	for (; *name; name++)
		if (*name != '[' && *name != ']')
			*to++ = *name;
	*to = '\0';
	return plain;
}

static bool describe(struct listing *listing)
{
	const struct sites_calls *calls = &listing->calls;

	listing->tree.is_kernel = sites_kind(listing->image) != SITES_PROGRAM;
	listing->sites = calloc(calls->count + 1, sizeof(*listing->sites));
	if (!listing->sites)
		return false;
	for (size_t i = 0; i < calls->count; i++)
		if (!source_tree_add(&listing->tree, calls->list[i].file))
			return false;
	for (size_t i = 0; i < calls->count; i++) {
		struct site *site = &listing->sites[listing->site_count++];
		struct name_error error;

		site->call = &calls->list[i];
		site->file = source_tree_name(&listing->tree, site->call->file);
		/* A damaged file may have names that no probe can have. */
		site->probe = listing->tree.is_kernel ?
				      name_to_probe(site->call->name, &error) :
				      plain_name(site->call->name);
		if (!site->file)
			return false;
	}
	return true;
}

static int list(struct listing *listing)
{
	static const struct sheet sites = {
		.report = "sites",
		.columns = site_columns,
		.column_count = sizeof(site_columns) / sizeof(*site_columns),
		.cell = site_cell,
	};
	static const struct sheet names = {
		.report = "names",
		.columns = name_columns,
		.column_count = sizeof(name_columns) / sizeof(*name_columns),
		.cell = name_cell,
	};
	struct sheet sheet = listing->options->names ? names : sites;

	if (listing->options->names && !collect_names(listing))
		return locktap_fail("out of memory");
	sheet.row_count = listing->options->names ? listing->name_count :
						    listing->site_count;
	return write_sheet(listing, &sheet);
}

static int list_selected(struct listing *listing, const char *pattern)
{
	size_t count = listing->site_count;
	int status;

	if (pattern)
		keep_matches(listing, pattern);
	if (pattern && !listing->site_count)
		return tell_near(listing, count, pattern);
	status = list(listing);
	listing->site_count = count;
	return status;
}

static int list_image(struct listing *listing, const char *pattern)
{
	struct sites_error error;
	int status;

	if (!sites_calls(listing->image, 0, &listing->calls, &error))
		return locktap_fail("%s", error.text);
	locktap_tell_missing(listing->image, sites_path(listing->image));
	if (listing->calls.unreadable)
		fprintf(stderr,
			"locktap: %zu call sites are left out: their code is not what the debug information says\n",
			listing->calls.unreadable);
	if (describe(listing))
		status = list_selected(listing, pattern);
	else
		status = locktap_fail("out of memory");
	for (size_t i = 0; listing->sites && i < listing->calls.count; i++) {
		free(listing->sites[i].file);
		free(listing->sites[i].probe);
	}
	free(listing->sites);
	free(listing->names);
	source_tree_free(&listing->tree);
	sites_calls_free(&listing->calls);
	return status;
}

static struct sites_image *open_image(const struct options *options,
				      struct sites_error *error)
{
	const char *release = options->release;
	struct sites_image *image;
	struct utsname names;

	if (!options->file) {
		if (!release && uname(&names) == 0)
			release = names.release;
		return sites_open_kernel(release ? release : "", error);
	}
	image = sites_open_program(options->file, error);
	if (image && release && strcmp(release, sites_release(image)) != 0) {
		snprintf(error->text, sizeof(error->text),
			 "%s is not the image of %s", options->file, release);
		sites_close(image);
		return NULL;
	}
	return image;
}

/* Where the names are in probe points, --var is one of those too. */
static int wrong_name(const struct options *options,
		      const struct name_error *error)
{
	locktap_fail("--var %s: %s", options->variable,
		     error->text ? error->text : "out of memory");
	return LOCKTAP_USAGE;
}

static int run(const struct options *options)
{
	struct listing listing = { .options = options };
	struct name_error name_error;
	struct sites_error error;
	char *pattern = NULL;
	int status;

	if (options->variable) {
		pattern = name_to_probe(options->variable, &name_error);
		/* What is in a file is known when it is open. */
		if (!pattern && !options->file)
			return wrong_name(options, &name_error);
	}
	listing.image = open_image(options, &error);
	if (!listing.image) {
		status = locktap_fail("%s", error.text);
	} else {
		/* net::Server.mutex, Box<int>.mutex */
		if (options->variable && !pattern &&
		    sites_kind(listing.image) == SITES_PROGRAM &&
		    strpbrk(options->variable, ":<"))
			pattern = plain_name(options->variable);
		status = options->variable && !pattern ?
				 wrong_name(options, &name_error) :
				 list_image(&listing, pattern);
		sites_close(listing.image);
	}
	free(pattern);
	return status;
}

int locktap_sites(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "[RELEASE]",
		.doc = documentation,
	};
	struct options options = { 0 };

	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return LOCKTAP_USAGE;
	return run(&options);
}
