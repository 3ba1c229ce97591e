// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the variables of a function are, and what lock lies at an offset of
 * what they point to.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"

static bool add_interval(struct function *function,
			 const struct interval *interval)
{
	void *list = function->intervals;

	if (!sites_grow(&list, function->interval_count, sizeof(*interval),
			function->finder->error))
		return false;
	function->intervals = list;
	function->intervals[function->interval_count++] = *interval;
	return true;
}

/* Only what points to a structure, or may hold a lock itself, is of use. */
static bool is_of_use(struct variable *variable, bool *is_pointer)
{
	Dwarf_Die type;

	if (!sites_type_of(&variable->die, &type))
		return false;
	variable->type = type;
	if (!sites_peel(&type))
		return false;
	variable->size = sites_size_of(&type);
	*is_pointer = sites_is_pointer(&type);
	if (*is_pointer) {
		variable->has_pointee =
			sites_type_of(&type, &variable->pointee) &&
			sites_type_name(&variable->pointee);
		return true;
	}
	switch (dwarf_tag(&type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_array_type:
		return true;
	}
	return false;
}

/* The offset of the frame base from the CFA. */
static bool frame_base(struct function *function, int64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr_integrate(&function->die, DW_AT_frame_base,
				  &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1)
		return false;
	*offset = 0;
	if (ops[0].atom == DW_OP_call_frame_cfa)
		return true;
	/* clang: rbp, which is 16 below the CFA once the frame is there. */
	*offset = -16;
	return ops[0].atom == DW_OP_reg6;
}

/* Understands the forms that say in one step where a value is. */
static bool simple_place(struct function *function, const Dwarf_Op *ops,
			 size_t count, bool is_pointer,
			 struct interval *interval)
{
	unsigned int atom = ops[0].atom;
	int64_t base;

	interval->offset = 0;
	if (count == 1 && is_pointer && atom >= DW_OP_reg0 &&
	    atom < DW_OP_reg0 + REG_COUNT) {
		interval->place = IN_REGISTER;
		interval->reg = (uint8_t)(atom - DW_OP_reg0);
		return true;
	}
	if (count == 2 && is_pointer && ops[1].atom == DW_OP_stack_value &&
	    atom >= DW_OP_breg0 && atom < DW_OP_breg0 + REG_COUNT) {
		interval->place = IN_REGISTER;
		interval->reg = (uint8_t)(atom - DW_OP_breg0);
		interval->offset = (int64_t)ops[0].number;
		return true;
	}
	if (atom != DW_OP_fbreg || !frame_base(function, &base))
		return false;
	interval->offset = base + (int64_t)ops[0].number;
	interval->reg = 0;
	if (count == 1) {
		interval->place = IN_FRAME;
		return true;
	}
	interval->place = IS_FRAME;
	return count == 2 && is_pointer && ops[1].atom == DW_OP_stack_value;
}

/* Something in memory without a list of ranges is there in its whole scope. */
static bool add_scope(struct function *function,
		      const struct variable *variable,
		      struct interval *interval)
{
	Dwarf_Die *scope = &function->scopes[variable->scope].die;
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	interval->always = true;
	while ((offset = dwarf_ranges(scope, offset, &base, &low, &high)) > 0) {
		interval->low = low;
		interval->high = high;
		if (!add_interval(function, interval))
			return false;
	}
	return true;
}

static bool expand_variable(struct function *function, size_t index)
{
	struct variable *variable = &function->variables[index];
	Dwarf_Attribute attribute;
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	Dwarf_Op *ops;
	size_t count;
	bool is_pointer;

	if (!dwarf_attr(&variable->die, DW_AT_location, &attribute) ||
	    !is_of_use(variable, &is_pointer))
		return true;
	while ((offset = dwarf_getlocations(&attribute, offset, &base, &low,
					    &high, &ops, &count)) > 0) {
		struct interval interval = {
			.low = low,
			.high = high,
			.variable = (uint32_t)index,
		};

		if (!count ||
		    !simple_place(function, ops, count, is_pointer, &interval))
			continue;
		if (low == 0 && high == (Dwarf_Addr)-1) {
			if (!add_scope(function, variable, &interval))
				return false;
		} else if ((variable->has_pointee || !is_pointer) &&
			   !add_interval(function, &interval)) {
			return false;
		}
	}
	/* A damaged location is one that is not known. */
	return true;
}

static unsigned int group(const struct interval *interval)
{
	if (interval->place == IN_REGISTER)
		return interval->reg;
	if (interval->place == IN_FRAME)
		return interval->always ? FRAME_ALWAYS : FRAME_ELSE;
	return FRAME_END;
}

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	return (int)group(a) - (int)group(b);
}

bool sites_expand(struct function *function)
{
	size_t at = 0;

	if (function->expanded)
		return true;
	function->expanded = true;
	for (size_t i = 0; i < function->variable_count; i++)
		if (!expand_variable(function, i))
			return false;
	if (function->interval_count)
		qsort(function->intervals, function->interval_count,
		      sizeof(*function->intervals), compare_intervals);
	for (unsigned int i = 0; i <= GROUPS; i++) {
		while (at < function->interval_count &&
		       group(&function->intervals[at]) < i)
			at++;
		function->first[i] = at;
	}
	return true;
}

static bool is_element(const Dwarf_Die *type, int64_t offset)
{
	int64_t size = offset ? (int64_t)sites_size_of(type) : 1;

	return size > 0 && offset % size == 0;
}

/* Whether a type is not to begin a name: what is around it may have a better one. */
static bool is_no_start(Dwarf_Die *type, const struct goal *goal)
{
	return goal->outer && sites_wraps_lock(type, goal->kind);
}

/* Follows the goal's pointers from a type at an offset to the lock. */
static bool reach(Dwarf_Die *type, int64_t offset, const struct goal *goal,
		  int step, struct found *found)
{
	Dwarf_Die at = *type;

	for (; step + 1 < goal->steps; step++) {
		Dwarf_Die pointer;

		if (offset < 0 || !sites_pointer_at(&at, (uint64_t)offset,
						    &found->path, &pointer))
			return false;
		if (!sites_type_of(&pointer, &at))
			return false;
		offset = goal->offset[step + 1];
		/* A pointer to locks has the only name that they have. */
		if (step + 2 == goal->steps && is_element(&at, offset) &&
		    sites_is_lock(&at, goal->kind)) {
			found->how = SITES_BY_POINTER;
			return sites_path_drop_internal(&found->path) &&
			       found->path.members > 0;
		}
		if (is_no_start(&at, goal) ||
		    !sites_path_begin(&found->path, &at))
			return false;
	}
	return offset >= 0 &&
	       sites_lock_at(&at, (uint64_t)offset, goal->kind, &found->path) &&
	       sites_path_drop_internal(&found->path);
}

static bool name_type(Dwarf_Die *pointee, const struct goal *goal,
		      struct found *found)
{
	memset(found, 0, sizeof(*found));
	found->scope = -1;
	found->how = SITES_BY_VARIABLE;
	if (is_no_start(pointee, goal) ||
	    !sites_path_begin(&found->path, pointee))
		return false;
	if (!reach(pointee, goal->offset[0], goal, 0, found))
		return false;
	/* Without a member it is the lock's type, which is no name. */
	return found->path.members > 0;
}

static bool same_goal(const struct goal *a, const struct goal *b)
{
	return a->kind == b->kind && a->steps == b->steps &&
	       a->outer == b->outer &&
	       memcmp(a->offset, b->offset,
		      sizeof(*a->offset) * (size_t)a->steps) == 0;
}

/* The same is asked at every step back through the code. */
bool sites_name_type(struct function *function, Dwarf_Die *pointee,
		     const struct goal *goal, struct found *found)
{
	uint64_t hash = (uintptr_t)pointee->addr + (uint64_t)goal->kind;
	struct answer *answer;

	for (int i = 0; i < goal->steps; i++)
		hash = (hash ^ (uint64_t)goal->offset[i]) * 0x9e3779b97f4a7c15u;
	answer = &function->finder->answers[(hash >> 32) % ANSWERS];
	if (answer->type != pointee->addr || !same_goal(&answer->goal, goal)) {
		answer->type = pointee->addr;
		answer->goal = *goal;
		answer->good = name_type(pointee, goal, &answer->found);
	}
	if (answer->good)
		*found = answer->found;
	return answer->good;
}

bool sites_name_variable(struct function *function, size_t index,
			 const struct goal *goal, struct found *found)
{
	struct variable *variable = &function->variables[index];

	if (!variable->has_pointee ||
	    !sites_name_type(function, &variable->pointee, goal, found))
		return false;
	found->scope = variable->scope;
	return true;
}

static bool name_pointer(struct function *function,
			 const struct interval *interval,
			 const struct goal *goal, struct found *found)
{
	struct goal moved = *goal;

	/* register = variable - offset */
	if (interval->place == IN_REGISTER || interval->place == IS_FRAME)
		moved.offset[0] -= interval->offset;
	return sites_name_variable(function, interval->variable, &moved, found);
}

void sites_keep_best(struct found *best, bool *have, const struct found *found)
{
	if (*have && (found->path.members > best->path.members ||
		      (found->path.members == best->path.members &&
		       found->scope <= best->scope)))
		return;
	*best = *found;
	*have = true;
}

bool sites_name_register(struct function *function, uint64_t address, int reg,
			 const struct goal *goal, struct found *found)
{
	bool have = false;

	for (size_t i = function->first[reg]; i < function->first[reg + 1];
	     i++) {
		const struct interval *interval = &function->intervals[i];
		struct found tried;

		if (address < interval->low || address >= interval->high ||
		    !name_pointer(function, interval, goal, &tried))
			continue;
		sites_keep_best(found, &have, &tried);
	}
	return have;
}

/* A variable's own storage, at a distance from the CFA. */
static bool name_storage(struct function *function,
			 const struct interval *interval, int64_t slot,
			 const struct goal *goal, bool loaded,
			 struct found *found)
{
	struct variable *variable = &function->variables[interval->variable];
	int64_t offset = slot - interval->offset;
	struct goal moved = *goal;
	const char *start;

	if (offset < 0 || (uint64_t)offset >= variable->size)
		return false;
	memset(found, 0, sizeof(*found));
	found->how = SITES_BY_VARIABLE;
	found->scope = variable->scope;
	if (loaded) {
		/* One step more: the slot's content. */
		if (moved.steps >= GOAL_STEPS)
			return false;
		memmove(moved.offset + 1, moved.offset,
			sizeof(*moved.offset) * (size_t)moved.steps);
		moved.steps++;
		moved.offset[0] = offset;
	} else {
		moved.offset[0] += offset;
	}
	start = sites_type_name(&variable->type);
	if (!start || sites_is_lock(&variable->type, goal->kind) ||
	    sites_wraps_lock(&variable->type, goal->kind)) {
		start = dwarf_diename(&variable->die);
		if (!start || !sites_path_add(&found->path, start))
			return false;
		found->path.members = 0;
	} else if (!sites_path_begin(&found->path, &variable->type)) {
		return false;
	}
	return reach(&variable->type, moved.offset[0], &moved, 0, found);
}

bool sites_name_slot(struct function *function, uint64_t address, int64_t slot,
		     const struct goal *goal, struct found *found)
{
	bool have = false;

	for (size_t i = function->first[FRAME_ALWAYS];
	     i < function->first[FRAME_END]; i++) {
		const struct interval *interval = &function->intervals[i];
		struct found tried;

		if (address < interval->low || address >= interval->high)
			continue;
		if (interval->offset == slot &&
		    name_pointer(function, interval, goal, &tried))
			sites_keep_best(found, &have, &tried);
		else if (name_storage(function, interval, slot, goal, true,
				      &tried))
			sites_keep_best(found, &have, &tried);
	}
	return have;
}

bool sites_slot_is_open(struct function *function, uint64_t address,
			int64_t slot)
{
	for (size_t i = function->first[FRAME_ALWAYS];
	     i < function->first[FRAME_ELSE]; i++) {
		const struct interval *interval = &function->intervals[i];
		int64_t offset = slot - interval->offset;

		if (address >= interval->low && address < interval->high &&
		    offset >= 0 &&
		    (uint64_t)offset <
			    function->variables[interval->variable].size)
			return true;
	}
	return false;
}

bool sites_name_frame(struct function *function, uint64_t address, int64_t slot,
		      const struct goal *goal, struct found *found)
{
	bool have = false;

	for (size_t i = function->first[FRAME_ALWAYS];
	     i < function->first[GROUPS]; i++) {
		const struct interval *interval = &function->intervals[i];
		struct goal moved = *goal;
		struct found tried;

		if (address < interval->low || address >= interval->high)
			continue;
		if (interval->place == IN_FRAME) {
			if (name_storage(function, interval, slot, goal, false,
					 &tried))
				sites_keep_best(found, &have, &tried);
			continue;
		}
		/* A pointer to something in the frame. */
		moved.offset[0] += slot;
		if (name_pointer(function, interval, &moved, &tried))
			sites_keep_best(found, &have, &tried);
	}
	return have;
}

/* What the unit says of a variable that another file has. */
static bool declared_type(struct function *function, const char *name,
			  Dwarf_Die *type)
{
	Dwarf_Die child;
	bool more = function->unit.addr &&
		    dwarf_child(&function->unit, &child) == 0;

	for (; more; more = sites_next(&child))
		if (dwarf_tag(&child) == DW_TAG_variable &&
		    strcmp(sites_die_name(&child), name) == 0)
			return sites_type_of(&child, type);
	return false;
}

bool sites_name_symbol(struct function *function, const char *symbol,
		       const struct goal *goal, struct found *found)
{
	Dwarf_Die type;

	memset(found, 0, sizeof(*found));
	found->scope = -1;
	found->how = goal->steps > 1 ? SITES_BY_VARIABLE : SITES_BY_SYMBOL;
	if (!sites_path_add(&found->path, symbol))
		return false;
	if (declared_type(function, symbol, &type))
		return reach(&type, goal->offset[0], goal, 0, found);
	/* Without a type: a whole variable is the lock. */
	return goal->steps == 1 && !goal->offset[0];
}

/* What is loaded from a place that has a symbol's address. */
static bool name_slot_symbol(struct function *function, const struct slot *slot,
			     const struct goal *goal, struct found *found)
{
	struct goal moved = *goal;

	moved.steps--;
	memmove(moved.offset, goal->offset + 1,
		sizeof(*moved.offset) * (size_t)moved.steps);
	return slot->value ?
		       sites_name_address(function, slot->value, &moved,
					  found) :
		       sites_name_symbol(function, slot->symbol, &moved, found);
}

/* What another thread's image has is at the same place in ours. */
static bool own_die(struct finder *finder, const Dwarf_Die *die, Dwarf_Die *own)
{
	Dwarf *dwarf = finder->image->dwarf;
	Dwarf_Die from = *die;

	*own = *die;
	return !finder->shares || dwarf_cu_getdwarf(from.cu) == dwarf ||
	       dwarf_offdie(dwarf, dwarf_dieoffset(&from), own) != NULL;
}

bool sites_name_address(struct function *function, uint64_t address,
			const struct goal *goal, struct found *found)
{
	struct finder *finder = function->finder;
	uint64_t at = address + (uint64_t)goal->offset[0];
	const struct sites_global *global;
	const struct slot *slot;
	Dwarf_Die die;

	if (goal->steps > 1 && (slot = sites_slot_at(&finder->targets, at)))
		return name_slot_symbol(function, slot, goal, found);
	memset(found, 0, sizeof(*found));
	found->scope = -1;
	found->how = goal->steps > 1 ? SITES_BY_VARIABLE : SITES_BY_SYMBOL;
	global = sites_global_at(finder->globals, at);
	if (!global)
		return false;
	if (goal->steps == 1)
		found->fixed = at;
	/* Counts as a member: a pointer variable's name is one. */
	if (global->typed) {
		if (!own_die(finder, &global->die, &die) ||
		    !sites_path_begin_variable(&found->path, &die))
			return false;
		if (goal->steps == 1)
			found->declared = sites_decl_file(&die);
	} else if (!sites_path_begin_symbol(&found->path, global->name)) {
		return false;
	}
	if (global->typed)
		return own_die(finder, &global->type, &die) &&
		       reach(&die, (int64_t)(at - global->address), goal, 0,
			     found);
	/* Without a type: a whole variable is the lock. */
	return goal->steps == 1 && at == global->address &&
	       (!sites_lock_bytes(goal->kind) ||
		sites_lock_bytes(goal->kind) == global->size);
}

/* libdw's way to say it is bregx. */
static bool register_plus(const Dwarf_Op *op, int *reg, int64_t *offset)
{
	if (op->atom == DW_OP_bregx) {
		*reg = (int)op->number;
		*offset = (int64_t)op->number2;
		return true;
	}
	*reg = (int)op->atom - DW_OP_breg0;
	*offset = (int64_t)op->number;
	return *reg >= 0 && *reg < REG_COUNT;
}

static bool find_frame(struct finder *finder, uint64_t address,
		       Dwarf_Frame **frame)
{
	return (finder->cfi &&
		dwarf_cfi_addrframe(finder->cfi, address, frame) == 0) ||
	       (finder->unwind &&
		dwarf_cfi_addrframe(finder->unwind, address, frame) == 0);
}

bool sites_slot(struct function *function, uint64_t address, int reg,
		int64_t offset, int64_t *slot)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t count;

	if (address < function->frame_low || address >= function->frame_high) {
		Dwarf_Addr start, end;
		bool signal;

		function->frame_low = function->frame_high = 0;
		if (!find_frame(function->finder, address, &frame))
			return false;
		if (dwarf_frame_info(frame, &start, &end, &signal) < 0 ||
		    dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1 ||
		    !register_plus(ops, &function->frame_register,
				   &function->frame_offset)) {
			free(frame);
			return false;
		}
		function->frame_low = start;
		function->frame_high = end;
		free(frame);
	}
	/* CFA = frame_register + frame_offset */
	if (reg != function->frame_register)
		return false;
	*slot = offset - function->frame_offset;
	return true;
}
