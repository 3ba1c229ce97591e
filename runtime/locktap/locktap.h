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

/* The commands: argv[0] is "locktap COMMAND". */
int locktap_graph(int argc, char **argv);
int locktap_prep(int argc, char **argv);
int locktap_run(int argc, char **argv);
int locktap_sites(int argc, char **argv);

#endif
