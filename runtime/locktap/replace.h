/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is replaced as a whole or not at all. */
#ifndef LOCKTAP_REPLACE_H
#define LOCKTAP_REPLACE_H

#include <stdbool.h>

struct replacement {
	const char *path; /* as messages have it */
	char *real; /* what is replaced: of a link what it leads to */
	char *temporary; /* NULL: written at once, as a pipe or a device is */
	int fd;
};

/*
 * Opens what is to take the file's place.  Returns LOCKTAP_DONE, or
 * LOCKTAP_FAILED after having said why not.
 */
int replace_begin(struct replacement *replacement, const char *path);

/*
 * Whether it could be opened now, for what is written after a long time.
 * Returns as replace_begin() does.
 */
int replace_check(const char *path);

/*
 * Closes it, and puts it into its place if it is to be kept; else the old file
 * stays.  Returns as replace_begin() does.
 */
int replace_end(struct replacement *replacement, bool keep);

/*
 * Closes what is not whole and leaves it beside the file, as FILE.partial, which it
 * says; the old file stays.  Returns as replace_begin() does.
 */
int replace_aside(struct replacement *replacement);

#endif
