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

/* The commands: argv[0] is "locktap COMMAND". */
int locktap_prep(int argc, char **argv);

#endif
