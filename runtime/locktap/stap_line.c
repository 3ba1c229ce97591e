// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads stap's command line, and says where stap looks for its tapset. */
#include <config.h>

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stap.h"

/* As getopt(3) has it; of stap 5.6. */
static const char short_options[] =
	"hVvtp:I:e:E:o:R:r:a:m:kgPc:x:D:bs:uqiwl:d:L:FS:B:J:jWG:T:";

/* Those of the long options whose value may be the next word. */
static const char *const long_with_value[] = {
	"benchmark-sdt-loops",
	"benchmark-sdt-threads",
	"compatible",
	"modinfo",
	"privilege",
	"remote",
	"rlimit-as",
	"rlimit-cpu",
	"rlimit-fsize",
	"rlimit-nproc",
	"rlimit-stack",
	"runtime",
	"sysenv",
	"sysroot",
	"target-namespaces",
	"tmpdir",
	"use-http-server",
	"vp",
};

static void *grow(struct stap_line *line, void *list, size_t count, size_t size)
{
	void *larger = realloc(list, (count + 1) * size);

	if (!larger)
		line->out_of_memory = true;
	return larger;
}

static void add_word(struct stap_line *line, struct words *words, char *word)
{
	char **list = grow(line, words->list, words->count + 1, sizeof(*list));

	if (!list)
		return;
	words->list = list;
	list[words->count++] = word;
	list[words->count] = NULL;
}

static void add_text(struct stap_line *line, struct stap_text **texts,
		     size_t *count, struct stap_text text)
{
	struct stap_text *list = grow(line, *texts, *count, sizeof(*list));

	if (!list)
		return;
	*texts = list;
	list[(*count)++] = text;
}

/* An option with its value, which may be a part of its word. */
static void read_option(struct stap_line *line, int letter, char *value,
			size_t offset)
{
	struct stap_text text = { line->words.count - 1, offset };

	switch (letter) {
	case 'e':
		line->script = text;
		line->has_script = true;
		break;
	case 'E':
		add_text(line, &line->extra, &line->extra_count, text);
		break;
	case 'l':
	case 'L':
		add_text(line, &line->patterns, &line->pattern_count, text);
		break;
	case 'G':
		add_word(line, &line->globals, value);
		break;
	case 'I':
		add_word(line, &line->folders, value);
		break;
	case 'd':
		add_word(line, &line->objects, value);
		break;
	case 'r':
		line->release = value;
		break;
	}
}

/* A word of short options; how many words it takes more. */
static int read_short(struct stap_line *line, char *word, char *next)
{
	for (size_t i = 1; word[i]; i++) {
		const char *known =
			word[i] == ':' ? NULL : strchr(short_options, word[i]);

		if (!known || known[1] != ':')
			continue;
		if (word[i + 1]) {
			read_option(line, word[i], word + i + 1, i + 1);
			return 0;
		}
		if (!next)
			return 0;
		add_word(line, &line->words, next);
		read_option(line, word[i], next, 0);
		return 1;
	}
	return 0;
}

/* Like getopt_long(3), which takes the beginning of a name for the name. */
static int read_long(struct stap_line *line, const char *word, char *next)
{
	size_t length = strlen(word + 2);

	if (strchr(word, '=') || !next)
		return 0;
	for (size_t i = 0;
	     i < sizeof(long_with_value) / sizeof(*long_with_value); i++) {
		if (strncmp(long_with_value[i], word + 2, length) != 0)
			continue;
		add_word(line, &line->words, next);
		return 1;
	}
	return 0;
}

void stap_read_line(struct stap_line *line, int argc, char **argv,
		    bool (*is_own)(const char *word, void *own), void *own)
{
	struct stap_text *plain = NULL;
	size_t plain_count = 0, first = 0;
	bool only_plain = false;

	for (int i = 1; i < argc; i++) {
		char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;

		if (!only_plain && is_own(word, own))
			continue;
		add_word(line, &line->words, word);
		if (only_plain || *word != '-' || !word[1])
			add_text(line, &plain, &plain_count,
				 (struct stap_text){ line->words.count - 1,
						     0 });
		else if (strcmp(word, "--") == 0)
			only_plain = true;
		else if (word[1] == '-')
			i += read_long(line, word, next);
		else
			i += read_short(line, word, next);
	}
	line->has_file = plain_count && !line->has_script;
	if (line->has_file)
		line->file = plain[first++];
	for (size_t i = first; i < plain_count; i++)
		add_word(line, &line->arguments,
			 line->words.list[plain[i].index]);
	free(plain);
}

void stap_free_line(struct stap_line *line)
{
	free(line->words.list);
	free(line->arguments.list);
	free(line->globals.list);
	free(line->folders.list);
	free(line->objects.list);
	free(line->extra);
	free(line->patterns);
}

char *stap_find(void)
{
	const char *path = getenv("PATH");
	char *found = NULL;

	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (;;) {
		size_t length = strcspn(path, ":");

		if (asprintf(&found, "%.*s%sstap", (int)length, path,
			     length ? "/" : "") < 0)
			return NULL;
		if (access(found, X_OK) == 0)
			return found;
		free(found);
		if (!path[length])
			return NULL;
		path += length + 1;
	}
}

static bool is_same_folder(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];

	return realpath(a, real_a) && realpath(b, real_b) &&
	       strcmp(real_a, real_b) == 0;
}

/* Whether PREFIX/share/systemtap/tapset is the folder. */
static bool has_beside(const char *stap, const char *folder)
{
	char real[PATH_MAX], *beside = NULL;
	bool same;

	if (!realpath(stap, real) ||
	    asprintf(&beside, "%s/share/systemtap/tapset",
		     dirname(dirname(real))) < 0)
		return false;
	same = is_same_folder(beside, folder);
	free(beside);
	return same;
}

static bool data_dirs_have(const char *list, const char *folder)
{
	bool same = false;

	while (!same && *list) {
		size_t length = strcspn(list, ":");
		char *one = NULL;

		if (asprintf(&one, "%.*s/systemtap/tapset", (int)length, list) <
		    0)
			return false;
		same = is_same_folder(one, folder);
		free(one);
		list += length + (list[length] == ':');
	}
	return same;
}

bool stap_searches(const char *stap, const char *folder)
{
	const char *own = getenv("SYSTEMTAP_TAPSET");
	const char *dirs = getenv("XDG_DATA_DIRS");

	if (own ? is_same_folder(own, folder) : has_beside(stap, folder))
		return true;
	return dirs && data_dirs_have(dirs, folder);
}
