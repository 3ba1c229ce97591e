// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds every call of a lock function, and names its lock. */
#include <dwarf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "function.h"

static const char *const how_names[SITES_HOWS] = {
	"?", "symbol", "variable", "code", "pointer", "place",
};

const char *sites_how_name(enum sites_how how)
{
	return how_names[how];
}

/* A function that is not only declared. */
struct place_of {
	Dwarf_Die die;
	bool has_code;
	bool has_locks;
	bool by_code; /* its calls are not in the debug information */
};

/* A unit with lock calls, and its places. */
struct unit {
	Dwarf_Die die;
	struct callees callees;
	size_t first, end;
};

/* A call that was found, and what is needed until all are. */
struct pending {
	struct sites_call call;
	/* Whether the name holds for every call from this place. */
	bool portable;
	int column;
	const void *instance; /* of the function that has the place */
	uint64_t given; /* the function that is given the lock, 0: none */
};

/* A function that works on a lock that it is given. */
struct wrapper {
	struct target target; /* as which it is looked for */
	bool waits;
	bool named; /* the lock has a name in it, if not a good one */
	bool unclear; /* it is given several, or does all that is to be done */
};

struct run {
	struct finder finder;
	struct sites_globals globals;
	struct unit *units;
	size_t unit_count;
	struct place_of *places;
	size_t place_count;
	struct pending *list;
	size_t count;
	size_t unreadable;
	struct wrapper *wrappers;
	size_t wrapper_count;
	unsigned int ask;
	bool has_classes; /* the unit that is being scanned may have */
	size_t share, shares; /* which of the units are for this run */
};

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) ||
	       dwarf_hasattr(die, DW_AT_ranges);
}

static const struct sites_operation *operation_of(Dwarf_Die *function,
						  bool is_program)
{
	const char *name = dwarf_diename(function);

	return name ? sites_operation(name, is_program) : NULL;
}

static const struct sites_operation *
called_operation(const struct callees *callees, Dwarf_Die *call)
{
	Dwarf_Die callee;

	if (!sites_callee(call, &callee))
		return NULL;
	for (size_t i = 0; i < callees->count; i++)
		if (callees->list[i].die == callee.addr)
			return callees->list[i].operation;
	/* Those of its own unit are all in the list. */
	return callee.cu == callees->unit ?
		       NULL :
		       operation_of(&callee, callees->of_program);
}

/* ------------------------------------------------------------------------ */
/* First: which functions have lock calls, and which variables there are     */

static bool scan(struct run *run, const struct callees *callees, Dwarf_Die *die,
		 bool *has_locks, int level)
{
	Dwarf_Die child;
	int result;

	if (level > SITES_MAX_DEPTH)
		return sites_fail(
			run->finder.error,
			"%s: the debug information is damaged: nested too deeply",
			run->finder.image->path);
	result = sites_child(run->finder.image, die, &child, run->finder.error);
	while (result == 0) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			if (!*has_locks)
				*has_locks = called_operation(callees,
							      &child) != NULL;
			break;
		case DW_TAG_variable:
			if (!sites_global_add(&run->globals, &child,
					      run->finder.error))
				return false;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (!scan(run, callees, &child, has_locks, level + 1))
				return false;
		}
		result = sites_sibling(run->finder.image, &child, &child,
				       run->finder.error);
	}
	return result > 0;
}

/* A function that is called, or that has code, or both. */
static bool add_function(struct run *run, struct callees *callees,
			 Dwarf_Die *die)
{
	const struct sites_operation *operation =
		operation_of(die, callees->of_program);
	void *list = callees->list;

	if (operation) {
		if (!sites_grow(&list, callees->count, sizeof(*callees->list),
				run->finder.error))
			return false;
		callees->list = list;
		callees->list[callees->count++] =
			(struct callee){ die->addr, operation };
	}
	/* One that is only inlined may have variables of its own. */
	if (!has_code(die) &&
	    (!dwarf_haschildren(die) || dwarf_hasattr(die, DW_AT_declaration)))
		return true;
	list = run->places;
	if (!sites_grow(&list, run->place_count, sizeof(*run->places),
			run->finder.error))
		return false;
	run->places = list;
	run->places[run->place_count++] = (struct place_of){
		.die = *die,
		.has_code = has_code(die),
	};
	return true;
}

/* *shares: functions that are called may be in other units. */
static bool scan_unit(struct run *run, struct callees *callees,
		      Dwarf_Die *parent, bool *shares, int level)
{
	struct finder *finder = &run->finder;
	Dwarf_Die child;
	int result;

	if (level > SITES_MAX_DEPTH)
		return sites_fail(
			finder->error,
			"%s: the debug information is damaged: nested too deeply",
			finder->image->path);
	result = sites_child(finder->image, parent, &child, finder->error);
	while (result == 0) {
		bool good = true;

		switch (dwarf_tag(&child)) {
		case DW_TAG_variable:
			good = sites_global_add(&run->globals, &child,
						finder->error);
			break;
		case DW_TAG_subprogram:
			good = add_function(run, callees, &child);
			break;
		case DW_TAG_imported_unit:
			*shares = true;
			break;
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			/* In C there are no functions in a structure. */
			if (run->has_classes)
				good = scan_unit(run, callees, &child, shares,
						 level + 1);
			break;
		}
		if (!good)
			return false;
		result = sites_sibling(finder->image, &child, &child,
				       finder->error);
	}
	return result > 0;
}

/* Compilers that do not optimise write no call sites. */
static bool tells_calls(Dwarf_Die *function)
{
	return dwarf_hasattr(function, DW_AT_call_all_calls) ||
	       dwarf_hasattr(function, DW_AT_call_all_source_calls) ||
	       dwarf_hasattr(function, DW_AT_GNU_all_call_sites);
}

/* A unit is kept if a function in it calls a lock function, or may do so. */
static bool add_unit(struct run *run, Dwarf_Die *die)
{
	struct unit unit = { .die = *die, .first = run->place_count };
	bool shares = false, has_locks = false;
	void *list = run->units;

	unit.callees.unit = die->cu;
	unit.callees.of_program = sites_kind(run->finder.image) ==
				  SITES_PROGRAM;
	run->has_classes = !sites_is_c(die);
	if (!scan_unit(run, &unit.callees, die, &shares, 0)) {
		free(unit.callees.list);
		return false;
	}
	unit.end = run->place_count;
	shares |= unit.callees.count || run->finder.targets.count;
	for (size_t i = unit.first; shares && i < unit.end; i++) {
		struct place_of *place = &run->places[i];

		if (!scan(run, &unit.callees, &place->die, &place->has_locks,
			  0)) {
			free(unit.callees.list);
			return false;
		}
		place->has_locks &= place->has_code;
		place->by_code = !place->has_locks && place->has_code &&
				 run->finder.targets.count &&
				 !tells_calls(&place->die);
		has_locks |= place->has_locks || place->by_code;
	}
	if (!has_locks) {
		free(unit.callees.list);
		run->place_count = unit.first;
		return true;
	}
	if (!sites_grow(&list, run->unit_count, sizeof(unit),
			run->finder.error)) {
		free(unit.callees.list);
		return false;
	}
	run->units = list;
	run->units[run->unit_count++] = unit;
	return true;
}

/* Units next to each other for one thread: it then has their memory alone. */
#define SHARE_UNITS 64

/* A unit whose debug information is in a file of its own. */
static const char *split_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr(die, DW_AT_dwo_name, &attribute) ||
	    dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name;
}

static bool scan_image(struct run *run)
{
	struct sites_image *image = run->finder.image;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	size_t number = 0;
	int result;

	while ((result = dwarf_get_units(image->dwarf, cu, &cu, NULL, NULL,
					 &die, &split)) == 0) {
		const char *name;

		if (number++ / SHARE_UNITS % run->shares != run->share)
			continue;
		name = split_name(&die);
		if (name && !split.addr)
			return sites_fail(
				run->finder.error,
				"%s: the debug information is in %s, which cannot be read",
				image->path, name);
		if (name)
			die = split;
		if (dwarf_tag(&die) != DW_TAG_compile_unit)
			continue;
		if (!add_unit(run, &die))
			return false;
	}
	if (result < 0)
		return sites_fail(
			run->finder.error,
			"%s: the debug information cannot be read: %s",
			image->path, dwarf_errmsg(-1));
	return true;
}

/* ------------------------------------------------------------------------ */
/* Then, of each such function: its scopes, variables and calls              */

static bool add_scope(struct function *function, Dwarf_Die *die, int parent)
{
	void *list = function->scopes;

	if (!sites_grow(&list, function->scope_count, sizeof(*function->scopes),
			function->finder->error))
		return false;
	function->scopes = list;
	function->scopes[function->scope_count++] = (struct scope){
		.die = *die,
		.parent = parent,
		.is_inline = dwarf_tag(die) == DW_TAG_inlined_subroutine,
	};
	return true;
}

static bool add_variable(struct function *function, Dwarf_Die *die, int scope)
{
	void *list = function->variables;

	if (!sites_grow(&list, function->variable_count,
			sizeof(*function->variables), function->finder->error))
		return false;
	function->variables = list;
	function->variables[function->variable_count++] =
		(struct variable){ .die = *die, .scope = scope };
	return true;
}

/* Where in what the inlined function's first parameter points to a member is. */
static bool member_offset(Dwarf_Die *inlined, const char *member,
			  int64_t *offset)
{
	Dwarf_Die child, type, structure;
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	bool more = dwarf_child(inlined, &child) == 0;

	while (more && dwarf_tag(&child) != DW_TAG_formal_parameter)
		more = sites_next(&child);
	if (!more || !sites_type_of(&child, &type) ||
	    !sites_pointee(&type, &structure) || !sites_peel(&structure))
		return false;
	for (more = dwarf_child(&structure, &child) == 0; more;
	     more = sites_next(&child)) {
		if (strcmp(sites_die_name(&child), member) != 0 ||
		    !dwarf_attr(&child, DW_AT_data_member_location,
				&attribute) ||
		    dwarf_formudata(&attribute, &value) != 0)
			continue;
		*offset = (int64_t)value;
		return true;
	}
	return false;
}

/* An operation that is one only within another, inlined one. */
static void check_within(struct function *function, struct call *call)
{
	const struct sites_operation *operation = call->operation;

	if (!operation || !operation->within)
		return;
	for (int at = call->scope; at >= 0; at = function->scopes[at].parent) {
		Dwarf_Die *die = &function->scopes[at].die;

		if (function->scopes[at].is_inline &&
		    strcmp(sites_die_name(die), operation->within) == 0 &&
		    member_offset(die, operation->member, &call->past))
			return;
	}
	call->operation = NULL;
}

static bool add_call(struct function *function, Dwarf_Die *die, int scope)
{
	struct call call = { .die = *die, .scope = scope, .reg = REG_RDI };
	void *list = function->calls;
	Dwarf_Attribute attribute;
	Dwarf_Addr after;

	if (!(dwarf_attr(die, DW_AT_call_return_pc, &attribute) ||
	      dwarf_attr(die, DW_AT_low_pc, &attribute)) ||
	    dwarf_formaddr(&attribute, &after) != 0)
		return true;
	call.after = after;
	call.operation = called_operation(function->callees, die);
	check_within(function, &call);
	if (!sites_grow(&list, function->call_count, sizeof(call),
			function->finder->error))
		return false;
	function->calls = list;
	function->calls[function->call_count++] = call;
	return true;
}

/* The nesting has been checked by scan(). */
static bool collect(struct function *function, Dwarf_Die *die, int parent)
{
	struct finder *finder = function->finder;
	int scope = (int)function->scope_count;
	Dwarf_Die child;
	int result;

	if (!add_scope(function, die, parent))
		return false;
	result = sites_child(finder->image, die, &child, finder->error);
	while (result == 0) {
		bool good = true;

		switch (dwarf_tag(&child)) {
		case DW_TAG_formal_parameter:
		case DW_TAG_variable:
			good = add_variable(function, &child, scope);
			break;
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			good = add_call(function, &child, scope);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			good = collect(function, &child, scope);
			break;
		}
		if (!good)
			return false;
		result = sites_sibling(finder->image, &child, &child,
				       finder->error);
	}
	return result > 0;
}

/* ------------------------------------------------------------------------ */
/* What is to be known of a lock call                                        */

/*
 * The instruction that ends where the call's return address is.  Its bytes
 * tell, unless they could be two things or none that is known.
 */
static bool find_instruction(struct function *function, uint64_t after,
			     uint64_t *address, bool *tail)
{
	static const struct {
		unsigned char opcode[2], mask[2];
		unsigned char size;
		bool tail;
	} forms[] = {
		{ { 0xe8, 0 }, { 0xff, 0 }, 5, false }, /* call rel32 */
		{ { 0xe9, 0 }, { 0xff, 0 }, 5, true }, /* jmp rel32 */
		{ { 0xff, 0x15 }, { 0xff, 0xff }, 6, false }, /* call *rip+… */
		{ { 0xff, 0x25 }, { 0xff, 0xff }, 6, true }, /* jmp *rip+… */
		{ { 0x0f, 0x80 }, { 0xff, 0xf0 }, 6, true }, /* jcc rel32 */
		{ { 0xeb, 0 }, { 0xff, 0 }, 2, true }, /* jmp rel8 */
		{ { 0xff, 0xd0 }, { 0xff, 0xf8 }, 2, false }, /* call *reg */
	};
	const unsigned char *code;
	int found = 0;
	size_t size;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		code = sites_code_at(function->finder->image,
				     after - forms[i].size, &size);
		if (!code || size < forms[i].size ||
		    (code[0] & forms[i].mask[0]) != forms[i].opcode[0] ||
		    (code[1] & forms[i].mask[1]) != forms[i].opcode[1])
			continue;
		*address = after - forms[i].size;
		*tail = forms[i].tail;
		found++;
	}
	return found == 1 ||
	       sites_instruction_before(function, after, address, tail);
}

/* Whether an inlined function is the C++ library's. */
static bool is_library(const struct function *function, Dwarf_Die *die)
{
	const char *file;

	if (sites_kind(function->finder->image) != SITES_PROGRAM)
		return false;
	file = sites_decl_file(die);
	/* Of gcc, and of clang's own library. */
	return file && (strstr(file, "/include/c++/") ||
			strstr(file, "/c++/v1/") || strstr(file, "/gthr-"));
}

/* Where the operation is called: outside of the lock headers' wrappers. */
static int outer_scope(const struct function *function, int scope, int *wrapper)
{
	*wrapper = -1;
	for (int at = scope; at >= 0; at = function->scopes[at].parent) {
		if (!function->scopes[at].is_inline &&
		    function->scopes[at].parent >= 0)
			continue;
		if (!function->scopes[at].is_inline)
			return at;
		if (!sites_is_wrapper(
			    sites_die_name(&function->scopes[at].die)) &&
		    !is_library(function, &function->scopes[at].die))
			return at;
		*wrapper = at;
	}
	return 0;
}

static void line_at(struct function *function, uint64_t address,
		    struct pending *pending)
{
	Dwarf_Line *line = dwarf_getsrc_die(&function->unit, address);

	if (!line)
		return;
	dwarf_lineno(line, &pending->call.line);
	dwarf_linecol(line, &pending->column);
	pending->call.file = dwarf_linesrc(line, NULL, NULL);
}

static void call_place(struct function *function, int scope, uint64_t address,
		       struct pending *pending)
{
	Dwarf_Attribute attribute;
	Dwarf_Word column;
	int wrapper;

	outer_scope(function, scope, &wrapper);
	if (wrapper < 0) {
		line_at(function, address, pending);
	} else {
		Dwarf_Die *die = &function->scopes[wrapper].die;

		sites_call_place(&function->unit, die, &pending->call.file,
				 &pending->call.line);
		if (dwarf_formudata(dwarf_attr(die, DW_AT_call_column,
					       &attribute),
				    &column) == 0)
			pending->column = (int)column;
	}
	if (!pending->call.file)
		pending->call.file = "?";
}

static bool add_chain(struct function *function, int scope,
		      struct sites_call *call)
{
	struct finder *finder = function->finder;
	struct sites_scope *chain;
	size_t count = 0;
	int wrapper, from = outer_scope(function, scope, &wrapper);

	for (int at = from; at >= 0; at = function->scopes[at].parent)
		count += function->scopes[at].is_inline;
	if (!count)
		return true;
	chain = sites_strings_room(finder->strings, count * sizeof(*chain),
				   finder->error);
	if (!chain)
		return false;
	call->chain = chain;
	call->chain_count = count;
	for (int at = from; at >= 0; at = function->scopes[at].parent) {
		if (!function->scopes[at].is_inline)
			continue;
		chain->function = sites_die_name(&function->scopes[at].die);
		sites_call_place(&function->unit, &function->scopes[at].die,
				 &chain->call_file, &chain->call_line);
		chain++;
	}
	return true;
}

/* What the compiler wrote of the first argument, as a place and a goal. */
enum argument {
	ARGUMENT_NONE,
	ARGUMENT_ADDRESS,
	ARGUMENT_REGISTER,
	ARGUMENT_FRAME
};

static enum argument read_value(Dwarf_Attribute *value, const Dwarf_Op *ops,
				size_t count, uint64_t *address, int *reg,
				struct goal *goal)
{
	enum argument what = ARGUMENT_NONE;

	for (size_t i = 0; i < count; i++) {
		unsigned int atom = ops[i].atom;

		if (!i && sites_op_address(value, &ops[i], address)) {
			what = ARGUMENT_ADDRESS;
		} else if (!i && atom >= DW_OP_breg0 &&
			   atom < DW_OP_breg0 + REG_COUNT) {
			*reg = (int)(atom - DW_OP_breg0);
			goal->offset[0] = (int64_t)ops[i].number;
			what = ARGUMENT_REGISTER;
		} else if (i && atom == DW_OP_plus_uconst) {
			goal->offset[goal->steps - 1] += (int64_t)ops[i].number;
		} else if (i && atom == DW_OP_deref &&
			   goal->steps < GOAL_STEPS) {
			goal->offset[goal->steps++] = 0;
		} else {
			return ARGUMENT_NONE;
		}
	}
	return what;
}

static enum argument first_argument(const struct call *call, uint64_t *address,
				    int *reg, struct goal *goal)
{
	Dwarf_Die child, die = call->die;
	bool more = die.addr && dwarf_child(&die, &child) == 0;

	for (; more; more = sites_next(&child)) {
		Dwarf_Attribute attribute;
		Dwarf_Op *ops;
		size_t count;

		if (!dwarf_attr(&child, DW_AT_location, &attribute) ||
		    dwarf_getlocation(&attribute, &ops, &count) != 0 ||
		    count != 1 ||
		    ops[0].atom != DW_OP_reg0 + (unsigned int)call->reg)
			continue;
		if (!(dwarf_attr(&child, DW_AT_call_value, &attribute) ||
		      dwarf_attr(&child, DW_AT_GNU_call_site_value,
				 &attribute)) ||
		    dwarf_getlocation(&attribute, &ops, &count) != 0)
			return ARGUMENT_NONE;
		return read_value(&attribute, ops, count, address, reg, goal);
	}
	return ARGUMENT_NONE;
}

static bool name_with(struct function *function, const struct call *call,
		      const struct sites_call *found_call, bool outer,
		      struct found *found)
{
	const struct goal start = { .kind = call->operation->kind,
				    .outer = outer,
				    .steps = 1 };
	struct goal goal = start;
	uint64_t address = 0;
	int reg = 0;

	enum argument argument = first_argument(call, &address, &reg, &goal);

	goal.offset[goal.steps - 1] -= call->past;
	switch (argument) {
	case ARGUMENT_ADDRESS:
		/* In a module another file's symbol has no address here. */
		if (sites_name_address(function, address, &goal, found))
			return true;
		break;
	case ARGUMENT_REGISTER:
		if (!sites_expand(function))
			return false;
		if (sites_name_register(function, found_call->address, reg,
					&goal, found))
			return true;
		break;
	default:
		break;
	}
	goal = start;
	goal.offset[0] = -call->past;
	return sites_follow(function, found_call->address, call->reg, &goal,
			    found);
}

/*
 * In a program, first without what only wraps a lock; *weak: that found none.
 */
static bool name_call(struct function *function, const struct call *call,
		      const struct sites_call *found_call, struct found *found,
		      bool *weak)
{
	*weak = sites_kind(function->finder->image) == SITES_PROGRAM;
	/* It is a number. */
	if (call->operation->kind == SITES_PTHREAD_JOIN)
		return *weak = false;
	if (*weak && name_with(function, call, found_call, true, found)) {
		*weak = false;
		return true;
	}
	return name_with(function, call, found_call, false, found);
}

static struct wrapper *wrapper_at(struct run *run, uint64_t address)
{
	for (size_t i = 0; i < run->wrapper_count; i++)
		if (run->wrappers[i].target.address == address)
			return &run->wrappers[i];
	return NULL;
}

/*
 * Keeps a function as one that works on a lock it is given; its callers know
 * more.  That it lets go as well is of no use to those who wait.
 */
static bool add_wrapper(struct run *run, const struct wrapper *wrapper)
{
	struct wrapper *known = wrapper_at(run, wrapper->target.address);
	const struct target *target = &wrapper->target;
	void *list = run->wrappers;

	if (known && known->waits && wrapper->waits) {
		known->unclear |= known->target.reg != target->reg ||
				  known->target.past != target->past ||
				  known->target.operation->kind !=
					  target->operation->kind;
		return true;
	}
	if (known) {
		/* Who takes it and lets it go is no wrapper of either. */
		bool unclear = known->unclear ||
			       (known->waits != wrapper->waits && known->named);

		if (wrapper->waits)
			*known = *wrapper;
		known->unclear = unclear;
		return true;
	}
	if (!sites_grow(&list, run->wrapper_count, sizeof(*wrapper),
			run->finder.error))
		return false;
	run->wrappers = list;
	run->wrappers[run->wrapper_count++] = *wrapper;
	return true;
}

/* Where a function begins, 0 if that is not known. */
static uint64_t entry_of(struct function *function)
{
	Dwarf_Addr low = function->bare.low;

	return function->die.addr && dwarf_entrypc(&function->die, &low) != 0 ?
		       0 :
		       low;
}

/* Whether a call's lock is what its function was given. */
static bool check_given(struct run *run, struct function *function,
			const struct call *call, bool named,
			struct pending *pending)
{
	struct wrapper wrapper = {
		.target = {
			.operation = call->operation,
			.function = function->name,
		},
		.waits = call->operation->op != SITES_UNLOCK,
		.named = named,
	};
	uint64_t low = pending->call.entry;
	int64_t added;

	if (!low)
		return true;
	if (!sites_parameter(function, pending->call.address, call->reg,
			     &wrapper.target.reg, &added))
		return true;
	wrapper.target.address = low;
	wrapper.target.past = call->past - added;
	pending->given = low;
	return add_wrapper(run, &wrapper);
}

/*
 * Whether the name would be the same wherever the function that has this
 * place in the source is inlined: the type is that of one of its own variables.
 */
static bool is_portable(const struct function *function, int scope,
			const struct found *found)
{
	int wrapper, outer;

	if (found->scope < 0)
		return false;
	outer = outer_scope(function, scope, &wrapper);
	for (int at = found->scope; at >= 0; at = function->scopes[at].parent)
		if (at == outer)
			return true;
	return false;
}

/* The innermost scope at an address: those in it come after it. */
static int scope_at(const struct function *function, uint64_t address)
{
	for (size_t i = function->scope_count; i-- > 0;)
		if (dwarf_haspc(&function->scopes[i].die, address) > 0)
			return (int)i;
	return 0;
}

static bool add_lock_call(struct run *run, struct function *function,
			  const struct call *call)
{
	struct finder *finder = &run->finder;
	struct pending pending = {
		.call = {
			.after = call->after,
			.op = call->operation->op,
			.kind = call->operation->kind,
			.mode = call->operation->mode,
			.called = call->called		  ? call->called :
				  call->operation->within ?
						    call->operation->within :
						    call->operation->name,
			.success = call->operation->success,
			.name = "?",
			.function = function->name,
			.entry = entry_of(function),
		},
	};
	struct call placed = *call;
	struct found found;
	void *list = run->list;
	bool weak, named;
	int wrapper;

	if (!find_instruction(function, call->after, &pending.call.address,
			      &pending.call.tail)) {
		run->unreadable++;
		return true;
	}
	pending.call.file = "?";
	/* clang has all calls in the function, whatever they are inlined with. */
	if (function->scope_count && sites_kind(finder->image) == SITES_PROGRAM)
		placed.scope = scope_at(function, pending.call.address);
	call = &placed;
	if (function->scope_count) {
		pending.instance =
			function->scopes[outer_scope(function, call->scope,
						     &wrapper)]
				.die.addr;
		call_place(function, call->scope, pending.call.address,
			   &pending);
		if (!add_chain(function, call->scope, &pending.call))
			return false;
	}
	named = name_call(function, call, &pending.call, &found, &weak);
	if (weak && !check_given(run, function, call, named, &pending))
		return false;
	if (named) {
		pending.call.how = found.how;
		pending.call.fixed = found.fixed;
		pending.call.declared = found.declared;
		pending.call.name = sites_string(
			finder->strings, found.path.text, finder->error);
		if (!pending.call.name)
			return false;
		pending.portable = is_portable(function, call->scope, &found);
	}
	if ((run->ask & SITES_POINTS) &&
	    !sites_find_points(function, call, &pending.call))
		return false;
	if (!sites_grow(&list, run->count, sizeof(*run->list), finder->error))
		return false;
	run->list = list;
	run->list[run->count++] = pending;
	return true;
}

static void function_free(struct function *function)
{
	free(function->scopes);
	free(function->variables);
	free(function->calls);
	free(function->intervals);
	free(function->code);
	free(function->jumps);
	free(function->ranges);
	free(function->passed);
}

static bool add_by_code(struct function *function, uint64_t after,
			const struct sites_operation *operation)
{
	struct call call = {
		.scope = scope_at(function, after - 1),
		.after = after,
		.operation = operation,
		.reg = REG_RDI,
	};
	void *list = function->calls;

	if (!sites_grow(&list, function->call_count, sizeof(call),
			function->finder->error))
		return false;
	function->calls = list;
	function->calls[function->call_count++] = call;
	return true;
}

static bool do_function(struct run *run, const struct unit *unit,
			struct place_of *place)
{
	Dwarf_Die *die = &place->die;
	struct function function = {
		.finder = &run->finder,
		.unit = unit->die,
		.die = *die,
		.name = sites_die_name(die),
		.callees = &unit->callees,
	};
	bool good = collect(&function, die, -1);

	if (good && place->by_code)
		good = sites_each_target(&function, &run->finder.targets,
					 add_by_code);

	for (size_t i = 0; good && i < function.call_count; i++)
		if (function.calls[i].operation)
			good = add_lock_call(run, &function,
					     &function.calls[i]);
	function_free(&function);
	return good;
}

/* ------------------------------------------------------------------------ */
/* Last: a name found for one call from a place holds for the others         */

static const char *place_function(const struct pending *pending)
{
	return pending->call.chain_count ? pending->call.chain[0].function :
					   pending->call.function;
}

static int compare_places(const void *left, const void *right)
{
	const struct pending *a = *(struct pending *const *)left;
	const struct pending *b = *(struct pending *const *)right;
	int result = strcmp(a->call.file, b->call.file);

	if (!result)
		result = a->call.line - b->call.line;
	if (!result)
		result = a->column - b->column;
	if (!result)
		result = strcmp(a->call.called, b->call.called);
	if (!result)
		result = strcmp(place_function(a), place_function(b));
	return result;
}

static int compare_instances(const void *left, const void *right)
{
	const struct pending *a = *(struct pending *const *)left;
	const struct pending *b = *(struct pending *const *)right;
	int result = compare_places(left, right);

	if (!result && a->instance != b->instance)
		result = a->instance < b->instance ? -1 : 1;
	return result;
}

/*
 * Two calls in one instance may be the two of a macro that takes two locks.
 * Instances follow each other in the list.
 */
static void name_places(struct pending **list, size_t count)
{
	const char *name = NULL;

	for (size_t i = 1; i < count; i++)
		if (list[i]->instance == list[i - 1]->instance)
			return;

	for (size_t i = 0; i < count; i++) {
		if (list[i]->call.how == SITES_UNKNOWN)
			continue;
		/* A name that comes from outside may differ each time. */
		if (!list[i]->portable ||
		    (name && strcmp(name, list[i]->call.name) != 0))
			return;
		name = list[i]->call.name;
	}
	for (size_t i = 0; name && i < count; i++) {
		if (list[i]->call.how != SITES_UNKNOWN)
			continue;
		list[i]->call.name = name;
		list[i]->call.how = SITES_BY_PLACE;
	}
}

static bool name_by_place(struct run *run)
{
	struct pending **list =
		calloc(run->count ? run->count : 1, sizeof(*list));
	size_t begin = 0;

	if (!list)
		return sites_fail(run->finder.error, "out of memory");
	for (size_t i = 0; i < run->count; i++)
		list[i] = &run->list[i];
	if (run->count)
		qsort(list, run->count, sizeof(*list), compare_instances);
	for (size_t i = 1; i <= run->count; i++) {
		if (i < run->count && !compare_places(&list[begin], &list[i]))
			continue;
		if (list[begin]->call.line)
			name_places(list + begin, i - begin);
		begin = i;
	}
	free(list);
	return true;
}

/* ------------------------------------------------------------------------ */
/* Functions that are given a lock: their callers know which                 */

/* Wrappers of wrappers of … */
#define MAX_ROUNDS 6

struct hit {
	uint64_t after;
	struct target target;
};

/* An out-of-line function's code. */
struct home {
	uint64_t low, high;
	Dwarf_Die unit;
	Dwarf_Die die;
};

struct callers {
	struct run *run;
	struct hit *hits;
	size_t hit_count;
	struct home *homes;
	size_t home_count;
	bool homes_read;
};

static bool add_hit(void *argument, uint64_t after, const struct target *target)
{
	struct callers *callers = argument;
	void *list = callers->hits;

	if (!sites_grow(&list, callers->hit_count, sizeof(*callers->hits),
			callers->run->finder.error))
		return false;
	callers->hits = list;
	callers->hits[callers->hit_count++] = (struct hit){ after, *target };
	return true;
}

static bool add_home(struct callers *callers, Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	if (!has_code(die))
		return true;
	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		void *list = callers->homes;

		if (low >= high)
			continue;
		if (!sites_grow(&list, callers->home_count,
				sizeof(*callers->homes),
				callers->run->finder.error))
			return false;
		callers->homes = list;
		callers->homes[callers->home_count++] =
			(struct home){ low, high, *unit, *die };
	}
	return true;
}

static bool read_homes_of(struct callers *callers, Dwarf_Die *unit,
			  Dwarf_Die *parent, int level)
{
	struct finder *finder = &callers->run->finder;
	bool is_c = sites_is_c(unit), good = true;
	Dwarf_Die child;
	int result;

	if (level > SITES_MAX_DEPTH)
		return sites_fail(
			finder->error,
			"%s: the debug information is damaged: nested too deeply",
			finder->image->path);
	result = sites_child(finder->image, parent, &child, finder->error);
	while (result == 0) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			good = add_home(callers, unit, &child);
			break;
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			good = is_c ||
			       read_homes_of(callers, unit, &child, level + 1);
			break;
		}
		if (!good)
			return false;
		result = sites_sibling(finder->image, &child, &child,
				       finder->error);
	}
	return result > 0;
}

static int compare_homes(const void *left, const void *right)
{
	const struct home *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

static bool read_homes(struct callers *callers)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;

	if (callers->homes_read)
		return true;
	callers->homes_read = true;
	while (dwarf_get_units(callers->run->finder.image->dwarf, cu, &cu, NULL,
			       NULL, &die, &split) == 0) {
		if (split_name(&die) && split.addr)
			die = split;
		if (dwarf_tag(&die) == DW_TAG_compile_unit &&
		    !read_homes_of(callers, &die, &die, 0))
			return false;
	}
	if (callers->home_count)
		qsort(callers->homes, callers->home_count,
		      sizeof(*callers->homes), compare_homes);
	return true;
}

static const struct home *home_of(const struct callers *callers,
				  uint64_t address)
{
	size_t low = 0, high = callers->home_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (callers->homes[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < callers->homes[low - 1].high ?
		       &callers->homes[low - 1] :
		       NULL;
}

static bool add_caller(struct run *run, struct function *function,
		       const struct hit *hit)
{
	struct call call = {
		.scope = -1,
		.after = hit->after,
	};

	for (size_t i = 0; i < function->call_count; i++)
		if (function->calls[i].after == hit->after)
			call = function->calls[i];
	if (call.scope < 0)
		call.scope = scope_at(function, hit->after - 1);
	call.operation = hit->target.operation;
	call.called = hit->target.function;
	call.reg = hit->target.reg;
	call.past = hit->target.past;
	return add_lock_call(run, function, &call);
}

/* The calls from one function, beginning with a hit; *next: those behind. */
static bool do_callers(struct callers *callers, size_t from, size_t *next)
{
	struct run *run = callers->run;
	const struct home *home =
		home_of(callers, callers->hits[from].after - 1);
	struct callees callees = { .of_program = true };
	struct function function = { .finder = &run->finder,
				     .callees = &callees };
	bool good;

	*next = from + 1;
	if (!home)
		return true;
	while (*next < callers->hit_count &&
	       home_of(callers, callers->hits[*next].after - 1) == home)
		++*next;
	/* The unit's own lock calls are known already. */
	callees.unit = home->unit.cu;
	function.unit = home->unit;
	function.die = home->die;
	function.name = sites_die_name(&function.die);
	good = collect(&function, &function.die, -1);
	for (size_t i = 0; good && i < function.call_count; i++)
		function.calls[i].operation = NULL;
	for (size_t i = from; good && i < *next; i++)
		good = add_caller(run, &function, &callers->hits[i]);
	function_free(&function);
	return good;
}

/* The calls of the wrappers from a number on. */
static bool find_callers(struct callers *callers, size_t first)
{
	struct run *run = callers->run;
	struct finder *finder = &run->finder;
	struct targets targets = { 0 };
	size_t count = 0, last = run->wrapper_count;
	struct target *list = calloc(last - first, sizeof(*list));
	bool good = list != NULL;

	if (!good)
		return sites_fail(finder->error, "out of memory");
	for (size_t i = first; i < last; i++)
		if (!run->wrappers[i].unclear)
			list[count++] = run->wrappers[i].target;
	callers->hit_count = 0;
	good = sites_targets_own(finder->image, &finder->targets, list, count,
				 &targets, finder->error) &&
	       sites_scan_targets(finder->image, &targets, add_hit, callers) &&
	       (!callers->hit_count || read_homes(callers));
	for (size_t i = 0, next; good && i < callers->hit_count; i = next)
		good = do_callers(callers, i, &next);
	sites_targets_free(&targets);
	free(list);
	return good;
}

static bool find_all_callers(struct run *run)
{
	struct callers callers = { .run = run };
	size_t first = 0, count;
	bool good = true;

	for (int round = 0;
	     good && round < MAX_ROUNDS && first < run->wrapper_count;
	     round++) {
		count = run->wrapper_count;
		good = find_callers(&callers, first);
		first = count;
	}
	/* Where that is known, the place in the wrapper says nothing. */
	for (size_t i = 0; i < run->count; i++) {
		struct pending *pending = &run->list[i];
		struct wrapper *wrapper = wrapper_at(run, pending->given);

		pending->call.by_caller =
			pending->given && wrapper && !wrapper->unclear &&
			wrapper - run->wrappers < (ptrdiff_t)first;
	}
	free(callers.hits);
	free(callers.homes);
	return good;
}

static int compare_calls(const void *left, const void *right)
{
	const struct sites_call *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* Known names first. */
	if ((a->how == SITES_UNKNOWN) != (b->how == SITES_UNKNOWN))
		return a->how == SITES_UNKNOWN ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* A function that two units share is there once. */
static bool finish(struct run *run, struct sites_calls *calls)
{
	size_t kept = 0;

	calls->list = calloc(run->count ? run->count : 1, sizeof(*calls->list));
	if (!calls->list)
		return sites_fail(run->finder.error, "out of memory");
	for (size_t i = 0; i < run->count; i++)
		calls->list[i] = run->list[i].call;
	if (run->count)
		qsort(calls->list, run->count, sizeof(*calls->list),
		      compare_calls);
	for (size_t i = 0; i < run->count; i++)
		if (!kept ||
		    calls->list[kept - 1].address != calls->list[i].address)
			calls->list[kept++] = calls->list[i];
	calls->count = kept;
	calls->unreadable = run->unreadable;
	return true;
}

/* ------------------------------------------------------------------------ */
/* Several threads, each with an image of its own: libdw's are for one       */

struct worker {
	struct run run;
	struct sites_error error;
	pthread_t thread;
	bool started;
	bool good;
};

static void *scan_units(void *argument)
{
	struct worker *worker = argument;

	worker->good = scan_image(&worker->run);
	return NULL;
}

static void *name_units(void *argument)
{
	struct worker *worker = argument;
	struct run *run = &worker->run;

	worker->good = sites_finder_open(&run->finder);
	for (size_t i = 0; worker->good && i < run->unit_count; i++) {
		struct unit *unit = &run->units[i];

		for (size_t j = unit->first; worker->good && j < unit->end; j++)
			if (run->places[j].has_locks || run->places[j].by_code)
				worker->good =
					do_function(run, unit, &run->places[j]);
	}
	return NULL;
}

/* What cannot have a thread is done here, after the rest. */
static bool all_workers(struct worker *workers, size_t count,
			void *(*work)(void *), struct sites_error *error)
{
	bool good = true;

	for (size_t i = 1; i < count; i++)
		workers[i].started = pthread_create(&workers[i].thread, NULL,
						    work, &workers[i]) == 0;
	work(&workers[0]);
	for (size_t i = 1; i < count; i++) {
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
		else
			work(&workers[i]);
	}
	for (size_t i = 0; good && i < count; i++) {
		good = workers[i].good;
		if (!good)
			*error = workers[i].error;
	}
	return good;
}

/* Adds a worker's list to the first one's. */
static bool join_list(void **list, size_t *count, const void *other,
		      size_t other_count, size_t size,
		      struct sites_error *error)
{
	size_t room = 1;
	char *joined;

	/* As sites_grow() expects it. */
	while (room < *count + other_count)
		room *= 2;
	joined = reallocarray(*list, room, size);
	if (!joined)
		return sites_fail(error, "out of memory");
	*list = joined;
	if (other_count)
		memcpy(joined + *count * size, other, other_count * size);
	*count += other_count;
	return true;
}

static bool join_globals(struct worker *workers, size_t count,
			 struct sites_error *error)
{
	struct sites_globals *globals = &workers[0].run.globals;
	void *list = globals->list;

	for (size_t i = 1; i < count; i++) {
		struct sites_globals *other = &workers[i].run.globals;
		bool good = join_list(&list, &globals->count, other->list,
				      other->count, sizeof(*other->list),
				      error);

		globals->list = list;
		if (!good)
			return false;
		workers[i].run.finder.globals = globals;
	}
	return true;
}

static bool join_calls(struct worker *workers, size_t count,
		       struct sites_error *error)
{
	struct run *run = &workers[0].run;
	void *list = run->list;

	for (size_t i = 1; i < count; i++) {
		struct run *other = &workers[i].run;
		bool good = join_list(&list, &run->count, other->list,
				      other->count, sizeof(*other->list),
				      error);

		run->list = list;
		if (!good)
			return false;
		run->unreadable += other->unreadable;
		sites_strings_join(run->finder.strings, other->finder.strings);
	}
	return true;
}

/* ------------------------------------------------------------------------ */
/* A program without debug information: its code, and what symbols it has    */

struct named_range {
	struct sites_range range;
	const char *name;
};

struct bare {
	struct run *run;
	struct named_range *symbols;
	size_t symbol_count;
	struct sites_range *frames;
	size_t frame_count;
};

static bool add_function_symbol(const struct sites_symbol *symbol,
				void *argument)
{
	struct bare *bare = argument;
	void *list = bare->symbols;

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC ||
	    symbol->section == SHN_UNDEF || !symbol->sym.st_size)
		return true;
	if (!sites_grow(&list, bare->symbol_count, sizeof(*bare->symbols),
			bare->run->finder.error))
		return false;
	bare->symbols = list;
	bare->symbols[bare->symbol_count++] = (struct named_range){
		{ symbol->sym.st_value,
		  symbol->sym.st_value + symbol->sym.st_size },
		symbol->name
	};
	return true;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct named_range *a = left, *b = right;

	if (a->range.low != b->range.low)
		return a->range.low < b->range.low ? -1 : 1;
	return strcmp(a->name, b->name);
}

static const struct named_range *symbol_at(const struct bare *bare,
					   uint64_t address)
{
	size_t low = 0, high = bare->symbol_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bare->symbols[middle].range.low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < bare->symbols[low - 1].range.high ?
		       &bare->symbols[low - 1] :
		       NULL;
}

static bool add_bare_call(void *argument, uint64_t after,
			  const struct target *target)
{
	struct bare *bare = argument;
	const struct named_range *symbol = symbol_at(bare, after - 1);
	const struct sites_range *frame =
		sites_frame_at(bare->frames, bare->frame_count, after - 1);
	struct function function = {
		.finder = &bare->run->finder,
		.name = symbol ? symbol->name : "?",
	};
	struct call call = {
		.after = after,
		.operation = target->operation,
		.called = target->function,
		.reg = target->reg,
		.past = target->past,
	};
	bool good;

	if (symbol)
		function.bare = symbol->range;
	else if (frame)
		function.bare = *frame;
	good = add_lock_call(bare->run, &function, &call);
	function_free(&function);
	return good;
}

static bool find_bare_calls(struct run *run)
{
	struct finder *finder = &run->finder;
	struct bare bare = { .run = run };
	bool good;

	/* A stripped file may not have any. */
	good = (!finder->image->symtab ||
		sites_each_symbol(finder->image, add_function_symbol, &bare,
				  finder->error)) &&
	       sites_frames(finder->image, &bare.frames, &bare.frame_count,
			    finder->error) &&
	       sites_finder_open(finder);
	if (bare.symbol_count)
		qsort(bare.symbols, bare.symbol_count, sizeof(*bare.symbols),
		      compare_symbols);
	good = good && sites_scan_targets(finder->image, &finder->targets,
					  add_bare_call, &bare);
	free(bare.symbols);
	free(bare.frames);
	return good;
}

static bool find_calls(struct worker *workers, size_t count,
		       struct sites_calls *calls, struct sites_error *error)
{
	struct run *run = &workers[0].run;
	struct sites_image *image = run->finder.image;

	if (sites_kind(image) == SITES_PROGRAM &&
	    !sites_targets_read(image, &run->finder.targets, error))
		return false;
	if (!sites_has_debug_info(image)) {
		run->finder.error = error;
		return sites_globals_finish(image, &run->globals, error) &&
		       find_bare_calls(run) && finish(run, calls);
	}
	if (!all_workers(workers, count, scan_units, error) ||
	    !join_globals(workers, count, error))
		return false;
	if (!sites_globals_finish(image, &run->globals, error) ||
	    !all_workers(workers, count, name_units, error) ||
	    !join_calls(workers, count, error))
		return false;
	run->finder.error = error;
	return find_all_callers(run) && name_by_place(run) &&
	       finish(run, calls);
}

static void worker_free(struct worker *worker)
{
	struct run *run = &worker->run;

	sites_finder_close(&run->finder);
	free(run->globals.list);
	for (size_t i = 0; i < run->unit_count; i++)
		free(run->units[i].callees.list);
	free(run->units);
	sites_targets_free(&run->finder.targets);
	free(run->places);
	free(run->list);
	free(run->wrappers);
}

/* Only a kernel's image is worth it. */
static size_t worker_count(const struct sites_image *image)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (sites_kind(image) != SITES_KERNEL || processors < 2)
		return 1;
	return processors < SITES_WORKERS ? (size_t)processors : SITES_WORKERS;
}

bool sites_calls(struct sites_image *image, unsigned int ask,
		 struct sites_calls *calls, struct sites_error *error)
{
	struct worker workers[SITES_WORKERS];
	size_t count = 0, most = worker_count(image);
	bool good = true;

	memset(calls, 0, sizeof(*calls));
	memset(workers, 0, sizeof(workers));
	while (good && count < most) {
		struct worker *worker = &workers[count];
		struct finder *finder = &worker->run.finder;

		finder->image = sites_image_of(image, count);
		if (!finder->image)
			break;
		worker->run.ask = ask;
		finder->error = &worker->error;
		finder->globals = &worker->run.globals;
		finder->strings = sites_strings_new(error);
		good = finder->strings != NULL;
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		workers[i].run.share = i;
		workers[i].run.shares = count;
		workers[i].run.finder.shares = count > 1;
	}
	good = good && find_calls(workers, count, calls, error);
	calls->strings = workers[0].run.finder.strings;
	for (size_t i = 0; i < count; i++) {
		if (i)
			sites_strings_free(workers[i].run.finder.strings);
		worker_free(&workers[i]);
	}
	if (!good)
		sites_calls_free(calls);
	return good;
}

void sites_calls_free(struct sites_calls *calls)
{
	free(calls->list);
	sites_strings_free(calls->strings);
	memset(calls, 0, sizeof(*calls));
}
