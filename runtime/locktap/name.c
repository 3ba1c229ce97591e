// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of locks in probe points, and of source files. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "name.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ------------------------------------------------------------------------ */
/* NAMEs                                                                     */

static bool refuse(struct name_error *error, size_t at, const char *text)
{
	error->at = at;
	error->text = text;
	return false;
}

/* stap takes a word that begins with a digit for a number. */
static bool begins_number(char before, char c)
{
	return is_digit(c) && !is_letter(before) && !is_digit(before);
}

/* NAME up to its end or its `@'; `*at' is moved there. */
static bool add_variable(const char *name, size_t *at, char **out,
			 struct name_error *error)
{
	char before = '.';

	for (; name[*at] && name[*at] != '@'; (*at)++) {
		char c = name[*at];

		if (c == '[' && name[*at + 1] == ']' && before != '.') {
			(*at)++;
			continue;
		}
		if (c == '[' && is_digit(name[*at + 1]))
			return refuse(
				error, *at,
				"array elements are not told apart: write []");
		if (c == '.' && before == '.')
			return refuse(error, *at,
				      "a name is missing before the dot");
		if (begins_number(before, c))
			return refuse(error, *at,
				      "a name cannot begin with a digit");
		if (!is_letter(c) && !is_digit(c) && c != '.' && c != '*')
			return refuse(
				error, *at,
				"names have letters, digits, _, dots, [], and the wildcards * and **");
		*(*out)++ = c;
		before = c;
	}
	if (before == '.')
		return refuse(error, *at,
			      *at ? "a name ends with a dot" :
				    "a name is missing");
	return true;
}

static bool add_file(const char *name, size_t at, char **out,
		     struct name_error *error)
{
	static const char separator[] = ".at.";
	char before = '.';

	memcpy(*out, separator, sizeof(separator) - 1);
	*out += sizeof(separator) - 1;
	while (name[at] == '.' && name[at + 1] == '/')
		at += 2;
	if (!name[at])
		return refuse(error, at,
			      "a source file is missing after the @");
	for (; name[at]; at++) {
		char c = name[at];

		if (c == '@' || c == '\\' || (unsigned char)c < ' ')
			return refuse(error, at,
				      "this cannot be in the name of a file");
		if (!is_letter(c) && !is_digit(c) && c != '*')
			c = '_';
		if (begins_number(before, c))
			return refuse(error, at,
				      "a digit cannot stand here; write a * "
				      "for the beginning of the word");
		*(*out)++ = c;
		before = c;
	}
	return true;
}

char *name_to_probe(const char *name, struct name_error *error)
{
	char *text = malloc(strlen(name) + sizeof(".at."));
	char *out = text;
	size_t at = 0;

	error->text = NULL;
	if (!text)
		return NULL;
	if (add_variable(name, &at, &out, error) &&
	    (!name[at] || add_file(name, at + 1, &out, error))) {
		*out = '\0';
		return text;
	}
	free(text);
	return NULL;
}

bool name_matches(const char *pattern, const char *name)
{
	/* Where to go on when what follows the last wildcard does not fit. */
	const char *again = NULL, *from = NULL;
	/* The same for the last `**', which can swallow dots. */
	const char *deep_again = NULL, *deep_from = NULL;

	for (;;) {
		if (*pattern == '*') {
			bool deep = pattern[1] == '*';

			while (*pattern == '*')
				pattern++;
			again = pattern;
			from = name;
			if (deep) {
				deep_again = pattern;
				deep_from = name;
			}
		} else if (*pattern == *name) {
			if (!*name)
				return true;
			pattern++;
			name++;
		} else if (again && *from && (*from != '.')) {
			pattern = again;
			name = ++from;
		} else if (deep_again && *deep_from) {
			pattern = again = deep_again;
			name = from = ++deep_from;
		} else {
			return false;
		}
	}
}

size_t name_distance(const char *a, const char *b, size_t most)
{
	size_t a_length = strlen(a), b_length = strlen(b);
	size_t row[64];

	if (b_length >= sizeof(row) / sizeof(*row) ||
	    a_length > b_length + most || b_length > a_length + most)
		return most + 1;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t least = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < least)
				least = row[j] + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			row[j] = least;
		}
	}
	return row[b_length] < most + 1 ? row[b_length] : most + 1;
}

/* ------------------------------------------------------------------------ */
/* Source files                                                              */

/* Takes `.', `..' and double slashes out of a path. */
static char *clean(const char *path)
{
	char *text = calloc(strlen(path) + 2, 1), *out = text;
	char *root;

	if (!text)
		return NULL;
	if (*path == '/')
		*out++ = '/';
	root = out;
	while (*path) {
		size_t word = strcspn(path, "/");
		const char *next = path + word + (path[word] == '/');
		char *last = out;

		/* Where the last word begins. */
		while (last > root && last[-1] == '/')
			last--;
		while (last > root && last[-1] != '/')
			last--;
		if (word == 2 && !memcmp(path, "..", 2) && last < out &&
		    strncmp(last, "../", 3) != 0) {
			out = last;
		} else if (word && !(word == 1 && *path == '.')) {
			memcpy(out, path, (size_t)(next - path));
			out += next - path;
		}
		path = next;
	}
	*out = '\0';
	return text;
}

/*
 * The part below the top folder of a kernel's source, if the path has a folder
 * that is called like one: /build/linux-6.1.4/fs/inode.c,
 * /usr/src/linux-headers-6.1-common/include/linux/fs.h.
 */
static const char *below_linux(const char *path)
{
	static const char *const tops[] = {
		"arch",	   "block", "certs",	"crypto",  "drivers",  "fs",
		"include", "init",  "io_uring", "ipc",	   "kernel",   "lib",
		"mm",	   "net",   "rust",	"samples", "security", "sound",
		"tools",   "usr",   "virt",
	};
	const char *found = NULL;

	while ((path = strstr(path, "/linux"))) {
		const char *below = strchr(path + 1, '/');

		path += strlen("/linux");
		if (!below || (*path != '/' && *path != '-'))
			continue;
		below++;
		for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++) {
			size_t length = strlen(tops[i]);

			if (!strncmp(below, tops[i], length) &&
			    below[length] == '/')
				found = below;
		}
	}
	return found;
}

/* Headers of other packages are not part of the tree. */
static bool is_system(const char *path)
{
	return !strncmp(path, "/usr/include/", 13) ||
	       !strncmp(path, "/usr/lib/", 9);
}

bool source_tree_add(struct source_tree *tree, const char *file)
{
	char *path, *slash;
	size_t length = 0;

	if (*file != '/')
		return true;
	path = clean(file);
	if (!path)
		return false;
	if ((tree->is_kernel && below_linux(path)) || is_system(path)) {
		free(path);
		return true;
	}
	slash = strrchr(path, '/');
	slash[1] = '\0';
	if (!tree->folder) {
		tree->folder = path;
		return true;
	}
	for (size_t i = 0; path[i] && path[i] == tree->folder[i]; i++)
		if (path[i] == '/')
			length = i + 1;
	tree->folder[length] = '\0';
	free(path);
	return true;
}

char *source_tree_name(const struct source_tree *tree, const char *file)
{
	char *path = clean(file);
	const char *name = path;

	if (!path || *path != '/')
		return path;
	if (tree->is_kernel && below_linux(path))
		name = below_linux(path);
	else if (tree->folder && strlen(tree->folder) > 1 &&
		 !strncmp(path, tree->folder, strlen(tree->folder)))
		name = path + strlen(tree->folder);
	memmove(path, name, strlen(name) + 1);
	return path;
}

void source_tree_free(struct source_tree *tree)
{
	free(tree->folder);
	tree->folder = NULL;
}
