// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locktap --complete: what can come next on a command line, for the shells.
 * It is read from the help texts, so it knows what they say.
 */
#include <config.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "locktap.h"
#include "words.h"

/* What the shell is to complete by itself. */
#define FILES ":file"
#define FOLDERS ":folder"
#define PROGRAMS ":program"

/* Where help texts begin, at the least; argp(3) has it at 29. */
#define HELP_COLUMN 12

/* A line of a help text, with the lines that continue it. */
struct entry {
	char letter; /* of -x; 0: none */
	char *name; /* of --name, or a command's; "": none */
	char *value; /* what stands for it; "": it has none */
	char *help;
};

struct entries {
	struct entry *list;
	size_t count;
};

/* ------------------------------------------------------------------------ */
/* Help texts                                                                */

static void run_help(const char *command, int out)
{
	unsetenv("ARGP_HELP_FMT");
	dup2(out, STDOUT_FILENO);
	/* A command that there is not has nothing to complete. */
	if (!freopen("/dev/null", "we", stderr))
		_exit(LOCKTAP_FAILED);
	if (command)
		execl("/proc/self/exe", "locktap", command, "--help",
		      (char *)NULL);
	else
		execl("/proc/self/exe", "locktap", "--help", (char *)NULL);
	_exit(LOCKTAP_FAILED);
}

/* The help text of a command, or of locktap itself (NULL), to read. */
static FILE *open_help(const char *command, pid_t *child)
{
	int fds[2];

	fflush(stdout);
	if (pipe(fds) != 0)
		return NULL;
	*child = fork();
	if (*child == 0) {
		close(fds[0]);
		run_help(command, fds[1]);
	}
	close(fds[1]);
	if (*child > 0)
		return fdopen(fds[0], "r");
	close(fds[0]);
	return NULL;
}

static void free_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		free(entries->list[i].name);
		free(entries->list[i].value);
		free(entries->list[i].help);
	}
	free(entries->list);
}

/* An option's --NAME=VALUE, or a command's NAME, up to the blank behind it. */
static void read_name(struct entry *entry, const char *word)
{
	size_t length = strcspn(word, "= ");

	entry->name = strndup(word, length);
	entry->value = strdup("");
	if (word[length] != '=' || !entry->value)
		return;
	free(entry->value);
	entry->value =
		strndup(word + length + 1, strcspn(word + length + 1, " "));
}

/*
 * What a line begins: `  -o, --output=FILE  HELP', `      --json  HELP',
 * `  -G NAME=VALUE  HELP' or `  prep  HELP'.  False: nothing.
 */
static bool begin_entry(struct entry *entry, const char *line)
{
	size_t at = strspn(line, " ");

	memset(entry, 0, sizeof(*entry));
	if (at < 2 || at >= HELP_COLUMN || line[at] == '\0')
		return false;
	if (line[at] == '-' && line[at + 1] != '-') {
		entry->letter = line[at + 1];
		at += 2;
		if (strncmp(line + at, ", --", 4) == 0) {
			at += 2;
		} else {
			entry->name = strdup("");
			at += line[at] == ' ' && line[at + 1] != ' ';
			entry->value =
				strndup(line + at, strcspn(line + at, " "));
			goto help;
		}
	}
	if (line[at] != '-' && !islower((unsigned char)line[at]))
		return false;
	read_name(entry, line + at);
help:
	at += strcspn(line + at, " ");
	at += strspn(line + at, " ");
	entry->help = strndup(line + at, strcspn(line + at, "\n"));
	return true;
}

static void continue_entry(struct entry *entry, const char *line)
{
	char *help;

	line += strspn(line, " ");
	if (!entry->help ||
	    asprintf(&help, "%s%s%.*s", entry->help, *entry->help ? " " : "",
		     (int)strcspn(line, "\n"), line) < 0)
		return;
	free(entry->help);
	entry->help = help;
}

static void read_entries(FILE *file, struct entries *entries)
{
	bool open = false;
	size_t size = 0;
	char *line = NULL;

	while (getline(&line, &size, file) > 0) {
		struct entry entry, *list;

		if (open && strspn(line, " ") >= HELP_COLUMN) {
			continue_entry(&entries->list[entries->count - 1],
				       line);
			continue;
		}
		open = begin_entry(&entry, line);
		if (!open)
			continue;
		list = realloc(entries->list,
			       (entries->count + 1) * sizeof(*list));
		if (!list || !entry.name || !entry.value || !entry.help)
			break;
		entries->list = list;
		list[entries->count++] = entry;
	}
	free(line);
}

/* The options and, without a command, the commands. */
static bool find_entries(const char *command, struct entries *entries)
{
	pid_t child = -1;
	FILE *file = open_help(command, &child);
	int status = 0;

	memset(entries, 0, sizeof(*entries));
	if (file) {
		read_entries(file, entries);
		fclose(file);
	}
	return child > 0 && waitpid(child, &status, 0) == child &&
	       WIFEXITED(status) && WEXITSTATUS(status) == LOCKTAP_DONE;
}

/* ------------------------------------------------------------------------ */
/* What can come next                                                        */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_command(const struct entry *entry)
{
	return *entry->name && *entry->name != '-';
}

/* The beginning of the help text, up to a semicolon. */
static void print(const char *word, const char *end, const char *help)
{
	printf("%s%s\t%.*s\n", word, end, (int)strcspn(help, ";"), help);
}

static void print_commands(const struct entries *entries, const char *begin)
{
	for (size_t i = 0; i < entries->count; i++)
		if (is_command(&entries->list[i]) &&
		    begins(entries->list[i].name, begin))
			print(entries->list[i].name, "", entries->list[i].help);
}

static void print_options(const struct entries *entries, const char *begin)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];
		char letter[] = { '-', entry->letter, '\0' };

		if (begins(entry->name, "--") && begins(entry->name, begin))
			print(entry->name, *entry->value ? "=" : "",
			      entry->help);
		else if (!*entry->name && begins(letter, begin))
			print(letter, "", entry->help);
	}
}

/* The option that a word is: `--name', `--name=...' or `-x'. */
static const struct entry *find_option(const struct entries *entries,
				       const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];

		if (strlen(entry->name) == length && length > 2 &&
		    strncmp(entry->name, word, length) == 0)
			return entry;
		if (*word == '-' && entry->letter && word[1] == entry->letter &&
		    !word[2])
			return entry;
	}
	return NULL;
}

/*
 * The words that a value may be, as the help text lists them: `TEXT: one, two;
 * MORE' or `one or two; MORE'.  NULL: it lists none.
 */
static char *listed_words(const char *help)
{
	char *text = strndup(help, strcspn(help, ";"));
	char *colon = text ? strrchr(text, ':') : NULL, *words, *save = NULL;
	char *rest = colon ? colon + 1 : text, *found = NULL;

	if (!text)
		return NULL;
	words = calloc(1, strlen(help) + 2);
	for (char *word = strtok_r(rest, ", ", &save); words && word;
	     word = strtok_r(NULL, ", ", &save)) {
		if (strcmp(word, "or") == 0)
			continue;
		if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			goto end;
		strcat(words, word);
		strcat(words, " ");
	}
	if (words && (colon || strstr(help, " or ")) && *words)
		found = strdup(words);
end:
	free(words);
	free(text);
	return found;
}

/* `done' is what the value already has, up to its last comma. */
static void print_words(char *words, const char *done, const char *begin)
{
	char *save = NULL;

	for (char *word = strtok_r(words, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		if (begins(word, begin) &&
		    !words_have(done, ',', word, strlen(word)))
			printf("%s%s\t\n", done, word);
}

static void print_values(const struct entry *option, const char *begin)
{
	const char *comma = strrchr(begin, ',');
	char *words, *done;

	if (begins(option->value, "FILE") || strstr(option->value, ".ko")) {
		puts(FILES);
	} else if (strcmp(option->value, "DIR") == 0) {
		puts(FOLDERS);
	} else if (strcmp(option->value, "COMMAND") == 0) {
		puts(PROGRAMS);
	} else {
		words = listed_words(option->help);
		done = comma && strcmp(option->value, "LIST") == 0 ?
			       strndup(begin, (size_t)(comma - begin) + 1) :
			       strdup("");
		if (words && done)
			print_words(words, done, begin + strlen(done));
		free(words);
		free(done);
	}
}

/* A word of a command that is no option. */
static void print_arguments(const char *command, bool first)
{
	static const char *const of_files[] = { "graph", "report", "run" };

	if (find_script_command(command)) {
		puts(first ? PROGRAMS : FILES);
		return;
	}
	for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++)
		if (strcmp(command, of_files[i]) == 0)
			puts(FILES);
}

/* What is behind a word that is no option is for another program. */
static bool passes_on(const char *command)
{
	return find_script_command(command) || strcmp(command, "run") == 0;
}

/* The words are those of a command, the last one is to be completed. */
static void complete_command(const struct entries *entries, int argc,
			     char **argv)
{
	const char *last = argv[argc - 1];
	const struct entry *option;

	for (int i = 1; i < argc - 1; i++) {
		option = find_option(entries, argv[i]);
		if (option && *option->value && !strchr(argv[i], '=')) {
			if (i == argc - 2) {
				print_values(option, last);
				return;
			}
			i++;
		} else if (strcmp(argv[i], "--") == 0 ||
			   (*argv[i] != '-' && passes_on(argv[0]))) {
			print_arguments(argv[0],
					i == argc - 2 && *argv[i] == '-');
			return;
		}
	}
	option = begins(last, "--") ? find_option(entries, last) : NULL;
	if (option && strchr(last, '='))
		print_values(option, strchr(last, '=') + 1);
	else if (*last == '-')
		print_options(entries, last);
	else
		print_arguments(argv[0], true);
}

int locktap_complete(int argc, char **argv)
{
	struct entries entries;
	bool known = find_entries(argc > 1 ? argv[0] : NULL, &entries);

	if (argc > 1 && known) {
		complete_command(&entries, argc, argv);
	} else if (argc == 1 && *argv[0] == '-') {
		print_options(&entries, argv[0]);
	} else if (argc <= 1) {
		print_commands(&entries, argc ? argv[0] : "");
	}
	free_entries(&entries);
	return locktap_end_output(LOCKTAP_DONE);
}
