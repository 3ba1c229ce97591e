// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows a lock's address back through a function's machine code, until it
 * is computed from something whose type is known.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"

/* Instructions looked at for one call; more is not worth the time. */
#define MAX_STEPS 4000
#define MAX_VISITED 128
#define MAX_DEPTH 24

/* No structure is larger. */
#define MAX_OFFSET ((int64_t)1 << 28)

/* Instructions and tables of a switch; those of a compiler have fewer. */
#define MAX_TABLES 64
#define MAX_CASES 1024

enum flow {
	NEXT, /* goes on with the next instruction */
	CALL,
	MAYBE, /* a conditional jump */
	AWAY, /* a jump, a return, a trap */
	SWITCH, /* a jump to where a register or a table says */
};

/* What is being followed back. */
struct state {
	bool in_slot; /* else in a register */
	int reg;
	int64_t slot;
	struct goal goal;
};

/* Where a value comes from, and what has been added to it since. */
struct origin {
	enum { ORIGIN_NONE, ORIGIN_CYCLE, ORIGIN_MADE, ORIGIN_HERE } what;
	size_t index; /* made by, or there before, this instruction */
	bool in_slot; /* ORIGIN_HERE: where */
	int reg;
	int64_t slot;
	int64_t added;
};

/* A place where several ways meet. */
struct visit {
	size_t index;
	struct state state;
	struct origin origin; /* ORIGIN_CYCLE until it is known */
};

struct walk {
	struct function *function;
	size_t steps;
	struct visit visited[MAX_VISITED];
	size_t visited_count;
};

enum result { NAMED, UNKNOWN, CYCLE };

static struct origin origin_from(struct function *function, size_t index,
				 bool in_slot, int reg, int64_t slot);

static enum result back(struct walk *walk, size_t index, struct state state,
			struct found *found, int depth);

static int compare_hidden(const void *left, const void *right)
{
	const struct jump *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* A table of the kernel's with the distances of two places in the code. */
struct table {
	const char *section; /* in a module */
	const char *begin, *end; /* in the kernel: symbols */
	uint64_t entry_bytes;
};

static const struct table tables[] = {
	/* Static keys: nops that become jumps. */
	{ "__jump_table", "__start___jump_table", "__stop___jump_table", 16 },
	/* Where to go on after a fault. */
	{ "__ex_table", "__start___ex_table", "__stop___ex_table", 12 },
};

#define TABLES (sizeof(tables) / sizeof(*tables))

struct bounds {
	uint64_t begin[TABLES], end[TABLES];
};

static bool find_bounds(const struct sites_symbol *symbol, void *argument)
{
	struct bounds *bounds = argument;

	if (strncmp(symbol->name, "__st", 4) != 0)
		return true;
	for (size_t i = 0; i < TABLES; i++) {
		if (strcmp(symbol->name, tables[i].begin) == 0)
			bounds->begin[i] = symbol->sym.st_value;
		else if (strcmp(symbol->name, tables[i].end) == 0)
			bounds->end[i] = symbol->sym.st_value;
	}
	return true;
}

/* Each entry begins with two distances from themselves: from and to. */
static bool read_table(struct finder *finder, const struct table *table,
		       uint64_t at, uint64_t end)
{
	struct sites_image *image = finder->image;
	int32_t distance[2];

	for (; at < end && end - at >= table->entry_bytes;
	     at += table->entry_bytes) {
		struct jump jump = { 0 };
		void *list = finder->hidden;

		if (sites_relocation_at(image, at, 4, NULL, &jump.from)) {
			if (!sites_relocation_at(image, at + 4, 4, NULL,
						 &jump.to))
				continue;
		} else {
			if (sites_bytes_at(image, at, (unsigned char *)distance,
					   8) != 8)
				break;
			jump.from = at + (uint64_t)distance[0];
			jump.to = at + 4 + (uint64_t)distance[1];
		}
		if (!sites_grow(&list, finder->hidden_count, sizeof(jump),
				finder->error))
			return false;
		finder->hidden = list;
		finder->hidden[finder->hidden_count++] = jump;
	}
	return true;
}

/* Jumps that are not in the code as it is in the file. */
static bool read_hidden(struct finder *finder)
{
	struct sites_image *image = finder->image;
	struct bounds bounds = { 0 };
	struct sites_error error;

	if (sites_kind(image) == SITES_PROGRAM)
		return true;
	if (sites_kind(image) == SITES_KERNEL)
		sites_each_symbol(image, find_bounds, &bounds, &error);
	sites_section_named(image, ".altinstr_aux", &finder->aside.low,
			    &finder->aside.high);
	for (size_t i = 0; i < TABLES; i++) {
		uint64_t begin = bounds.begin[i], end = bounds.end[i];

		if ((begin || sites_section_named(image, tables[i].section,
						  &begin, &end)) &&
		    !read_table(finder, &tables[i], begin, end))
			return false;
	}
	if (finder->hidden_count)
		qsort(finder->hidden, finder->hidden_count,
		      sizeof(*finder->hidden), compare_hidden);
	return true;
}

/* gcc's clones have other parameters than the source: NAME.isra.0, … */
static bool add_clone(const struct sites_symbol *symbol, void *argument)
{
	struct finder *finder = argument;
	void *list = finder->clones;
	uint64_t address;

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC ||
	    !strchr(symbol->name, '.') ||
	    !sites_symbol_place(finder->image, symbol, &address))
		return true;
	if (!sites_grow(&list, finder->clone_count, sizeof(address),
			finder->error))
		return false;
	finder->clones = list;
	finder->clones[finder->clone_count++] = address;
	return true;
}

static int compare_clones(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left;
	const uint64_t b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void read_clones(struct finder *finder)
{
	struct sites_error error;

	if (!finder->image->symtab ||
	    !sites_each_symbol(finder->image, add_clone, finder, &error))
		return;
	if (finder->clone_count)
		qsort(finder->clones, finder->clone_count,
		      sizeof(*finder->clones), compare_clones);
}

bool sites_finder_open(struct finder *finder)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &finder->boundaries) != CS_ERR_OK)
		return sites_fail(finder->error, "out of memory");
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &finder->detailed) != CS_ERR_OK) {
		cs_close(&finder->boundaries);
		return sites_fail(finder->error, "out of memory");
	}
	cs_option(finder->detailed, CS_OPT_DETAIL, CS_OPT_ON);
	finder->instruction = cs_malloc(finder->boundaries);
	finder->detail = cs_malloc(finder->detailed);
	finder->cfi = dwarf_getcfi(finder->image->dwarf);
	if (sites_kind(finder->image) == SITES_PROGRAM)
		finder->unwind = dwarf_getcfi_elf(finder->image->elf);
	finder->opened = true;
	finder->answers = calloc(ANSWERS, sizeof(*finder->answers));
	if (!finder->instruction || !finder->detail || !finder->answers)
		return sites_fail(finder->error, "out of memory");
	read_clones(finder);
	return read_hidden(finder);
}

void sites_finder_close(struct finder *finder)
{
	if (!finder->opened)
		return;
	if (finder->instruction)
		cs_free(finder->instruction, 1);
	if (finder->detail)
		cs_free(finder->detail, 1);
	cs_close(&finder->boundaries);
	cs_close(&finder->detailed);
	if (finder->unwind)
		dwarf_cfi_end(finder->unwind);
	free(finder->hidden);
	free(finder->answers);
	free(finder->clones);
}

static enum flow flow_of(const cs_insn *instruction)
{
	switch (instruction->id) {
	case X86_INS_CALL:
		return CALL;
	case X86_INS_JMP:
	case X86_INS_RET:
	case X86_INS_UD2:
	case X86_INS_INT3:
	case X86_INS_HLT:
		return AWAY;
	case X86_INS_JAE:
	case X86_INS_JA:
	case X86_INS_JBE:
	case X86_INS_JB:
	case X86_INS_JCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JE:
	case X86_INS_JGE:
	case X86_INS_JG:
	case X86_INS_JLE:
	case X86_INS_JL:
	case X86_INS_JNE:
	case X86_INS_JNO:
	case X86_INS_JNP:
	case X86_INS_JNS:
	case X86_INS_JO:
	case X86_INS_JP:
	case X86_INS_JRCXZ:
	case X86_INS_JS:
		return MAYBE;
	}
	return NEXT;
}

/* Where the instruction begins after its prefixes. */
static size_t opcode_at(const cs_insn *instruction)
{
	const uint8_t *bytes = instruction->bytes;
	size_t at = 0;

	while (at + 1 < instruction->size &&
	       (bytes[at] == 0x2e || bytes[at] == 0x3e || bytes[at] == 0xf2 ||
		bytes[at] == 0xf3 || (bytes[at] & 0xf0) == 0x40))
		at++;
	return at;
}

/* The target of a jump that has one in it. */
static bool jump_target(struct sites_image *image, const cs_insn *instruction,
			uint64_t *target)
{
	const uint8_t *bytes = instruction->bytes;
	uint64_t after = instruction->address + instruction->size;
	size_t at = opcode_at(instruction);
	const char *symbol;
	int32_t distance;

	if (bytes[at] == 0xeb || (bytes[at] & 0xf0) == 0x70 ||
	    (bytes[at] & 0xfc) == 0xe0) {
		*target =
			after + (uint64_t)(int8_t)bytes[instruction->size - 1];
		return true;
	}
	if (instruction->size - at < 5 ||
	    (bytes[at] != 0xe9 &&
	     !(bytes[at] == 0x0f && (bytes[at + 1] & 0xf0) == 0x80)))
		return false;
	if (sites_relocation_at(image, after - 4, 4, &symbol, target)) {
		*target += 4;
		return !symbol;
	}
	memcpy(&distance, bytes + instruction->size - 4, 4);
	*target = after + (uint64_t)distance;
	return true;
}

static bool add_jump(struct function *function, uint64_t from, uint64_t to)
{
	void *jumps = function->jumps;

	if (!sites_grow(&jumps, function->jump_count, sizeof(*function->jumps),
			function->finder->error))
		return false;
	function->jumps = jumps;
	function->jumps[function->jump_count++] =
		(struct jump){ .to = to, .from = from };
	return true;
}

/* A nop that may become a jump. */
static bool is_patched(const struct finder *finder, const cs_insn *instruction)
{
	struct jump key = { .from = instruction->address };

	return instruction->id == X86_INS_NOP && finder->hidden_count &&
	       bsearch(&key, finder->hidden, finder->hidden_count, sizeof(key),
		       compare_hidden);
}

/*
 * The call of __fentry__ that -pg puts before all else (after endbr64) leaves
 * every register as it is.
 */
static bool is_fentry(struct function *function, uint64_t address)
{
	Dwarf_Addr low;

	return function->die.addr && dwarf_entrypc(&function->die, &low) == 0 &&
	       (address == low || address == low + 4);
}

/*
 * The kernel tests a CPU's features aside: there are the jumps that lead back
 * to either way.
 */
static bool add_aside(struct function *function, uint64_t from, uint64_t at)
{
	struct finder *finder = function->finder;
	size_t size;
	const uint8_t *bytes = sites_code_at(finder->image, at, &size);
	enum flow flow = NEXT;

	for (int i = 0; bytes && i < 8 && flow != AWAY; i++) {
		uint64_t target;

		if (!cs_disasm_iter(finder->detailed, &bytes, &size, &at,
				    finder->detail))
			break;
		flow = flow_of(finder->detail);
		if (jump_target(finder->image, finder->detail, &target) &&
		    !add_jump(function, from, target))
			return false;
	}
	return true;
}

static bool add_code(struct function *function, const cs_insn *instruction)
{
	struct finder *finder = function->finder;
	enum flow flow = flow_of(instruction);
	struct instruction *added;
	void *code = function->code;
	uint64_t target;

	if (!sites_grow(&code, function->code_count, sizeof(*function->code),
			finder->error))
		return false;
	function->code = code;
	added = &function->code[function->code_count++];
	*added = (struct instruction){
		.address = instruction->address,
		.size = (uint8_t)instruction->size,
		.flow = (uint8_t)flow,
		.is_nop = instruction->id == X86_INS_NOP,
		.jump = NO_JUMP,
	};
	/* Code may leave there one day. */
	if (is_patched(finder, instruction))
		added->flow = MAYBE;
	/* The kernel's warnings are traps that it comes back from. */
	if (instruction->id == X86_INS_UD2 &&
	    sites_kind(finder->image) != SITES_PROGRAM)
		added->flow = NEXT;
	if (flow == CALL && is_fentry(function, instruction->address)) {
		added->flow = NEXT;
		added->examined = true;
	}
	if (flow != MAYBE && instruction->id != X86_INS_JMP)
		return true;
	if (!jump_target(finder->image, instruction, &target)) {
		if (instruction->bytes[opcode_at(instruction)] == 0xff)
			added->flow = SWITCH;
		return true;
	}
	if (target >= finder->aside.low && target < finder->aside.high)
		return add_aside(function, instruction->address, target);
	return add_jump(function, instruction->address, target);
}

static int compare_code(const void *left, const void *right)
{
	const struct instruction *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_jumps(const void *left, const void *right)
{
	const struct jump *a = left, *b = right;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static bool add_hidden(struct function *function, uint64_t low, uint64_t high)
{
	const struct finder *finder = function->finder;
	size_t first = 0, last = finder->hidden_count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (finder->hidden[middle].from < low)
			first = middle + 1;
		else
			last = middle;
	}
	for (;
	     first < finder->hidden_count && finder->hidden[first].from < high;
	     first++)
		if (!add_jump(function, finder->hidden[first].from,
			      finder->hidden[first].to))
			return false;
	return true;
}

static bool disassemble_range(struct function *function, uint64_t low,
			      uint64_t high)
{
	struct finder *finder = function->finder;
	size_t size;
	const uint8_t *bytes = sites_code_at(finder->image, low, &size);

	if (!bytes)
		return true;
	if (size > high - low)
		size = high - low;
	if (!add_hidden(function, low, high))
		return false;
	while (size && cs_disasm_iter(finder->boundaries, &bytes, &size, &low,
				      finder->instruction))
		if (!add_code(function, finder->instruction))
			return false;
	/* An instruction that the disassembler does not know. */
	if (size)
		function->unclear = true;
	return true;
}

static bool find_instruction(const struct function *function, uint64_t address,
			     size_t *index)
{
	struct instruction key = { .address = address };
	struct instruction *found;

	if (!function->code_count)
		return false;
	found = bsearch(&key, function->code, function->code_count,
			sizeof(*function->code), compare_code);
	if (!found)
		return false;
	*index = (size_t)(found - function->code);
	return true;
}

static bool add_switches(struct function *function);

/* Jumps out of the function are of no use; the others get their places. */
static void place_jumps(struct function *function)
{
	size_t kept = 0;

	for (size_t i = 0; i < function->jump_count; i++) {
		struct jump *jump = &function->jumps[i];
		size_t from, to;

		if (!find_instruction(function, jump->from, &from) ||
		    !find_instruction(function, jump->to, &to))
			continue;
		jump->from_index = (uint32_t)from;
		jump->to_index = (uint32_t)to;
		function->jumps[kept++] = *jump;
	}
	function->jump_count = kept;
	if (kept)
		qsort(function->jumps, kept, sizeof(*function->jumps),
		      compare_jumps);
	while (kept-- > 0)
		function->code[function->jumps[kept].to_index].jump =
			(uint32_t)kept;
}

/* Behind a call that does not return comes what it has nothing to do with. */
static void end_at_noreturn(struct function *function)
{
	for (size_t i = 0; i < function->call_count; i++) {
		struct instruction key = { .address =
						   function->calls[i].after };
		struct instruction *next;
		Dwarf_Die callee;

		next = function->code_count ?
			       bsearch(&key, function->code,
				       function->code_count, sizeof(key),
				       compare_code) :
			       NULL;
		if (!next || next == function->code || next->jump == NO_JUMP ||
		    next[-1].flow != CALL ||
		    !sites_callee(&function->calls[i].die, &callee) ||
		    !dwarf_hasattr_integrate(&callee, DW_AT_noreturn))
			continue;
		next[-1].flow = AWAY;
	}
}

/* What fills up to where a jump leads is never run, so nobody comes from it. */
static void end_at_padding(struct function *function)
{
	for (size_t i = 1; i < function->code_count; i++) {
		const struct instruction *before = &function->code[i - 1];
		struct instruction *at = &function->code[i];

		if (at->is_nop && at->flow == NEXT && at->jump == NO_JUMP &&
		    before->flow == AWAY &&
		    before->address + before->size == at->address)
			at->flow = AWAY;
	}
}

static bool disassemble(struct function *function)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	if (function->disassembled)
		return true;
	function->disassembled = true;
	if (!function->die.addr &&
	    !disassemble_range(function, function->bare.low,
			       function->bare.high))
		return false;
	while (function->die.addr &&
	       (offset = dwarf_ranges(&function->die, offset, &base, &low,
				      &high)) > 0)
		if (low < high && !disassemble_range(function, low, high))
			return false;
	if (function->code_count)
		qsort(function->code, function->code_count,
		      sizeof(*function->code), compare_code);
	if (!add_switches(function))
		return false;
	place_jumps(function);
	end_at_noreturn(function);
	end_at_padding(function);
	return true;
}

/* Registers by DWARF's numbers; -1: not one that holds an address. */
static int register_number(x86_reg reg, int *bytes)
{
	static const struct {
		uint16_t reg[4]; /* 8, 4, 2 and 1 bytes */
	} names[REG_COUNT] = {
		{ { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL } },
		{ { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL } },
		{ { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL } },
		{ { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL } },
		{ { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL } },
		{ { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL } },
		{ { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL } },
		{ { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL } },
		{ { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B } },
		{ { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B } },
		{ { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B } },
		{ { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B } },
		{ { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B } },
		{ { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B } },
		{ { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B } },
		{ { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B } },
	};

	for (int i = 0; i < REG_COUNT; i++)
		for (int j = 0; j < 4; j++)
			if (names[i].reg[j] == reg) {
				*bytes = 8 >> j;
				return i;
			}
	switch (reg) {
	case X86_REG_AH:
		*bytes = 1;
		return REG_RAX;
	case X86_REG_BH:
		*bytes = 1;
		return REG_RBX;
	case X86_REG_CH:
		*bytes = 1;
		return REG_RCX;
	case X86_REG_DH:
		*bytes = 1;
		return REG_RDX;
	default:
		return -1;
	}
}

/* A register that holds a whole address. */
static int whole_register(x86_reg reg)
{
	int bytes, number = register_number(reg, &bytes);

	return number >= 0 && bytes == 8 ? number : -1;
}

/* Decodes one instruction with all its detail. */
static const cs_insn *decode(struct function *function, size_t index)
{
	struct finder *finder = function->finder;
	uint64_t address = function->code[index].address;
	size_t size;
	const uint8_t *bytes = sites_code_at(finder->image, address, &size);

	if (!bytes || !cs_disasm_iter(finder->detailed, &bytes, &size, &address,
				      finder->detail))
		return NULL;
	return finder->detail;
}

/* Where the instruction may have a switch's table. */
static bool table_at(const cs_insn *insn, uint64_t *address, bool *wide)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (int i = 0; i < x86->op_count; i++) {
		const x86_op_mem *mem = &x86->operands[i].mem;

		if (x86->operands[i].type != X86_OP_MEM)
			continue;
		if (insn->id == X86_INS_LEA && mem->base == X86_REG_RIP) {
			*address = insn->address + insn->size +
				   (uint64_t)mem->disp;
			*wide = false;
			return true;
		}
		if (mem->base == X86_REG_INVALID && mem->scale == 8) {
			*address = (uint64_t)mem->disp;
			*wide = true;
			return true;
		}
	}
	return false;
}

/* Adds a table's jumps: entries as long as they lead into the function. */
static bool add_table(struct function *function, uint64_t from, uint64_t table,
		      bool wide, bool *any)
{
	struct sites_image *image = function->finder->image;

	for (uint64_t i = 0; i < MAX_CASES; i++) {
		unsigned char bytes[8];
		int32_t distance;
		uint64_t target;
		size_t index;

		if (sites_bytes_at(image, table + i * (wide ? 8 : 4), bytes,
				   wide ? 8 : 4) != (wide ? 8 : 4))
			break;
		memcpy(&distance, bytes, sizeof(distance));
		if (wide)
			memcpy(&target, bytes, sizeof(target));
		else
			target = table + (uint64_t)distance;
		if (!find_instruction(function, target, &index))
			break;
		if (!add_jump(function, from, target))
			return false;
		*any = true;
	}
	return true;
}

/*
 * Jumps through a register or an index: a switch has its table in the file.
 * In doubt it is one whose targets are not known.
 */
static bool add_switches(struct function *function)
{
	uint64_t table[MAX_TABLES];
	bool wide[MAX_TABLES], any = false;
	size_t count = 0, switches = 0;

	for (size_t i = 0; i < function->code_count; i++)
		switches += function->code[i].flow == SWITCH;
	if (!switches)
		return true;
	/* With retpolines, or CET, the kernel has no such tables. */
	if (sites_kind(function->finder->image) != SITES_PROGRAM)
		return true;
	for (size_t i = 0; i < function->code_count && count < MAX_TABLES;
	     i++) {
		const cs_insn *insn = decode(function, i);

		if (insn && table_at(insn, &table[count], &wide[count]))
			count++;
	}
	for (size_t i = 0; i < function->code_count; i++) {
		const cs_insn *insn;
		const cs_x86_op *to;

		if (function->code[i].flow != SWITCH)
			continue;
		any = false;
		for (size_t j = 0; j < count; j++)
			if (!add_table(function, function->code[i].address,
				       table[j], wide[j], &any))
				return false;
		insn = decode(function, i);
		to = insn ? &insn->detail->x86.operands[0] : NULL;
		/* jmp *8(%rax) calls a function that a structure names. */
		if (!any && !(to && to->type == X86_OP_MEM &&
			      to->mem.index == X86_REG_INVALID))
			function->unclear = true;
	}
	return true;
}

/* Whether, and where, the instruction stores to the frame. */
static void examine_stores(struct function *function,
			   struct instruction *instruction, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	if (insn->id == X86_INS_PUSH) {
		instruction->stores = sites_slot(function, insn->address,
						 REG_RSP, -8,
						 &instruction->slot);
		instruction->store_bytes = 8;
		return;
	}
	for (int i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		int base = op->type == X86_OP_MEM ?
				   whole_register(op->mem.base) :
				   -1;

		if (base < 0 || !(op->access & CS_AC_WRITE) ||
		    !sites_slot(function, insn->address, base, op->mem.disp,
				&instruction->slot))
			continue;
		instruction->stores = true;
		instruction->store_bytes = op->size;
		instruction->stores_indexed = op->mem.index != X86_REG_INVALID;
		return;
	}
}

static void examine(struct function *function, size_t index)
{
	struct instruction *instruction = &function->code[index];
	const cs_insn *insn = decode(function, index);
	uint8_t read_count, write_count;
	cs_regs reads, writes;
	int bytes;

	instruction->examined = true;
	instruction->writes = 0xffff;
	if (!insn ||
	    cs_regs_access(function->finder->detailed, insn, reads, &read_count,
			   writes, &write_count) != CS_ERR_OK)
		return;
	instruction->writes = 0;
	for (int i = 0; i < write_count; i++) {
		int reg = register_number(writes[i], &bytes);

		if (reg >= 0)
			instruction->writes |= (uint16_t)(1u << reg);
	}
	examine_stores(function, instruction, insn);
}

/* Whether the instruction changes a register or a slot of the frame. */
static bool changes(struct function *function, size_t index, bool in_slot,
		    int reg, int64_t slot)
{
	struct instruction *instruction = &function->code[index];

	if (!instruction->examined)
		examine(function, index);
	if (!in_slot)
		return instruction->writes >> reg & 1;
	if (!instruction->stores)
		return false;
	if (instruction->stores_indexed)
		return instruction->slot <= slot;
	return instruction->slot < slot + 8 &&
	       slot < instruction->slot + instruction->store_bytes;
}

static bool is_kept_by_calls(int reg)
{
	return reg == REG_RBX || reg == REG_RBP || reg == REG_RSP ||
	       (reg >= 12 && reg <= 15);
}

/* One step more: what is followed was loaded from register + offset. */
static bool push_load(struct goal *goal, int64_t offset)
{
	if (goal->steps >= GOAL_STEPS)
		return false;
	memmove(goal->offset + 1, goal->offset,
		sizeof(*goal->offset) * (size_t)goal->steps);
	goal->offset[0] = offset;
	goal->steps++;
	return true;
}

static enum result named(bool good)
{
	return good ? NAMED : UNKNOWN;
}

/* The lock is at, or reached from, a fixed address. */
static enum result fixed(struct walk *walk, uint64_t address,
			 const struct goal *goal, struct found *found)
{
	return named(sites_name_address(walk->function, address, goal, found));
}

/*
 * An address in the instruction: in a module it is a symbol's, and what the
 * file has there is nothing.
 */
static enum result fixed_operand(struct walk *walk, const cs_insn *insn,
				 uint64_t address, bool relative,
				 const struct goal *goal, struct found *found)
{
	struct sites_image *image = walk->function->finder->image;
	const char *symbol;
	uint64_t value;

	if (!sites_relocation_at(image, insn->address, insn->size, &symbol,
				 &value)) {
		return fixed(walk, address, goal, found);
	}
	if (symbol) {
		struct goal moved = *goal;

		moved.offset[0] += (int64_t)value + (relative ? 4 : 0);
		return named(sites_name_symbol(walk->function, symbol, &moved,
					       found));
	}
	if (relative)
		value += insn->address + insn->size -
			 sites_relocation_place(image, insn->address,
						insn->size);
	return fixed(walk, value, goal, found);
}

static enum result in_register(struct walk *walk, size_t index, int reg,
			       const struct goal *goal, struct found *found,
			       int depth)
{
	struct state state = { .reg = reg, .goal = *goal };

	return back(walk, index, state, found, depth);
}

/*
 * The number that is in an index beside what varies: in (i + 5) << 4 it is 80.
 * What varies is taken for a whole number of elements.
 */
static int64_t constant_in(struct walk *walk, size_t index, x86_reg name,
			   int depth);

/* The same of the two that a memory operand adds to its own number. */
static int64_t constant_in_operand(struct walk *walk, size_t index,
				   const x86_op_mem *mem, int depth)
{
	return constant_in(walk, index, mem->base, depth) +
	       mem->scale * constant_in(walk, index, mem->index, depth);
}

/* The same of what an instruction has made. */
static int64_t constant_made(struct walk *walk, size_t index, int depth)
{
	const cs_insn *decoded = decode(walk->function, index);
	cs_x86_op to, from, by;
	unsigned int id;
	int count;

	if (!decoded)
		return 0;
	/* The buffer is used again further back. */
	id = decoded->id;
	count = decoded->detail->x86.op_count;
	to = decoded->detail->x86.operands[0];
	from = decoded->detail->x86.operands[1];
	by = decoded->detail->x86.operands[2];
	if (id == X86_INS_CDQE)
		return constant_in(walk, index, X86_REG_RAX, depth);
	if (count < 2 || to.type != X86_OP_REG)
		return 0;
	switch (id) {
	case X86_INS_MOV:
	case X86_INS_MOVSXD:
	case X86_INS_MOVSX:
	case X86_INS_MOVZX:
		return from.type == X86_OP_REG ?
			       constant_in(walk, index, from.reg, depth) :
			       0;
	case X86_INS_LEA:
		return from.mem.disp +
		       constant_in_operand(walk, index, &from.mem, depth);
	case X86_INS_SHL:
		return from.type == X86_OP_IMM && from.imm < 32 ?
			       constant_in(walk, index, to.reg, depth) *
				       ((int64_t)1 << from.imm) :
			       0;
	case X86_INS_IMUL:
		return count == 3 && from.type == X86_OP_REG &&
				       by.type == X86_OP_IMM ?
			       constant_in(walk, index, from.reg, depth) *
				       (int32_t)by.imm :
			       0;
	case X86_INS_ADD:
		return constant_in(walk, index, to.reg, depth) +
		       (from.type == X86_OP_IMM ? from.imm :
			from.type == X86_OP_REG ? constant_in(walk, index,
							      from.reg, depth) :
						  0);
	case X86_INS_SUB:
		return constant_in(walk, index, to.reg, depth) -
		       (from.type == X86_OP_IMM ? from.imm : 0);
	default:
		return 0;
	}
}

static int64_t constant_in(struct walk *walk, size_t index, x86_reg name,
			   int depth)
{
	int bytes, reg = register_number(name, &bytes);
	struct origin origin;

	if (reg < 0 || depth > MAX_DEPTH)
		return 0;
	origin = origin_from(walk->function, index, false, reg, 0);
	/* Only an index's: beyond these numbers is an address. */
	if (origin.added < -MAX_OFFSET || origin.added > MAX_OFFSET)
		return 0;
	if (origin.what != ORIGIN_MADE)
		return origin.added;
	origin.added += constant_made(walk, origin.index, depth + 1);
	return origin.added < -MAX_OFFSET || origin.added > MAX_OFFSET ?
		       0 :
		       origin.added;
}

/* One of several things that it may be: leaves no trace if it is not. */
static enum result attempt(struct walk *walk, size_t index, int reg,
			   int64_t constant, const struct goal *goal,
			   struct found *found, int depth)
{
	size_t visited = walk->visited_count;
	struct goal moved = *goal;
	enum result result;

	moved.offset[0] += constant;
	result = in_register(walk, index, reg, &moved, found, depth + 1);

	if (result == UNKNOWN)
		walk->visited_count = visited;
	return result;
}

/*
 * The kernel's addresses are negative here; elsewhere they are where nothing
 * but a very large structure has a member.  0: a symbol's that is not known.
 */
static bool may_be_fixed(int64_t number)
{
	return number <= 0 || number >= 0x1000;
}

/* The value is the address of a memory operand. */
static enum result address_of(struct walk *walk, size_t index,
			      const cs_insn *insn, const x86_op_mem *mem,
			      const struct goal *goal, struct found *found,
			      int depth)
{
	struct goal moved = *goal;
	int base = whole_register(mem->base),
	    other = whole_register(mem->index);
	enum result result = UNKNOWN;
	int64_t slot;

	/* Each thread has its own. */
	if (mem->segment == X86_REG_FS)
		return UNKNOWN;
	if (mem->base == X86_REG_RIP)
		return fixed_operand(walk, insn,
				     insn->address + insn->size +
					     (uint64_t)mem->disp,
				     true, goal, found);
	if (mem->base == X86_REG_INVALID) {
		moved.offset[0] += constant_in_operand(walk, index, mem, depth);
		return fixed_operand(walk, insn, (uint64_t)mem->disp, false,
				     &moved, found);
	}
	if (base >= 0 &&
	    sites_slot(walk->function, insn->address, base, mem->disp, &slot))
		return named(sites_name_frame(walk->function, insn->address,
					      slot, goal, found));
	moved.offset[0] += mem->disp;
	if (base >= 0)
		result = attempt(walk, index, base,
				 mem->scale * constant_in(walk, index,
							  mem->index, depth),
				 &moved, found, depth);
	if (result == UNKNOWN && other >= 0 && mem->scale == 1)
		result = attempt(walk, index, other,
				 constant_in(walk, index, mem->base, depth),
				 &moved, found, depth);
	/* An array: its fixed address and an index. */
	if (result == UNKNOWN && may_be_fixed(mem->disp)) {
		moved = *goal;
		moved.offset[0] += constant_in_operand(walk, index, mem, depth);
		result = fixed_operand(walk, insn, (uint64_t)mem->disp, false,
				       &moved, found);
	}
	return result;
}

/* The value is loaded from a memory operand. */
static enum result loaded(struct walk *walk, size_t index, const cs_insn *insn,
			  const x86_op_mem *mem, const struct goal *goal,
			  struct found *found, int depth)
{
	struct goal moved = *goal;
	int base = whole_register(mem->base);
	struct state state = { .in_slot = true, .goal = *goal };

	if (base >= 0 && mem->index == X86_REG_INVALID &&
	    sites_slot(walk->function, insn->address, base, mem->disp,
		       &state.slot))
		return back(walk, index, state, found, depth);
	/* What the linker puts there is the symbol's address. */
	if (mem->base == X86_REG_RIP &&
	    sites_relocation_is_got(walk->function->finder->image,
				    insn->address, insn->size))
		return address_of(walk, index, insn, mem, goal, found, depth);
	if (!push_load(&moved, 0))
		return UNKNOWN;
	return address_of(walk, index, insn, mem, &moved, found, depth);
}

static enum result returned(struct walk *walk, uint64_t after,
			    const struct goal *goal, struct found *found)
{
	struct function *function = walk->function;

	for (size_t i = 0; i < function->call_count; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die callee, type, pointee;

		if (function->calls[i].after != after)
			continue;
		if (!sites_callee(&function->calls[i].die, &callee) ||
		    !dwarf_attr_integrate(&callee, DW_AT_type, &attribute) ||
		    !dwarf_formref_die(&attribute, &type) ||
		    !sites_pointee(&type, &pointee))
			return UNKNOWN;
		return named(sites_name_type(function, &pointee, goal, found));
	}
	return UNKNOWN;
}

/* Both have to lead to the same name. */
static enum result both(enum result one, const struct found *first,
			enum result other, struct found *second)
{
	if (one == CYCLE) {
		return other;
	}
	if (other == CYCLE) {
		*second = *first;
		return one;
	}
	if (one != NAMED || other != NAMED ||
	    strcmp(first->path.text, second->path.text) != 0)
		return UNKNOWN;
	if (first->how != second->how)
		second->scope = -1;
	return NAMED;
}

/* The result of an instruction that wrote the register that is followed. */
static enum result written(struct walk *walk, size_t index, const cs_insn *insn,
			   const struct state *state, struct found *found,
			   int depth)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	struct goal goal = state->goal;
	struct found other;
	enum result result;
	int reg;

	if (insn->id == X86_INS_POP && x86->op_count == 1) {
		struct state slot = { .in_slot = true, .goal = goal };

		if (to->size != 8 || !sites_slot(walk->function, insn->address,
						 REG_RSP, 0, &slot.slot))
			return UNKNOWN;
		return back(walk, index, slot, found, depth);
	}
	if (x86->op_count != 2 || to->type != X86_OP_REG)
		return UNKNOWN;
	/* A fixed address below 4 GB or in the upper 2 GB may be written so. */
	if ((insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS) &&
	    from->type == X86_OP_IMM && to->size >= 4)
		return fixed_operand(walk, insn,
				     to->size == 4 ? (uint32_t)from->imm :
						     (uint64_t)from->imm,
				     false, &goal, found);
	if (whole_register(to->reg) != state->reg)
		return UNKNOWN;
	reg = from->type == X86_OP_REG ? whole_register(from->reg) : -1;
	switch (insn->id) {
	case X86_INS_MOV:
		if (reg >= 0) {
			int64_t slot;

			/* The stack pointer is a place in the frame. */
			if (sites_slot(walk->function, insn->address, reg, 0,
				       &slot))
				return named(sites_name_frame(
					walk->function, insn->address, slot,
					&goal, found));
			return in_register(walk, index, reg, &goal, found,
					   depth);
		}
		if (from->type == X86_OP_MEM && from->size == 8)
			return loaded(walk, index, insn, &from->mem, &goal,
				      found, depth);
		return UNKNOWN;
	case X86_INS_LEA:
		return address_of(walk, index, insn, &from->mem, &goal, found,
				  depth);
	case X86_INS_ADD:
		if (from->type == X86_OP_IMM) {
			result = attempt(walk, index, state->reg, from->imm,
					 &goal, found, depth);
			if (result != UNKNOWN || !may_be_fixed(from->imm))
				return result;
			/* `add $symbol' is an array with an index. */
			goal.offset[0] +=
				constant_in(walk, index, to->reg, depth);
			return fixed_operand(walk, insn, (uint64_t)from->imm,
					     false, &goal, found);
		}
		if (from->type == X86_OP_MEM) {
			struct goal percpu = goal;

			/* A CPU's offset to a per-CPU variable's address. */
			percpu.percpu = true;
			result = attempt(walk, index, state->reg, 0, &percpu,
					 found, depth);
			if (result == UNKNOWN && from->size == 8)
				result = loaded(walk, index, insn, &from->mem,
						&goal, found, depth + 1);
			return result;
		}
		/* A base and an index, in either order. */
		result = attempt(walk, index, state->reg,
				 constant_in(walk, index, from->reg, depth),
				 &goal, found, depth);
		if (result == UNKNOWN && reg >= 0)
			result = attempt(walk, index, reg,
					 constant_in(walk, index, to->reg,
						     depth),
					 &goal, found, depth);
		return result;
	case X86_INS_SUB:
		if (from->type != X86_OP_IMM)
			return UNKNOWN;
		goal.offset[0] -= from->imm;
		return in_register(walk, index, state->reg, &goal, found,
				   depth);
	case X86_INS_CMOVA:
	case X86_INS_CMOVAE:
	case X86_INS_CMOVB:
	case X86_INS_CMOVBE:
	case X86_INS_CMOVE:
	case X86_INS_CMOVG:
	case X86_INS_CMOVGE:
	case X86_INS_CMOVL:
	case X86_INS_CMOVLE:
	case X86_INS_CMOVNE:
	case X86_INS_CMOVNO:
	case X86_INS_CMOVNP:
	case X86_INS_CMOVNS:
	case X86_INS_CMOVO:
	case X86_INS_CMOVP:
	case X86_INS_CMOVS:
		result = in_register(walk, index, state->reg, &goal, &other,
				     depth + 1);
		if (result == UNKNOWN)
			return UNKNOWN;
		if (reg >= 0)
			return both(result, &other,
				    in_register(walk, index, reg, &goal, found,
						depth + 1),
				    found);
		if (from->type == X86_OP_MEM)
			return both(result, &other,
				    loaded(walk, index, insn, &from->mem, &goal,
					   found, depth + 1),
				    found);
		return UNKNOWN;
	default:
		return UNKNOWN;
	}
}

static enum result stored(struct walk *walk, size_t index, const cs_insn *insn,
			  const struct state *state, struct found *found,
			  int depth)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *from;
	int reg;

	if ((insn->id != X86_INS_MOV && insn->id != X86_INS_PUSH) ||
	    !x86->op_count)
		return UNKNOWN;
	from = &x86->operands[x86->op_count - 1];
	if (insn->id == X86_INS_MOV &&
	    (x86->op_count != 2 || x86->operands[0].size != 8 ||
	     x86->operands[0].mem.index != X86_REG_INVALID))
		return UNKNOWN;
	if (from->type == X86_OP_IMM)
		return fixed_operand(walk, insn, (uint64_t)from->imm, false,
				     &state->goal, found);
	reg = from->type == X86_OP_REG ? whole_register(from->reg) : -1;
	if (reg < 0)
		return UNKNOWN;
	return in_register(walk, index, reg, &state->goal, found, depth);
}

/* Goes back over one instruction; *moved: what is followed has changed. */
static enum result over(struct walk *walk, size_t index, struct state *state,
			struct found *found, bool *moved, int depth)
{
	struct function *function = walk->function;
	const struct instruction *at = &function->code[index];
	const cs_insn *decoded;
	cs_detail detail;
	cs_insn insn;

	*moved = false;
	if (at->flow == MAYBE || at->flow == AWAY || at->flow == SWITCH)
		return UNKNOWN;
	if (at->flow == CALL) {
		if (state->in_slot || is_kept_by_calls(state->reg))
			return UNKNOWN;
		*moved = true;
		if (state->reg != REG_RAX)
			return UNKNOWN;
		return returned(walk, at->address + at->size, &state->goal,
				found);
	}
	if (!changes(function, index, state->in_slot, state->reg, state->slot))
		return UNKNOWN;
	*moved = true;
	decoded = decode(function, index);
	if (!decoded)
		return UNKNOWN;
	/* The buffer is used again further back. */
	insn = *decoded;
	detail = *decoded->detail;
	insn.detail = &detail;
	if (state->in_slot)
		return stored(walk, index, &insn, state, found, depth);
	return written(walk, index, &insn, state, found, depth);
}

/* What a variable's type says, before the instruction at an address. */
static bool known_here(struct walk *walk, uint64_t address,
		       const struct state *state, struct found *found)
{
	return state->in_slot ?
		       sites_name_slot(walk->function, address, state->slot,
				       &state->goal, found) :
		       sites_name_register(walk->function, address, state->reg,
					   &state->goal, found);
}

/* Only what is in use counts. */
static bool same_state(const struct state *a, const struct state *b)
{
	return a->in_slot == b->in_slot &&
	       (a->in_slot ? a->slot == b->slot : a->reg == b->reg) &&
	       a->goal.steps == b->goal.steps &&
	       a->goal.percpu == b->goal.percpu &&
	       memcmp(a->goal.offset, b->goal.offset,
		      sizeof(*a->goal.offset) * GOAL_STEPS) == 0;
}

static struct visit *seen_before(struct walk *walk, size_t index,
				 const struct state *state)
{
	for (size_t i = 0; i < walk->visited_count; i++)
		if (walk->visited[i].index == index &&
		    same_state(&walk->visited[i].state, state))
			return &walk->visited[i];
	return NULL;
}

/*
 * Whether a place has been come to twice with nothing else than another number
 * added: a loop goes from one element of an array to the next.  Two of them
 * that have one name stand for all.
 */
static bool is_stride(struct walk *walk, size_t index,
		      const struct state *state)
{
	int count = 0;

	for (size_t i = 0; i < walk->visited_count; i++) {
		struct state other = walk->visited[i].state;

		if (walk->visited[i].index != index)
			continue;
		other.goal.offset[0] = state->goal.offset[0];
		count += same_state(&other, state);
	}
	return count >= 2;
}

static bool visit(struct walk *walk, size_t index, const struct state *state)
{
	struct visit *visit = &walk->visited[walk->visited_count];

	if (walk->visited_count >= MAX_VISITED)
		return false;
	walk->visited_count++;
	visit->index = index;
	memcpy(&visit->state, state, sizeof(*state));
	visit->origin.what = ORIGIN_CYCLE;
	return true;
}

/* The next of the jumps to an instruction, beginning with its `jump'. */
static bool next_jump(const struct function *function, size_t index,
		      uint32_t *jump, size_t *from)
{
	if (*jump >= function->jump_count ||
	    function->jumps[*jump].to_index != index)
		return false;
	*from = function->jumps[(*jump)++].from_index;
	return true;
}

static bool falls_through(const struct function *function, size_t index)
{
	const struct instruction *before;

	if (!index || index >= function->code_count)
		return false;
	before = &function->code[index - 1];
	return before->flow != AWAY && before->flow != SWITCH &&
	       before->address + before->size == function->code[index].address;
}

/* One way back, over the instruction at `from'. */
static enum result one_way(struct walk *walk, size_t from,
			   const struct state *state, struct found *found,
			   int depth)
{
	struct state copy = *state;
	bool moved;
	enum result result = over(walk, from, &copy, found, &moved, depth + 1);

	if (moved)
		return result;
	return back(walk, from, copy, found, depth + 1);
}

/* Where several ways lead to the instruction at `index'. */
static enum result back_from_join(struct walk *walk, size_t index,
				  const struct state *state,
				  struct found *found, int depth)
{
	struct function *function = walk->function;
	uint32_t jump = function->code[index].jump;
	enum result result = CYCLE;
	struct found other;
	size_t from;

	if (seen_before(walk, index, state) || is_stride(walk, index, state))
		return CYCLE;
	if (!visit(walk, index, state))
		return UNKNOWN;
	if (falls_through(function, index)) {
		result = one_way(walk, index - 1, state, found, depth);
		if (result == UNKNOWN)
			return UNKNOWN;
	}
	while (next_jump(function, index, &jump, &from)) {
		enum result now = one_way(walk, from, state, &other, depth);

		result = both(now, &other, result, found);
		if (result == UNKNOWN)
			return UNKNOWN;
	}
	return result;
}

/* Where the state is one before the instruction at `index'. */
static enum result back(struct walk *walk, size_t index, struct state state,
			struct found *found, int depth)
{
	struct function *function = walk->function;

	if (depth > MAX_DEPTH)
		return UNKNOWN;
	for (;; index--) {
		uint64_t address = function->code[index].address;
		enum result result;
		bool moved;

		if (++walk->steps > MAX_STEPS)
			return UNKNOWN;
		if (known_here(walk, address, &state, found))
			return NAMED;
		if (state.in_slot &&
		    sites_slot_is_open(function, address, state.slot))
			return UNKNOWN;
		if (function->code[index].jump != NO_JUMP)
			return back_from_join(walk, index, &state, found,
					      depth);
		if (!falls_through(function, index))
			return UNKNOWN;
		result = over(walk, index - 1, &state, found, &moved, depth);
		if (moved)
			return result;
	}
}

/* ------------------------------------------------------------------------ */
/*
 * Where nothing on the way back has a type, something else that was computed
 * from the same value may have one: `ctx' and the lock's address, both from
 * the argument `work' that is in the middle of a struct io_ring_ctx.
 */

static struct origin origin_of(struct walk *walk, size_t index,
			       struct state state, int depth);

static bool same_origin(const struct origin *a, const struct origin *b)
{
	return a->what == b->what && a->index == b->index &&
	       (a->what != ORIGIN_HERE ||
		(a->in_slot == b->in_slot && a->reg == b->reg &&
		 a->slot == b->slot));
}

static struct origin here(size_t index, const struct state *state)
{
	return (struct origin){
		.what = ORIGIN_HERE,
		.index = index,
		.in_slot = state->in_slot,
		.reg = state->reg,
		.slot = state->slot,
		.added = state->goal.offset[0],
	};
}

/*
 * Goes back over an instruction that only moves the value or adds a number to
 * it; false where it makes the value.
 */
static bool see_through(struct walk *walk, size_t index, struct state *state)
{
	struct function *function = walk->function;
	const cs_insn *insn = decode(function, index);
	const cs_x86_op *to, *from;
	int reg;

	if (!insn || !insn->detail->x86.op_count)
		return false;
	to = &insn->detail->x86.operands[0];
	from = &insn->detail->x86.operands[insn->detail->x86.op_count - 1];
	reg = from->type == X86_OP_REG ? whole_register(from->reg) : -1;
	if (state->in_slot) {
		if ((insn->id != X86_INS_MOV && insn->id != X86_INS_PUSH) ||
		    reg < 0 || to->size != 8)
			return false;
		state->in_slot = false;
		state->slot = 0;
		state->reg = reg;
		return true;
	}
	if (to->type != X86_OP_REG || whole_register(to->reg) != state->reg)
		return false;
	switch (insn->id) {
	case X86_INS_POP:
		if (!sites_slot(function, insn->address, REG_RSP, 0,
				&state->slot))
			return false;
		state->in_slot = true;
		state->reg = 0;
		return true;
	case X86_INS_MOV:
		if (reg >= 0) {
			state->reg = reg;
			return true;
		}
		if (from->type != X86_OP_MEM || from->size != 8 ||
		    from->mem.index != X86_REG_INVALID)
			return false;
		reg = whole_register(from->mem.base);
		if (reg < 0 || !sites_slot(function, insn->address, reg,
					   from->mem.disp, &state->slot))
			return false;
		state->in_slot = true;
		state->reg = 0;
		return true;
	case X86_INS_LEA:
		reg = whole_register(from->mem.base);
		if (reg < 0 || from->mem.index != X86_REG_INVALID)
			return false;
		state->reg = reg;
		state->goal.offset[0] += from->mem.disp;
		return true;
	case X86_INS_ADD:
	case X86_INS_SUB:
		if (from->type != X86_OP_IMM || from->imm < INT32_MIN / 2)
			return false;
		state->goal.offset[0] += insn->id == X86_INS_ADD ? from->imm :
								   -from->imm;
		return true;
	default:
		return false;
	}
}

/* One way back, over the instruction at `from'. */
static struct origin origin_over(struct walk *walk, size_t from,
				 struct state state, int depth)
{
	struct function *function = walk->function;
	struct origin made = { .what = ORIGIN_MADE, .index = from };
	uint8_t flow = function->code[from].flow;

	made.added = state.goal.offset[0];
	if (flow == CALL) {
		if (!state.in_slot && !is_kept_by_calls(state.reg))
			return made;
	} else if (flow == NEXT && changes(function, from, state.in_slot,
					   state.reg, state.slot)) {
		/* What a call leaves in a register is made by the call. */
		if (!see_through(walk, from, &state))
			return made;
	}
	return origin_of(walk, from, state, depth + 1);
}

static struct origin origin_of_join(struct walk *walk, size_t index,
				    const struct state *state, int depth)
{
	struct function *function = walk->function;
	uint32_t jump = function->code[index].jump;
	struct visit *seen = seen_before(walk, index, state);
	struct origin origin = { .what = ORIGIN_CYCLE };
	size_t from, place = walk->visited_count;

	if (seen)
		return seen->origin;
	if (!visit(walk, index, state))
		return here(index, state);
	if (falls_through(function, index))
		origin = origin_over(walk, index - 1, *state, depth);
	while (next_jump(function, index, &jump, &from)) {
		struct origin other = origin_over(walk, from, *state, depth);

		if (other.what == ORIGIN_CYCLE)
			continue;
		if (origin.what == ORIGIN_CYCLE) {
			origin = other;
		} else if (!same_origin(&origin, &other) ||
			   origin.added != other.added) {
			/* What relied on this being a circle is not true. */
			walk->visited_count = place + 1;
			origin = here(index, state);
			break;
		}
	}
	walk->visited[place].origin = origin;
	return origin;
}

static struct origin origin_of(struct walk *walk, size_t index,
			       struct state state, int depth)
{
	struct function *function = walk->function;
	struct origin none = { .what = ORIGIN_NONE };

	if (depth > MAX_DEPTH)
		return none;
	for (;; index--) {
		struct origin made = { .what = ORIGIN_MADE };
		const struct instruction *before;

		if (++walk->steps > MAX_STEPS)
			return none;
		if (state.in_slot &&
		    sites_slot_is_open(function, function->code[index].address,
				       state.slot))
			return here(index, &state);
		if (function->code[index].jump != NO_JUMP)
			return origin_of_join(walk, index, &state, depth);
		if (!falls_through(function, index))
			return here(index, &state);
		before = &function->code[index - 1];
		made.index = index - 1;
		made.added = state.goal.offset[0];
		if (before->flow == CALL && !state.in_slot &&
		    !is_kept_by_calls(state.reg))
			return made;
		if (before->flow == NEXT &&
		    changes(function, index - 1, state.in_slot, state.reg,
			    state.slot) &&
		    !see_through(walk, index - 1, &state))
			return made;
	}
}

static struct origin origin_from(struct function *function, size_t index,
				 bool in_slot, int reg, int64_t slot)
{
	struct walk walk = { .function = function };
	struct state state;

	memset(&state, 0, sizeof(state));
	state.in_slot = in_slot;
	state.reg = in_slot ? 0 : reg;
	state.slot = in_slot ? slot : 0;
	return origin_of(&walk, index, state, 0);
}

/* Tries each variable that is there before the instruction. */
static bool name_relative(struct function *function, size_t index,
			  const struct origin *lock, const struct goal *goal,
			  struct found *found)
{
	uint64_t address = function->code[index].address;
	struct origin in_register[REG_COUNT];
	bool traced[REG_COUNT] = { false }, have = false;

	for (size_t i = 0; i < function->first[FRAME_END]; i++) {
		const struct interval *interval = &function->intervals[i];
		bool in_slot = interval->place == IN_FRAME;
		struct origin origin;
		struct goal moved = *goal;
		struct found tried;

		if (address < interval->low || address >= interval->high)
			continue;
		if (in_slot || !traced[interval->reg]) {
			origin = origin_from(function, index, in_slot,
					     interval->reg, interval->offset);
			if (!in_slot) {
				in_register[interval->reg] = origin;
				traced[interval->reg] = true;
			}
		} else {
			origin = in_register[interval->reg];
		}
		if (!same_origin(lock, &origin))
			continue;
		/* register = origin + added; variable = register + offset */
		moved.offset[0] += lock->added - origin.added;
		if (!in_slot)
			moved.offset[0] += -interval->offset;
		if (sites_name_variable(function, interval->variable, &moved,
					&tried))
			sites_keep_best(found, &have, &tried);
	}
	return have;
}

/* A pointer that the function hands to another one: that one's type for it. */
struct passed {
	Dwarf_Die pointee;
	struct origin origin;
};

/* Whether a direct call goes to the function as the source has it. */
static bool is_plain_call(struct function *function,
			  const struct instruction *call)
{
	const struct finder *finder = function->finder;
	uint64_t after = call->address + call->size, target;
	const char *symbol = NULL;
	const uint8_t *bytes;
	int32_t distance;
	size_t size;

	bytes = sites_code_at(finder->image, call->address, &size);
	if (call->flow != CALL || call->size != 5 || !bytes || size < 5 ||
	    bytes[0] != 0xe8)
		return false;
	if (sites_relocation_at(finder->image, after - 4, 4, &symbol,
				&target)) {
		/* Another file's: there are no clones of those. */
		if (symbol)
			return true;
		target += 4;
	} else {
		memcpy(&distance, bytes + 1, 4);
		target = after + (uint64_t)distance;
	}
	return !finder->clone_count ||
	       !bsearch(&target, finder->clones, finder->clone_count,
			sizeof(target), compare_clones);
}

static bool add_passed(struct function *function, size_t index, int reg,
		       Dwarf_Die *pointee)
{
	struct passed passed = { .pointee = *pointee };
	void *list = function->passed;

	passed.origin = origin_from(function, index, false, reg, 0);
	if (passed.origin.what != ORIGIN_MADE &&
	    passed.origin.what != ORIGIN_HERE)
		return true;
	if (!sites_grow(&list, function->passed_count, sizeof(passed),
			function->finder->error))
		return false;
	function->passed = list;
	function->passed[function->passed_count++] = passed;
	return true;
}

/* The arguments of one call that point to structures. */
static bool read_arguments(struct function *function, const struct call *call)
{
	static const unsigned char registers[] = { REG_RDI, REG_RSI, REG_RDX,
						   REG_RCX, 8,	     9 };
	Dwarf_Die die = call->die, callee, parameter;
	size_t index, at = 0;
	int result;

	if (call->operation ||
	    !find_instruction(function, call->after, &index) || !index ||
	    !is_plain_call(function, &function->code[index - 1]) ||
	    !sites_callee(&die, &callee))
		return true;
	result = dwarf_child(&callee, &parameter);
	for (; result == 0 && at < sizeof(registers);
	     result = dwarf_siblingof(&parameter, &parameter)) {
		Dwarf_Die type, pointee, structure;

		if (dwarf_tag(&parameter) != DW_TAG_formal_parameter)
			continue;
		if (!sites_type_of(&parameter, &type) || !sites_peel(&type))
			break;
		/* Others may be in other registers, or in several. */
		if (dwarf_tag(&type) != DW_TAG_pointer_type &&
		    dwarf_tag(&type) != DW_TAG_enumeration_type &&
		    (dwarf_tag(&type) != DW_TAG_base_type ||
		     sites_size_of(&type) > 8 || sites_is_float(&type)))
			break;
		if (sites_pointee(&type, &pointee)) {
			structure = pointee;
			if (sites_peel(&structure) &&
			    dwarf_tag(&structure) == DW_TAG_structure_type &&
			    sites_size_of(&structure) &&
			    !add_passed(function, index - 1, registers[at],
					&pointee))
				return false;
		}
		at++;
	}
	return true;
}

/* By the types that other functions have for what they are handed. */
static bool name_passed(struct function *function, const struct origin *lock,
			const struct goal *goal, struct found *found)
{
	bool have = false;

	if (!function->passed_read) {
		function->passed_read = true;
		for (size_t i = 0; i < function->call_count; i++)
			if (!read_arguments(function, &function->calls[i]))
				return false;
	}
	for (size_t i = 0; i < function->passed_count; i++) {
		struct passed *passed = &function->passed[i];
		struct goal moved = *goal;
		struct found tried;

		if (!same_origin(lock, &passed->origin))
			continue;
		moved.offset[0] += lock->added - passed->origin.added;
		if (!sites_name_type(function, &passed->pointee, &moved,
				     &tried))
			continue;
		/* Two opinions: none is sure. */
		if (have && strcmp(found->path.text, tried.path.text) != 0 &&
		    found->path.members == tried.path.members)
			return false;
		sites_keep_best(found, &have, &tried);
	}
	return have;
}

static bool follow_relative(struct function *function, size_t index, int reg,
			    const struct goal *goal, struct found *found)
{
	struct goal moved = *goal;
	struct origin lock;

	for (int i = 0; i < GOAL_STEPS; i++) {
		const cs_insn *insn;
		const cs_x86_op *from;

		lock = origin_from(function, index, false, reg, 0);
		if (lock.what != ORIGIN_MADE && lock.what != ORIGIN_HERE)
			return false;
		if (name_relative(function, index, &lock, &moved, found) ||
		    name_passed(function, &lock, &moved, found))
			return true;
		/* A pointer that was loaded: try where it was loaded from. */
		if (lock.what != ORIGIN_MADE)
			return false;
		insn = decode(function, lock.index);
		if (!insn || insn->id != X86_INS_MOV)
			return false;
		from = &insn->detail->x86.operands[1];
		if (from->type != X86_OP_MEM || from->size != 8 ||
		    from->mem.index != X86_REG_INVALID)
			return false;
		reg = whole_register(from->mem.base);
		moved.offset[0] += lock.added;
		if (reg < 0 || !push_load(&moved, from->mem.disp))
			return false;
		index = lock.index;
	}
	return false;
}

bool sites_instruction_before(struct function *function, uint64_t after,
			      uint64_t *address, bool *tail)
{
	const struct instruction *code;
	size_t low = 0, high;

	if (!disassemble(function))
		return false;
	code = function->code;
	high = function->code_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code[middle].address < after)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || code[low - 1].address + code[low - 1].size != after ||
	    code[low - 1].flow == NEXT)
		return false;
	*address = code[low - 1].address;
	*tail = code[low - 1].flow != CALL;
	return true;
}

/* Where an instruction calls or jumps to; *is_slot: what stands there says. */
static bool call_target(struct function *function, size_t index,
			uint64_t *address, bool *is_slot)
{
	const cs_insn *insn = decode(function, index);
	const cs_x86_op *to;

	if (!insn || insn->detail->x86.op_count != 1)
		return false;
	to = &insn->detail->x86.operands[0];
	*is_slot = to->type == X86_OP_MEM;
	if (to->type == X86_OP_IMM)
		*address = (uint64_t)to->imm;
	else if (*is_slot && to->mem.base == X86_REG_RIP &&
		 to->mem.index == X86_REG_INVALID)
		*address = insn->address + insn->size + (uint64_t)to->mem.disp;
	else
		return false;
	return true;
}

bool sites_each_target(struct function *function, const struct targets *targets,
		       bool (*each)(struct function *function, uint64_t after,
				    const struct sites_operation *operation))
{
	if (!disassemble(function))
		return false;
	for (size_t i = 0; i < function->code_count; i++) {
		const struct instruction *at = &function->code[i];
		const struct target *target;
		uint64_t address;
		bool is_slot;

		if (at->flow == NEXT ||
		    !call_target(function, i, &address, &is_slot))
			continue;
		target = sites_target(targets, address, is_slot);
		if (target &&
		    !each(function, at->address + at->size, target->operation))
			return false;
	}
	return true;
}

/* Whether a function may be given an integer or a pointer in a register. */
static bool is_parameter(int reg)
{
	return reg == REG_RDI || reg == REG_RSI || reg == REG_RDX ||
	       reg == REG_RCX || reg == 8 || reg == 9;
}

static bool is_entered_at(struct function *function, size_t index)
{
	Dwarf_Addr low = function->bare.low;

	if (function->die.addr && dwarf_entrypc(&function->die, &low) != 0)
		return false;
	return function->code[index].address == low &&
	       function->code[index].jump == NO_JUMP;
}

/*
 * The one instruction that stores to a slot of the frame whose address nobody
 * takes: what the compiler does with parameters when it does not optimise.
 */
static bool only_store(struct function *function, int64_t slot, size_t *index,
		       int *reg)
{
	size_t count = 0;

	for (size_t i = 0; i < function->code_count; i++) {
		const cs_insn *insn;
		const cs_x86_op *from;
		int64_t taken;
		int base;

		if (function->code[i].flow != NEXT)
			continue;
		insn = decode(function, i);
		if (!insn)
			return false;
		from = &insn->detail->x86.operands[1];
		if (insn->id == X86_INS_LEA) {
			base = whole_register(from->mem.base);
			if (base >= 0 &&
			    sites_slot(function, insn->address, base,
				       from->mem.disp, &taken) &&
			    taken <= slot && slot - taken < 64)
				return false;
			continue;
		}
		if (!changes(function, i, true, 0, slot))
			continue;
		insn = decode(function, i);
		from = insn ? &insn->detail->x86.operands[1] : NULL;
		if (count++ || !from || insn->id != X86_INS_MOV ||
		    from->type != X86_OP_REG ||
		    (*reg = whole_register(from->reg)) < 0)
			return false;
		*index = i;
	}
	return count == 1;
}

bool sites_parameter(struct function *function, uint64_t address, int reg,
		     int *from, int64_t *added)
{
	struct origin origin;
	size_t index;

	*added = 0;
	if (!disassemble(function) || function->unclear ||
	    !find_instruction(function, address, &index))
		return false;
	for (int i = 0; i < 2; i++) {
		origin = origin_from(function, index, false, reg, 0);
		if (origin.what != ORIGIN_HERE)
			return false;
		*added += origin.added;
		if (!origin.in_slot) {
			*from = origin.reg;
			return is_parameter(origin.reg) &&
			       is_entered_at(function, origin.index);
		}
		if (!only_store(function, origin.slot, &index, &reg))
			return false;
	}
	return false;
}

bool sites_follow(struct function *function, uint64_t address, int reg,
		  const struct goal *goal, struct found *found)
{
	struct walk walk = { .function = function };
	struct state state;
	size_t index;

	memset(&state, 0, sizeof(state));
	state.reg = reg;
	state.goal = *goal;
	if (!disassemble(function) || !sites_expand(function) ||
	    function->unclear || !find_instruction(function, address, &index))
		return false;
	if (back(&walk, index, state, found, 0) != NAMED &&
	    !follow_relative(function, index, reg, goal, found))
		return false;
	if (found->how == SITES_BY_VARIABLE)
		found->how = SITES_BY_CODE;
	return true;
}

/* ------------------------------------------------------------------------ */
/* What points.c asks of the code                                            */

/* Whether an instruction begins what other code jumps to. */
static bool is_target(const struct function *function, size_t index)
{
	return function->code[index].jump != NO_JUMP;
}

size_t sites_before(struct function *function, uint64_t call,
		    uint64_t *addresses, size_t most)
{
	size_t index, count = 0;

	if (!disassemble(function) || !find_instruction(function, call, &index))
		return 0;
	while (count < most) {
		addresses[count++] = function->code[index].address;
		if (is_target(function, index) ||
		    !falls_through(function, index) ||
		    function->code[index - 1].flow != NEXT)
			break;
		index--;
	}
	return count;
}

size_t sites_behind(struct function *function, uint64_t after, bool result,
		    uint64_t *addresses, size_t most)
{
	size_t index, count = 0;

	if (!disassemble(function) ||
	    !find_instruction(function, after, &index))
		return 0;
	/* Who jumps there has not made the call. */
	while (count < most && !is_target(function, index)) {
		addresses[count++] = function->code[index].address;
		if (function->code[index].flow != NEXT ||
		    (result && changes(function, index, false, REG_RAX, 0)) ||
		    index + 1 >= function->code_count ||
		    !falls_through(function, index + 1))
			break;
		index++;
	}
	return count;
}

/* Whether an instruction changes what a conditional jump looks at. */
static bool writes_flags(struct function *function, const cs_insn *insn)
{
	uint8_t read_count, write_count;
	cs_regs reads, writes;

	if (cs_regs_access(function->finder->detailed, insn, reads, &read_count,
			   writes, &write_count) != CS_ERR_OK)
		return true;
	for (int i = 0; i < write_count; i++)
		if (writes[i] == X86_REG_EFLAGS)
			return true;
	return false;
}

/* The register that is tested for zero in its lower half, or -1. */
static int tested_register(const cs_insn *insn)
{
	const cs_x86_op *one = &insn->detail->x86.operands[0];
	const cs_x86_op *two = &insn->detail->x86.operands[1];
	int bytes, reg;

	if (insn->id != X86_INS_TEST || one->type != X86_OP_REG ||
	    two->type != X86_OP_REG || one->reg != two->reg)
		return -1;
	reg = register_number(one->reg, &bytes);
	return reg >= 0 && bytes == 4 ? reg : -1;
}

/* The register that a result in one of some others is copied to, or -1. */
static int copied_register(const cs_insn *insn, unsigned int holders)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0];
	const cs_x86_op *from = &insn->detail->x86.operands[1];
	int bytes, reg;

	if (insn->id != X86_INS_MOV || to->type != X86_OP_REG ||
	    from->type != X86_OP_REG)
		return -1;
	reg = register_number(from->reg, &bytes);
	if (reg < 0 || bytes < 4 || !(holders >> reg & 1))
		return -1;
	return register_number(to->reg, &bytes);
}

/*
 * The conditional jump that a call's result decides on, in the call's basic
 * block; *equal: it jumps when the result is zero.
 */
static bool find_decision(struct function *function, size_t index,
			  size_t *decision, bool *equal)
{
	unsigned int holders = 1u << REG_RAX;
	bool tested = false;

	/* Who jumps there has not made the call. */
	for (; index < function->code_count && !is_target(function, index);
	     index++) {
		const cs_insn *insn = decode(function, index);
		int copy;

		if (!insn)
			return false;
		if (insn->id == X86_INS_JE || insn->id == X86_INS_JNE) {
			*decision = index;
			*equal = insn->id == X86_INS_JE;
			return tested;
		}
		if (function->code[index].flow != NEXT ||
		    !falls_through(function, index + 1))
			return false;
		if (writes_flags(function, insn)) {
			int reg = tested_register(insn);

			tested = reg >= 0 && (holders >> reg & 1);
		}
		copy = copied_register(insn, holders);
		for (int reg = 0; reg < REG_COUNT; reg++)
			if (changes(function, index, false, reg, 0))
				holders &= ~(1u << reg);
		if (copy >= 0)
			holders |= 1u << copy;
	}
	return false;
}

/* Whether no other code gets to an instruction than a jump from `from'. */
static bool only_from(const struct function *function, size_t index,
		      size_t from)
{
	uint32_t jump = function->code[index].jump;
	Dwarf_Addr low;
	Dwarf_Die die = function->die;
	size_t one, other;

	return dwarf_entrypc(&die, &low) == 0 &&
	       function->code[index].address != low &&
	       !falls_through(function, index) &&
	       next_jump(function, index, &jump, &one) && one == from &&
	       !next_jump(function, index, &jump, &other);
}

size_t sites_decided(struct function *function, uint64_t after, bool zero,
		     uint64_t *addresses, size_t most)
{
	size_t index, decision, count = 0;
	bool equal;

	if (!disassemble(function) || function->unclear ||
	    !find_instruction(function, after, &index) ||
	    !find_decision(function, index, &decision, &equal))
		return 0;
	if (equal == zero) {
		const cs_insn *insn = decode(function, decision);
		uint64_t target;

		if (!insn ||
		    !jump_target(function->finder->image, insn, &target) ||
		    !find_instruction(function, target, &index) ||
		    !only_from(function, index, decision))
			return 0;
	} else {
		index = decision + 1;
		if (index >= function->code_count ||
		    !falls_through(function, index) ||
		    is_target(function, index))
			return 0;
	}
	while (count < most) {
		addresses[count++] = function->code[index].address;
		if (function->code[index].flow != NEXT ||
		    !falls_through(function, index + 1) ||
		    is_target(function, index + 1))
			break;
		index++;
	}
	return count;
}

/* ------------------------------------------------------------------------ */
/*
 * An operation that is inlined, with a call on the way that is seldom taken:
 * it is done by the call or by an instruction on a per-CPU counter.
 */

/* The most instructions tried to either side. */
#define MAX_AROUND 64
#define MAX_DOING 8

struct inlined {
	struct function *function;
	size_t doing[MAX_DOING]; /* one of them does it */
	size_t doing_count;
	bool *reached; /* a mark for each instruction, and the way's work list */
	size_t *list;
};

/* inc, dec, add or sub on %gs:(register): a per-CPU variable of no fixed place. */
static bool is_counting(struct function *function, size_t index)
{
	const cs_insn *insn = decode(function, index);
	const cs_x86_op *to;

	if (!insn || !insn->detail->x86.op_count)
		return false;
	to = &insn->detail->x86.operands[0];
	return (insn->id == X86_INS_INC || insn->id == X86_INS_DEC ||
		insn->id == X86_INS_ADD || insn->id == X86_INS_SUB) &&
	       to->type == X86_OP_MEM && to->mem.segment == X86_REG_GS &&
	       whole_register(to->mem.base) >= 0;
}

static bool is_doing(const struct inlined *inlined, size_t index)
{
	for (size_t i = 0; i < inlined->doing_count; i++)
		if (inlined->doing[i] == index)
			return true;
	return false;
}

static bool find_doing(struct inlined *inlined, Dwarf_Die *instance,
		       size_t call, bool call_does)
{
	struct function *function = inlined->function;
	size_t counting = 0;

	if (call_does)
		inlined->doing[inlined->doing_count++] = call;
	for (size_t i = 0; i < function->code_count; i++) {
		if (i == call ||
		    dwarf_haspc(instance, function->code[i].address) <= 0 ||
		    !is_counting(function, i))
			continue;
		if (inlined->doing_count == MAX_DOING)
			return false;
		inlined->doing[inlined->doing_count++] = i;
		counting++;
	}
	return counting > 0;
}

static void reach(struct inlined *inlined, size_t index, size_t *count)
{
	if (inlined->reached[index])
		return;
	inlined->reached[index] = true;
	inlined->list[(*count)++] = index;
}

/* Adds where an instruction leads to; false: out of the function. */
static bool reach_next(struct inlined *inlined, size_t index, size_t *count)
{
	const struct function *function = inlined->function;
	uint8_t flow = function->code[index].flow;
	bool goes_on = falls_through(function, index + 1), jumps = false;

	if (goes_on)
		reach(inlined, index + 1, count);
	for (size_t i = 0; i < function->jump_count; i++) {
		if (function->jumps[i].from_index != index)
			continue;
		reach(inlined, function->jumps[i].to_index, count);
		jumps = true;
	}
	/* Jumps that lead elsewhere are not in the list. */
	return flow == MAYBE ? goes_on && jumps :
			       flow != SWITCH && (goes_on || jumps);
}

/*
 * Follows all ways from what is in the list, but not on from `stop' (nor,
 * `no_doing', from what does it): whether one leads out of the function.
 */
static bool leads_out(struct inlined *inlined, size_t count, size_t stop,
		      bool no_doing)
{
	bool out = false;

	for (size_t i = 0; i < count; i++) {
		size_t index = inlined->list[i];

		if (index == stop || (no_doing && is_doing(inlined, index)))
			continue;
		out |= !reach_next(inlined, index, &count);
	}
	return out;
}

static void forget(struct inlined *inlined)
{
	memset(inlined->reached, 0, inlined->function->code_count);
}

static bool doing_reached(const struct inlined *inlined)
{
	for (size_t i = 0; i < inlined->doing_count; i++)
		if (inlined->reached[inlined->doing[i]])
			return true;
	return false;
}

/* Where a function is entered. */
static bool find_entry(struct function *function, size_t *index)
{
	Dwarf_Addr low;

	return dwarf_entrypc(&function->die, &low) == 0 &&
	       find_instruction(function, low, index);
}

/*
 * Whether all that come to an instruction have just done it, and all who do it
 * come there, each once.
 */
static bool follows_doing(struct inlined *inlined, size_t entry, size_t at)
{
	size_t count = 0;
	bool out = false;

	/* Nobody comes there without. */
	forget(inlined);
	reach(inlined, entry, &count);
	leads_out(inlined, count, inlined->function->code_count, true);
	if (inlined->reached[at] || is_doing(inlined, at))
		return false;
	/* Who has done it leaves by there alone, and does it once. */
	forget(inlined);
	count = 0;
	for (size_t i = 0; i < inlined->doing_count; i++)
		out |= !reach_next(inlined, inlined->doing[i], &count);
	if (out || leads_out(inlined, count, at, false) ||
	    doing_reached(inlined))
		return false;
	/* Nobody comes there again, but by doing it again. */
	forget(inlined);
	count = 0;
	reach_next(inlined, at, &count);
	leads_out(inlined, count, at, true);
	return !inlined->reached[at];
}

/*
 * Whether all that do it have come by an instruction just before, and all who
 * come there will do it, each once.
 */
static bool precedes_doing(struct inlined *inlined, size_t entry, size_t at)
{
	size_t count = 0;
	bool out;

	forget(inlined);
	reach(inlined, entry, &count);
	leads_out(inlined, count, at, false);
	if (doing_reached(inlined) && !is_doing(inlined, at))
		return false;
	forget(inlined);
	count = 0;
	out = !reach_next(inlined, at, &count);
	if (out ||
	    leads_out(inlined, count, inlined->function->code_count, true) ||
	    inlined->reached[at])
		return false;
	/* Who has done it comes by there before doing it again. */
	forget(inlined);
	count = 0;
	for (size_t i = 0; i < inlined->doing_count; i++)
		reach_next(inlined, inlined->doing[i], &count);
	leads_out(inlined, count, at, false);
	return !doing_reached(inlined);
}

/* Those that lead to an instruction. */
static void reach_back(struct inlined *inlined, size_t index, size_t *count)
{
	const struct function *function = inlined->function;
	uint32_t jump = function->code[index].jump;
	size_t from;

	if (falls_through(function, index))
		reach(inlined, index - 1, count);
	while (next_jump(function, index, &jump, &from))
		reach(inlined, from, count);
}

/* The instructions near the call, the nearest first. */
static size_t find_near(struct inlined *inlined, size_t call, bool behind,
			size_t *near)
{
	size_t count = 0;

	forget(inlined);
	reach(inlined, call, &count);
	for (size_t i = 0; i < count && count < MAX_AROUND; i++) {
		if (behind)
			reach_next(inlined, inlined->list[i], &count);
		else
			reach_back(inlined, inlined->list[i], &count);
	}
	if (count > MAX_AROUND)
		count = MAX_AROUND;
	/* The call itself is no place. */
	for (size_t i = 1; i < count; i++)
		near[i - 1] = inlined->list[i];
	return count ? count - 1 : 0;
}

static size_t find_around(struct inlined *inlined, size_t call, bool behind,
			  uint64_t *addresses, size_t most)
{
	size_t near[MAX_AROUND], entry, near_count, count = 0;
	struct function *function = inlined->function;

	if (!find_entry(function, &entry))
		return 0;
	near_count = find_near(inlined, call, behind, near);
	for (size_t i = 0; i < near_count && count < most; i++)
		if (behind ? follows_doing(inlined, entry, near[i]) :
			     precedes_doing(inlined, entry, near[i]))
			addresses[count++] = function->code[near[i]].address;
	return count;
}

size_t sites_around(struct function *function, Dwarf_Die *instance,
		    uint64_t address, bool call_does, bool behind,
		    uint64_t *addresses, size_t most)
{
	struct inlined inlined = { .function = function };
	size_t call, count = 0;

	if (!disassemble(function) || function->unclear ||
	    !find_instruction(function, address, &call))
		return 0;
	inlined.reached = calloc(function->code_count, 1);
	/* Each is in it once at most. */
	inlined.list = calloc(function->code_count, sizeof(*inlined.list));
	if (inlined.reached && inlined.list &&
	    find_doing(&inlined, instance, call, call_does))
		count = find_around(&inlined, call, behind, addresses, most);
	free(inlined.reached);
	free(inlined.list);
	return count;
}

/* A register that holds the origin's value at an instruction. */
static bool find_holder(struct function *function, size_t index,
			const struct origin *wanted, struct sites_reach *reach)
{
	static const unsigned char order[] = { 3, 6, 12, 13, 14, 15, 5, 0,
					       1, 2, 4,	 8,  9,	 10, 11 };

	for (size_t i = 0; i < sizeof(order); i++) {
		struct origin origin =
			origin_from(function, index, false, order[i], 0);

		if (!same_origin(wanted, &origin))
			continue;
		reach->base = SITES_REGISTER;
		reach->reg = order[i];
		reach->offset = wanted->added - origin.added;
		return true;
	}
	return false;
}

/* The same for the frame's slots that the function stores to. */
static bool find_slot(struct function *function, size_t index,
		      const struct origin *wanted, struct sites_reach *reach)
{
	uint64_t address = function->code[index].address;
	int64_t tried[16];
	size_t count = 0;

	for (size_t i = 0; i < function->code_count && count < 16; i++) {
		struct instruction *at = &function->code[i];
		struct origin origin;
		bool again = false;
		int64_t base;

		if (!at->examined || !at->stores || at->store_bytes != 8 ||
		    at->stores_indexed)
			continue;
		for (size_t j = 0; j < count; j++)
			again |= tried[j] == at->slot;
		if (again)
			continue;
		tried[count++] = at->slot;
		origin = origin_from(function, index, true, 0, at->slot);
		if (!same_origin(wanted, &origin) ||
		    !sites_slot(function, address, REG_RSP, 0, &base))
			continue;
		reach->base = SITES_REGISTER;
		reach->reg = REG_RSP;
		reach->offset = at->slot - base;
		reach->loaded = true;
		reach->then = wanted->added - origin.added;
		return true;
	}
	return false;
}

/* The fixed address that an instruction puts into a register. */
static bool fixed_value(struct function *function, size_t index,
			uint64_t *address)
{
	struct sites_image *image = function->finder->image;
	const cs_insn *insn = decode(function, index);
	const cs_x86_op *from;
	const char *symbol;
	bool relative;

	if (!insn || insn->detail->x86.op_count != 2)
		return false;
	from = &insn->detail->x86.operands[1];
	relative = insn->id == X86_INS_LEA && from->mem.base == X86_REG_RIP &&
		   from->mem.index == X86_REG_INVALID;
	if (!relative &&
	    ((insn->id != X86_INS_MOV && insn->id != X86_INS_MOVABS) ||
	     from->type != X86_OP_IMM))
		return false;
	if (sites_relocation_at(image, insn->address, insn->size, &symbol,
				address)) {
		/* Another file's symbol is anywhere. */
		if (symbol)
			return false;
		if (relative)
			*address += insn->address + insn->size -
				    sites_relocation_place(image, insn->address,
							   insn->size);
		return true;
	}
	*address = relative ? insn->address + insn->size +
				      (uint64_t)from->mem.disp :
			      (uint64_t)from->imm;
	/* A per-CPU variable's is only the begin of its address. */
	return sites_kind(image) == SITES_MODULE ||
	       *address >> 32 == 0xffffffff;
}

/*
 * What is loaded from register + offset, where that register's value can still
 * be had: read again what the source reads.
 */
static bool find_load(struct function *function, size_t index,
		      const struct origin *wanted, struct sites_reach *reach)
{
	const cs_insn *insn = decode(function, wanted->index);
	const cs_x86_op *from;
	struct origin base;
	int64_t offset;
	int reg;

	if (!insn || insn->id != X86_INS_MOV)
		return false;
	from = &insn->detail->x86.operands[1];
	if (from->type != X86_OP_MEM || from->size != 8 ||
	    from->mem.index != X86_REG_INVALID ||
	    from->mem.segment != X86_REG_INVALID)
		return false;
	offset = from->mem.disp;
	reg = whole_register(from->mem.base);
	if (reg < 0)
		return false;
	base = origin_from(function, wanted->index, false, reg, 0);
	if ((base.what != ORIGIN_MADE && base.what != ORIGIN_HERE) ||
	    !find_holder(function, index, &base, reach))
		return false;
	reach->offset += offset;
	reach->loaded = true;
	reach->then = wanted->added;
	return true;
}

bool sites_reach_at(struct function *function, uint64_t call, int64_t past,
		    uint64_t address, struct sites_reach *reach)
{
	struct origin wanted;
	size_t index, from;

	memset(reach, 0, sizeof(*reach));
	if (!disassemble(function) ||
	    !find_instruction(function, address, &index) ||
	    !find_instruction(function, call, &from))
		return false;
	wanted = origin_from(function, from, false, REG_RDI, 0);
	wanted.added -= past;
	if (wanted.what == ORIGIN_MADE &&
	    fixed_value(function, wanted.index, &reach->address)) {
		reach->base = SITES_FIXED;
		reach->address += (uint64_t)wanted.added;
		return true;
	}
	if (wanted.what != ORIGIN_MADE && wanted.what != ORIGIN_HERE)
		return false;
	if (find_holder(function, index, &wanted, reach) ||
	    find_slot(function, index, &wanted, reach))
		return true;
	return wanted.what == ORIGIN_MADE &&
	       find_load(function, index, &wanted, reach);
}
