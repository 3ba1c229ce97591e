// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locktap compile: makes the kernel module of a script once, to be run later by
 * staprun, where there is neither a compiler nor debug information, by a user
 * who may run nothing else.
 */
#include <config.h>

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "compile.h"
#include "locktap.h"
#include "stap.h"

#define SCRIPTS_DIRECTORY PKGDATADIR "/scripts"

/* What stap takes as a module's name without cutting it. */
#define NAME_LENGTH 54

struct options {
	const char *kernel; /* RELEASE or a build folder, NULL: the running one */
	const char *directory; /* -o */
	const char *name; /* -m */
	bool force;
	struct words objects; /* -d */
	struct words scripts; /* as given */
	struct words rest; /* what stands behind -- */
	struct stap_line line; /* as stap reads that, behind a script */
};

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

static const struct argp_option option_list[] = {
	{ NULL, 'd', "MODULE.ko", 0,
	  "As of locktap run: prepare this kernel module as well, and pass the option to stap; may be repeated",
	  0 },
	{ "force", 'f', NULL, 0, "Compile anew what is already compiled", 0 },
	{ "name", 'm', "NAME", 0,
	  "The module's name, of a-z, 0-9 and _, for one script; default: locktap_ and the script's name",
	  0 },
	{ "output-dir", 'o', "DIR", 0,
	  "Write to DIR; default: /lib/modules/RELEASE/systemtap, the only folder of which members of stapusr may run modules",
	  0 },
	{ 0 },
};

static const char documentation[] =
	"Makes the kernel module of each REPORT (contend, hold, ...) or SCRIPT, "
	"for the kernel RELEASE (default: the running one), and beside it a "
	"description, NAME.locktap.  staprun NAME.ko then runs it: on this "
	"machine or another with the same kernel, without a compiler, headers or "
	"debug information.\v"
	"RELEASE is as uname -r prints it, or the path of a kernel's build "
	"folder.  What stands behind -- goes to stap, behind the script's name: "
	"-D options, or the script's arguments.  Options of the report (-G) are "
	"given when it runs: staprun NAME.ko by=stack.\n"
	"\n"
	"  locktap compile contend hold\n"
	"  locktap compile 6.12.118+deb13-amd64 -o out contend\n"
	"  locktap compile -m locktap_hold_user hold -- user\n"
	"\n"
	"What is compiled already is left alone unless the script, the tapset, "
	"the options or the kernel's image have changed.  The exit status is 0 "
	"if all is done, 1 if something failed, 2 for wrong usage.";

static void add(struct words *words, char *word, struct argp_state *state)
{
	char **list = realloc(words->list, (words->count + 1) * sizeof(*list));

	if (!list)
		argp_failure(state, LOCKTAP_FAILED, 0, "out of memory");
	words->list = list;
	list[words->count++] = word;
}

/* 6.1.0-57-amd64, or /usr/src/linux; scripts do not begin with a digit. */
static bool is_kernel(const char *word)
{
	struct stat status;

	if (*word == '/')
		return stat(word, &status) == 0 && S_ISDIR(status.st_mode);
	return isdigit((unsigned char)*word) && strchr(word, '.') &&
	       !strchr(word, '/') && !ends_with_stp(word);
}

static bool is_module_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return length && !name[length] && length <= NAME_LENGTH;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'd':
		add(&options->objects, argument, state);
		return 0;
	case 'f':
		options->force = true;
		return 0;
	case 'm':
		options->name = argument;
		if (!is_module_name(argument))
			argp_error(
				state,
				"--name=%s: a module's name has a-z, 0-9 and _, and at most %d of them",
				argument, NAME_LENGTH);
		return 0;
	case 'o':
		options->directory =
			argument_name(argument, "output-dir", state);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0 && is_kernel(argument))
			options->kernel = argument;
		else
			add(&options->scripts, argument, state);
		return 0;
	case ARGP_KEY_END:
		if (!options->scripts.count)
			argp_error(state, "no REPORT or SCRIPT given");
		if (options->name && options->scripts.count > 1)
			argp_error(
				state,
				"--name is for one script, and %zu are given",
				options->scripts.count);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* What stands behind --; the words before it are left in argc. */
static void split(struct options *options, int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		options->rest.list = argv + i + 1;
		options->rest.count = (size_t)(*argc - i - 1);
		*argc = i;
		return;
	}
}

static bool is_never_own(const char *word, void *own)
{
	(void)word;
	(void)own;
	return false;
}

/* Reads what goes to stap; it cannot be what only a run has. */
static int read_rest(struct options *options)
{
	struct stap_line *line = &options->line;
	char **argv = calloc(options->rest.count + 3, sizeof(*argv));
	static char stap[] = "stap", script[] = "-";

	if (!argv)
		return locktap_fail("out of memory");
	argv[0] = stap;
	argv[1] = script;
	for (size_t i = 0; i < options->rest.count; i++)
		argv[i + 2] = options->rest.list[i];
	stap_read_line(line, (int)options->rest.count + 2, argv, is_never_own,
		       NULL);
	free(argv);
	if (line->out_of_memory)
		return locktap_fail("out of memory");
	if (line->globals.count) {
		locktap_fail(
			"-G %s: a report's options are given when the module runs: staprun NAME.ko %s",
			line->globals.list[0], line->globals.list[0]);
		return LOCKTAP_USAGE;
	}
	if (line->has_script || line->release || line->pattern_count) {
		locktap_fail(
			"behind -- there can be no -e, -r, -l or -L: the script and the kernel stand before it");
		return LOCKTAP_USAGE;
	}
	return LOCKTAP_DONE;
}

/* ------------------------------------------------------------------------ */
/* The kernel                                                                */

/* For whom it is compiled. */
struct kernel {
	char release[256];
	char *build; /* the folder of its headers */
	bool is_other; /* stap has to be told: -r */
	const char *word; /* what it is told */
};

static bool read_release(struct kernel *kernel, const char *folder)
{
	char *path = NULL;
	FILE *file = NULL;
	bool good;

	if (asprintf(&path, "%s/include/config/kernel.release", folder) >= 0)
		file = fopen(path, "re");
	free(path);
	if (!file)
		return false;
	good = fgets(kernel->release, sizeof(kernel->release), file);
	fclose(file);
	kernel->release[strcspn(kernel->release, "\n")] = '\0';
	return good && *kernel->release;
}

static int find_kernel(const struct options *options, struct kernel *kernel)
{
	const char *given = options->kernel;
	struct utsname names;

	/* stap would take it. */
	if (!given)
		given = getenv("SYSTEMTAP_RELEASE");
	if (given && !*given)
		given = NULL;
	if (uname(&names) != 0)
		return locktap_fail("cannot tell the running kernel: %s",
				    strerror(errno));
	if (given && *given == '/') {
		if (!read_release(kernel, given))
			return locktap_fail(
				"%s is not a kernel's build folder: it has no include/config/kernel.release",
				given);
		kernel->build = strdup(given);
		kernel->is_other = true;
	} else {
		snprintf(kernel->release, sizeof(kernel->release), "%s",
			 given ? given : names.release);
		kernel->is_other = strcmp(kernel->release, names.release) != 0;
		if (asprintf(&kernel->build, "/lib/modules/%s/build",
			     kernel->release) < 0)
			kernel->build = NULL;
	}
	kernel->word = given ? given : kernel->release;
	return kernel->build ? LOCKTAP_DONE : locktap_fail("out of memory");
}

/* stap's own words for it lead nowhere. */
static int check_headers(const struct kernel *kernel)
{
	char *config = NULL;
	bool there;

	if (asprintf(&config, "%s/.config", kernel->build) < 0)
		return locktap_fail("out of memory");
	there = access(config, R_OK) == 0;
	free(config);
	if (there)
		return LOCKTAP_DONE;
	return locktap_fail(
		"no headers of %s in %s: install linux-headers-%s (Debian) or kernel-devel-%s (Fedora)",
		kernel->release, kernel->build, kernel->release,
		kernel->release);
}

/* ------------------------------------------------------------------------ */
/* One module                                                                */

static bool has_slash_or_stp(const char *word)
{
	return strchr(word, '/') || ends_with_stp(word);
}

/* Where they are; another folder's, for those who change the scripts. */
static const char *scripts_directory(void)
{
	const char *given = getenv("LOCKTAP_SCRIPTS");

	return given && *given ? given : SCRIPTS_DIRECTORY;
}

/* The reports that there are, as a list for a message. */
static void tell_reports(const char *word)
{
	char *pattern = NULL;
	glob_t files;

	if (asprintf(&pattern, "%s/lock*.stp", scripts_directory()) < 0)
		return;
	fprintf(stderr, "locktap: there is no report \"%s\"", word);
	if (glob(pattern, 0, NULL, &files) == 0) {
		const char *separator = ", only ";

		for (size_t i = 0; i < files.gl_pathc; i++) {
			const char *name = strrchr(files.gl_pathv[i], '/') + 5;

			fprintf(stderr, "%s%.*s", separator,
				(int)(strlen(name) - 4), name);
			separator = ", ";
		}
		globfree(&files);
	} else {
		fprintf(stderr, "; none is installed in %s",
			scripts_directory());
	}
	fputs("; a script's name ends in .stp\n", stderr);
	free(pattern);
}

/* The script's path, without links; NULL with the reason told. */
static char *find_script(const char *word)
{
	char *installed = NULL, *path;

	if (has_slash_or_stp(word)) {
		path = realpath(word, NULL);
		if (!path)
			locktap_fail("cannot open %s: %s", word,
				     strerror(errno));
		return path;
	}
	if (asprintf(&installed, "%s/lock%s.stp", scripts_directory(), word) <
	    0)
		return NULL;
	path = realpath(installed, NULL);
	free(installed);
	if (!path)
		tell_reports(word);
	return path;
}

/* locktap_NAME of /a/NAME.stp, locktap_contend of contend. */
static void default_name(const char *word, char *name, size_t size)
{
	const char *base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
	size_t length = strlen(base) - (ends_with_stp(base) ? 4 : 0);
	size_t at;

	snprintf(name, size, "locktap_%.*s", (int)length, base);
	for (at = 0; name[at]; at++)
		name[at] = isascii((unsigned char)name[at]) &&
					   isalnum((unsigned char)name[at]) ?
				   (char)tolower((unsigned char)name[at]) :
				   '_';
}

/* Where the child of compile_script writes; the caller's to free. */
static char *make_folder(const char *directory)
{
	char *folder = NULL;

	if (asprintf(&folder, "%s/.locktap.XXXXXX", directory) < 0)
		return NULL;
	if (mkdtemp(folder))
		return folder;
	free(folder);
	return NULL;
}

/* locktap run's words: the kernel, the name, the user's. */
static char **module_words(const struct options *options,
			   const struct kernel *kernel, struct module *module)
{
	static char command[] = "locktap run", pass[] = "-p4", name[] = "-m",
		    release[] = "-r", object[] = "-d";
	char **words =
		calloc(2 * options->objects.count + options->rest.count + 8,
		       sizeof(*words));
	size_t count = 0;

	if (!words)
		return NULL;
	words[count++] = command;
	words[count++] = pass;
	words[count++] = name;
	words[count++] = module->name;
	if (kernel->is_other) {
		words[count++] = release;
		words[count++] = (char *)kernel->word;
	}
	for (size_t i = 0; i < options->objects.count; i++) {
		words[count++] = object;
		words[count++] = options->objects.list[i];
	}
	words[count++] = module->script;
	for (size_t i = 0; i < options->rest.count; i++)
		words[count++] = options->rest.list[i];
	return words;
}

static int count_words(char **words)
{
	int count = 0;

	while (words[count])
		count++;
	return count;
}

/* The child: locktap run replaces it by stap, which writes into its folder. */
static void run_child(const char *folder, char **words)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* stap prints the module's name. */
	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	if (chdir(folder) != 0)
		_exit(locktap_fail("cannot enter %s: %s", folder,
				   strerror(errno)));
	_exit(locktap_run(count_words(words), words));
}

static volatile sig_atomic_t child_to_end;

static void end_child(int number)
{
	(void)number;
	if (child_to_end > 0)
		kill((pid_t)child_to_end, SIGTERM);
}

/*
 * Waits for the child.  ^C reaches it as well; our own end comes after it, so that
 * no folder is left behind.
 */
static int attend(pid_t child)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before_int;
	struct sigaction end = { .sa_handler = end_child }, before_term;
	int status = 0;

	child_to_end = child;
	sigaction(SIGINT, &ignore, &before_int);
	sigaction(SIGTERM, &end, &before_term);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	child_to_end = 0;
	sigaction(SIGTERM, &before_term, NULL);
	sigaction(SIGINT, &before_int, NULL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGINT && WTERMSIG(status) != SIGTERM)
		locktap_fail("stap was ended by signal %d (%s)",
			     WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}

static int run_stap(const char *folder, char **words)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return locktap_fail("cannot start a process: %s",
				    strerror(errno));
	if (child == 0)
		run_child(folder, words);
	return attend(child);
}

/* The module and its description to where they belong, in this order. */
static int put_in_place(const struct module *module, const char *folder)
{
	char *from = NULL, *to = NULL;
	int status = LOCKTAP_FAILED;

	if (asprintf(&from, "%s/%s.ko", folder, module->name) < 0)
		from = NULL;
	if (asprintf(&to, "%s/%s.ko", module->directory, module->name) < 0)
		to = NULL;
	if (!from || !to)
		locktap_fail("out of memory");
	else if (access(from, F_OK) != 0)
		locktap_fail("stap has left no module of %s", module->script);
	else if (chmod(from, 0644) != 0 || rename(from, to) != 0)
		locktap_fail("cannot write %s: %s", to, strerror(errno));
	else
		status = module_describe(module, folder);
	if (from)
		unlink(from);
	free(from);
	free(to);
	return status;
}

static int compile_script(const struct options *options,
			  const struct kernel *kernel, struct module *module)
{
	char *folder = make_folder(module->directory);
	char **words;
	int status;

	if (!folder)
		return locktap_fail(
			"cannot write to %s: %s; run it as root, or name another folder with --output-dir",
			module->directory, strerror(errno));
	words = module_words(options, kernel, module);
	if (!words) {
		status = locktap_fail("out of memory");
	} else {
		status = run_stap(folder, words);
		if (status == LOCKTAP_DONE) {
			module_find_prepared(module);
			status = put_in_place(module, folder);
		} else {
			status = locktap_fail("%s was not compiled for %s",
					      module->script, kernel->release);
		}
	}
	rmdir(folder);
	free(words);
	free(folder);
	return status;
}

/* Where only root's modules are, and stapusr may run them. */
static bool is_run_folder(const struct module *module)
{
	char path[512], real[4096], own[4096];

	snprintf(path, sizeof(path), "/lib/modules/%s/systemtap",
		 module->release);
	return realpath(path, real) && realpath(module->directory, own) &&
	       strcmp(real, own) == 0;
}

static void tell_done(const struct module *module)
{
	printf("compiled %s: %s/%s.ko\n", module->release, module->directory,
	       module->name);
	if (!is_run_folder(module))
		printf("  to be run by members of stapusr: copy %s.ko and %s.locktap, as root, to /lib/modules/%s/systemtap\n",
		       module->name, module->name, module->release);
	if (!module->is_prepared)
		printf("  without debug information: %s cannot name all locks, nor time all waits\n",
		       module->name);
}

static char *joined(const struct words *objects, const struct words *rest)
{
	size_t size = 1;
	char *text;

	for (size_t i = 0; i < objects->count; i++)
		size += strlen(objects->list[i]) + 4;
	for (size_t i = 0; i < rest->count; i++)
		size += strlen(rest->list[i]) + 1;
	text = calloc(1, size);
	for (size_t i = 0; text && i < objects->count; i++) {
		strcat(text, *text ? " -d " : "-d ");
		strcat(text, objects->list[i]);
	}
	for (size_t i = 0; text && i < rest->count; i++) {
		strcat(text, *text ? " " : "");
		strcat(text, rest->list[i]);
	}
	return text;
}

static int compile_one(const struct options *options,
		       const struct kernel *kernel, const char *directory,
		       const char *word)
{
	struct module module = {
		.release = kernel->release,
		.build = kernel->build,
		.directory = directory,
		.arguments = (const char *const *)options->line.arguments.list,
		.argument_count = options->line.arguments.count,
	};
	int status = LOCKTAP_FAILED;

	if (options->name)
		snprintf(module.name, sizeof(module.name), "%s", options->name);
	else
		default_name(word, module.name, sizeof(module.name));
	module.script = find_script(word);
	module.options = joined(&options->objects, &options->rest);
	if (!module.options) {
		locktap_fail("out of memory");
	} else if (!module.script) {
		status = LOCKTAP_FAILED;
	} else if (!is_module_name(module.name)) {
		locktap_fail(
			"%s: \"%s\" is too long for a module's name; --name=NAME names it",
			word, module.name);
	} else if (module_look(&module) == LOCKTAP_DONE) {
		if (!options->force && module_is_current(&module)) {
			printf("already compiled %s: %s/%s.ko\n",
			       module.release, directory, module.name);
			status = LOCKTAP_DONE;
		} else {
			status = check_headers(kernel);
			if (status == LOCKTAP_DONE)
				status = compile_script(options, kernel,
							&module);
			if (status == LOCKTAP_DONE)
				tell_done(&module);
		}
	}
	module_free(&module);
	return status;
}

/* ------------------------------------------------------------------------ */

/* The folder to write to; the caller's to free, NULL with the reason told. */
static char *find_directory(const struct options *options,
			    const struct kernel *kernel)
{
	char *modules = NULL, *directory = NULL;

	if (options->directory) {
		directory = realpath(options->directory, NULL);
		if (!directory && mkdir(options->directory, 0755) == 0)
			directory = realpath(options->directory, NULL);
		if (!directory)
			locktap_fail(
				"cannot make the folder %s: %s; name another folder with --output-dir",
				options->directory, strerror(errno));
		return directory;
	}
	if (asprintf(&modules, "/lib/modules/%s", kernel->release) < 0 ||
	    asprintf(&directory, "%s/systemtap", modules) < 0) {
		locktap_fail("out of memory");
		free(modules);
		return NULL;
	}
	if (access(modules, F_OK) != 0)
		locktap_fail(
			"there is no %s here: --output-dir=DIR says where to write the modules of a kernel that is not installed",
			modules);
	else if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		locktap_fail(
			"cannot make %s: %s; run it as root, or name another folder with --output-dir",
			directory, strerror(errno));
	else {
		free(modules);
		return directory;
	}
	free(modules);
	free(directory);
	return NULL;
}

/* The child works in a folder of its own. */
static bool make_absolute(struct words *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		char *path = strchr(objects->list[i], '/') ||
					     strstr(objects->list[i], ".ko") ?
				     realpath(objects->list[i], NULL) :
				     strdup(objects->list[i]);

		if (!path) {
			locktap_fail("cannot open %s: %s", objects->list[i],
				     strerror(errno));
			for (; i < objects->count; i++)
				objects->list[i] = NULL;
			return false;
		}
		objects->list[i] = path;
	}
	return true;
}

/* The second of two modules of one name would take the first one's place. */
static bool names_differ(const struct options *options)
{
	char **list = options->scripts.list;
	char one[sizeof(((struct module *)0)->name)], other[sizeof(one)];

	for (size_t i = 0; i < options->scripts.count; i++) {
		default_name(list[i], one, sizeof(one));
		for (size_t j = 0; j < i; j++) {
			default_name(list[j], other, sizeof(other));
			if (strcmp(one, other) != 0 ||
			    strcmp(list[i], list[j]) == 0)
				continue;
			locktap_fail(
				"%s and %s would be one module, %s: compile one of them by itself, with --name=NAME",
				list[j], list[i], one);
			return false;
		}
	}
	return true;
}

static int compile_all(const struct options *options)
{
	struct kernel kernel = { 0 };
	char *directory = NULL;
	int status = find_kernel(options, &kernel);

	if (status == LOCKTAP_DONE) {
		directory = find_directory(options, &kernel);
		if (!directory)
			status = LOCKTAP_FAILED;
	}
	for (size_t i = 0; directory && i < options->scripts.count; i++)
		if (compile_one(options, &kernel, directory,
				options->scripts.list[i]) != LOCKTAP_DONE)
			status = LOCKTAP_FAILED;
	free(directory);
	free(kernel.build);
	return status;
}

int locktap_compile(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "[RELEASE] REPORT|SCRIPT... [-- STAP-OPTION...]",
		.doc = documentation,
	};
	struct options options = { 0 };
	int status = LOCKTAP_USAGE;

	split(&options, &argc, argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) == 0)
		status = read_rest(&options);
	if (status == LOCKTAP_DONE && !names_differ(&options))
		status = LOCKTAP_USAGE;
	if (status == LOCKTAP_DONE) {
		status = LOCKTAP_FAILED;
		if (make_absolute(&options.objects))
			status = compile_all(&options);
		for (size_t i = 0; i < options.objects.count; i++)
			free(options.objects.list[i]);
	}
	stap_free_line(&options.line);
	free(options.objects.list);
	free(options.scripts.list);
	return locktap_end_output(status);
}
