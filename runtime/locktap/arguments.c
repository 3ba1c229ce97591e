// SPDX-License-Identifier: GPL-2.0-or-later
/* What the commands' argp parsers share. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "arguments.h"

uint64_t argument_number(const char *word, const char *option,
			 struct argp_state *state)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(word, &end, 10);
	if (*word < '0' || *word > '9' || *end || errno || !number)
		argp_error(state, "--%s=%s: a number from 1 on is needed",
			   option, word);
	return number;
}

char *argument_name(char *word, const char *option, struct argp_state *state)
{
	if (!*word)
		argp_error(state, "--%s=: it is empty", option);
	return word;
}

void argument_once(const char **place, const char *argument, const char *what,
		   struct argp_state *state)
{
	if (*place)
		argp_error(state, "more than one %s given", what);
	*place = argument;
}
