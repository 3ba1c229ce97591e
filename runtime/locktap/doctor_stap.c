// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap doctor: SystemTap, who may use it, and what else is installed. */
#include <config.h>

#include <fcntl.h>
#include <gelf.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"

/* ------------------------------------------------------------------------ */
/* stap's version against the kernel's                                       */

/* What a program prints, to read; NULL: it cannot be run. */
static FILE *open_output(const char *path, const char *option, pid_t *child)
{
	int fds[2];

	fflush(stdout);
	if (pipe2(fds, O_CLOEXEC) != 0)
		return NULL;
	*child = fork();
	if (*child == 0) {
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		setenv("LC_ALL", "C", 1);
		execl(path, path, option, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (*child > 0)
		return fdopen(fds[0], "r");
	close(fds[0]);
	return NULL;
}

/* What `stap --version' tells: its own version, and the latest kernel it knows. */
struct stap_version {
	unsigned int number, tested; /* 0: not told */
	char text[32], tested_text[32];
};

static void read_version(const char *line, struct stap_version *version)
{
	static const char own[] = "(version ", tested[] = " ... ";
	const char *at = strstr(line, own);

	if (at && !version->number) {
		at += sizeof(own) - 1;
		version->number = doctor_version(at);
		snprintf(version->text, sizeof(version->text), "%.*s",
			 (int)strcspn(at, "/, )"), at);
	}
	at = strstr(line, tested);
	if (at && strstr(line, "kernel")) {
		at += sizeof(tested) - 1;
		version->tested = doctor_version(at);
		snprintf(version->tested_text, sizeof(version->tested_text),
			 "%.*s", (int)strcspn(at, " \n"), at);
	}
}

/*
 * Of another root, whose programs are not ours to run: what Debian's packages
 * tell.
 */
static void look_up_version(struct doctor *doctor, struct stap_version *version)
{
	static const char package[] = "Package: ", number[] = "Version: ";
	FILE *file = doctor_open(doctor, "/var/lib/dpkg/status");
	bool is_stap = false;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, package, sizeof(package) - 1) == 0)
			is_stap = strcmp(line + sizeof(package) - 1,
					 "systemtap\n") == 0;
		if (!is_stap || strncmp(line, number, sizeof(number) - 1) != 0)
			continue;
		version->number = doctor_version(line + sizeof(number) - 1);
		snprintf(version->text, sizeof(version->text), "%.*s",
			 (int)strcspn(line + sizeof(number) - 1, "-\n"),
			 line + sizeof(number) - 1);
	}
	if (file)
		fclose(file);
}

static void ask_version(const char *path, struct stap_version *version)
{
	pid_t child = -1;
	FILE *file = open_output(path, "--version", &child);
	char line[512];

	if (file) {
		while (fgets(line, sizeof(line), file))
			read_version(line, version);
		fclose(file);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* By the kernel's symbols, since stable updates of old series have it as well. */
static bool has_symbol(struct doctor *doctor, const char *symbol)
{
	FILE *file =
		doctor_open(doctor, "/boot/System.map-%s", doctor->release);
	bool found = false;
	char line[512], name[256];

	for (int i = 0; i < 2 && !found; i++) {
		while (file && !found && fgets(line, sizeof(line), file))
			found = sscanf(line, "%*s %*c %255s", name) == 1 &&
				strcmp(name, symbol) == 0;
		if (file)
			fclose(file);
		file = !i && doctor->is_running ?
			       doctor_open(doctor, "/proc/kallsyms") :
			       NULL;
	}
	if (file)
		fclose(file);
	return found;
}

static char *newer_stap(struct doctor *doctor)
{
	static const char build[] =
		"git clone https://sourceware.org/git/systemtap.git && cd systemtap && ./configure && make && make install";

	switch (doctor->distribution) {
	case DISTRIBUTION_DEBIAN:
	case DISTRIBUTION_UBUNTU:
		return doctor_text(doctor, "apt-get build-dep systemtap && %s",
				   build);
	case DISTRIBUTION_FEDORA:
		return doctor_text(doctor, "dnf builddep systemtap && %s",
				   build);
	case DISTRIBUTION_SUSE:
	case DISTRIBUTION_UNKNOWN:
		break;
	}
	return doctor_text(doctor, "%s", build);
}

/* The pairs that are known to fail; all others are taken to be good. */
static void tell_pair(struct doctor *doctor, const struct stap_version *version)
{
	unsigned int kernel = doctor_version(doctor->release);

	if (version->number < 502 && kernel >= 612)
		doctor_add(
			doctor, "stap", FINDING_FAIL, newer_stap(doctor),
			"stap %s cannot load its modules into Linux 6.12 and later (uprobe_unregister is gone): 5.2 or later is needed",
			version->text);
	else if (version->number < 501 &&
		 has_symbol(doctor, "task_work_cancel_func"))
		doctor_add(
			doctor, "stap", FINDING_FAIL, newer_stap(doctor),
			"stap %s cannot compile its modules for %s (task_work_cancel() has changed): 5.2 or later is needed",
			version->text, doctor->release);
	else if (version->tested && kernel > version->tested)
		doctor_add(
			doctor, "stap", FINDING_WARN, newer_stap(doctor),
			"stap %s is older than Linux %s: its authors have tried it up to %s",
			version->text, doctor->release, version->tested_text);
	else
		doctor_add(doctor, "stap", FINDING_OK, NULL,
			   "stap %s fits Linux %s", version->text,
			   doctor->release);
}

void check_stap(struct doctor *doctor)
{
	char *path = doctor_program(doctor, "stap");
	struct stap_version version = { 0 };

	if (!path) {
		doctor_add(doctor, "stap", FINDING_FAIL,
			   doctor_install(doctor, "systemtap",
					  "systemtap-client systemtap-devel",
					  "systemtap"),
			   "stap is not installed");
		return;
	}
	if (*doctor->root)
		look_up_version(doctor, &version);
	else
		ask_version(path, &version);
	if (version.number)
		tell_pair(doctor, &version);
	else
		doctor_add(doctor, "stap", FINDING_WARN, NULL,
			   "the version of %s is not known",
			   doctor_inside(doctor, path));
	free(path);
}

/* ------------------------------------------------------------------------ */
/* What stap needs, and what is ours                                         */

static bool has_program(struct doctor *doctor, const char *name)
{
	char *path = doctor_program(doctor, name);
	bool has = path != NULL;

	free(path);
	return has;
}

void check_compiler(struct doctor *doctor)
{
	bool gcc = has_program(doctor, "gcc"),
	     make = has_program(doctor, "make");

	if (gcc && make)
		doctor_add(doctor, "compiler", FINDING_OK, NULL,
			   "gcc and make are installed");
	else
		doctor_add(doctor, "compiler", FINDING_FAIL,
			   doctor_install(doctor, "gcc make", "gcc make",
					  "gcc make"),
			   "%s%s%s not installed: stap compiles kernel modules",
			   gcc ? "" : "gcc", !gcc && !make ? " and " : "",
			   make ? (gcc ? "" : " is") :
			   gcc	? "make is" :
				  "make are");
}

void check_tapset(struct doctor *doctor)
{
	static const char *const files[] = {
		TAPSETDIR "/lock_core.stp",
		TAPSETDIR "/lock.stpm",
		PKGDATADIR "/scripts/lockcontend.stp",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (doctor_has(doctor, "%s", files[i]))
			continue;
		doctor_add(
			doctor, "locktap", FINDING_FAIL,
			doctor_text(doctor, "make install"),
			"%s is missing: locktap is not wholly installed (the command is for its source)",
			files[i]);
		return;
	}
	doctor_add(doctor, "locktap", FINDING_OK, NULL,
		   "the tapset is in " TAPSETDIR);
}

void check_graphviz(struct doctor *doctor)
{
	if (has_program(doctor, "dot"))
		doctor_add(doctor, "graphviz", FINDING_OK, NULL,
			   "dot is installed, for locktap graph");
	else
		doctor_add(doctor, "graphviz", FINDING_NOTE,
			   doctor_install(doctor, "graphviz", "graphviz",
					  "graphviz"),
			   "dot is not installed: locktap graph has no SVG");
}

/* ------------------------------------------------------------------------ */
/* Groups                                                                    */

struct group_entry {
	bool exists;
	gid_t gid;
	bool member; /* by the file */
	bool active; /* of the present process, if it is about its user */
};

static bool lists(const char *members, const char *user)
{
	size_t length = strlen(user);

	while (*members) {
		size_t here = strcspn(members, ",\n");

		if (here == length && memcmp(members, user, length) == 0)
			return true;
		members += here + strspn(members + here, ",\n");
	}
	return false;
}

/* The user's own group, and who it is by number; false: no such user. */
static bool find_user(struct doctor *doctor, unsigned int *uid,
		      unsigned int *gid)
{
	FILE *file = doctor_open(doctor, "/etc/passwd");
	size_t length = strlen(doctor->user);
	bool found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strncmp(line, doctor->user, length) == 0 &&
			sscanf(line + length, ":%*[^:]:%u:%u:", uid, gid) == 2;
	if (file)
		fclose(file);
	return found;
}

static bool in_process(gid_t gid)
{
	gid_t *list;
	int count = getgroups(0, NULL);
	bool found = getegid() == gid;

	list = count > 0 ? calloc((size_t)count, sizeof(*list)) : NULL;
	if (list)
		count = getgroups(count, list);
	for (int i = 0; list && i < count; i++)
		found |= list[i] == gid;
	free(list);
	return found;
}

static void find_group(struct doctor *doctor, const char *name, gid_t own_gid,
		       struct group_entry *entry)
{
	FILE *file = doctor_open(doctor, "/etc/group");
	size_t length = strlen(name);
	char *line = NULL;
	size_t size = 0;
	unsigned int gid;
	int members = 0;

	memset(entry, 0, sizeof(*entry));
	while (file && getline(&line, &size, file) > 0) {
		members = 0;
		if (strncmp(line, name, length) != 0 ||
		    sscanf(line + length, ":%*[^:]:%u:%n", &gid, &members) !=
			    1 ||
		    !members)
			continue;
		entry->exists = true;
		entry->gid = gid;
		entry->member = gid == own_gid ||
				lists(line + length + members, doctor->user);
		entry->active = !*doctor->root && in_process(gid);
	}
	free(line);
	if (file)
		fclose(file);
}

/* It is what gives the groups their rights. */
static void check_staprun(struct doctor *doctor, const struct group_entry *user,
			  bool needed)
{
	char *path = doctor_program(doctor, "staprun");
	struct stat status;

	if (!path) {
		doctor_add(doctor, "staprun", FINDING_FAIL,
			   doctor_install(doctor, "systemtap-runtime",
					  "systemtap-runtime",
					  "systemtap-runtime"),
			   "staprun is not installed: nothing can be run");
		return;
	}
	if (stat(path, &status) == 0 && status.st_uid == 0 &&
	    status.st_mode & S_ISUID && status.st_mode & S_IXGRP &&
	    user->exists && status.st_gid == user->gid)
		doctor_add(doctor, "staprun", FINDING_OK, NULL,
			   "members of stapusr can run %s",
			   doctor_inside(doctor, path));
	else
		doctor_add(
			doctor, "staprun", needed ? FINDING_FAIL : FINDING_NOTE,
			doctor_text(doctor,
				    "chown root:stapusr %s && chmod 4754 %s",
				    doctor_inside(doctor, path),
				    doctor_inside(doctor, path)),
			"%s is not root's, with the group stapusr and mode 4754: only root can run it",
			doctor_inside(doctor, path));
	free(path);
}

static void tell_groups(struct doctor *doctor, const struct group_entry *usr,
			const struct group_entry *dev, bool self)
{
	const char *user = doctor->user;

	if (!usr->member)
		doctor_add(
			doctor, "groups", FINDING_FAIL,
			doctor_text(doctor, "usermod -aG stapusr,stapdev %s",
				    user),
			"%s is not in the groups stapusr and stapdev: only root can run the reports",
			user);
	else if (!dev->member)
		doctor_add(
			doctor, "groups", FINDING_WARN,
			doctor_text(doctor, "usermod -aG stapusr,stapdev %s",
				    user),
			"%s is in stapusr and not in stapdev: that is enough for modules in /lib/modules/%s/systemtap, and for nothing else",
			user, doctor->release);
	else if (self && !(usr->active && dev->active))
		doctor_add(
			doctor, "groups", FINDING_WARN,
			doctor_text(doctor, "su - %s", user),
			"%s is in stapusr and stapdev, but has not logged in since",
			user);
	else
		doctor_add(doctor, "groups", FINDING_OK, NULL,
			   "%s is in stapusr and stapdev", user);
}

void check_groups(struct doctor *doctor)
{
	unsigned int uid = 0, gid = 0;
	struct group_entry usr, dev;

	if (strcmp(doctor->user, "root") != 0 &&
	    !find_user(doctor, &uid, &gid)) {
		doctor_add(doctor, "groups", FINDING_WARN, NULL,
			   "there is no user %s in /etc/passwd", doctor->user);
		return;
	}
	find_group(doctor, "stapusr", gid, &usr);
	find_group(doctor, "stapdev", gid, &dev);
	check_staprun(doctor, &usr, uid != 0);
	if (!uid)
		doctor_add(doctor, "groups", FINDING_OK, NULL,
			   "root may run everything");
	else if (!usr.exists || !dev.exists)
		doctor_add(
			doctor, "groups", FINDING_FAIL,
			doctor_text(
				doctor,
				"groupadd -f --system stapusr && groupadd -f --system stapsys && groupadd -f --system stapdev"),
			"the groups stapusr and stapdev are missing: only root can run the reports");
	else
		tell_groups(doctor, &usr, &dev,
			    !*doctor->root && uid == geteuid());
}

/* ------------------------------------------------------------------------ */
/* The C library                                                             */

/* Whether a section of notes has the mark among its texts. */
static bool notes_have(Elf_Data *data, const char *mark)
{
	return data && data->d_buf &&
	       memmem(data->d_buf, data->d_size, mark, strlen(mark) + 1);
}

/* Marks are SDT notes, in a section of this name. */
static bool elf_has_mark(Elf *elf, const char *mark)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && strcmp(name, ".note.stapsdt") == 0 &&
		    notes_have(elf_getdata(section, NULL), mark))
			return true;
	}
	return false;
}

static bool file_has_mark(const char *path, const char *mark)
{
	int fd = doctor_is_file(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool has;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	has = elf_has_mark(elf, mark);
	elf_end(elf);
	close(fd);
	return has;
}

/* The one that the tapset probes: lock_libc.stpm has the same list. */
static char *find_c_library(struct doctor *doctor)
{
	static const char *const places[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib64/libc.so.6",
		"/lib64/libc.so.6",
		"/lib/ld-musl-x86_64.so.1",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (doctor_has(doctor, "%s", places[i]))
			return doctor_text(doctor, "%s", places[i]);
	return NULL;
}

void check_c_library(struct doctor *doctor)
{
	char *inside = find_c_library(doctor);
	char *path = inside ? doctor_path(doctor, "%s", inside) : NULL;

	if (!path)
		doctor_add(
			doctor, "libc", FINDING_NOTE, NULL,
			"it is at none of the usual places: for --user name it in %s/lock_libc.stpm",
			TAPSETDIR);
	else if (file_has_mark(path, "mutex_entry"))
		doctor_add(doctor, "libc", FINDING_OK, NULL,
			   "%s has the marks that --user probes", inside);
	else
		doctor_add(
			doctor, "libc", FINDING_NOTE,
			doctor_text(doctor, "locktap prep -d %s", inside),
			"%s has no SDT marks, as it has in newer Debian and Fedora: with --user its functions are probed, and a mutex that pthread_cond_wait() lets go of still counts as held; what can be known of its functions, locktap prep finds",
			inside);
	free(path);
	free(inside);
}
