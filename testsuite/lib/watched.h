/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instead of locktap.c, where a command is called many times in one process. */
#ifndef LOCKTAP_TEST_WATCHED_H
#define LOCKTAP_TEST_WATCHED_H

#include <stdarg.h>
#include <stdio.h>

#include "locktap/locktap.h"

/* How many there were. */
static int messages;

int locktap_fail(const char *format, ...)
{
	char text[1000];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	messages++;
	return LOCKTAP_FAILED;
}

int locktap_end_output(int status)
{
	return status;
}

#endif
