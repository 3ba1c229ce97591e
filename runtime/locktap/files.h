/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as a whole: a report that is read, a picture or page that is written. */
#ifndef LOCKTAP_FILES_H
#define LOCKTAP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Each of these returns LOCKTAP_DONE, or LOCKTAP_FAILED after having told what
 * is wrong.
 */

/*
 * Reads to the end; `name' is for messages. *text ends with a byte 0 that
 * *length does not count. The caller frees *text, also after a failure.
 */
int files_read(FILE *in, const char *name, char **text, size_t *length);

/* The same, of a file, or of standard input if the name is "-". */
int files_read_named(const char *file, char **text, size_t *length);

/*
 * Writes a file, which is replaced as a whole or not at all (a device or a pipe
 * is written into). NULL or "-": standard output.
 */
int files_write(const char *path, const char *text, size_t length);

/* Does "-" stand there for standard output? */
bool files_is_output(const char *path);

/* The same name, or two names of a file that is there? */
bool files_are_same(const char *one, const char *other);

/* May a terminal have colours?  See https://no-color.org. */
bool files_has_colours(void);

/* What a file is called in messages. */
const char *files_name(const char *file);

#endif
