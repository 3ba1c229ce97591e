// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locktap run: runs a script with stap, after putting what stap's grammar does
 * not have into words that it has.
 */
#include <config.h>

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sites/sites.h>

#include "locktap.h"
#include "name.h"
#include "stap.h"

#define PREPARED_DIRECTORY PKGDATADIR "/tapset"

struct run {
	struct stap_line line;
	bool print; /* --print */
	const char *name; /* the script's, as messages have it */
	char *text; /* the script's, NULL: there is none */
	size_t length;
	char *only; /* -G only=NAME, as probe points have it */
	char **given; /* the line's words before rewriting */
	bool is_regular; /* stap can read the script's file itself */
	struct rewrite script;
	struct rewrite *others; /* of -E, -l, -L, in this order */
	size_t other_count;
	bool has_locks, has_variables; /* any of them */
	char *stap;
	const char *release;
	char release_text[256];
	const struct stap_how *how; /* NULL: as stap does it by itself */
};

static const struct stap_how plain_run = { .output_fd = -1 };

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

enum { KEY_PRINT = 256 };

static const struct argp_option option_list[] = {
	{ "print", KEY_PRINT, NULL, 0,
	  "Show what stap is given: print the script after rewriting, and run nothing",
	  0 },
	{ NULL, 'd', "MODULE.ko", 0,
	  "Prepare this kernel module as well, if it is not yet, for probes on its locks; stap gets the option too",
	  0 },
	{ NULL, 'G', "NAME=VALUE", 0,
	  "stap's, but a name that is no global of the script is refused", 0 },
	{ 0 },
};

static const char documentation[] =
	"Runs SCRIPT (or standard input: `-', or the text after -e) with stap, "
	"as `stap SCRIPT' does, with the lock tapset and what locktap prep has "
	"made.  All other options are stap's.\v"
	"A probe point of the script can choose a lock by its name, which stap "
	"alone would not take:\n"
	"\n"
	"  probe lock.spin(var=\"tasklist_lock\") { ... }\n"
	"  probe lock.mutex(var=\"inode.i_rwsem\").release { ... }\n"
	"  probe lock(var=\"hk_obj.in[].*\").contention_end { ... }\n"
	"  probe lock.rwlock(var=\"mrt_lock@net/ipv4/ipmr.c\") { ... }\n"
	"\n"
	"`locktap sites --names' lists the names.  A kernel that is not "
	"prepared is prepared first.  The exit status is stap's; 1 if the "
	"script cannot be run, 2 for wrong usage.";

/* The words that are for us, in a command line of their own. */
struct own_words {
	char **list;
	int count;
};

static bool is_own(const char *word, void *own)
{
	static const char *const names[] = { "--print",	  "--help", "--usage",
					     "--version", "-?",	    "-V" };
	struct own_words *words = own;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		words->list[words->count++] = (char *)word;
		return true;
	}
	return false;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct run *run = state->input;

	(void)argument;
	switch (key) {
	case KEY_PRINT:
		run->print = true;
		return 0;
	case ARGP_KEY_END:
		if (!run->line.words.count)
			argp_error(state, "no SCRIPT given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static bool read_words(struct run *run, int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "SCRIPT [ARGUMENT...]\n-e TEXT [ARGUMENT...]",
		.doc = documentation,
	};
	struct own_words own = { .count = 1 };
	bool good;

	own.list = calloc((size_t)argc + 1, sizeof(*own.list));
	if (!own.list) {
		locktap_fail("out of memory");
		return false;
	}
	own.list[0] = argv[0];
	stap_read_line(&run->line, argc, argv, is_own, &own);
	good = !run->line.out_of_memory;
	if (!good)
		locktap_fail("out of memory");
	else
		good = argp_parse(&argp, own.count, own.list, 0, NULL, run) ==
		       0;
	free(own.list);
	return good;
}

/* ------------------------------------------------------------------------ */
/* The scripts                                                               */

static bool read_all(FILE *file, char **text, size_t *length)
{
	size_t room = 0;

	for (;;) {
		if (*length == room) {
			char *larger = realloc(*text, room = room * 2 + 4096);

			if (!larger)
				return false;
			*text = larger;
		}
		*length += fread(*text + *length, 1, room - *length, file);
		if (*length < room)
			return !ferror(file);
	}
}

static int read_file(struct run *run, const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	struct stat status;
	bool good;

	run->name = file == stdin ? "<input>" : path;
	if (!file)
		return locktap_fail("cannot open %s: %s", path,
				    strerror(errno));
	run->is_regular = file != stdin && fstat(fileno(file), &status) == 0 &&
			  S_ISREG(status.st_mode);
	errno = 0;
	good = read_all(file, &run->text, &run->length);
	if (!good)
		locktap_fail("cannot read %s: %s", path,
			     strerror(errno ? errno : ENOMEM));
	if (file != stdin)
		fclose(file);
	return good ? LOCKTAP_DONE : LOCKTAP_FAILED;
}

static char *word_text(const struct run *run, struct stap_text text)
{
	return run->line.words.list[text.index] + text.offset;
}

static int rewrite_one(struct run *run, struct rewrite *rewrite,
		       const char *text, size_t length)
{
	rewrite->only = rewrite->is_point ? NULL : run->only;
	rewrite->arguments = (const char *const *)run->line.arguments.list;
	rewrite->argument_count = run->line.arguments.count;
	if (!rewrite_script(rewrite, text, length))
		return LOCKTAP_FAILED;
	run->has_locks |= rewrite->has_locks;
	run->has_variables |= rewrite->count != 0;
	return LOCKTAP_DONE;
}

/* A text that is itself an argument of stap: the new one takes its place. */
static int rewrite_word(struct run *run, struct rewrite *rewrite,
			struct stap_text at, const char *name, bool is_point)
{
	const char *text = word_text(run, at);
	char *word;

	rewrite->name = name;
	rewrite->is_point = is_point;
	if (rewrite_one(run, rewrite, text, strlen(text)) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	if (!rewrite->count)
		return LOCKTAP_DONE;
	/* The beginning of the word stays: -eTEXT. */
	word = malloc(at.offset + rewrite->length + 1);
	if (!word)
		return locktap_fail("out of memory");
	memcpy(word, run->line.words.list[at.index], at.offset);
	strcpy(word + at.offset, rewrite->text);
	free(rewrite->text);
	rewrite->text = word;
	run->line.words.list[at.index] = word;
	return LOCKTAP_DONE;
}

static int rewrite_others(struct run *run)
{
	const struct stap_line *line = &run->line;
	size_t count = line->extra_count + line->pattern_count;
	int status = LOCKTAP_DONE;

	run->others = calloc(count ? count : 1, sizeof(*run->others));
	if (!run->others)
		return locktap_fail("out of memory");
	run->other_count = count;
	for (size_t i = 0; i < count; i++) {
		bool is_point = i >= line->extra_count;
		struct stap_text at =
			is_point ? line->patterns[i - line->extra_count] :
				   line->extra[i];

		if (rewrite_word(run, &run->others[i], at,
				 is_point ? "<pattern>" : "<input>",
				 is_point) != LOCKTAP_DONE)
			status = LOCKTAP_FAILED;
	}
	return status;
}

static int rewrite_all(struct run *run)
{
	const struct stap_line *line = &run->line;
	int status = LOCKTAP_DONE;

	if (line->has_script) {
		status = rewrite_word(run, &run->script, line->script,
				      "<input>", false);
	} else if (line->has_file) {
		if (!run->name)
			status = read_file(run, word_text(run, line->file));
		if (status != LOCKTAP_DONE)
			return status;
		run->script.name = run->name;
		status = rewrite_one(run, &run->script, run->text, run->length);
	}
	if (rewrite_others(run) != LOCKTAP_DONE)
		status = LOCKTAP_FAILED;
	return status;
}

/* ------------------------------------------------------------------------ */
/* -G: stap ignores a name that the script does not have                     */

static const struct rewrite_global *find_global(const struct rewrite *rewrite,
						const char *name, size_t length)
{
	for (size_t i = 0; i < rewrite->global_count; i++)
		if (strlen(rewrite->globals[i].name) == length &&
		    !memcmp(rewrite->globals[i].name, name, length))
			return &rewrite->globals[i];
	return NULL;
}

static void tell_globals(const struct rewrite *rewrite)
{
	const char *separator = "; it has ";

	for (size_t i = 0; i < rewrite->global_count; i++) {
		if (rewrite->globals[i].is_private)
			continue;
		fprintf(stderr, "%s%s", separator, rewrite->globals[i].name);
		separator = ", ";
	}
	fputs(*separator == ';' ? "; it has none\n" : "\n", stderr);
}

static int check_global(const struct run *run, const char *option)
{
	size_t length = strcspn(option, "=");
	const struct rewrite_global *found =
		find_global(&run->script, option, length);

	for (size_t i = 0; !found && i < run->line.extra_count; i++)
		found = find_global(&run->others[i], option, length);
	if (found && !found->is_private)
		return LOCKTAP_DONE;
	fprintf(stderr, "locktap: -G %s: the script has %s \"%.*s\"", option,
		found ? "only a private global" : "no global", (int)length,
		option);
	tell_globals(&run->script);
	return LOCKTAP_USAGE;
}

static int check_globals(const struct run *run)
{
	int status = LOCKTAP_DONE;

	/* Without a script (stap -l) there is nothing to set. */
	if (!run->line.has_file && !run->line.has_script)
		return LOCKTAP_DONE;
	for (size_t i = 0; i < run->line.globals.count; i++)
		if (check_global(run, run->line.globals.list[i]) !=
		    LOCKTAP_DONE)
			status = LOCKTAP_USAGE;
	return status;
}

/* ------------------------------------------------------------------------ */
/* Prepared kernels and modules                                              */

/* -r can name a build folder. */
static bool read_build_release(struct run *run, const char *folder)
{
	char *path = NULL;
	FILE *file;
	bool good;

	if (asprintf(&path, "%s/include/config/kernel.release", folder) < 0)
		return false;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return false;
	good = fgets(run->release_text, sizeof(run->release_text), file);
	fclose(file);
	run->release_text[strcspn(run->release_text, "\n")] = '\0';
	run->release = run->release_text;
	return good && *run->release;
}

/* The release that stap translates for; false: stap will say what is wrong. */
static bool find_release(struct run *run)
{
	struct utsname names;

	run->release = run->line.release;
	if (!run->release)
		run->release = getenv("SYSTEMTAP_RELEASE");
	if (run->release && *run->release == '/')
		return read_build_release(run, run->release);
	if (run->release)
		return *run->release && !strchr(run->release, '/');
	if (uname(&names) != 0)
		return false;
	snprintf(run->release_text, sizeof(run->release_text), "%s",
		 names.release);
	run->release = run->release_text;
	return true;
}

static bool has_prepared(const struct run *run, const char *folder,
			 const char *file)
{
	char *path = NULL;
	bool there;

	if (asprintf(&path, "%s/linux/%s/locktap_%s.stp", folder, run->release,
		     file) < 0)
		return false;
	there = access(path, R_OK) == 0;
	free(path);
	return there;
}

/* Where locktap prep writes by itself, or in a folder that -I names. */
static bool is_prepared(const struct run *run, const char *file)
{
	for (size_t i = 0; i < run->line.folders.count; i++)
		if (has_prepared(run, run->line.folders.list[i], file))
			return true;
	return has_prepared(run, PREPARED_DIRECTORY, file);
}

/* Standard output is the script's: prep writes to standard error. */
static int call_prep(int argc, char **argv)
{
	int out, status;

	fflush(stdout);
	out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (out < 0)
		return LOCKTAP_FAILED;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	status = locktap_prep(argc, argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	return status;
}

static int prepare_kernel(const struct run *run)
{
	char command[] = "locktap prep";
	char *argv[] = { command, (char *)run->release, NULL };
	struct sites_image *image;
	struct sites_error error;

	if (is_prepared(run, "kernel"))
		return LOCKTAP_DONE;
	image = sites_open_kernel(run->release, &error);
	if (!image)
		return locktap_fail("%s is not prepared: %s", run->release,
				    error.text);
	sites_close(image);
	fprintf(stderr,
		"locktap: %s is not prepared: doing it now, once, in seconds\n",
		run->release);
	return call_prep(2, argv);
}

/* xfs.ko.xz is the module xfs, nf-log.ko is nf_log; NULL: no module's file. */
static char *module_name(const char *path)
{
	const char *base = strrchr(path, '/');
	const char *end;
	char *name;

	base = base ? base + 1 : path;
	end = strstr(base, ".ko");
	if (!end || end == base || (end[3] && end[3] != '.'))
		return NULL;
	name = strndup(base, (size_t)(end - base));
	for (char *c = name; c && *c; c++)
		if (*c == '-')
			*c = '_';
	return name;
}

static int prepare_module(const struct run *run, char *path)
{
	char command[] = "locktap prep", option[] = "-d";
	char *argv[] = { command, option, path, NULL };
	char *name = module_name(path);
	bool prepared;

	/* Programs, and modules by name, are stap's alone. */
	if (!name)
		return LOCKTAP_DONE;
	prepared = is_prepared(run, name);
	free(name);
	return prepared ? LOCKTAP_DONE : call_prep(3, argv);
}

/*
 * A script runs on a kernel that is not prepared too, with what its tracepoints
 * tell; only probes on one variable need more.
 */
static int prepare(struct run *run)
{
	int status = LOCKTAP_DONE;

	if (!run->has_locks || !find_release(run))
		return LOCKTAP_DONE;
	status = prepare_kernel(run);
	for (size_t i = 0; i < run->line.objects.count; i++)
		if (prepare_module(run, run->line.objects.list[i]) !=
		    LOCKTAP_DONE)
			status = LOCKTAP_FAILED;
	if (status == LOCKTAP_DONE || !run->has_variables)
		return LOCKTAP_DONE;
	return locktap_fail(
		"probes on one lock (var=\"NAME\") need what was to be prepared");
}

/* ------------------------------------------------------------------------ */
/* -G only=NAME: only the operations of that lock are to be probed           */

static bool has_global(const struct run *run, const char *name)
{
	const struct rewrite_global *found =
		find_global(&run->script, name, strlen(name));

	for (size_t i = 0; !found && i < run->line.extra_count; i++)
		found = find_global(&run->others[i], name, strlen(name));
	return found && !found->is_private;
}

/* What is given to the script's global, NULL: nothing, or no NAME. */
static const char *only_given(const struct run *run)
{
	static const char option[] = "only=";
	const char *name = NULL;

	for (size_t i = 0; i < run->line.globals.count; i++)
		if (!strncmp(run->line.globals.list[i], option,
			     sizeof(option) - 1))
			name = run->line.globals.list[i] + sizeof(option) - 1;
	if (!name || !*name || isdigit((unsigned char)*name) ||
	    !has_global(run, "only"))
		return NULL;
	return name;
}

static bool wants(const struct rewrite *rewrite, const char *kind,
		  const char *operation)
{
	for (size_t i = 0; i < rewrite->operation_count; i++)
		if (name_matches(rewrite->operations[i].kind, kind) &&
		    !strcmp(rewrite->operations[i].name, operation))
			return true;
	return false;
}

/*
 * Whether a line of a generated file, `probe lock.KIND.var.NAME.OPERATION=...',
 * makes one of the probes that are wanted.  The line is taken apart.
 */
static bool is_wanted(const struct run *run, char *line, const char *name)
{
	static const char begin[] = "probe lock.", middle[] = ".var.";
	char *kind = line + sizeof(begin) - 1, *var, *operation;
	bool wanted;

	if (strncmp(line, begin, sizeof(begin) - 1) != 0)
		return false;
	line[strcspn(line, "=")] = '\0';
	var = strstr(kind, middle);
	operation = strrchr(kind, '.');
	if (!var || operation < var + sizeof(middle) - 1)
		return false;
	*var = *operation++ = '\0';
	if (!name_matches(name, var + sizeof(middle) - 1))
		return false;
	wanted = wants(&run->script, kind, operation);
	for (size_t i = 0; !wanted && i < run->line.extra_count; i++)
		wanted = wants(&run->others[i], kind, operation);
	return wanted;
}

static bool file_has_wanted(const struct run *run, const char *path,
			    const char *name)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	bool found = false;
	size_t size = 0;

	if (!file)
		return false;
	while (!found && getline(&line, &size, file) > 0)
		found = is_wanted(run, line, name);
	free(line);
	fclose(file);
	return found;
}

/* In what locktap prep has written to a folder, of all its modules. */
static bool folder_has_wanted(const struct run *run, const char *folder,
			      const char *name)
{
	char *pattern = NULL;
	bool found = false;
	glob_t files;

	if (asprintf(&pattern, "%s/linux/%s/locktap_*_probes.stp", folder,
		     run->release) < 0)
		return false;
	if (glob(pattern, GLOB_NOSORT, NULL, &files) == 0) {
		for (size_t i = 0; !found && i < files.gl_pathc; i++)
			found = file_has_wanted(run, files.gl_pathv[i], name);
		globfree(&files);
	}
	free(pattern);
	return found;
}

static bool any_has_wanted(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->line.folders.count; i++)
		if (folder_has_wanted(run, run->line.folders.list[i], name))
			return true;
	return folder_has_wanted(run, PREPARED_DIRECTORY, name);
}

static bool has_operations(const struct run *run)
{
	bool has = run->script.operation_count != 0;

	for (size_t i = 0; !has && i < run->line.extra_count; i++)
		has = run->others[i].operation_count != 0;
	return has;
}

static void free_rewrites(struct run *run)
{
	for (size_t i = 0; i < run->other_count; i++)
		rewrite_free(&run->others[i]);
	free(run->others);
	rewrite_free(&run->script);
	run->others = NULL;
	run->other_count = 0;
	memset(&run->script, 0, sizeof(run->script));
}

/*
 * Rewrites the script again, with the probes of one lock in place of those of
 * all.  A lock that no place has by its name may yet be known by its address,
 * so the script is left to look for it.
 */
static int narrow(struct run *run)
{
	const char *given = only_given(run);
	struct name_error error;
	char *name;

	if (!given || !has_operations(run) || !run->release)
		return LOCKTAP_DONE;
	name = name_to_probe(given, &error);
	if (!name && !error.text)
		return locktap_fail("out of memory");
	if (!name) {
		locktap_fail("-G only=%s: %s", given, error.text);
		return LOCKTAP_USAGE;
	}
	if (!any_has_wanted(run, name)) {
		fprintf(stderr,
			"locktap: -G only=%s: no place in the code has a lock of this name (see locktap sites --names), so all locks are probed\n",
			given);
		free(name);
		return LOCKTAP_DONE;
	}
	run->only = name;
	free_rewrites(run);
	memcpy(run->line.words.list, run->given,
	       run->line.words.count * sizeof(*run->given));
	return rewrite_all(run);
}

/* ------------------------------------------------------------------------ */
/* stap                                                                      */

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* stap, the folders of ours that there are, and the user's words. */
static char **make_argv(const struct run *run)
{
	static char stap[] = "stap", include[] = "-I";
	static char tapset[] = TAPSETDIR, prepared[] = PREPARED_DIRECTORY;
	char **argv = calloc(run->line.words.count + 6, sizeof(*argv));
	size_t count = 0;

	if (!argv)
		return NULL;
	argv[count++] = stap;
	if (is_folder(tapset) && !stap_searches(run->stap, tapset)) {
		argv[count++] = include;
		argv[count++] = tapset;
	}
	if (is_folder(prepared)) {
		argv[count++] = include;
		argv[count++] = prepared;
	}
	for (size_t i = 0; i < run->line.words.count; i++)
		argv[count++] = run->line.words.list[i];
	return argv;
}

static int execute(const struct run *run, char **argv)
{
	execv(run->stap, argv);
	return locktap_fail("cannot run %s: %s", run->stap, strerror(errno));
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t done = write(fd, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		text += done;
		length -= (size_t)done;
	}
	return 0;
}

/* stap calls it <input> whatever it is: no message needs to be changed. */
static int run_input(const struct run *run, char **argv)
{
	int fd = memfd_create("script", MFD_CLOEXEC);

	if (fd < 0 ||
	    write_all(fd, run->script.text, run->script.length) != 0 ||
	    lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) < 0)
		return locktap_fail("cannot pass the script to stap: %s",
				    strerror(errno));
	return execute(run, argv);
}

/* A copy of the same name, in a folder that is ours alone. */
static int make_copy(const struct run *run, char **folder, char **copy)
{
	const char *where = getenv("TMPDIR");
	const char *base = strrchr(run->name, '/');
	int fd = -1;

	if (asprintf(folder, "%s/" STAP_COPY_FOLDER "XXXXXX",
		     where && *where == '/' ? where : "/tmp") < 0)
		*folder = NULL;
	if (!*folder || !mkdtemp(*folder)) {
		locktap_fail("cannot make a folder %s: %s",
			     *folder ? *folder : "", strerror(errno));
		free(*folder);
		*folder = NULL;
		return LOCKTAP_FAILED;
	}
	if (asprintf(copy, "%s/%s", *folder, base ? base + 1 : run->name) < 0)
		*copy = NULL;
	else
		fd = open(*copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 ||
	    write_all(fd, run->script.text, run->script.length) != 0) {
		int status = locktap_fail("cannot write %s: %s", *folder,
					  strerror(errno));

		if (fd >= 0)
			close(fd);
		return status;
	}
	close(fd);
	return LOCKTAP_DONE;
}

/* With or without a copy; stap is attended. */
static int attend(const struct run *run, char **argv, const char *copy)
{
	return stap_run(run->stap, argv, copy, run->name, &run->script,
			run->how ? run->how : &plain_run);
}

static int run_copy(struct run *run)
{
	char *folder = NULL, *copy = NULL, **argv = NULL;
	int status = make_copy(run, &folder, &copy);

	if (status == LOCKTAP_DONE) {
		run->line.words.list[run->line.file.index] = copy;
		argv = make_argv(run);
		status = argv ? attend(run, argv, copy) :
				locktap_fail("out of memory");
	}
	if (copy)
		unlink(copy);
	if (folder)
		rmdir(folder);
	free(argv);
	free(copy);
	free(folder);
	return status;
}

static int run_stap(struct run *run)
{
	char **argv;
	int status;

	if (run->line.has_file && run->text && strcmp(run->name, "<input>") &&
	    (run->script.count || !run->is_regular))
		return run_copy(run);
	argv = make_argv(run);
	if (!argv)
		return locktap_fail("out of memory");
	if (run->how)
		status = attend(run, argv, NULL);
	else if (run->line.has_file && run->text && !run->is_regular)
		status = run_input(run, argv);
	else
		status = execute(run, argv);
	free(argv);
	return status;
}

static int run_script(struct run *run)
{
	size_t bytes = run->line.words.count * sizeof(*run->given);
	int status;

	run->given = malloc(bytes + 1);
	if (!run->given)
		return locktap_fail("out of memory");
	memcpy(run->given, run->line.words.list, bytes);
	status = rewrite_all(run);
	if (status == LOCKTAP_DONE && run->print && find_release(run))
		status = narrow(run);
	if (status != LOCKTAP_DONE)
		return status;
	if (run->print) {
		const char *text = run->script.text;

		if (run->line.has_script)
			text = word_text(run, run->line.script);
		fwrite(text ? text : "", 1,
		       run->line.has_script ? strlen(text) : run->script.length,
		       stdout);
		return locktap_end_output(LOCKTAP_DONE);
	}
	status = check_globals(run);
	if (status != LOCKTAP_DONE)
		return status;
	run->stap = stap_find();
	if (!run->stap)
		return locktap_fail(
			"stap is not installed: Debian package systemtap, Fedora packages systemtap-client systemtap-devel");
	status = prepare(run);
	if (status == LOCKTAP_DONE)
		status = narrow(run);
	if (status != LOCKTAP_DONE)
		return status;
	return run_stap(run);
}

int locktap_run_words(int argc, char **argv, const struct stap_how *how)
{
	struct run run = { .how = how };
	int status = LOCKTAP_FAILED;

	if (read_words(&run, argc, argv))
		status = run_script(&run);
	free_rewrites(&run);
	free(run.only);
	free(run.given);
	free(run.text);
	free(run.stap);
	stap_free_line(&run.line);
	return status;
}

int locktap_run(int argc, char **argv)
{
	return locktap_run_words(argc, argv, NULL);
}
