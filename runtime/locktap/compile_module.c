// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a module is made from, and the description beside it, by which a later
 * call knows whether it would make the same again:
 *
 *   #locktap 1 module
 *   module NAME
 *   KEY VALUE
 *   ...
 */
#include <config.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile.h"
#include "locktap.h"
#include "rewrite.h"

#define PREPARED_DIRECTORY PKGDATADIR "/tapset"

/* ------------------------------------------------------------------------ */
/* What it is made from                                                      */

static bool sum_file(const char *path, char text[SHA256_TEXT])
{
	struct sha256 sum;

	sha256_start(&sum);
	if (!sha256_add_file(&sum, path))
		return false;
	sha256_end(&sum, text);
	return true;
}

/* Our files among those of the tapset's folder, with their names. */
static bool sum_tapset(char text[SHA256_TEXT])
{
	struct sha256 sum;
	bool good = true;
	glob_t files;

	sha256_start(&sum);
	if (glob(TAPSETDIR "/{lkst,lock,ltt}*.stp*", GLOB_BRACE, NULL,
		 &files) == 0) {
		for (size_t i = 0; good && i < files.gl_pathc; i++) {
			const char *path = files.gl_pathv[i];

			sha256_add(&sum, path, strlen(path) + 1);
			good = sha256_add_file(&sum, path);
		}
		globfree(&files);
	}
	sha256_end(&sum, text);
	return good;
}

/* A kernel can be replaced by another build of the same release. */
static void sum_kernel(const struct module *module, char text[SHA256_TEXT])
{
	static const char *const places[] = { "/boot/vmlinuz-%s",
					      "/lib/modules/%s/vmlinuz" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char path[512];

		snprintf(path, sizeof(path), places[i], module->release);
		if (sum_file(path, text))
			return;
	}
	strcpy(text, "?");
}

static char *list_globals(const struct rewrite *script)
{
	size_t size = 1;
	char *text;

	for (size_t i = 0; i < script->global_count; i++)
		size += strlen(script->globals[i].name) + 1;
	text = calloc(1, size);
	for (size_t i = 0; text && i < script->global_count; i++) {
		if (script->globals[i].is_private)
			continue;
		strcat(text, *text ? " " : "");
		strcat(text, script->globals[i].name);
	}
	return text;
}

static char *read_text(const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	char *text = NULL;

	if (!file)
		return NULL;
	if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)) {
		text = malloc((size_t)status.st_size + 1);
		*length = text ? fread(text, 1, (size_t)status.st_size, file) :
				 0;
	} else {
		errno = EINVAL;
	}
	fclose(file);
	return text;
}

/* The options that the script takes; its mistakes are told by the run. */
static int look_at_script(struct module *module)
{
	struct rewrite script = {
		.name = module->script,
		.arguments = module->arguments,
		.argument_count = module->argument_count,
	};
	size_t length = 0;
	char *text = read_text(module->script, &length);
	int status = LOCKTAP_DONE;

	if (!text || !sum_file(module->script, module->script_sum)) {
		status = locktap_fail("cannot read %s: %s", module->script,
				      strerror(errno));
	} else if (!rewrite_script(&script, text, length)) {
		status = LOCKTAP_FAILED;
	} else {
		module->globals = list_globals(&script);
		if (!module->globals)
			status = locktap_fail("out of memory");
	}
	rewrite_free(&script);
	free(text);
	return status;
}

void module_find_prepared(struct module *module)
{
	char path[4096];

	snprintf(path, sizeof(path),
		 PREPARED_DIRECTORY "/linux/%s/locktap_kernel.stp",
		 module->release);
	module->is_prepared = access(path, R_OK) == 0;
}

int module_look(struct module *module)
{
	if (look_at_script(module) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	if (!sum_tapset(module->tapset_sum))
		return locktap_fail("cannot read the tapset in " TAPSETDIR
				    ": %s",
				    strerror(errno));
	sum_kernel(module, module->kernel_sum);
	module_find_prepared(module);
	return LOCKTAP_DONE;
}

/* ------------------------------------------------------------------------ */
/* The description                                                           */

static char *file_path(const char *folder, const char *name, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s/%s%s", folder, name, suffix) < 0 ? NULL :
								      path;
}

/* What makes a module another one. */
static void write_origin(FILE *file, const struct module *module)
{
	fprintf(file, "#locktap 1 module\nmodule %s\nrelease %s\n",
		module->name, module->release);
	fprintf(file, "kernel_sha256 %s\n", module->kernel_sum);
	fprintf(file, "script %s\nscript_sha256 %s\n", module->script,
		module->script_sum);
	fprintf(file, "tapset_sha256 %s\n", module->tapset_sum);
	fprintf(file, "options %s\nglobals %s\nlocktap %s\n", module->options,
		module->globals, PACKAGE_VERSION);
}

static const char *prepared_word(bool is_prepared)
{
	return is_prepared ? "yes" : "no";
}

int module_describe(const struct module *module, const char *folder)
{
	char *path = file_path(folder, module->name, ".locktap");
	char *final = file_path(module->directory, module->name, ".locktap");
	FILE *file = path ? fopen(path, "we") : NULL;
	int status = LOCKTAP_DONE;
	bool good = false;

	if (file) {
		write_origin(file, module);
		fprintf(file, "prepared %s\n",
			prepared_word(module->is_prepared));
		good = !ferror(file) && fchmod(fileno(file), 0644) == 0;
		good = fclose(file) == 0 && good;
	}
	if (!good || !final || rename(path, final) != 0)
		status = locktap_fail("cannot write %s/%s.locktap: %s",
				      module->directory, module->name,
				      strerror(errno));
	if (status != LOCKTAP_DONE && path)
		unlink(path);
	free(path);
	free(final);
	return status;
}

/* A module that was made blindly is made again once there is more to see. */
static bool is_same(const struct module *module, const char *text)
{
	char *expected = NULL, *at;
	size_t length = 0;
	FILE *file = open_memstream(&expected, &length);
	bool same;

	if (!file)
		return false;
	write_origin(file, module);
	if (fclose(file) != 0 || !expected) {
		free(expected);
		return false;
	}
	same = strncmp(text, expected, length) == 0;
	at = strstr(text, "\nprepared no\n");
	free(expected);
	return same && (!at || !module->is_prepared);
}

bool module_is_current(const struct module *module)
{
	char *ko = file_path(module->directory, module->name, ".ko");
	char *path = file_path(module->directory, module->name, ".locktap");
	size_t length = 0;
	char *text = path ? read_text(path, &length) : NULL;
	bool current = false;

	if (text && ko && access(ko, F_OK) == 0) {
		text[length] = '\0';
		current = is_same(module, text);
	}
	free(text);
	free(path);
	free(ko);
	return current;
}

void module_free(struct module *module)
{
	free(module->script);
	free(module->options);
	free(module->globals);
}
