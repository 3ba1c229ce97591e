// SPDX-License-Identifier: GPL-2.0-or-later
/* Asks libsites one question about a file; test-sites compares the answers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sites/sites.h>

static int failed(const struct sites_error *error)
{
	printf("error: %s\n", error->text);
	return 1;
}

static int query_info(struct sites_image *image)
{
	static const char *const kinds[] = { "kernel", "module", "program" };

	printf("%s %s %s\n", kinds[sites_kind(image)],
	       *sites_build_id(image) ? sites_build_id(image) : "-",
	       *sites_release(image) ? sites_release(image) : "-");
	return 0;
}

/* FUNCTION ENTRY LOW-HIGH… FILE:LINE DEPTH */
static int query_inlines(struct sites_image *image, const char *function,
			 const char *inside)
{
	struct sites_inline *list;
	struct sites_error error;
	size_t count;

	if (!sites_inlines(image, function, inside, &list, &count, &error))
		return failed(&error);
	for (size_t i = 0; i < count; i++) {
		const char *file = strrchr(list[i].call_file, '/');

		printf("%s %" PRIx64, list[i].function, list[i].entry);
		for (size_t j = 0; j < list[i].range_count; j++)
			printf(" %" PRIx64 "-%" PRIx64, list[i].ranges[j].low,
			       list[i].ranges[j].high);
		printf(" %s:%d %u\n", file ? file + 1 : list[i].call_file,
		       list[i].call_line, list[i].depth);
	}
	sites_inlines_free(list, count);
	return 0;
}

/* The functions at each address of standard input, the innermost first. */
static int query_scopes(struct sites_image *image)
{
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		struct sites_scope *list;
		struct sites_error error;
		size_t count;

		if (!sites_scopes(image, address, &list, &count, &error))
			return failed(&error);
		printf("%" PRIx64, address);
		for (size_t i = 0; i < count; i++)
			printf(" %s", list[i].function);
		putchar('\n');
		free(list);
	}
	return 0;
}

static int query_rows(struct sites_image *image, struct sites_range range)
{
	struct sites_error error;
	uint64_t *list;
	size_t count;

	if (!sites_rows(image, range, &list, &count, &error))
		return failed(&error);
	for (size_t i = 0; i < count; i++)
		printf("%" PRIx64 "\n", list[i]);
	free(list);
	return 0;
}

/* The addresses that can be probed, of those on standard input. */
static int query_probe(struct sites_image *image)
{
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		struct sites_error why;

		if (sites_can_probe(image, address, &why))
			printf("%" PRIx64 "\n", address);
		else
			fprintf(stderr, "%s\n", why.text);
	}
	return 0;
}

static int query_percpu(struct sites_image *image)
{
	struct sites_percpu *list;
	struct sites_error error;
	size_t count;

	if (!sites_percpu(image, &list, &count, &error))
		return failed(&error);
	for (size_t i = 0; i < count; i++)
		printf("%" PRIx64 " %" PRIu64 " %s\n", list[i].offset,
		       list[i].size, list[i].name);
	free(list);
	return 0;
}

static int query_spin(struct sites_image *image)
{
	struct sites_spin_exits exits;
	struct sites_error error;

	if (!sites_spin_exits(image, &exits, &error))
		return failed(&error);
	for (size_t i = 0; i < exits.pending_end_count; i++)
		printf("pending_end %" PRIx64 "\n", exits.pending_end[i]);
	for (size_t i = 0; i < exits.virt_try_count; i++)
		printf("virt_try %" PRIx64 " %u\n", exits.virt_try[i].address,
		       exits.virt_try[i].lock_register);
	printf("refused %zu %zu\n", exits.pending_end_refused,
	       exits.virt_try_refused);
	sites_spin_exits_free(&exits);
	return 0;
}

/*
 * ADDRESS OP KIND NAME FUNCTION FILE LINE HOW call|tail CHAIN, tabs between;
 * CHAIN is FUNCTION@FILE:LINE;… of the inlined functions, or -.
 */
static int query_calls(struct sites_image *image)
{
	struct sites_calls calls;
	struct sites_error error;

	if (!sites_calls(image, 0, &calls, &error))
		return failed(&error);
	for (size_t i = 0; i < calls.count; i++) {
		const struct sites_call *call = &calls.list[i];

		printf("0x%" PRIx64 "\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t",
		       call->address, sites_op_name(call->op),
		       sites_kind_name(call->kind), call->name, call->function,
		       call->file, call->line, sites_how_name(call->how),
		       call->tail ? "tail" : "call");
		for (size_t j = 0; j < call->chain_count; j++)
			printf("%s%s@%s:%d", j ? ";" : "",
			       call->chain[j].function,
			       call->chain[j].call_file,
			       call->chain[j].call_line);
		puts(call->chain_count ? "" : "-");
	}
	if (calls.unreadable)
		fprintf(stderr, "%zu unreadable\n", calls.unreadable);
	sites_calls_free(&calls);
	return 0;
}

/* LOW HIGH OP KIND MODE of each function that waits */
static int query_waiting(struct sites_image *image)
{
	struct sites_waiting *list;
	struct sites_error error;
	size_t count;

	if (!sites_waiting(image, &list, &count, &error))
		return failed(&error);
	for (size_t i = 0; i < count; i++)
		printf("%" PRIx64 " %" PRIx64 " %s %s %c\n", list[i].range.low,
		       list[i].range.high, sites_op_name(list[i].op),
		       sites_kind_name(list[i].kind), list[i].mode);
	free(list);
	return 0;
}

static void print_point(const char *what, const struct sites_point *point)
{
	static const char *const states[] = { "not-asked", "good", "no-block",
					      "no-row", "no-lock" };

	printf(" %s", what);
	if (point->state == SITES_GOOD)
		printf("=%" PRIx64, point->address);
	else
		printf(":%s", states[point->state]);
}

/* ADDRESS CALLED FUNCTION, then where probes may be: WHAT=ADDRESS or WHAT:WHY */
static int query_points(struct sites_image *image)
{
	struct sites_calls calls;
	struct sites_error error;

	if (!sites_calls(image, SITES_POINTS, &calls, &error))
		return failed(&error);
	for (size_t i = 0; i < calls.count; i++) {
		const struct sites_call *call = &calls.list[i];

		printf("%" PRIx64 " %s %s", call->address, call->called,
		       call->function);
		print_point("before", &call->before);
		print_point("behind", &call->behind);
		print_point("taken", &call->taken);
		print_point("failed", &call->failed);
		putchar('\n');
	}
	sites_calls_free(&calls);
	return 0;
}

static uint64_t hexadecimal(const char *text)
{
	return strtoull(text, NULL, 16);
}

static int query(struct sites_image *image, int count, char **words)
{
	const char *what = words[0];

	if (strcmp(what, "info") == 0)
		return query_info(image);
	if (strcmp(what, "inlines") == 0 && count == 3)
		return query_inlines(image, words[1], words[2]);
	if (strcmp(what, "scopes") == 0)
		return query_scopes(image);
	if (strcmp(what, "rows") == 0 && count == 3)
		return query_rows(
			image, (struct sites_range){ hexadecimal(words[1]),
						     hexadecimal(words[2]) });
	if (strcmp(what, "probe") == 0)
		return query_probe(image);
	if (strcmp(what, "percpu") == 0)
		return query_percpu(image);
	if (strcmp(what, "spin") == 0)
		return query_spin(image);
	if (strcmp(what, "calls") == 0)
		return query_calls(image);
	if (strcmp(what, "waiting") == 0)
		return query_waiting(image);
	if (strcmp(what, "points") == 0)
		return query_points(image);
	fprintf(stderr, "sites-query: what is \"%s\"?\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	struct sites_image *image;
	struct sites_error error;
	int status;

	if (argc < 3) {
		fputs("usage: sites-query FILE info|inlines FUNCTION INSIDE|"
		      "rows LOW HIGH|scopes|probe|percpu|spin|calls|points|waiting\n"
		      "scopes and probe read addresses from standard input\n",
		      stderr);
		return 2;
	}
	/* Calls can be had of a program without debug information. */
	if (strcmp(argv[2], "calls") == 0 || strcmp(argv[2], "waiting") == 0)
		image = sites_open_program(argv[1], &error);
	else
		image = sites_open(argv[1], &error);
	if (!image)
		return failed(&error);
	status = query(image, argc - 2, argv + 2);
	sites_close(image);
	return status;
}
