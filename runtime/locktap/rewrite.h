/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock.spin(var="NAME") and the like, in words that stap's grammar has. */
#ifndef LOCKTAP_REWRITE_H
#define LOCKTAP_REWRITE_H

#include <stdbool.h>
#include <stddef.h>

/* A line of the script that reads otherwise after rewriting. */
struct rewrite_line {
	char *before;
	char *after;
};

/* A `global' declaration's name. */
struct rewrite_global {
	char *name;
	bool is_private;
};

/* A probe point on all locks of a kind, such as lock.spin.release. */
struct rewrite_operation {
	char kind[32]; /* with wildcards; * if it is not told */
	char name[24];
};

struct rewrite {
	/* To be given: */
	const char *name; /* what the script is called in messages */
	const char *const *arguments; /* @1, @2, ... */
	size_t argument_count;
	bool is_point; /* the text is a list of probe points, no script */
	/*
	 * The NAME, as probe points have it, that these operations are to be
	 * of where the script has none; NULL: leave them alone.
	 */
	const char *only;

	/* The result: */
	char *text;
	size_t length;
	size_t count; /* of points rewritten */
	size_t errors; /* that were told */
	bool has_locks; /* it has to do with locks at all */
	unsigned long long arguments_used; /* bit N - 1: @N was taken */
	struct rewrite_line *lines;
	size_t line_count;
	struct rewrite_global *globals;
	size_t global_count;
	struct rewrite_operation *operations; /* that `only' is for */
	size_t operation_count;
	bool out_of_memory;
};

/*
 * Rewrites a script.  What cannot be is told on standard error, with its
 * place in the script.  The lines of the result are those of the script, and
 * the columns too, unless the new words are longer than the old ones.
 */
bool rewrite_script(struct rewrite *rewrite, const char *text, size_t length);
void rewrite_free(struct rewrite *rewrite);

#endif
