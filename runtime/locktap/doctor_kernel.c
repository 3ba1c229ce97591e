// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap doctor: the kernel, what it lets in, and what is known of it. */
#include <config.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sites/sites.h>

#include "doctor.h"

#define PREPARED_DIRECTORY PKGDATADIR "/tapset"

/* Room for a build ID of any known kind, as text. */
#define MAX_ID 65

/* ------------------------------------------------------------------------ */
/* The kernel                                                                */

/* The distribution's own, as it comes. */
static char *newer_kernel(struct doctor *doctor)
{
	return doctor_install(doctor, "linux-image-amd64 && reboot",
			      "kernel && reboot", "kernel-default && reboot");
}

void check_kernel(struct doctor *doctor)
{
	unsigned int version = doctor_version(doctor->release);
	struct utsname names;

	if (!*doctor->root && uname(&names) == 0 &&
	    strcmp(names.machine, "x86_64") != 0)
		doctor_add(doctor, "kernel", FINDING_FAIL, NULL,
			   "this is %s: locktap runs on x86-64 only",
			   names.machine);
	else if (!version)
		doctor_add(doctor, "kernel", FINDING_WARN, NULL,
			   "%s does not begin with a version", doctor->release);
	else if (version < 519)
		doctor_add(
			doctor, "kernel", FINDING_FAIL, newer_kernel(doctor),
			"Linux %s has no lock tracepoints: 5.19 or later is needed",
			doctor->release);
	else
		doctor_add(doctor, "kernel", FINDING_OK, NULL,
			   "Linux %s has lock tracepoints", doctor->release);
}

/* ------------------------------------------------------------------------ */
/* How it was configured                                                     */

static const struct kernel_option {
	const char *name;
	enum finding_state without;
	const char *why;
	unsigned int since; /* the kernel that has it first; 0: all */
} kernel_options[] = {
	{ "X86_64", FINDING_FAIL, "locktap runs on x86-64 only", 0 },
	{ "MODULES", FINDING_FAIL, "stap's scripts are kernel modules", 0 },
	{ "KPROBES", FINDING_FAIL, "the probes stand on kprobes", 0 },
	{ "TRACEPOINTS", FINDING_FAIL, "waits are seen by tracepoints", 0 },
	{ "KALLSYMS", FINDING_FAIL, "addresses have no names", 0 },
	{ "RELAY", FINDING_FAIL, "stap's output comes through it", 0 },
	{ "KALLSYMS_ALL", FINDING_WARN, "static locks have no names", 0 },
	{ "UPROBES", FINDING_WARN,
	  "no probe can stand in a program, so --user does not work", 0 },
	{ "DETECT_HUNG_TASK_BLOCKER", FINDING_NOTE,
	  "semaphores do not tell who holds them", 616 },
};

#define MAKE_KERNEL \
	" && make olddefconfig && make && make modules_install install && reboot"

#define KERNEL_OPTIONS (sizeof(kernel_options) / sizeof(*kernel_options))

static FILE *open_config(struct doctor *doctor)
{
	static const char *const places[] = {
		"/boot/config-%s",
		"/lib/modules/%s/config",
		"/lib/modules/%s/build/.config",
	};
	FILE *file = NULL;

	for (size_t i = 0; !file && i < sizeof(places) / sizeof(*places); i++) {
		char *path = doctor_text(doctor, places[i], doctor->release);

		if (path)
			file = doctor_open(doctor, "%s", path);
		free(path);
	}
	return file;
}

/* Whether the line is `CONFIG_NAME=y'. */
static bool sets(const char *line, const char *name)
{
	size_t length = strlen(name);

	return strncmp(line, "CONFIG_", 7) == 0 &&
	       strncmp(line + 7, name, length) == 0 &&
	       strcmp(line + 7 + length, "=y\n") == 0;
}

static void add_option(struct doctor *doctor,
		       const struct kernel_option *option)
{
	doctor_add(
		doctor, "options", option->without,
		doctor_text(doctor, "scripts/config --enable %s" MAKE_KERNEL,
			    option->name),
		"CONFIG_%s is off: %s (the command is for the kernel's source)",
		option->name, option->why);
}

static void tell_options(struct doctor *doctor, FILE *file)
{
	bool set[KERNEL_OPTIONS] = { false }, real_time = false;
	size_t missing = 0;
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		real_time |= sets(line, "PREEMPT_RT");
		for (size_t i = 0; i < KERNEL_OPTIONS; i++)
			set[i] |= sets(line, kernel_options[i].name);
	}
	for (size_t i = 0; i < KERNEL_OPTIONS; i++) {
		if (set[i] ||
		    doctor_version(doctor->release) < kernel_options[i].since)
			continue;
		add_option(doctor, &kernel_options[i]);
		missing++;
	}
	if (real_time)
		doctor_add(
			doctor, "options", FINDING_WARN, newer_kernel(doctor),
			"kernels with CONFIG_PREEMPT_RT have not been tried");
	else if (!missing)
		doctor_add(doctor, "options", FINDING_OK, NULL,
			   "all that is needed is configured");
}

void check_options(struct doctor *doctor)
{
	FILE *file = open_config(doctor);

	if (!file) {
		doctor_add(
			doctor, "options", FINDING_NOTE, NULL,
			"not checked: there is no configuration of %s in /boot or /lib/modules",
			doctor->release);
		return;
	}
	tell_options(doctor, file);
	fclose(file);
}

/* ------------------------------------------------------------------------ */
/* What it lets in                                                           */

static bool line_is(struct doctor *doctor, const char *path, const char *text)
{
	char *line = doctor_line(doctor, path);
	bool is = line && strcmp(line, text) == 0;

	free(line);
	return is;
}

/* Its last byte tells; the four before are attributes. */
static bool has_secure_boot(struct doctor *doctor)
{
	FILE *file = doctor_open(
		doctor,
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
	unsigned char value[5] = { 0 };
	size_t got;

	if (!file)
		return false;
	got = fread(value, 1, sizeof(value), file);
	fclose(file);
	return got == sizeof(value) && value[4] == 1;
}

static bool cmdline_has(struct doctor *doctor, const char *text)
{
	char *line = doctor_line(doctor, "/proc/cmdline");
	bool has = line && strstr(line, text);

	free(line);
	return has;
}

/* What takes a word away from the command line of the next boots. */
static char *without_word(struct doctor *doctor, const char *word)
{
	static const char *const update[] = {
		[DISTRIBUTION_UNKNOWN] = "grub-mkconfig -o /boot/grub/grub.cfg",
		[DISTRIBUTION_DEBIAN] = "update-grub",
		[DISTRIBUTION_UBUNTU] = "update-grub",
		[DISTRIBUTION_SUSE] = "grub2-mkconfig -o /boot/grub2/grub.cfg",
	};

	if (doctor->distribution == DISTRIBUTION_FEDORA)
		return doctor_text(
			doctor,
			"grubby --update-kernel=ALL --remove-args=%s && reboot",
			word);
	return doctor_text(
		doctor,
		"sed -i 's/ *%s[=a-z0-9]*//' /etc/default/grub && %s && reboot",
		word, update[doctor->distribution]);
}

/* Whether the kernel's configuration has CONFIG_NAME=y. */
static bool is_configured(struct doctor *doctor, const char *name)
{
	FILE *file = open_config(doctor);
	char line[512];
	bool is = false;

	if (!file)
		return false;
	while (!is && fgets(line, sizeof(line), file))
		is = sets(line, name);
	fclose(file);
	return is;
}

/* What lets unsigned modules in depends on what keeps them out. */
static char *signature_remedy(struct doctor *doctor)
{
	if (is_configured(doctor, "MODULE_SIG_FORCE"))
		return doctor_text(
			doctor,
			"scripts/config --disable MODULE_SIG_FORCE" MAKE_KERNEL);
	if (cmdline_has(doctor, "module.sig_enforce"))
		return without_word(doctor, "module.sig_enforce");
	if (has_secure_boot(doctor))
		return doctor_text(doctor,
				   "mokutil --disable-validation && reboot");
	return doctor_text(doctor, "reboot");
}

/* Of the running kernel alone, as a root has it if it is one's own /proc. */
void check_modules(struct doctor *doctor)
{
	if (line_is(doctor, "/proc/sys/kernel/modules_disabled", "1"))
		doctor_add(
			doctor, "modules", FINDING_FAIL,
			doctor_text(doctor, "reboot"),
			"kernel.modules_disabled is 1: no module can be loaded until the next boot (and then if nothing in /etc/sysctl.d sets it)");
	else if (line_is(doctor, "/sys/module/module/parameters/sig_enforce",
			 "Y"))
		doctor_add(
			doctor, "modules", FINDING_FAIL,
			signature_remedy(doctor),
			"only signed modules can be loaded; one can be signed with stap --sign-module");
	else if (doctor_has(doctor, "/proc/modules"))
		doctor_add(doctor, "modules", FINDING_OK, NULL,
			   "modules can be loaded");
	else if (doctor->is_running)
		doctor_add(
			doctor, "modules", FINDING_FAIL, newer_kernel(doctor),
			"this kernel is built without modules, which stap's scripts are");
}

/* What takes the lockdown away depends on what brought it. */
static char *lockdown_remedy(struct doctor *doctor, bool secure_boot)
{
	if (cmdline_has(doctor, "lockdown="))
		return without_word(doctor, "lockdown");
	if (secure_boot)
		return doctor_text(doctor,
				   "mokutil --disable-validation && reboot");
	return doctor_text(doctor, "reboot");
}

void check_lockdown(struct doctor *doctor)
{
	char *line = doctor_line(doctor, "/sys/kernel/security/lockdown");
	bool secure_boot = has_secure_boot(doctor);
	const char *chosen = line ? strchr(line, '[') : NULL;

	if (chosen && strncmp(chosen, "[none]", 6) != 0)
		doctor_add(
			doctor, "lockdown", FINDING_FAIL,
			lockdown_remedy(doctor, secure_boot),
			"the kernel is locked down (%.*s%s): it takes no unsigned module%s",
			(int)strcspn(chosen + 1, "]"), chosen + 1,
			secure_boot ? ", by Secure Boot" : "",
			strncmp(chosen, "[integrity]", 11) == 0 ?
				"; one can be signed with stap --sign-module" :
				" and no probes");
	else if (secure_boot)
		doctor_add(
			doctor, "lockdown", FINDING_NOTE, NULL,
			"Secure Boot is on, but does not lock this kernel down");
	else if (doctor_has(doctor, "/sys/kernel"))
		doctor_add(doctor, "lockdown", FINDING_OK, NULL,
			   "the kernel is not locked down");
	free(line);
}

void check_kprobes(struct doctor *doctor)
{
	if (line_is(doctor, "/sys/kernel/debug/kprobes/enabled", "0"))
		doctor_add(
			doctor, "kprobes", FINDING_FAIL,
			doctor_text(
				doctor,
				"echo 1 > /sys/kernel/debug/kprobes/enabled"),
			"kprobes are switched off: no probe is hit");
	else if (doctor_has(doctor, "/sys/kernel/debug/kprobes/enabled"))
		doctor_add(doctor, "kprobes", FINDING_OK, NULL,
			   "kprobes are switched on");
}

void check_addresses(struct doctor *doctor)
{
	if (line_is(doctor, "/proc/sys/kernel/kptr_restrict", "2"))
		doctor_add(
			doctor, "addresses", FINDING_NOTE,
			doctor_text(doctor, "sysctl -w kernel.kptr_restrict=1"),
			"kernel.kptr_restrict is 2: no report tells an address, not even root's");
}

/* ------------------------------------------------------------------------ */
/* What is known of it                                                       */

static char *install_headers(struct doctor *doctor)
{
	char *debian = doctor_text(doctor, "linux-headers-%s", doctor->release);
	char *fedora = doctor_text(doctor, "kernel-devel-%s", doctor->release);
	char *remedy = NULL;

	if (debian && fedora)
		remedy = doctor_install(doctor, debian, fedora,
					"kernel-default-devel");
	free(debian);
	free(fedora);
	return remedy;
}

void check_headers(struct doctor *doctor)
{
	const char *release = doctor->release;
	char other[256];

	if (doctor->is_running &&
	    !doctor_has(doctor, "/lib/modules/%s", release) &&
	    doctor_count_kernels(doctor, other, sizeof(other)))
		doctor_add(
			doctor, "headers", FINDING_FAIL,
			doctor_text(doctor, "reboot"),
			"the running kernel has been removed, or replaced by an update");
	else if (!doctor_has(doctor, "/lib/modules/%s/build/.config", release))
		doctor_add(
			doctor, "headers", FINDING_FAIL,
			install_headers(doctor),
			"the headers of %s are not installed: stap cannot translate a script",
			release);
	else if (!doctor_has(doctor, "/lib/modules/%s/build/Makefile",
			     release) ||
		 !doctor_has(doctor, "/lib/modules/%s/build/include", release))
		doctor_add(doctor, "headers", FINDING_FAIL,
			   install_headers(doctor),
			   "the headers of %s are not complete", release);
	else
		doctor_add(doctor, "headers", FINDING_OK, NULL,
			   "the kernel's headers are installed");
}

/* Debian's file of that name has only words in it. */
static bool is_symbol_table(struct doctor *doctor, const char *path)
{
	FILE *file = doctor_open(doctor, "%s", path);
	unsigned long long address;
	char type, line[512];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%llx %c %*s", &address, &type) == 2 &&
			(type == 't' || type == 'T');
	fclose(file);
	return found;
}

static bool has_symbol_table(struct doctor *doctor, const char *format,
			     char **path)
{
	*path = doctor_text(doctor, format, doctor->release);
	if (*path && is_symbol_table(doctor, *path))
		return true;
	free(*path);
	*path = NULL;
	return false;
}

/* From where the debug package has it, or from the running kernel. */
static char *system_map_remedy(struct doctor *doctor)
{
	char *path, *remedy = NULL, *package;

	if (has_symbol_table(doctor, "/usr/lib/debug/boot/System.map-%s",
			     &path) ||
	    has_symbol_table(doctor, "/usr/lib/debug/lib/modules/%s/System.map",
			     &path) ||
	    has_symbol_table(doctor, "/lib/modules/%s/System.map", &path)) {
		remedy = doctor_text(doctor, "cp %s /boot/System.map-%s", path,
				     doctor->release);
		free(path);
		return remedy;
	}
	if (doctor->is_running)
		return doctor_text(doctor,
				   "cat /proc/kallsyms > /boot/System.map-%s",
				   doctor->release);
	package = doctor_text(doctor, "linux-image-%s-dbg", doctor->release);
	if (package && doctor->distribution == DISTRIBUTION_DEBIAN)
		remedy = doctor_install(doctor, package, NULL, NULL);
	free(package);
	return remedy;
}

/* Whether it is there, and the user may not read it: some distributions hide it. */
static bool is_hidden(struct doctor *doctor)
{
	char *path =
		doctor_path(doctor, "/boot/System.map-%s", doctor->release);
	struct stat status;
	bool hidden = path && strcmp(doctor->user, "root") != 0 &&
		      stat(path, &status) == 0 && !(status.st_mode & S_IROTH);

	free(path);
	return hidden;
}

void check_system_map(struct doctor *doctor)
{
	char *path;

	if (is_hidden(doctor)) {
		doctor_add(
			doctor, "symbols", FINDING_WARN,
			doctor_text(doctor, "chmod a+r /boot/System.map-%s",
				    doctor->release),
			"%s may not read /boot/System.map-%s: first waiters of spinlocks and some writers are not seen",
			doctor->user, doctor->release);
		return;
	}

	/* The two that stap looks into, in its order. */
	if (has_symbol_table(doctor, "/lib/modules/%s/build/System.map",
			     &path) ||
	    has_symbol_table(doctor, "/boot/System.map-%s", &path)) {
		doctor_add(doctor, "symbols", FINDING_OK, NULL,
			   "stap finds the symbol table %s", path);
		free(path);
		return;
	}
	doctor_add(
		doctor, "symbols", FINDING_WARN, system_map_remedy(doctor),
		"/boot/System.map-%s is missing, or has no symbols in it: first waiters of spinlocks and some writers are not seen",
		doctor->release);
}

/* ------------------------------------------------------------------------ */
/* Debug information                                                         */

static char *install_debug_package(struct doctor *doctor)
{
	const char *release = doctor->release;

	switch (doctor->distribution) {
	case DISTRIBUTION_DEBIAN:
		return doctor_text(doctor, "apt-get install linux-image-%s-dbg",
				   release);
	case DISTRIBUTION_UBUNTU:
		return doctor_text(doctor,
				   "apt-get install linux-image-%s-dbgsym",
				   release);
	case DISTRIBUTION_FEDORA:
		return doctor_text(doctor,
				   "dnf debuginfo-install kernel-core-%s",
				   release);
	case DISTRIBUTION_SUSE:
		return doctor_text(doctor,
				   "zypper install kernel-default-debuginfo");
	case DISTRIBUTION_UNKNOWN:
		break;
	}
	return NULL;
}

/* The servers that elfutils asks; NULL: none. */
static char *debug_servers(struct doctor *doctor)
{
	const char *urls = *doctor->root ? NULL : getenv("DEBUGINFOD_URLS");

	return urls && *urls ?
		       doctor_text(doctor, "%s", urls) :
		       doctor_line(doctor, "/etc/debuginfod/elfutils.urls");
}

/* What fetches it from there, to be used without a package. */
static void tell_servers(struct doctor *doctor)
{
	char *urls = debug_servers(doctor);
	char *program = doctor_program(doctor, "debuginfod-find");

	if (!urls || !*urls)
		doctor_add(
			doctor, "debuginfod", FINDING_NOTE, NULL,
			"no debuginfod server is named (DEBUGINFOD_URLS): debug information comes from packages only");
	else if (!program)
		doctor_add(
			doctor, "debuginfod", FINDING_NOTE,
			doctor_install(doctor, "debuginfod",
				       "elfutils-debuginfod-client",
				       "debuginfod-client"),
			"%s may have it, but debuginfod-find is not installed",
			urls);
	else
		doctor_add(
			doctor, "debuginfod", FINDING_NOTE,
			doctor_text(
				doctor,
				"locktap prep -d \"$(DEBUGINFOD_URLS='%s' debuginfod-find debuginfo /lib/modules/%s/vmlinuz)\"",
				urls, doctor->release),
			"a server may have the debug information");
	free(urls);
	free(program);
}

void check_debug_information(struct doctor *doctor)
{
	struct sites_error error;
	struct sites_image *image =
		sites_open_kernel_below(doctor->root, doctor->release, &error);

	if (image) {
		doctor_add(doctor, "debuginfo", FINDING_OK, NULL,
			   "the kernel's debug information is %s",
			   doctor_inside(doctor, sites_path(image)));
		sites_close(image);
		return;
	}
	doctor_add(
		doctor, "debuginfo", FINDING_WARN,
		install_debug_package(doctor),
		"%s; without it locks in allocated memory have no names, and no lock can be probed by its name",
		error.text);
	tell_servers(doctor);
}

/* What the tapset has for this kernel. */
/* The build ID that a file of prep's was made for: behind ", build ID ". */
static bool prepared_id(const char *line, char *id, size_t room)
{
	static const char before[] = ", build ID ";
	const char *at = line ? strstr(line, before) : NULL;

	if (!at)
		return false;
	at += sizeof(before) - 1;
	snprintf(id, room, "%.*s", (int)strspn(at, "0123456789abcdef"), at);
	return *id;
}

/* Of the kernel, or of a module that is loaded; false: it is not told. */
static bool loaded_id(struct doctor *doctor, const char *module, char *id,
		      size_t room)
{
	char *path =
		module ? doctor_path(doctor,
				     "/sys/module/%s/notes/.note.gnu.build-id",
				     module) :
			 doctor_path(doctor, "/sys/kernel/notes");

	*id = '\0';
	if (path)
		sites_notes_build_id(path, id, room);
	free(path);
	return *id;
}

static bool is_build(struct doctor *doctor, const char *path, const char *id)
{
	struct sites_error error;
	char *below = doctor_path(doctor, "%s", path);
	struct sites_image *image = below ? sites_open(below, &error) : NULL;
	bool is = image && strcmp(sites_build_id(image), id) == 0;

	sites_close(image);
	free(below);
	return is;
}

/* Of a module: stap refuses to run where the loaded one is another build. */
static bool check_prepared_module(struct doctor *doctor, const char *module,
				  const char *line)
{
	static const char before[] = " for ";
	const char *path = line ? strstr(line, before) : NULL;
	char id[MAX_ID], now[MAX_ID], file[800];

	if (!path || !prepared_id(line, id, sizeof(id)) ||
	    !loaded_id(doctor, module, now, sizeof(now)) ||
	    strcmp(id, now) == 0)
		return true;
	path += sizeof(before) - 1;
	snprintf(file, sizeof(file), "%.*s",
		 (int)(strstr(path, ", build ID ") - path), path);
	doctor_add(
		doctor, "prepared", FINDING_FAIL,
		is_build(doctor, file, now) ?
			doctor_text(doctor, "locktap prep -d %s", file) :
			doctor_text(doctor, "rmmod %s && insmod %s", module,
				    file),
		"the loaded module %s is another build than the %s that was prepared: stap ends with Build-id mismatch",
		module, file);
	return false;
}

/* False: a finding was added. */
static bool check_prepared_modules(struct doctor *doctor)
{
	static const char begin[] = "locktap_", end[] = "_probes.stp";
	char *path = doctor_path(doctor, PREPARED_DIRECTORY "/linux/%s",
				 doctor->release);
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;
	bool good = true;

	while (folder && (entry = readdir(folder)) != NULL) {
		const char *name = entry->d_name;
		size_t length = strlen(name);
		char module[256], *file, *line;

		if (length < sizeof(begin) + sizeof(end) - 1 ||
		    strncmp(name, begin, sizeof(begin) - 1) != 0 ||
		    strcmp(name + length - (sizeof(end) - 1), end) != 0)
			continue;
		snprintf(module, sizeof(module), "%.*s",
			 (int)(length - sizeof(begin) - sizeof(end) + 2),
			 name + sizeof(begin) - 1);
		if (strcmp(module, "kernel") == 0)
			continue;
		file = doctor_text(doctor, PREPARED_DIRECTORY "/linux/%s/%s",
				   doctor->release, name);
		line = file ? doctor_line(doctor, file) : NULL;
		good &= check_prepared_module(doctor, module, line);
		free(line);
		free(file);
	}
	if (folder)
		closedir(folder);
	free(path);
	return good;
}

void check_prepared(struct doctor *doctor)
{
	char *path = doctor_text(doctor,
				 PREPARED_DIRECTORY
				 "/linux/%s/locktap_kernel.stp",
				 doctor->release);
	char *line = path ? doctor_line(doctor, path) : NULL;
	char *remedy =
		doctor->is_running ?
			doctor_text(doctor, "locktap prep") :
			doctor_text(doctor, "locktap prep %s", doctor->release);
	/* What runs here is no matter of another kernel. */
	bool is_loaded = doctor->is_running || *doctor->root;
	char id[MAX_ID], now[MAX_ID];

	if (!line) {
		doctor_add(
			doctor, "prepared", FINDING_WARN, remedy,
			"%s is not prepared: locks have no names, first waiters of spinlocks are not timed",
			doctor->release);
	} else if (!strstr(line, "locktap " PACKAGE_VERSION " for ")) {
		doctor_add(doctor, "prepared", FINDING_WARN, remedy,
			   "%s was prepared by another version of locktap",
			   doctor->release);
	} else if (is_loaded && prepared_id(line, id, sizeof(id)) &&
		   loaded_id(doctor, NULL, now, sizeof(now)) &&
		   strcmp(id, now) != 0) {
		doctor_add(
			doctor, "prepared", FINDING_FAIL, remedy,
			"the running %s is another build than the one that was prepared: its code is elsewhere",
			doctor->release);
	} else {
		if (!is_loaded || check_prepared_modules(doctor))
			doctor_add(doctor, "prepared", FINDING_OK, NULL,
				   "%s is prepared", doctor->release);
		free(remedy);
	}
	free(line);
	free(path);
}
