/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands' argp parsers share; a wrong argument ends the program. */
#ifndef LOCKTAP_ARGUMENTS_H
#define LOCKTAP_ARGUMENTS_H

#include <argp.h>
#include <stdint.h>

/* The value of `--OPTION=WORD', a number from 1 on. */
uint64_t argument_number(const char *word, const char *option,
			 struct argp_state *state);

/*
 * The value of `--OPTION=WORD', a name: none where a shell's variable is not set.
 */
char *argument_name(char *word, const char *option, struct argp_state *state);

/* Keeps the one argument that is called `what' in messages. */
void argument_once(const char **place, const char *argument, const char *what,
		   struct argp_state *state);

#endif
