// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands that run a script, and their options.  Help texts, manual pages,
 * completion and the checks of values are all made from these tables.
 */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "words.h"

#define KERNEL_KINDS "spin rwlock mutex rwsem sem rtmutex percpu_rwsem"
#define PTHREAD_KINDS "pthread_mutex pthread_rwlock"
#define WHO "task process cgroup"
#define EVENT_WORDS                                                       \
	"contention holds both errors all "                               \
	"mutex_spin mutex_block spin writer_by_writer writer_by_readers " \
	"reader_by_writer reader_by_wanted sem_block tryfail mutex_hold " \
	"spin_hold writer_hold reader_hold sem_hold recursive no_room "   \
	"unseen"

/* Their numbers: lk_stat.h has them. */
#define EVENT_RANGES "0-2 4-9 32-36 60-62"

#define OPTION_BY(list, default_word, text)                                  \
	{                                                                    \
		.name = "by", .argument = "WORD", .form = VALUE_WORD,        \
		.words = (list), .standard = (default_word), .global = "by", \
		.help = (text)                                               \
	}
#define OPTION_TOP(text)                                              \
	{                                                             \
		.name = "top", .argument = "N", .form = VALUE_NUMBER, \
		.low = 1, .high = 1000000, .global = "top",           \
		.standard = "20 in a table, else all", .help = (text) \
	}
#define OPTION_MIN_US(text)                                              \
	{                                                                \
		.name = "min-us", .argument = "N", .form = VALUE_NUMBER, \
		.low = 0, .high = 1000000000, .global = "min_us",        \
		.standard = "0", .help = (text)                          \
	}
#define OPTION_KINDS(list, default_words)                                \
	{                                                                \
		.name = "kinds", .argument = "LIST", .form = VALUE_LIST, \
		.words = (list), .global = "kinds",                      \
		.standard = (default_words),                             \
		.help = "Only these kinds of lock, with commas between"  \
	}
#define OPTION_ONLY(text)                                                \
	{                                                                \
		.name = "only", .argument = "NAME|0xADDRESS",            \
		.form = VALUE_TEXT, .global = "only", .standard = "all", \
		.help = (text)                                           \
	}
#define OPTION_INTERVAL                                                             \
	{                                                                           \
		.name = "interval", .argument = "SECONDS",                          \
		.form = VALUE_NUMBER, .low = 1, .high = 1000000,                    \
		.global = "interval", .standard = "one report, at the end",         \
		.help = "A report every so often, each of what came since the last" \
	}
#define OPTION_FORMAT(list)                                               \
	{                                                                 \
		.name = "format", .argument = "WORD", .form = VALUE_WORD, \
		.words = (list), .global = "format",                      \
		.standard = "table, with --output tsv",                   \
		.help = "How the report is written"                       \
	}
#define OPTION_SWITCH(option, text)                                       \
	{                                                                 \
		.name = (option), .form = VALUE_NONE, .global = (option), \
		.help = (text)                                            \
	}
#define OPTION_HIST \
	OPTION_SWITCH("hist", "A histogram with each row, in powers of two")
#define OPTION_USER                                                             \
	{                                                                       \
		.name = "user", .key = KEY_USER, .form = VALUE_NONE,            \
		.help = "The pthread mutexes and rwlocks of programs as well, " \
			"of one process (--pid) or of all (--kinds); costs "    \
			"something at every system call of the machine"         \
	}

static const struct command_option contend_options[] = {
	OPTION_BY("name lock caller stack " WHO, "name",
		  "What a row stands for besides the kind and name of the lock"),
	OPTION_TOP("Rows of a report, those with the largest total wait"),
	OPTION_MIN_US("Leave out waits shorter than N microseconds"),
	OPTION_KINDS(KERNEL_KINDS " rqspinlock futex " PTHREAD_KINDS,
		     "all of the kernel, with --pid those of user space too"),
	OPTION_ONLY("One lock, by its name or its address"),
	OPTION_INTERVAL,
	OPTION_HIST,
	OPTION_FORMAT("table tsv folded json"),
	{ 0 },
};

static const struct command_option hold_options[] = {
	OPTION_BY("name lock caller stack " WHO, "name",
		  "What a row stands for besides the kind and name of the lock"),
	OPTION_TOP("Rows of a report, those with the largest total hold"),
	OPTION_MIN_US("Leave out holds shorter than N microseconds"),
	OPTION_KINDS(
		KERNEL_KINDS " " PTHREAD_KINDS,
		"all of the kernel; with --user and --pid those of user space too"),
	OPTION_ONLY("One lock, by its name or its address; by its name, "
		    "operations on other locks cost nothing"),
	OPTION_INTERVAL,
	OPTION_HIST,
	OPTION_FORMAT("table tsv folded json"),
	OPTION_USER,
	{ 0 },
};

static const struct command_option stat_options[] = {
	{ .name = "events",
	  .argument = "LIST",
	  .form = VALUE_LIST,
	  .words = EVENT_WORDS,
	  .ranges = EVENT_RANGES,
	  .global = "events",
	  .standard = "contention",
	  .help = "Which events, with commas between: words, or numbers and ranges of lockstat(1M) such as 0-2,33" },
	OPTION_BY("lock name caller stack " WHO,
		  "the lock's name and its caller together",
		  "What a row stands for besides the event"),
	{ .name = "sort",
	  .argument = "WORD",
	  .form = VALUE_WORD,
	  .words = "count time",
	  .global = "sort",
	  .standard = "count",
	  .help = "What the rows are sorted by, and the percentages are of" },
	OPTION_TOP("Rows of each event"),
	OPTION_MIN_US("Leave out waits and holds shorter than N microseconds"),
	OPTION_KINDS(KERNEL_KINDS " rqspinlock", "all"),
	OPTION_ONLY("One lock, by its name or its address; by its name, "
		    "operations on other locks cost nothing"),
	{ .name = "func",
	  .argument = "FUNCTION",
	  .form = VALUE_TEXT,
	  .global = "func",
	  .standard = "all",
	  .help = "Only events whose caller is this function" },
	OPTION_INTERVAL,
	OPTION_HIST,
	OPTION_SWITCH(
		"trace",
		"A line for each event when it comes, instead of a report"),
	OPTION_SWITCH("rates", "Events a second in place of counts"),
	OPTION_FORMAT("table tsv json"),
	{ 0 },
};

static const struct command_option blame_options[] = {
	OPTION_BY("caller stack name lock " WHO, "caller",
		  "What a row stands for besides the kind and name of the lock"),
	OPTION_TOP("Rows of a report, those with the largest total"),
	OPTION_MIN_US("Leave out waits shorter than N microseconds"),
	OPTION_KINDS(
		KERNEL_KINDS " rqspinlock futex " PTHREAD_KINDS,
		"all of the kernel; with --user and --pid those of user space too"),
	OPTION_ONLY("One lock, by its name or its address; by its name, "
		    "operations on other locks cost nothing"),
	OPTION_INTERVAL,
	OPTION_FORMAT("table tsv folded json"),
	OPTION_USER,
	{ 0 },
};

static const struct command_option chain_options[] = {
	OPTION_BY(
		"name task", "name",
		"Which chains are one: those of threads and locks of the same names, or of the same threads"),
	OPTION_TOP("Chains and holders of a report"),
	OPTION_MIN_US("Leave out waits shorter than N microseconds"),
	OPTION_KINDS(KERNEL_KINDS " rqspinlock futex " PTHREAD_KINDS, "all"),
	OPTION_ONLY("The one lock that the last waiter of a chain waits for, "
		    "by its name or its address"),
	OPTION_INTERVAL,
	OPTION_SWITCH(
		"snapshot",
		"The waits of this moment and their deadlocks, and no more: for a machine that hangs already"),
	OPTION_SWITCH(
		"stacks",
		"In a table the stacks of the waits, and of holders that sleep"),
	OPTION_FORMAT("table tsv folded json dot"),
	{ 0 },
};

static const struct command_option order_options[] = {
	OPTION_TOP("Inversions of a report, and with --all orders"),
	OPTION_KINDS(
		KERNEL_KINDS " " PTHREAD_KINDS,
		"all of the kernel; with --user and --pid those of user space too"),
	OPTION_ONLY("Only what this lock has a part in, by its name or its "
		    "address"),
	OPTION_SWITCH("all", "Every order, not inversions alone"),
	OPTION_FORMAT("table tsv json dot"),
	OPTION_USER,
	{ 0 },
};

/* Of stap each has the letter that it has there. */
static const struct command_option common_options[] = {
	{ .name = "time",
	  .key = KEY_TIME,
	  .argument = "SECONDS",
	  .form = VALUE_SECONDS,
	  .standard = "until ^C",
	  .help = "End after so long" },
	{ .name = "command",
	  .key = KEY_COMMAND,
	  .argument = "COMMAND",
	  .form = VALUE_TEXT,
	  .help = "Run this shell command, and end with it; all processes are watched, not its own alone" },
	{ .name = "pid",
	  .key = KEY_PID,
	  .argument = "PID",
	  .form = VALUE_NUMBER,
	  .low = 1,
	  .high = 4194304,
	  .global = "pid",
	  .standard = "all",
	  .help = "Only this process" },
	{ .name = "output",
	  .key = KEY_OUTPUT,
	  .argument = "FILE",
	  .form = VALUE_FILE,
	  .help = "Write the report to FILE, as a whole or not at all (what a run that died, or a full disk, has left is then in FILE.partial), in tsv unless a format is given; locktap report shows it" },
	{ .name = "html",
	  .key = KEY_HTML,
	  .argument = "FILE",
	  .form = VALUE_FILE,
	  .help = "Make a page of the report for a browser as well" },
	{ .name = "json",
	  .key = KEY_JSON,
	  .form = VALUE_NONE,
	  .help = "The same as --format=json" },
	{ .name = "debug-file",
	  .key = KEY_DEBUG_FILE,
	  .argument = "MODULE.ko",
	  .form = VALUE_FILE,
	  .help = "Name the locks of this kernel module as well; may be repeated" },
	{ .name = "define",
	  .key = KEY_DEFINE,
	  .argument = "NAME=NUMBER",
	  .form = VALUE_TEXT,
	  .help = "The size of a table, such as LOCKTAP_RECORDS=4096: the loss line names the one that was too small; may be repeated" },
	{ .name = "include",
	  .key = KEY_INCLUDE,
	  .argument = "DIR",
	  .form = VALUE_FOLDER,
	  .help = "Where locktap prep -o DIR has written; may be repeated" },
	{ .name = "stap",
	  .key = KEY_STAP,
	  .argument = "WORD",
	  .form = VALUE_TEXT,
	  .help = "Give WORD to stap, as in --stap=-k; may be repeated" },
	{ .name = "dry-run",
	  .key = KEY_DRY_RUN,
	  .form = VALUE_NONE,
	  .help = "Print the `locktap run' command that does the same, and run nothing" },
	{ .name = "verbose",
	  .key = KEY_VERBOSE,
	  .form = VALUE_NONE,
	  .help = "Show what stap says of its steps" },
	{ 0 },
};

const struct script_command script_commands[] = {
	{
		.name = "contend",
		.script = "lockcontend.stp",
		.about =
			"Tells who waits for which kernel lock, how long, and behind whom.  It costs nothing where nothing waits.",
		.examples =
			"  locktap contend -T 10\n"
			"  locktap contend -- make -j8\n"
			"  locktap contend -T 30 --by=stack --top=5\n"
			"  locktap contend -x 1234 --interval=5 --min-us=100\n"
			"  locktap contend -T 60 --kinds=mutex,rwsem -o waits.tsv\n",
		.options = contend_options,
		.is_rows = true,
	},
	{
		.name = "hold",
		.script = "lockhold.stp",
		.about =
			"Tells how long each kernel lock is held, and by which code.  It watches every operation on a lock, at 2 to 3 us each.",
		.examples =
			"  locktap hold -T 10\n"
			"  locktap hold -T 10 --only=tasklist_lock --hist --by=caller\n"
			"  locktap hold -T 10 --user -x 1234\n",
		.options = hold_options,
		.is_rows = true,
	},
	{
		.name = "stat",
		.script = "lockstat.stp",
		.about =
			"Counts the events of Solaris' lockstat(1M): waits by what blocked them, holds, failed trylocks, recursive entries.  Only what is asked for is armed.",
		.examples =
			"  locktap stat -T 10\n"
			"  locktap stat --events=0-2,33 -- make -j8\n"
			"  locktap stat -T 10 --events=holds --sort=time --hist --top=5\n",
		.options = stat_options,
	},
	{
		.name = "blame",
		.script = "lockblame.stp",
		.about =
			"Tells which code held the kernel locks that others waited for, and what it did meanwhile.  It watches every operation on a lock, at 3 to 10 us each: for a short look at what locktap contend has found.",
		.examples =
			"  locktap blame -T 10\n"
			"  locktap blame -T 10 --only=tasklist_lock\n"
			"  locktap blame -T 10 --format=folded > holders.folded\n",
		.options = blame_options,
		.is_rows = true,
	},
	{
		.name = "chain",
		.script = "lockchain.stp",
		.about =
			"Tells who waits for a lock behind whom, to the end of the chain, in the kernel and in user space, and deadlocks.  It costs nothing where nothing waits.",
		.examples = "  locktap chain -T 10\n"
			    "  locktap chain --snapshot --stacks\n"
			    "  locktap chain -T 10 --json -o chain.json\n"
			    "  locktap graph -o chain.svg chain.json\n",
		.options = chain_options,
	},
	{
		.name = "order",
		.script = "lockorder.stp",
		.about =
			"Tells locks that are taken in both orders, before they deadlock.  It watches every operation on a lock, at 3 to 4 us each.",
		.examples = "  locktap order -T 60\n"
			    "  locktap order --user -x 1234 -T 60\n"
			    "  locktap order --json -o order.json -- make -j8\n"
			    "  locktap graph -o order.svg order.json\n",
		.options = order_options,
	},
	{ 0 },
};

const struct script_command *find_script_command(const char *name)
{
	for (const struct script_command *command = script_commands;
	     command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

static size_t count_list(const struct command_option *list)
{
	size_t count = 0;

	while (list[count].name)
		count++;
	return count;
}

size_t count_options(const struct script_command *command)
{
	return count_list(command->options) + count_list(common_options);
}

bool is_common_option(const struct script_command *command, size_t n)
{
	return n >= count_list(command->options);
}

const struct command_option *option_at(const struct script_command *command,
				       size_t n)
{
	if (is_common_option(command, n))
		return &common_options[n - count_list(command->options)];
	return &command->options[n];
}

int option_key(const struct script_command *command, size_t n)
{
	int key = option_at(command, n)->key;

	return key ? key : KEY_FIRST_GLOBAL + (int)n;
}

/* ------------------------------------------------------------------------ */
/* Values                                                                    */

/* 3 or 4-7 */
static bool is_range(const char *value, size_t length)
{
	size_t at = 0, digits;

	for (int part = 0; part < 2; part++) {
		for (digits = 0;
		     at < length && isdigit((unsigned char)value[at]); digits++)
			at++;
		if (!digits)
			return false;
		if (at == length)
			return true;
		if (part || value[at++] != '-')
			return false;
	}
	return false;
}

/* Whether one of the numbers is in the ranges that there are. */
static bool is_within(const char *ranges, const char *value, size_t length)
{
	char *end;
	unsigned long low = strtoul(value, &end, 10);
	unsigned long high = end < value + length ? strtoul(end + 1, NULL, 10) :
						    low;

	while (*ranges) {
		unsigned long first = strtoul(ranges, &end, 10);
		unsigned long last = strtoul(end + 1, &end, 10);

		if (low <= last && high >= first && low <= high)
			return true;
		ranges = end + (*end == ' ');
	}
	return false;
}

/* The words, as a sentence has them. */
static char *listed(const char *words)
{
	size_t blanks = 0;
	char *text, *to;

	for (const char *at = words; *at; at++)
		blanks += *at == ' ';
	text = to = malloc(strlen(words) + blanks + 1);
	for (const char *at = words; text && *at; at++) {
		if (*at == ' ')
			*to++ = ',';
		*to++ = *at;
	}
	if (text)
		*to = '\0';
	return text;
}

static char *wrong_word(const struct command_option *option)
{
	bool is_list = option->form == VALUE_LIST;
	char *words = listed(option->words), *text = NULL;
	char *ranges = option->ranges ? listed(option->ranges) : NULL;

	if (words && asprintf(&text, "%s%s%s%s is needed%s",
			      is_list ? "a list of " : "one of ", words,
			      ranges ? ", or their numbers and ranges: " : "",
			      ranges ? ranges : "",
			      is_list ? ", with commas between" : "") < 0)
		text = NULL;
	free(ranges);
	free(words);
	return text;
}

static bool is_list_of(const struct command_option *option, const char *value)
{
	for (;;) {
		size_t length = strcspn(value, ",.");

		if (!words_have(option->words, ' ', value, length) &&
		    !(option->ranges && is_range(value, length) &&
		      is_within(option->ranges, value, length)))
			return false;
		if (!value[length])
			return true;
		value += length + 1;
	}
}

static char *check_number(const struct command_option *option,
			  const char *value)
{
	unsigned long long number;
	char *end, *text;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (isdigit((unsigned char)*value) && !*end && !errno &&
	    number >= option->low && number <= option->high)
		return NULL;
	return asprintf(&text, "a whole number from %lu to %lu is needed",
			option->low, option->high) < 0 ?
		       NULL :
		       text;
}

static char *check_seconds(const char *value)
{
	size_t whole = strspn(value, "0123456789");
	size_t rest = value[whole] == '.' ?
			      1 + strspn(value + whole + 1, "0123456789") :
			      0;

	/* stap counts milliseconds. */
	if (whole && !value[whole + rest] && strtod(value, NULL) >= 0.001 &&
	    strtod(value, NULL) <= 1000000)
		return NULL;
	return strdup("seconds, from 0.001 to 1000000, are needed");
}

char *check_value(const struct command_option *option, const char *value)
{
	switch (option->form) {
	case VALUE_NONE:
		return NULL;
	case VALUE_WORD:
		return words_have(option->words, ' ', value, strlen(value)) ?
			       NULL :
			       wrong_word(option);
	case VALUE_LIST:
		return is_list_of(option, value) ? NULL : wrong_word(option);
	case VALUE_NUMBER:
		return check_number(option, value);
	case VALUE_SECONDS:
		return check_seconds(value);
	case VALUE_TEXT:
	case VALUE_FILE:
	case VALUE_FOLDER:
		return *value ? NULL : strdup("it is empty");
	}
	return NULL;
}
