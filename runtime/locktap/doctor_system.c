// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap doctor: files below a root, and what its distribution calls things. */
#include <config.h>

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"

/* Links to links to ... */
#define MOST_LINKS 16

/* No file that is read here has as much; a System.map has some 10 MB. */
#define MOST_BYTES ((off_t)256 << 20)

/*
 * The path with its first link that is absolute made one below the root; NULL:
 * there is none.  Relative ones stay below it by themselves.
 */
static char *without_link(const struct doctor *doctor, const char *path)
{
	size_t at = strlen(doctor->root);

	for (;;) {
		char target[PATH_MAX], *part, *whole = NULL;
		ssize_t length;

		at += strspn(path + at, "/");
		if (!path[at])
			return NULL;
		at += strcspn(path + at, "/");
		part = strndup(path, at);
		if (!part)
			return NULL;
		length = readlink(part, target, sizeof(target) - 1);
		free(part);
		if (length <= 0 || *target != '/')
			continue;
		target[length] = '\0';
		if (asprintf(&whole, "%s%s%s", doctor->root, target,
			     path + at) < 0)
			return NULL;
		return whole;
	}
}

static char *path_below(struct doctor *doctor, const char *format, va_list list)
{
	char *path = NULL, *inside = NULL;

	if (vasprintf(&inside, format, list) < 0 ||
	    asprintf(&path, "%s%s", doctor->root, inside) < 0) {
		doctor->failed = true;
		path = NULL;
	}
	free(inside);
	for (int i = 0; path && *doctor->root && i < MOST_LINKS; i++) {
		char *other = without_link(doctor, path);

		if (!other)
			break;
		free(path);
		path = other;
	}
	return path;
}

char *doctor_path(struct doctor *doctor, const char *format, ...)
{
	va_list list;
	char *path;

	va_start(list, format);
	path = path_below(doctor, format, list);
	va_end(list);
	return path;
}

bool doctor_has(struct doctor *doctor, const char *format, ...)
{
	va_list list;
	char *path;
	bool has;

	va_start(list, format);
	path = path_below(doctor, format, list);
	va_end(list);
	has = path && access(path, F_OK) == 0;
	free(path);
	return has;
}

bool doctor_is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size <= MOST_BYTES;
}

FILE *doctor_open(struct doctor *doctor, const char *format, ...)
{
	FILE *file = NULL;
	va_list list;
	char *path;

	va_start(list, format);
	path = path_below(doctor, format, list);
	va_end(list);
	if (path && doctor_is_file(path))
		file = fopen(path, "re");
	free(path);
	return file;
}

char *doctor_line(struct doctor *doctor, const char *path)
{
	FILE *file = doctor_open(doctor, "%s", path);
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (!file)
		return NULL;
	length = getline(&line, &size, file);
	fclose(file);
	if (length < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static bool is_program(const char *path)
{
	struct stat status;

	return access(path, X_OK) == 0 && stat(path, &status) == 0 &&
	       S_ISREG(status.st_mode);
}

char *doctor_program(struct doctor *doctor, const char *name)
{
	static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:"
				    "/usr/bin:/sbin:/bin";
	const char *folders = *doctor->root ? NULL : getenv("PATH");

	for (folders = folders ? folders : usual; *folders;) {
		size_t length = strcspn(folders, ":");
		char *path = doctor_path(doctor, "%.*s/%s", (int)length,
					 folders, name);

		if (path && is_program(path))
			return path;
		free(path);
		folders += length + (folders[length] == ':');
	}
	return NULL;
}

const char *doctor_inside(const struct doctor *doctor, const char *path)
{
	return path + strlen(doctor->root);
}

/* Whether a line of os-release, ID or ID_LIKE, has the word. */
static bool line_has(const char *line, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(line, "ID=", 3) != 0 && strncmp(line, "ID_LIKE=", 8) != 0)
		return false;
	for (const char *found = strstr(line, word); found;
	     found = strstr(found + 1, word))
		if (strchr("=\"' ", found[-1]) &&
		    strchr("\"' \n", found[length]))
			return true;
	return false;
}

enum distribution doctor_distribution(struct doctor *doctor)
{
	/* Ubuntu is like Debian, and its packages have other names. */
	static const struct {
		const char *word;
		enum distribution distribution;
	} words[] = {
		{ "ubuntu", DISTRIBUTION_UBUNTU },
		{ "debian", DISTRIBUTION_DEBIAN },
		{ "fedora", DISTRIBUTION_FEDORA },
		{ "rhel", DISTRIBUTION_FEDORA },
		{ "suse", DISTRIBUTION_SUSE },
	};
	size_t found = sizeof(words) / sizeof(*words);
	FILE *file = doctor_open(doctor, "/etc/os-release");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; i < found; i++)
			if (line_has(line, words[i].word))
				found = i;
	if (file)
		fclose(file);
	return found < sizeof(words) / sizeof(*words) ?
		       words[found].distribution :
		       DISTRIBUTION_UNKNOWN;
}

char *doctor_install(struct doctor *doctor, const char *debian,
		     const char *fedora, const char *suse)
{
	switch (doctor->distribution) {
	case DISTRIBUTION_DEBIAN:
	case DISTRIBUTION_UBUNTU:
		return doctor_text(doctor, "apt-get install %s", debian);
	case DISTRIBUTION_FEDORA:
		return doctor_text(doctor, "dnf install %s", fedora);
	case DISTRIBUTION_SUSE:
		return doctor_text(doctor, "zypper install %s", suse);
	case DISTRIBUTION_UNKNOWN:
		break;
	}
	return NULL;
}

unsigned int doctor_version(const char *text)
{
	unsigned int major, minor;

	return sscanf(text, "%u.%u", &major, &minor) == 2 && minor < 100 ?
		       major * 100 + minor :
		       0;
}
