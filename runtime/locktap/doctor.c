// SPDX-License-Identifier: GPL-2.0-or-later
/* locktap doctor: whether this machine can do it, and what to do about it. */
#include <config.h>

#include <argp.h>
#include <dirent.h>
#include <json.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arguments.h"
#include "doctor.h"
#include "files.h"
#include "locktap.h"
#include "objects.h"

struct options {
	const char *release;
	const char *root;
	const char *user;
	bool json;
	bool quiet;
};

/* In the order in which they are told: what all else needs comes first. */
static void (*const checks[])(struct doctor *) = {
	check_kernel,	check_options,	  check_modules,
	check_lockdown, check_kprobes,	  check_headers,
	check_compiler, check_stap,	  check_tapset,
	check_groups,	check_system_map, check_debug_information,
	check_prepared, check_addresses,  check_c_library,
	check_graphviz,
};

static const char *const state_words[] = { "ok", "note", "warn", "fail" };

/* ------------------------------------------------------------------------ */
/* The command line                                                          */

enum { KEY_ROOT = 256, KEY_JSON, KEY_USER };

static const struct argp_option option_list[] = {
	{ "json", KEY_JSON, NULL, 0, "Write JSON, for programs", 0 },
	{ "quiet", 'q', NULL, 0, "Leave out what is as it should be", 0 },
	{ "root", KEY_ROOT, "DIR", 0,
	  "Look at the system below DIR, such as a container's or an image's, instead of this one",
	  0 },
	{ "user", KEY_USER, "NAME", 0,
	  "Who is to run the reports; default: who runs this", 0 },
	{ 0 },
};

static const char documentation[] =
	"Tells whether the reports can run here, for the kernel RELEASE "
	"(default: the running one), what is missing, and the command that "
	"mends it.\v"
	"Each finding is ok, note (something rarely needed is missing), warn "
	"(reports work, and tell less) or fail (nothing works before this is "
	"mended).  Behind -> stands what mends it.  The commands are for root.\n"
	"\n"
	"The checks: kernel (its version), options (how it was configured), "
	"modules, lockdown and kprobes (what it lets in), headers, compiler, "
	"stap (installed, and new enough for the kernel), locktap (its tapset "
	"and scripts), staprun and groups (who may run it), symbols "
	"(System.map), debuginfo, debuginfod (servers that may have it), "
	"prepared (locktap prep), addresses (whether reports can tell them), "
	"libc (its marks, for --user), graphviz.\n"
	"\n"
	"In JSON it is an object with locktap (1), report (doctor), release, "
	"root, user, ready (true or false) and findings, a list of objects "
	"with check, state, text and remedy (null: none).\n"
	"\n"
	"Examples:\n"
	"  locktap doctor\n"
	"  locktap doctor --quiet --user=alice\n"
	"  locktap doctor --json | jq -r '.findings[].remedy | select(.)'\n"
	"  locktap doctor --root=/srv/image 7.2.12+deb14-amd64\n"
	"\n"
	"The exit status is 0 if nothing fails, 1 if something does, 2 for "
	"wrong usage.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_JSON:
		options->json = true;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case KEY_ROOT:
		if (!*argument)
			argp_error(state, "--root= without a folder");
		options->root = argument;
		return 0;
	case KEY_USER:
		options->user = argument;
		return 0;
	case ARGP_KEY_ARG:
		argument_once(&options->release, argument, "RELEASE", state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ------------------------------------------------------------------------ */
/* Findings                                                                  */

static char *text_of(struct doctor *doctor, const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) >= 0)
		return text;
	doctor->failed = true;
	return NULL;
}

char *doctor_text(struct doctor *doctor, const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = text_of(doctor, format, list);
	va_end(list);
	return text;
}

void doctor_add(struct doctor *doctor, const char *check,
		enum finding_state state, char *remedy, const char *format, ...)
{
	struct finding *finding, *larger;
	va_list list;

	larger = realloc(doctor->list, (doctor->count + 1) * sizeof(*larger));
	if (!larger) {
		doctor->failed = true;
		free(remedy);
		return;
	}
	doctor->list = larger;
	finding = &larger[doctor->count++];
	finding->check = check;
	finding->state = state;
	finding->remedy = remedy;
	va_start(list, format);
	finding->text = text_of(doctor, format, list);
	va_end(list);
}

static size_t count_state(const struct doctor *doctor, enum finding_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->list[i].state == state;
	return count;
}

/* ------------------------------------------------------------------------ */
/* Text                                                                      */

/* Where a finding's text begins, and where it ends when it is not a terminal. */
#define TEXT_COLUMN 18
#define TEXT_END 80

static size_t last_column(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
	    size.ws_col < 2 * TEXT_COLUMN)
		return TEXT_END;
	return size.ws_col < 100 ? size.ws_col : 100;
}

static void print_wrapped(const char *text, size_t end)
{
	size_t column = TEXT_COLUMN;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column > TEXT_COLUMN && column + 1 + length >= end) {
			printf("\n%*s", TEXT_COLUMN, "");
			column = TEXT_COLUMN;
		} else if (column > TEXT_COLUMN) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)length, text);
		column += length;
		text += length + strspn(text + length, " ");
	}
	putchar('\n');
}

static void print_state(enum finding_state state)
{
	static const char *const colors[] = { "32", "36", "33", "31;1" };

	if (isatty(STDOUT_FILENO) && files_has_colours())
		printf("\033[%sm%-4s\033[0m ", colors[state],
		       state_words[state]);
	else
		printf("%-4s ", state_words[state]);
}

static void print_summary(const struct doctor *doctor)
{
	size_t fails = count_state(doctor, FINDING_FAIL);
	size_t warns = count_state(doctor, FINDING_WARN);

	if (fails)
		printf("not ready: %zu of these must be mended\n", fails);
	else if (warns)
		printf("ready; %zu of these make the reports tell less\n",
		       warns);
	else
		puts("ready");
}

static void print_text(const struct doctor *doctor, bool quiet)
{
	size_t end = last_column();

	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *finding = &doctor->list[i];

		if (quiet && finding->state == FINDING_OK)
			continue;
		print_state(finding->state);
		printf("%-12s ", finding->check);
		print_wrapped(finding->text, end);
		/* In one piece, to be copied. */
		if (finding->remedy)
			printf("%*s-> %s\n", TEXT_COLUMN, "", finding->remedy);
	}
	print_summary(doctor);
}

/* ------------------------------------------------------------------------ */
/* JSON                                                                      */

static bool put_finding(struct json_object *list, const struct finding *finding)
{
	struct json_object *object = list_new_object(list);

	return object && object_put_text(object, "check", finding->check) &&
	       object_put_text(object, "state", state_words[finding->state]) &&
	       object_put_text(object, "text", finding->text) &&
	       object_put_text_or_null(object, "remedy", finding->remedy);
}

static bool put_findings(struct json_object *whole, const struct doctor *doctor,
			 bool quiet)
{
	struct json_object *list = object_new_list(whole, "findings");

	for (size_t i = 0; list && i < doctor->count; i++) {
		const struct finding *finding = &doctor->list[i];

		if (quiet && finding->state == FINDING_OK)
			continue;
		if (!put_finding(list, finding))
			return false;
	}
	return list;
}

/* False: no memory. */
static bool print_json(const struct doctor *doctor, bool quiet)
{
	struct json_object *whole = json_object_new_object();
	const char *text = NULL;

	if (whole && object_put_number(whole, "locktap", 1) &&
	    object_put_text(whole, "report", "doctor") &&
	    object_put_text(whole, "release", doctor->release) &&
	    object_put_text(whole, "root",
			    *doctor->root ? doctor->root : "/") &&
	    object_put_text_or_null(whole, "user", doctor->user) &&
	    object_put_bool(whole, "ready",
			    !count_state(doctor, FINDING_FAIL)) &&
	    put_findings(whole, doctor, quiet))
		text = json_object_to_json_string_ext(
			whole, JSON_C_TO_STRING_PRETTY |
				       JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		puts(text);
	json_object_put(whole);
	return text;
}

/* ------------------------------------------------------------------------ */

size_t doctor_count_kernels(struct doctor *doctor, char *last, size_t size)
{
	char *path = doctor_path(doctor, "/lib/modules");
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;
	size_t count = 0;

	while (folder && (entry = readdir(folder)) != NULL) {
		if (*entry->d_name == '.')
			continue;
		snprintf(last, size, "%s", entry->d_name);
		count++;
	}
	if (folder)
		closedir(folder);
	free(path);
	return count;
}

static const char *default_user(struct doctor *doctor)
{
	const struct passwd *self = getpwuid(geteuid());

	snprintf(doctor->user_text, sizeof(doctor->user_text), "%s",
		 self ? self->pw_name : "root");
	return doctor->user_text;
}

/* false: it has been told what is wrong. */
static bool find_release(struct doctor *doctor)
{
	struct utsname names;

	uname(&names);
	if (!doctor->release && *doctor->root) {
		if (doctor_count_kernels(doctor, doctor->release_text,
					 sizeof(doctor->release_text)) == 1)
			doctor->release = doctor->release_text;
	} else if (!doctor->release) {
		snprintf(doctor->release_text, sizeof(doctor->release_text),
			 "%s", names.release);
		doctor->release = doctor->release_text;
	}
	if (!doctor->release) {
		locktap_fail(
			"%s/lib/modules has not just one kernel: name the RELEASE",
			doctor->root);
		return false;
	}
	if (!*doctor->release || strchr(doctor->release, '/')) {
		locktap_fail("\"%s\" is not a kernel release", doctor->release);
		return false;
	}
	doctor->is_running = !*doctor->root &&
			     !strcmp(doctor->release, names.release);
	return true;
}

/* What is to be looked at; false: it has been told what is wrong. */
static bool set_out(struct doctor *doctor, const struct options *options)
{
	struct stat status;

	doctor->root = options->root && strcmp(options->root, "/") != 0 ?
			       options->root :
			       "";
	if (*doctor->root &&
	    (stat(doctor->root, &status) != 0 || !S_ISDIR(status.st_mode))) {
		locktap_fail("%s is no folder", doctor->root);
		return false;
	}
	doctor->release = options->release;
	if (!find_release(doctor))
		return false;
	doctor->user = options->user ? options->user : default_user(doctor);
	doctor->distribution = doctor_distribution(doctor);
	return true;
}

static int examine(struct doctor *doctor, const struct options *options)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		checks[i](doctor);
	if (doctor->failed)
		return locktap_fail("out of memory");
	if (!options->json)
		print_text(doctor, options->quiet);
	else if (!print_json(doctor, options->quiet))
		return locktap_fail("out of memory");
	return locktap_end_output(count_state(doctor, FINDING_FAIL) ?
					  LOCKTAP_FAILED :
					  LOCKTAP_DONE);
}

int locktap_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "[RELEASE]",
		.doc = documentation,
	};
	struct doctor doctor = { 0 };
	struct options options = { 0 };
	int status = LOCKTAP_USAGE;

	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return LOCKTAP_USAGE;
	if (set_out(&doctor, &options))
		status = examine(&doctor, &options);
	for (size_t i = 0; i < doctor.count; i++) {
		free(doctor.list[i].text);
		free(doctor.list[i].remedy);
	}
	free(doctor.list);
	return status;
}
