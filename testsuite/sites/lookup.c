// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks into what `locktap prep' has written of programs, as the tapset does.
 * It is compiled with what has been written (TABLES) and with the names of the
 * tables (USE(TAG) of each).
 *
 * Reads lines as waits.c prints them, OP NAME FILE:ADDRESS…, and prints OP and
 * NAME as they are found by the addresses: OP by the library's functions alone.
 * With the argument sites, reads OP NAME ADDRESS of calls and asks for each by
 * itself; with functions, of functions that end in a lock function.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lk_user_names.h"
#include TABLES

static const char *const ops[] = { "none", "mutex", "rdlock", "wrlock",
				   "idle" };

/* The table of a file, whose size is not in the lines. */
static const struct lk_user_names *table_of(const char *file)
{
	for (unsigned int i = 0; i < lk_user_names_nr; i++)
		if (strcmp(lk_user_names[i]->file, file) == 0)
			return lk_user_names_of(file, lk_user_names[i]->bytes);
	return NULL;
}

/* By the way over the place in the file, as a mapping tells it. */
static unsigned long by_place(const struct lk_user_names *names,
			      unsigned long vaddr)
{
	unsigned long offset = vaddr - names->exec_vaddr + names->exec_offset;
	unsigned long start = 0x7f0000000000, found;

	if (!lk_user_vaddr(names, offset, &found) || found != vaddr)
		abort();
	/* The mapping begins with the segment's first page. */
	found = start + (offset - (names->exec_offset & ~0xffful)) -
		lk_user_bias(names, start, names->exec_offset & ~0xffful);
	if (found != vaddr)
		abort();
	return found;
}

/* Of a program's own functions, those that end in one of the library are known, too. */
static u8 library_op(const struct lk_user_names *names, unsigned long vaddr)
{
	unsigned long jump;
	u8 op = lk_user_function_op(names, vaddr, &jump);

	return jump ? LK_UOP_NONE : op;
}

static void look(char *line)
{
	const char *name = "";
	u8 op = LK_UOP_NONE;
	int depth = 0, asks = 0, done = 0;

	strtok(line, " \n");
	strtok(NULL, " \n");
	for (char *word; (word = strtok(NULL, " \n")); depth++) {
		const struct lk_user_names *names;
		char *colon = strrchr(word, ':');
		unsigned long vaddr = strtoul(colon + 1, NULL, 16);
		const char *site;
		u8 site_op;

		*colon = '\0';
		names = table_of(word);
		if (!names)
			continue;
		vaddr = by_place(names, vaddr);
		if (op == LK_UOP_NONE)
			op = library_op(names, vaddr - !!depth);
		site = lk_user_site_name(names, vaddr, &site_op);
		/* A caller is asked only as long as it is to be. */
		if (!done && (site || asks)) {
			name = site ? site : "?";
			asks = !*name;
			done = !asks;
		}
	}
	printf("%s %s\n", ops[op], *name ? name : "?");
}

/* OP NAME ADDRESS of a call of the first file */
static void look_at_site(char *line)
{
	unsigned long vaddr = strtoul(strrchr(line, ' ') + 1, NULL, 16);
	const char *name;
	u8 op;

	name = lk_user_site_name(lk_user_names[0], vaddr, &op);
	printf("%s %s %lx\n", ops[op],
	       !name ? "none" :
	       *name ? name :
		       "caller",
	       vaddr);
	/* Nothing returns into the middle of a call. */
	if (lk_user_site_name(lk_user_names[0], vaddr - 1, &op) ||
	    op != LK_UOP_NONE)
		abort();
}

/* OP NAME ADDRESS of a function of the first file: its name is that of its jump */
static void look_at_function(char *line)
{
	unsigned long vaddr = strtoul(strrchr(line, ' ') + 1, NULL, 16), jump;
	const char *name = NULL;
	u8 op = lk_user_function_op(lk_user_names[0], vaddr, &jump), site_op;

	if (jump)
		name = lk_user_site_name(lk_user_names[0], jump, &site_op);
	printf("%s %s %lx\n", ops[op], name ? name : "none", vaddr);
}

int main(int argc, char **argv)
{
	char line[8192];
	void (*ask)(char *) = look;

	if (argc > 1)
		ask = strcmp(argv[1], "functions") == 0 ? look_at_function :
							  look_at_site;
#define USE(tag) lk_user_names_use((const void *)lk_user_names_##tag, 1);
	TAGS while (fgets(line, sizeof(line), stdin)) ask(line);
	return 0;
}
