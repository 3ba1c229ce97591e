/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lock's NAME as people write it, as probe points have it, and the names of
 * source files.
 */
#ifndef LOCKTAP_NAME_H
#define LOCKTAP_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* What is wrong with a NAME, and where in it. */
struct name_error {
	size_t at;
	const char *text;
};

/*
 * The part of a probe point that selects a lock: NAME without `[]', and for
 * NAME@PATH the file as `.at.PATH', in which everything but letters, digits
 * and wildcards is `_'.  It is the caller's to free; NULL with error->text
 * NULL means that memory ran out.
 */
char *name_to_probe(const char *name, struct name_error *error);

/*
 * Whether a name in that form is selected by a pattern in that form: `*'
 * stops at a dot, `**' does not, as in stap.
 */
bool name_matches(const char *pattern, const char *name);

/* How many letters are to be changed, added or left out; at most `most' + 1. */
size_t name_distance(const char *a, const char *b, size_t most);

/*
 * The names of source files as the source tree has them, whatever folder the
 * sources were built in: first each name that there is is added, then each
 * can be asked for.
 */
struct source_tree {
	char *folder; /* that all the absolute names share, NULL: none yet */
	bool is_kernel; /* a kernel or a module */
};

bool source_tree_add(struct source_tree *tree, const char *file);
/* The caller's to free, NULL if memory ran out. */
char *source_tree_name(const struct source_tree *tree, const char *file);
void source_tree_free(struct source_tree *tree);

#endif
