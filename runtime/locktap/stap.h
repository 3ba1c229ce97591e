/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stap: its command line, and running it. */
#ifndef LOCKTAP_STAP_H
#define LOCKTAP_STAP_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

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
 * Runs stap and returns what it ends with, 128 + N after signal N.  In what it
 * writes on standard error the rewritten copy of the script, if there is one
 * (else all three are NULL), gets its own name and lines back.
 */
struct stap_how {
	int output_fd; /* for what stap writes; -1: standard output */
	bool progress; /* tell how far it is, on the terminal */
	const char *started; /* what to say after that; NULL: nothing */
};

int stap_run(const char *stap, char **argv, const char *copy,
	     const char *script, const struct rewrite *rewrite,
	     const struct stap_how *how);

/*
 * run.c: does what `locktap run' does with these words, argv[0] being the
 * command's name.  With a `how', the script must be a file.
 */
int locktap_run_words(int argc, char **argv, const struct stap_how *how);

/* stap_progress.c: the line that tells how far stap is. */
struct stap_progress {
	bool active;
	bool shown;
	size_t done; /* steps */
	struct timespec begun;
	const char *started;
};

void stap_progress_begin(struct stap_progress *progress, const char *started);
/* Whether a line of stap's is about its steps; such a line is not for the user. */
bool stap_progress_takes(struct stap_progress *progress, const char *line,
			 size_t length);
void stap_progress_show(struct stap_progress *progress);
void stap_progress_hide(struct stap_progress *progress);

/* The beginning of the name of a folder for a rewritten copy. */
#define STAP_COPY_FOLDER "locktap-run."

#endif
