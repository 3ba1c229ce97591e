/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands that run a script of ours, and their options, from one table. */
#ifndef LOCKTAP_COMMAND_H
#define LOCKTAP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* What an option's value may be. */
enum value_form {
	VALUE_NONE, /* a switch */
	VALUE_WORD, /* one of the words */
	VALUE_LIST, /* some of the words, with commas or dots between */
	VALUE_NUMBER, /* whole, from low to high */
	VALUE_SECONDS, /* more than 0, with a decimal point or without */
	VALUE_TEXT, /* anything but nothing */
	VALUE_FILE, /* the same, completed as the name of a file */
	VALUE_FOLDER, /* ... of a folder */
};

/* The options that are more than a global of the script. */
enum option_key {
	KEY_COMMAND = 'c',
	KEY_DEFINE = 'D',
	KEY_DEBUG_FILE = 'd',
	KEY_INCLUDE = 'I',
	KEY_DRY_RUN = 'n',
	KEY_OUTPUT = 'o',
	KEY_TIME = 'T',
	KEY_VERBOSE = 'v',
	KEY_PID = 'x',
	KEY_JSON = 256,
	KEY_HTML,
	KEY_STAP,
	KEY_USER,
	KEY_FIRST_GLOBAL, /* from here on, those that are */
};

struct command_option {
	const char *name; /* without the dashes; NULL: the end of a list */
	int key; /* 0: it gets one from KEY_FIRST_GLOBAL on */
	const char *argument; /* what stands for the value in the help text */
	const char *help;
	const char *standard; /* what is taken without it; NULL: not told */
	enum value_form form;
	const char *words; /* with blanks between */
	const char *ranges; /* numbers as well as the words: these; NULL: none */
	unsigned long low, high;
	const char *global; /* the script's, NULL: none */
};

struct script_command {
	const char *name;
	const char *script; /* the file's name */
	const char *about; /* the beginning of the help text, a sentence */
	const char *examples; /* its end */
	bool is_rows; /* its table is one of rows, which tsv has as well */
	const struct command_option *options; /* its own */
};

/* The commands; the last has no name. */
extern const struct script_command script_commands[];

const struct script_command *find_script_command(const char *name);

/* How many options a command has, and the nth of them, the common ones last. */
size_t count_options(const struct script_command *command);
const struct command_option *option_at(const struct script_command *command,
				       size_t n);
bool is_common_option(const struct script_command *command, size_t n);
/* The key that the nth option has on a command line. */
int option_key(const struct script_command *command, size_t n);

/*
 * What is wrong with a value, as the end of a sentence that the caller frees;
 * NULL: nothing (or there is no memory to say it).
 */
char *check_value(const struct command_option *option, const char *value);

#endif
