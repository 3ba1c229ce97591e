// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locktap contend, hold, stat, blame, chain, order: runs the script of that
 * name, with its options as options of a command.
 */
#include <config.h>

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "files.h"
#include "locktap.h"
#include "replace.h"
#include "report.h"
#include "stap.h"

#define SCRIPTS_DIRECTORY PKGDATADIR "/scripts"

struct request {
	const struct script_command *command;
	char **values; /* of each option, in its order; NULL: not given */
	struct words
		repeated; /* the words for stap that may come more than once */
	char *shell; /* the command to run, NULL: none */
	char *how; /* the command line as it was given, for the page */
	struct words made; /* the words that are ours to free */
	bool failed; /* no memory */
};

/* ------------------------------------------------------------------------ */
/* Words                                                                     */

static void add_word(struct request *request, struct words *words, char *word)
{
	char **list =
		realloc(words->list, (words->count + 2) * sizeof(*words->list));

	if (!word || !list) {
		request->failed = true;
		if (list)
			words->list = list;
		return;
	}
	words->list = list;
	list[words->count++] = word;
	list[words->count] = NULL;
}

/* Keeps a text until the request is done with. */
static char *keep(struct request *request, char *text)
{
	size_t before = request->made.count;

	add_word(request, &request->made, text);
	if (request->made.count > before)
		return text;
	free(text);
	return NULL;
}

static char *keep_two(struct request *request, const char *first,
		      const char *second)
{
	char *text;

	if (asprintf(&text, "%s%s", first, second) < 0)
		text = NULL;
	return keep(request, text);
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	return *word && !word[strspn(word, plain)];
}

/* The word as a shell reads it back. */
static void quote(FILE *out, const char *word)
{
	if (is_plain(word)) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	}
	putc('\'', out);
}

/* The words as one line for a shell. */
static char *shell_line(char *const *words, size_t count)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (i)
			putc(' ', out);
		quote(out, words[i]);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

/* The place of the option with this name; every command has the common ones. */
static size_t place_of(const struct script_command *command, const char *name)
{
	size_t count = count_options(command), n = 0;

	while (n < count && strcmp(option_at(command, n)->name, name) != 0)
		n++;
	return n;
}

/* NULL: not given, or the command has no such option. */
static const char *value_of(const struct request *request, const char *name)
{
	size_t n = place_of(request->command, name);

	return n < count_options(request->command) ? request->values[n] : NULL;
}

static size_t place_of_key(const struct script_command *command, int key)
{
	size_t count = count_options(command), n = 0;

	while (n < count && option_key(command, n) != key)
		n++;
	return n;
}

/* stap's -G takes no commas; the scripts take dots as well. */
static void commas_to_dots(char *list)
{
	for (; *list; list++)
		if (*list == ',')
			*list = '.';
}

/* The options that stap has as well. */
static void repeat(struct request *request, int key, char *value)
{
	static char letters[][3] = { "-D", "-d", "-I" };
	char *letter = NULL;

	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (key == letters[i][1])
			letter = letters[i];
	if (letter)
		add_word(request, &request->repeated, letter);
	add_word(request, &request->repeated, value);
}

static void take(struct request *request, size_t n, char *value,
		 struct argp_state *state)
{
	const struct command_option *option = option_at(request->command, n);
	int key = option_key(request->command, n);
	static char given[] = "1", json[] = "json";
	char *wrong;

	if (option->form == VALUE_NONE)
		value = given;
	wrong = check_value(option, value);
	if (wrong) {
		argp_error(state, "--%s=%s: %s", option->name, value, wrong);
		free(wrong);
		return;
	}
	if (option->form == VALUE_LIST) {
		value = keep_two(request, value, "");
		if (value)
			commas_to_dots(value);
	}
	if (key == KEY_DEFINE || key == KEY_DEBUG_FILE || key == KEY_INCLUDE ||
	    key == KEY_STAP)
		repeat(request, key, value);
	else if (key == KEY_COMMAND)
		request->shell = value;
	else if (key == KEY_JSON)
		request->values[place_of(request->command, "format")] = json;
	else
		request->values[n] = value;
}

/* A folder can be "executed", too. */
static bool is_executable(const char *path)
{
	struct stat status;

	return access(path, X_OK) == 0 && stat(path, &status) == 0 &&
	       S_ISREG(status.st_mode);
}

/* Whether a program of that name can be run; translating may take minutes. */
static bool is_program(const char *name)
{
	const char *path = getenv("PATH");
	bool found = false;

	if (strchr(name, '/'))
		return is_executable(name);
	for (path = path ? path : "/usr/bin:/bin"; !found && *path;) {
		size_t length = strcspn(path, ":");
		char *file;

		if (asprintf(&file, "%.*s/%s", (int)length, path, name) < 0)
			return true;
		found = is_executable(file);
		free(file);
		path += length + (path[length] == ':');
	}
	return found;
}

/* The command that follows our options. */
static void take_command(struct request *request, struct argp_state *state)
{
	char **words = state->argv + state->next - 1;
	size_t count = (size_t)(state->argc - state->next + 1);

	state->next = state->argc;
	if (request->shell)
		argp_error(state, "both --command and %s are given", *words);
	else if (!is_program(*words))
		argp_error(state, "there is no program \"%s\" to run", *words);
	else
		request->shell = keep(request, shell_line(words, count));
}

static bool has_user_kind(const char *kinds)
{
	return kinds && (strstr(kinds, "pthread_") || strstr(kinds, "futex"));
}

/* stap's -x does the same as --pid, and comes as a word for it. */
static bool has_target(const struct request *request)
{
	const struct words *words = &request->repeated;

	for (size_t i = 0; i < words->count; i++)
		if (strncmp(words->list[i], "-x", 2) == 0)
			return true;
	return value_of(request, "pid") != NULL;
}

/* Locks of programs are watched by both: the probes, and the kinds of a report. */
static void check_user(const struct request *request, struct argp_state *state)
{
	const char *kinds = value_of(request, "kinds");
	bool has_option = place_of_key(request->command, KEY_USER) <
			  count_options(request->command);

	if (!has_option)
		return;
	if (!value_of(request, "user") && has_user_kind(kinds))
		argp_error(state,
			   "locks of programs (--kinds=%s) need --user as well",
			   kinds);
	if (value_of(request, "user") && !has_user_kind(kinds) &&
	    !has_target(request))
		argp_error(
			state,
			"--user needs to know whose locks: those of one process, --pid=PID, or of all, --kinds=pthread_mutex,pthread_rwlock");
}

/* The page is made of tsv, and so is all else that is written with it. */
static void check_page(const struct request *request, struct argp_state *state)
{
	const char *format = value_of(request, "format");
	const char *output = value_of(request, "output");
	bool saved = output && !files_is_output(output);
	enum report_format made;

	if (value_of(request, "trace"))
		argp_error(state, "--trace makes no report for --html");
	if (output && !saved)
		argp_error(
			state,
			"with --html the tsv goes to a file: give --output=FILE");
	if (saved && files_are_same(output, value_of(request, "html")))
		argp_error(state, "--html and --output are the same file, %s",
			   output);
	if (format && !output && files_is_output(value_of(request, "html")))
		argp_error(
			state,
			"--html and the report are both standard output: name a file for one of them");
	if (!format || (saved && strcmp(format, "tsv") == 0))
		return;
	if (saved)
		argp_error(
			state,
			"with --html the --output is tsv: locktap report makes --format=%s of it",
			format);
	else if (strcmp(format, "tsv") == 0)
		argp_error(
			state,
			"with --html the tsv goes to a file: give --output=FILE");
	else if (!report_format_named(format, &made))
		argp_error(state, "--html and --format=%s do not go together",
			   format);
}

/* What does not fit together would be told after minutes of translating. */
static void check_request(const struct request *request,
			  struct argp_state *state)
{
	const char *format = value_of(request, "format");
	const char *by = value_of(request, "by");
	bool chains = strcmp(request->command->name, "chain") == 0;

	if (format && by && strcmp(format, "folded") == 0 &&
	    strcmp(by, "stack") != 0 && !chains)
		argp_error(
			state,
			"--format=folded is made of stacks: --by=stack is needed");
	if (value_of(request, "html"))
		check_page(request, state);
	if (format && value_of(request, "trace") && strcmp(format, "json") == 0)
		argp_error(state, "--trace has the formats table and tsv");
	check_user(request, state);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;
	size_t n;

	switch (key) {
	case ARGP_KEY_ARG:
		take_command(request, state);
		return 0;
	case ARGP_KEY_END:
		check_request(request, state);
		return 0;
	}
	n = place_of_key(request->command, key);
	if (n == count_options(request->command))
		return ARGP_ERR_UNKNOWN;
	take(request, n, argument, state);
	return 0;
}

/* The help of an option: what it does, its words, what it is without. */
static char *help_text(const struct command_option *option)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	fputs(option->help, out);
	if (option->words)
		fputs(": ", out);
	for (const char *at = option->words; at && *at; at++)
		fputs(*at == ' ' ? ", " : (char[]){ *at, '\0' }, out);
	if (option->standard)
		fprintf(out, "; default: %s", option->standard);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* argp's list, which ends with zeros; NULL: out of memory. */
static struct argp_option *argp_list(struct request *request)
{
	size_t count = count_options(request->command);
	struct argp_option *list = calloc(count + 3, sizeof(*list));
	struct argp_option *next = list;

	if (!list)
		return NULL;
	*next++ = (struct argp_option){ .doc = "What is told:", .group = 1 };
	*next++ = (struct argp_option){ .doc = "The run:", .group = 2 };
	for (size_t n = 0; n < count; n++) {
		const struct command_option *option =
			option_at(request->command, n);

		next->name = option->name;
		next->key = option_key(request->command, n);
		next->arg = option->argument;
		next->doc = keep(request, help_text(option));
		next->group = is_common_option(request->command, n) ? 2 : 1;
		next++;
	}
	return list;
}

/* argp's text around the list of options; NULL: out of memory. */
static char *documentation_of(const struct script_command *command)
{
	char *text;

	/* The page has the script's name without .stp. */
	if (asprintf(
		    &text,
		    "%s\vThe report comes at the end: after COMMAND, the --time, or ^C.  "
		    "%.*s(8) explains it and its options.\n\nExamples:\n%s\n"
		    "The exit status is 0 if the report was made, 1 if something "
		    "failed (COMMAND too), 2 for wrong usage.  What COMMAND prints goes to "
		    "standard error: standard output is the report's.",
		    command->about, (int)strcspn(command->script, "."),
		    command->script, command->examples) < 0)
		return NULL;
	return text;
}

static int read_request(struct request *request, int argc, char **argv)
{
	struct argp_option *list = argp_list(request);
	char *documentation = documentation_of(request->command);
	struct argp argp = {
		.options = list,
		.parser = parse,
		.args_doc = "[-- COMMAND [ARGUMENT...]]",
		.doc = documentation,
	};
	int status = LOCKTAP_DONE;

	if (!list || !documentation || request->failed)
		status = locktap_fail("out of memory");
	else if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, request) !=
		 0)
		status = LOCKTAP_USAGE;
	free(list);
	free(documentation);
	return status;
}

/* ------------------------------------------------------------------------ */
/* The script                                                                */

/* Where it is; another folder's, for those who change the scripts. */
static char *script_path(const struct request *request)
{
	const char *folder = getenv("LOCKTAP_SCRIPTS");
	char *path;

	if (asprintf(&path, "%s/%s",
		     folder && *folder ? folder : SCRIPTS_DIRECTORY,
		     request->command->script) < 0)
		return NULL;
	return path;
}

static void add_global(struct request *request, struct words *words,
		       const char *name, const char *value)
{
	static char option[] = "-G";
	char *text;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		text = NULL;
	add_word(request, words, option);
	add_word(request, words, keep(request, text));
}

static void add_pair(struct request *request, struct words *words, char *option,
		     const char *value)
{
	if (!value)
		return;
	add_word(request, words, option);
	add_word(request, words, (char *)value);
}

/*
 * Whether the report is made from tsv here: for a page, and for a table, which then
 * fits the terminal, or is cut nowhere if there is none.  Reports of an interval are
 * to be seen at once.
 */
static bool is_rendered(const struct request *request)
{
	if (value_of(request, "html"))
		return true;
	return request->command->is_rows && !value_of(request, "output") &&
	       !value_of(request, "format") && !value_of(request, "interval") &&
	       !value_of(request, "dry-run");
}

/* How the script is to write, NULL: as it does by itself. */
static const char *script_format(const struct request *request)
{
	if (is_rendered(request) ||
	    (value_of(request, "output") && !value_of(request, "format")))
		return "tsv";
	return value_of(request, "format");
}

/* The script has stacks by itself where it is to write folded ones. */
static bool needs_stacks(const struct request *request)
{
	const char *format = value_of(request, "format");

	return is_rendered(request) && format &&
	       strcmp(format, "folded") == 0 && !value_of(request, "by") &&
	       strcmp(request->command->name, "chain") != 0;
}

/* What `locktap run' is to be given. */
static void make_words(struct request *request, struct words *words,
		       bool progress)
{
	const struct script_command *command = request->command;
	static char user[] = "user", time[] = "-T", shell[] = "-c";
	static char verbose[] = "-v", steps[] = "--vp=1111";
	const char *format = script_format(request);

	add_word(request, words, keep_two(request, "locktap ", command->name));
	add_word(request, words, keep(request, script_path(request)));
	if (value_of(request, "user"))
		add_word(request, words, user);
	for (size_t n = 0; n < count_options(command); n++) {
		const struct command_option *option = option_at(command, n);

		if (request->values[n] && option->global &&
		    strcmp(option->name, "format") != 0)
			add_global(request, words, option->global,
				   request->values[n]);
	}
	if (needs_stacks(request))
		add_global(request, words, "by", "stack");
	if (format)
		add_global(request, words, "format", format);
	add_pair(request, words, time, value_of(request, "time"));
	add_pair(request, words, shell, request->shell);
	for (size_t i = 0; i < request->repeated.count; i++)
		add_word(request, words, request->repeated.list[i]);
	if (value_of(request, "verbose"))
		add_word(request, words, verbose);
	else if (progress)
		add_word(request, words, steps);
}

static int print_words(const struct words *words)
{
	char *line = shell_line(words->list + 1, words->count - 1);

	if (!line)
		return locktap_fail("out of memory");
	printf("locktap run %s\n", line);
	free(line);
	return locktap_end_output(LOCKTAP_DONE);
}

/* A report of a process that has ended stays empty. */
static void tell_missing_process(const struct request *request)
{
	const char *pid = value_of(request, "pid");

	if (pid && kill((pid_t)atol(pid), 0) != 0 && errno == ESRCH)
		fprintf(stderr,
			"locktap: there is no process %s now: the report will be empty unless one gets this number\n",
			pid);
}

/* From what the script wrote into a file, which stays open. */
static int render(const struct request *request, int fd)
{
	const char *top = value_of(request, "top");
	const char *format = value_of(request, "format");
	struct report_options options = {
		.format = REPORT_TABLE,
		.html = value_of(request, "html"),
		.how = request->how,
		.top = top ? strtoull(top, NULL, 10) : 0,
	};
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *in = copy >= 0 && lseek(copy, 0, SEEK_SET) == 0 ?
			   fdopen(copy, "r") :
			   NULL;
	int status;

	if (!in)
		return locktap_fail("cannot read what the script wrote: %s",
				    strerror(errno));
	/* A page on standard output is to be a page. */
	if (value_of(request, "output") ||
	    (!format && options.html && files_is_output(options.html)))
		options.format = REPORT_NOTHING;
	else if (format)
		report_format_named(format, &options.format);
	status = report_render(in, &options);
	fclose(in);
	return status;
}

/* Whether the script has written anything. */
static bool has_text(int fd)
{
	struct stat written;

	return fstat(fd, &written) == 0 && written.st_size;
}

/* A file that the script has left empty: of a pipe that is not known. */
static bool is_empty(int fd)
{
	struct stat written;

	return fstat(fd, &written) == 0 && S_ISREG(written.st_mode) &&
	       !written.st_size;
}

/* The first of two that is no success. */
static int worst(int first, int second)
{
	return first == LOCKTAP_DONE ? second : first;
}

/* What the script wrote into a file, which stays open; the caller frees it. */
static char *text_of(int fd, size_t *length)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *in = copy >= 0 && lseek(copy, 0, SEEK_SET) == 0 ?
			   fdopen(copy, "r") :
			   NULL;
	char *text = NULL;

	*length = 0;
	if (in && files_read(in, "the report", &text, length) != LOCKTAP_DONE) {
		free(text);
		text = NULL;
	}
	if (in)
		fclose(in);
	else if (copy >= 0)
		close(copy);
	return text;
}

/*
 * Whether the report lacks its end, which is a line on what it could not see in every
 * format.  stap says nothing of it where the disk is full, or when it has died itself.
 */
static bool is_cut(int fd)
{
	struct stat written;
	char end[65536];
	const char *line = end;
	ssize_t length;

	if (!has_text(fd) || fstat(fd, &written) != 0)
		return false;
	length = pread(fd, end, sizeof(end) - 1,
		       written.st_size < (off_t)sizeof(end) ?
			       0 :
			       written.st_size - (off_t)sizeof(end) + 1);
	if (length <= 0)
		return false;
	/* A number that is cut looks like a number. */
	if (end[length - 1] != '\n')
		return true;
	while (length && end[length - 1] == '\n')
		length--;
	end[length] = '\0';
	for (const char *at = end; (at = strchr(at, '\n')) != NULL;)
		line = ++at;
	return strncmp(line, "#loss ", 6) != 0 &&
	       strncmp(line, "loss: ", 6) != 0 && !strstr(line, "\"loss\":");
}

static int fail_cut(void)
{
	return locktap_fail(
		"the report has no loss line at its end: is the disk full? make room on it, or name a file elsewhere with --output");
}

/* The report that stap has written to our standard output, where that is a file alone. */
static bool is_output_cut(void)
{
	struct stat out, other;
	bool cut;
	int fd;

	if (fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode))
		return false;
	/* What stap has to say may come after it. */
	if (fstat(STDERR_FILENO, &other) == 0 && out.st_dev == other.st_dev &&
	    out.st_ino == other.st_ino)
		return false;
	fd = open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	cut = is_cut(fd);
	close(fd);
	return cut;
}

/* What there is of a report that cannot be rendered. */
static int show(int fd)
{
	size_t length;
	char *text = text_of(fd, &length);
	int status = text ? files_write(NULL, text, length) : LOCKTAP_FAILED;

	fprintf(stderr, "locktap: the report is cut: this is all of it\n");
	free(text);
	return status;
}

/* With a file that takes what the script writes, for the user or for us. */
static int run_to(const struct request *request, const struct words *words,
		  struct stap_how *how, int fd)
{
	int status;

	how->output_fd = fd;
	status = locktap_run_words((int)words->count, words->list, how);
	if (status == LOCKTAP_DONE && is_empty(fd))
		return locktap_fail("stap has ended without a report");
	if (is_cut(fd)) {
		if (status == LOCKTAP_DONE)
			status = fail_cut();
		if (!value_of(request, "output"))
			show(fd);
		return status;
	}
	if (!is_rendered(request) || !has_text(fd))
		return status;
	return worst(status, render(request, fd));
}

static int run_to_file(const struct request *request, const struct words *words,
		       struct stap_how *how, const char *path)
{
	struct replacement file;
	int status;

	if (replace_begin(&file, path) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	status = run_to(request, words, how, file.fd);
	if (file.temporary && is_cut(file.fd))
		return worst(status, replace_aside(&file));
	return worst(status, replace_end(&file, has_text(file.fd)));
}

static int run_to_memory(const struct request *request,
			 const struct words *words, struct stap_how *how)
{
	int fd = memfd_create("report", MFD_CLOEXEC), status;

	if (fd < 0)
		return locktap_fail("cannot keep what the script writes: %s",
				    strerror(errno));
	status = run_to(request, words, how, fd);
	close(fd);
	return status;
}

static int run_script(const struct request *request, const struct words *words,
		      struct stap_how *how)
{
	const char *output = value_of(request, "output");
	const char *html = value_of(request, "html");
	int status;

	/* Before the time is spent that the report takes. */
	if (html && !files_is_output(html) &&
	    replace_check(html) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	if (output && !files_is_output(output))
		return run_to_file(request, words, how, output);
	if (is_rendered(request))
		return run_to_memory(request, words, how);
	status = locktap_run_words((int)words->count, words->list, how);
	return status == LOCKTAP_DONE && is_output_cut() ? fail_cut() : status;
}

/* stap gives the command its own standard output, which is the report's alone. */
static void part_outputs(struct request *request)
{
	static const char aside[] = "exec >&2; ";

	if (request->shell)
		request->shell = keep_two(request, aside, request->shell);
}

static int run_request(struct request *request)
{
	struct stap_how how = { .output_fd = -1 };
	struct words words = { 0 };
	bool dry = value_of(request, "dry-run") != NULL;
	int status;

	how.progress = !dry && !value_of(request, "verbose") &&
		       isatty(STDERR_FILENO);
	/* The script says so by itself where it writes for people. */
	if (script_format(request))
		how.started = "Starting to watch, ^C ends.";
	if (!dry)
		part_outputs(request);
	make_words(request, &words, how.progress);
	if (request->failed) {
		status = locktap_fail("out of memory");
	} else if (dry) {
		status = print_words(&words);
	} else {
		tell_missing_process(request);
		status = run_script(request, &words, &how);
		/* stap's own statuses, and those of signals, say no more. */
		if (status != LOCKTAP_DONE && status != LOCKTAP_USAGE)
			status = LOCKTAP_FAILED;
	}
	free(words.list);
	return status;
}

/* What was typed: argv[0] has two words, which are not to be quoted as one. */
static char *command_line(struct request *request, int argc, char **argv)
{
	char *rest = keep(request, shell_line(argv + 1, (size_t)argc - 1));

	if (argc == 1 || !rest)
		return argv[0];
	return keep_two(request, keep_two(request, argv[0], " "), rest);
}

int locktap_script(const char *name, int argc, char **argv)
{
	struct request request = { .command = find_script_command(name) };
	int status;

	request.values =
		calloc(count_options(request.command), sizeof(*request.values));
	if (!request.values)
		return locktap_fail("out of memory");
	request.how = command_line(&request, argc, argv);
	status = read_request(&request, argc, argv);
	if (status == LOCKTAP_DONE)
		status = run_request(&request);
	for (size_t i = 0; i < request.made.count; i++)
		free(request.made.list[i]);
	free(request.made.list);
	free(request.repeated.list);
	free(request.values);
	return status;
}
