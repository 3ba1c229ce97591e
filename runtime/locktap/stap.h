/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stap: its command line, and running it. */
#ifndef LOCKTAP_STAP_H
#define LOCKTAP_STAP_H

#include <stdbool.h>
#include <stddef.h>

#include "rewrite.h"

struct words {
	char **list;
	size_t count;
};

/* A text among the words: it begins at `offset' in words.list[index]. */
struct stap_text {
	size_t index;
	size_t offset;
};

/* What we have to know of the words that go to stap. */
struct stap_line {
	struct words words; /* after "stap"; NULL-terminated */
	bool has_file, has_script;
	struct stap_text file; /* the script's file, "-": standard input */
	struct stap_text script; /* of -e */
	struct words arguments; /* the script's */
	struct words globals; /* -G NAME=VALUE */
	struct words folders; /* -I */
	struct words objects; /* -d */
	struct stap_text *extra; /* -E */
	size_t extra_count;
	struct stap_text *patterns; /* -l, -L */
	size_t pattern_count;
	const char *release; /* -r */
	bool out_of_memory;
};

/*
 * Reads stap's words as stap will.  `is_own' tells the words that are not for
 * stap; they are left out.
 */
void stap_read_line(struct stap_line *line, int argc, char **argv,
		    bool (*is_own)(const char *word, void *own), void *own);
void stap_free_line(struct stap_line *line);

/* The path of stap, NULL: it is not installed. */
char *stap_find(void);

/* Whether stap, at that path, searches the folder for its tapset by itself. */
bool stap_searches(const char *stap, const char *folder);

/*
 * Runs stap and ends as it does.  In what it writes on standard error the
 * rewritten copy of the script gets its own name and lines back.
 */
int stap_run(const char *stap, char **argv, const char *copy,
	     const char *script, const struct rewrite *rewrite);

/* The beginning of the name of a folder for a rewritten copy. */
#define STAP_COPY_FOLDER "locktap-run."

#endif
