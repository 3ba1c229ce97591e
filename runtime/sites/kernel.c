// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the image of a kernel, or says what to install. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sites_private.h"

/* %s is the release.  The first that is there and has what we need is taken. */
static const char *const places[] = {
	"/usr/lib/debug/lib/modules/%s/vmlinux",
	"/usr/lib/debug/usr/lib/modules/%s/vmlinux",
	"/usr/lib/debug/boot/vmlinux-%s",
	"/usr/lib/debug/boot/vmlinux-%s.debug",
	"/lib/modules/%s/build/vmlinux",
	"/lib/modules/%s/vmlinux",
	"/boot/vmlinux-%s",
};

#define PLACES (sizeof(places) / sizeof(*places))

/* Large enough for a build ID of any known kind. */
#define MAX_ID_BYTES 32

/* Whether a line of /etc/os-release has the word in ID or ID_LIKE. */
static bool line_has(const char *line, const char *word)
{
	const char *found;
	size_t length = strlen(word);

	if (strncmp(line, "ID=", 3) != 0 && strncmp(line, "ID_LIKE=", 8) != 0)
		return false;
	for (found = strstr(line, word); found; found = strstr(found + 1, word))
		if (strchr("=\"' ", found[-1]) &&
		    strchr("\"' \n", found[length]))
			return true;
	return false;
}

static bool system_is(const char *root, const char *word)
{
	char line[256], path[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/etc/os-release", root);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = line_has(line, word);
	fclose(file);
	return found;
}

/* Says what to install, in the words of the distribution. */
static void no_image(const char *root, const char *release,
		     struct sites_error *error)
{
	if (system_is(root, "ubuntu"))
		sites_fail(
			error,
			"no debug information for %s: install linux-image-%s-dbgsym",
			release, release);
	else if (system_is(root, "debian"))
		sites_fail(
			error,
			"no debug information for %s: install linux-image-%s-dbg",
			release, release);
	else if (system_is(root, "fedora") || system_is(root, "rhel"))
		sites_fail(
			error,
			"no debug information for %s: run debuginfo-install kernel-core-%s",
			release, release);
	else if (system_is(root, "suse"))
		sites_fail(
			error,
			"no debug information for %s: install the kernel's -debuginfo package",
			release);
	else
		sites_fail(
			error,
			"no debug information for %s: install the kernel's debug package, or give the vmlinux file",
			release);
}

/* A release is part of a path. */
static bool check_release(const char *release, struct sites_error *error)
{
	if (!*release || strchr(release, '/') || strcmp(release, ".") == 0 ||
	    strcmp(release, "..") == 0 || strlen(release) > 128)
		return sites_fail(error, "\"%s\" is not a kernel release",
				  release);
	return true;
}

void sites_notes_build_id(const char *path, char *id, size_t room)
{
	FILE *file = fopen(path, "re");
	unsigned char notes[4096];
	size_t size, at = 0;

	id[0] = '\0';
	if (!file)
		return;
	size = fread(notes, 1, sizeof(notes), file);
	fclose(file);
	while (size - at >= sizeof(GElf_Nhdr)) {
		GElf_Nhdr note;
		size_t name = at + sizeof(note), text;

		memcpy(&note, notes + at, sizeof(note));
		if (note.n_namesz > size || note.n_descsz > size)
			return;
		text = name + ((note.n_namesz + 3) & ~3u);
		at = text + ((note.n_descsz + 3) & ~3u);
		if (at > size)
			return;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(notes + name, "GNU", 4) != 0 ||
		    2 * (size_t)note.n_descsz >= room)
			continue;
		for (size_t i = 0; i < note.n_descsz; i++)
			sprintf(id + 2 * i, "%02x", notes[text + i]);
		return;
	}
}

static bool is_running(const char *release)
{
	struct utsname names;

	return uname(&names) == 0 && strcmp(names.release, release) == 0;
}

/* Whether an image is the one that was asked for. */
static bool check_image(struct sites_image *image, const char *release,
			const char *wanted_id, struct sites_error *error)
{
	if (sites_kind(image) != SITES_KERNEL)
		return sites_fail(error, "%s is not a kernel image",
				  sites_path(image));
	if (strcmp(sites_release(image), release) != 0)
		return sites_fail(error, "%s is the image of %s, not of %s",
				  sites_path(image), sites_release(image),
				  release);
	if (*wanted_id && strcmp(sites_build_id(image), wanted_id) != 0)
		return sites_fail(
			error,
			"%s is another build than the running kernel: install the debug package of the same version, or reboot",
			sites_path(image));
	return true;
}

static struct sites_image *try_image(const char *path, const char *release,
				     const char *wanted_id,
				     struct sites_error *error)
{
	struct sites_image *image = sites_open(path, error);

	if (image && !check_image(image, release, wanted_id, error)) {
		sites_close(image);
		return NULL;
	}
	return image;
}

struct sites_image *sites_open_kernel_below(const char *root,
					    const char *release,
					    struct sites_error *error)
{
	char wanted_id[2 * MAX_ID_BYTES + 1] = "";
	struct sites_image *image = NULL;
	bool tried = false;
	size_t length = strlen(root);
	char path[512];

	if (!check_release(release, error))
		return NULL;
	if (!*root && is_running(release))
		sites_notes_build_id("/sys/kernel/notes", wanted_id,
				     sizeof(wanted_id));

	if (length > sizeof(path) / 2) {
		sites_fail(error, "the path %s is too long", root);
		return NULL;
	}
	strcpy(path, root);
	for (size_t i = 0; !image && i <= PLACES; i++) {
		struct sites_error now;

		if (i < PLACES)
			snprintf(path + length, sizeof(path) - length,
				 places[i], release);
		else if (*wanted_id)
			snprintf(path, sizeof(path),
				 "/usr/lib/debug/.build-id/%.2s/%s.debug",
				 wanted_id, wanted_id + 2);
		else
			break;
		if (access(path, F_OK) != 0)
			continue;
		image = try_image(path, release, wanted_id, &now);
		/* The first file that should have served tells most. */
		if (image || tried || now.failure == SITES_NO_DEBUG_INFO)
			continue;
		*error = now;
		tried = true;
	}
	if (!image && !tried)
		no_image(root, release, error);
	return image;
}

struct sites_image *sites_open_kernel(const char *release,
				      struct sites_error *error)
{
	return sites_open_kernel_below("", release, error);
}
