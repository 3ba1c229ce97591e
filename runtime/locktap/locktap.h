/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the locktap command share. */
#ifndef LOCKTAP_H
#define LOCKTAP_H

#include <stdbool.h>

/* Exit statuses. */
enum {
	LOCKTAP_DONE = 0,
	LOCKTAP_FAILED = 1,
	LOCKTAP_USAGE = 2,
};

/* Prints "locktap: MESSAGE" on standard error; returns LOCKTAP_FAILED. */
int locktap_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Writes what is left of standard output.  Returns the status, or
 * LOCKTAP_FAILED if it could not be written; a reader that went away needs no
 * message.
 */
int locktap_end_output(int status);

struct sites_image;

/* prep.c: what cannot be known of a program, and what to do about it. */
void locktap_tell_missing(const struct sites_image *image, const char *path);

/* The commands: argv[0] is "locktap COMMAND". */
int locktap_compile(int argc, char **argv);
int locktap_doctor(int argc, char **argv);
int locktap_graph(int argc, char **argv);
int locktap_prep(int argc, char **argv);
int locktap_report(int argc, char **argv);
int locktap_run(int argc, char **argv);
int locktap_sites(int argc, char **argv);
/* ... and those that run a script of ours, by their name. */
int locktap_script(const char *name, int argc, char **argv);

/*
 * complete.c: prints what the last of these words, those after "locktap", can
 * be.
 */
int locktap_complete(int argc, char **argv);

#endif
