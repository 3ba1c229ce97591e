/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One out-of-line function, while its lock calls are being named: its scopes,
 * variables, calls and machine code.  Private to libsites.
 */
#ifndef SITES_FUNCTION_H
#define SITES_FUNCTION_H

#include <capstone/capstone.h>

#include "sites_private.h"

/* Registers have DWARF's numbers: rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5, … */
enum {
	REG_RAX,
	REG_RDX,
	REG_RCX,
	REG_RBX,
	REG_RSI,
	REG_RDI,
	REG_RBP,
	REG_RSP,
	REG_COUNT = 16
};

/* The function itself, a block in it, or a function inlined into it. */
struct scope {
	Dwarf_Die die;
	int parent; /* -1: none */
	bool is_inline;
};

struct variable {
	Dwarf_Die die;
	int scope;
	/* Filled with the intervals: its type, and what that points to. */
	Dwarf_Die type;
	uint64_t size;
	bool has_pointee; /* which is a structure */
	Dwarf_Die pointee;
};

/* The lock functions that a unit knows, by where their DIEs are. */
struct callee {
	const void *die;
	const struct sites_operation *operation;
};

struct callees {
	void *unit; /* as in a Dwarf_Die's cu */
	bool of_program;
	struct callee *list;
	size_t count;
};

/*
 * What a program's calls of lock functions lead to; also a function of its own
 * that is given a lock.
 */
struct target {
	uint64_t address;
	bool is_slot; /* the address of the function's address */
	const struct sites_operation *operation;
	int reg; /* that has the lock's address, */
	int64_t past; /* or one in the lock: so much behind its begin */
	const char *function; /* NULL: the operation's */
};

/* A place that the loader fills with a symbol's address. */
struct slot {
	uint64_t address;
	const char *symbol;
	uint64_t value; /* 0: another file's */
};

struct targets {
	struct target *list;
	size_t count;
	struct slot *slots; /* by address */
	size_t slot_count;
};

/* A call, of whatever function. */
struct call {
	Dwarf_Die die;
	int scope;
	uint64_t after;
	const struct sites_operation *operation; /* NULL: not a lock's */
	const char *called; /* NULL: the operation's function */
	int reg; /* its argument, */
	int64_t past; /* and where in the lock that points to */
};

/* Where a variable is, in a range of addresses. */
enum place {
	IN_REGISTER, /* its value is register + offset */
	IN_FRAME, /* it is in memory, at CFA + offset */
	IS_FRAME, /* its value is CFA + offset */
};

/* The groups that intervals are sorted into, after those of the registers. */
enum {
	FRAME_ALWAYS = REG_COUNT, /* IN_FRAME, in the variable's whole scope */
	FRAME_ELSE, /* IN_FRAME */
	FRAME_END, /* IS_FRAME */
	GROUPS
};

struct interval {
	uint64_t low, high;
	int64_t offset;
	uint32_t variable;
	uint8_t place;
	uint8_t reg;
	bool always; /* in its whole scope: its address may be taken */
};

struct instruction {
	uint64_t address;
	uint8_t size;
	uint8_t flow; /* code.c's */
	bool is_nop;
	/* What it changes; looked up when first needed. */
	bool examined;
	bool stores; /* to the frame */
	bool stores_indexed; /* somewhere from the slot on */
	uint8_t store_bytes;
	uint16_t writes; /* a bit for each register */
	uint32_t jump; /* the first of the jumps to it, or NO_JUMP */
	int64_t slot; /* where it stores, from the CFA */
};

#define NO_JUMP UINT32_MAX

struct jump {
	uint64_t to;
	uint64_t from;
	/* Once all are known: what they are in struct function's code. */
	uint32_t to_index, from_index;
};

/* What is done to a value on the way from where it is to the lock. */
#define GOAL_STEPS 6
struct goal {
	enum sites_lock_kind kind;
	bool percpu; /* a CPU's offset has been added */
	bool outer; /* what only wraps the lock is to begin no name */
	int steps; /* pointers followed, plus one */
	int64_t offset
		[GOAL_STEPS]; /* added before each is followed, and at the end */
};

/* A name that was found. */
struct found {
	enum sites_how how;
	struct sites_path path;
	int scope; /* of the variable whose type it is, -1: none */
	uint64_t fixed; /* SITES_BY_SYMBOL: the lock's address */
	const char *declared; /* ... and the variable's file, NULL if unknown */
};

/* What sites_name_type() has answered before. */
#define ANSWERS 8192
struct answer {
	const void *type; /* where its DIE is, NULL: none yet */
	struct goal goal;
	bool good;
	struct found found;
};

/* What a whole run needs; the functions are looked at one after the other. */
/* The code of a function, out-of-line or inlined, in pieces. */
struct range {
	uint64_t low, high;
	int scope;
};

/* Whether a name is one that stap refuses, as found before. */
#define REFUSALS 1024
struct refusal {
	const char *name;
	enum sites_refused kind;
	bool refused;
};

struct finder {
	/* points.c's */
	struct refusal refusals[REFUSALS];
	uint64_t section_low, section_high;
	bool section_refused;

	struct sites_image *image;
	struct sites_error *error;
	struct sites_strings *strings;
	struct sites_globals *globals;
	bool shares; /* the globals, with other threads' images */
	struct targets targets;
	csh boundaries; /* without detail: quick */
	csh detailed;
	cs_insn *instruction; /* the buffers of the two */
	cs_insn *detail;
	bool opened;
	Dwarf_CFI *cfi; /* of .debug_frame */
	Dwarf_CFI *unwind; /* of .eh_frame, or NULL */
	/* Jumps that are not in the code: by static keys, out of a fault. */
	struct jump *hidden;
	size_t hidden_count;
	struct sites_range aside; /* the kernel's .altinstr_aux */
	uint64_t *clones; /* functions whose parameters the compiler changed */
	size_t clone_count;
	struct answer *answers; /* by a hash of type and goal */
};

struct function {
	struct finder *finder;
	Dwarf_Die unit;
	Dwarf_Die die;
	struct sites_range bare; /* its code, where there is no die */
	const char *name;
	const struct callees *callees;

	struct scope *scopes;
	size_t scope_count;
	struct variable *variables;
	size_t variable_count;
	struct call *calls;
	size_t call_count;

	/* Filled when first needed. */
	bool expanded;
	struct interval *intervals; /* by place and register */
	size_t interval_count;
	size_t first[GROUPS + 1]; /* of each group */

	bool disassembled;
	struct instruction *code;
	size_t code_count;
	struct jump *jumps; /* by target */
	size_t jump_count;
	bool unclear; /* jumps from somewhere to somewhere are not known */

	bool passed_read;
	struct passed *passed; /* code.c's: arguments of its calls */
	size_t passed_count;

	bool ranges_read;
	struct range *ranges;
	size_t range_count;

	/* The last frame that was asked for. */
	uint64_t frame_low, frame_high;
	int frame_register;
	int64_t frame_offset;
};

/* variables.c */
bool sites_expand(struct function *function);
/* By the type of what a variable points to. */
bool sites_name_variable(struct function *function, size_t index,
			 const struct goal *goal, struct found *found);
/* Of two names the one with fewer members, then the inner scope's. */
void sites_keep_best(struct found *best, bool *have, const struct found *found);
bool sites_name_register(struct function *function, uint64_t address, int reg,
			 const struct goal *goal, struct found *found);
bool sites_name_slot(struct function *function, uint64_t address, int64_t slot,
		     const struct goal *goal, struct found *found);
bool sites_name_frame(struct function *function, uint64_t address, int64_t slot,
		      const struct goal *goal, struct found *found);
bool sites_name_type(struct function *function, Dwarf_Die *pointee,
		     const struct goal *goal, struct found *found);
bool sites_name_address(struct function *function, uint64_t address,
			const struct goal *goal, struct found *found);
bool sites_name_symbol(struct function *function, const char *symbol,
		       const struct goal *goal, struct found *found);
/*
 * Whether a slot is in a variable that others may write to.  (Those of simple
 * types are not kept, but have no pointers in them.)
 */
bool sites_slot_is_open(struct function *function, uint64_t address,
			int64_t slot);
/* The frame slot of register + offset. */
bool sites_slot(struct function *function, uint64_t address, int reg,
		int64_t offset, int64_t *slot);

/* targets.c */
bool sites_targets_read(struct sites_image *image, struct targets *targets,
			struct sites_error *error);
void sites_targets_free(struct targets *targets);
const struct slot *sites_slot_at(const struct targets *targets,
				 uint64_t address);
/* The lock function that is there, or NULL. */
const struct target *sites_target(const struct targets *targets,
				  uint64_t address, bool is_slot);
/*
 * The calls of functions of the image's own, which are what is to be looked for
 * then, and nothing else; `from' are the image's targets.
 */
bool sites_targets_own(struct sites_image *image, const struct targets *from,
		       const struct target *functions, size_t count,
		       struct targets *targets, struct sites_error *error);
/*
 * Calls `each' for whatever in the code calls or jumps to a target, by the bytes
 * alone, until it returns false; which is what is returned then.
 */
bool sites_scan_targets(struct sites_image *image,
			const struct targets *targets,
			bool (*each)(void *argument, uint64_t after,
				     const struct target *target),
			void *argument);

/* code.c */
/*
 * Calls `each' for the function's calls and jumps out of it that lead to a
 * target, until it returns false.
 */
bool sites_each_target(struct function *function, const struct targets *targets,
		       bool (*each)(struct function *function, uint64_t after,
				    const struct sites_operation *operation));
/* To be called before any function is looked at. */
bool sites_finder_open(struct finder *finder);
void sites_finder_close(struct finder *finder);
/* The call or jump that ends at an address. */
bool sites_instruction_before(struct function *function, uint64_t after,
			      uint64_t *address, bool *tail);
/*
 * Whether what is in a register before an instruction is what the function got
 * in a register, plus a number.
 */
bool sites_parameter(struct function *function, uint64_t address, int reg,
		     int *from, int64_t *added);
/* Names the lock whose address is in a register before an instruction. */
bool sites_follow(struct function *function, uint64_t address, int reg,
		  const struct goal *goal, struct found *found);

/*
 * The addresses of a call's basic block, from the call backwards: whoever gets
 * to one of them makes the call.  How many there are.
 */
size_t sites_before(struct function *function, uint64_t call,
		    uint64_t *addresses, size_t most);
/*
 * Those from behind the call on: whoever gets to one of them has made it.  With
 * `result', only as long as rax still has what the call returned.
 */
size_t sites_behind(struct function *function, uint64_t after, bool result,
		    uint64_t *addresses, size_t most);
/*
 * Those of the block that only those get to for whom the call returned zero,
 * or (not `zero') something else.
 */
size_t sites_decided(struct function *function, uint64_t after, bool zero,
		     uint64_t *addresses, size_t most);
/*
 * The same for an operation that is inlined (`instance') with a call that is
 * made but seldom: whoever gets to one of them does it, call or not, or
 * (`behind') has done it, each once.  `call_does': the call is one way to do it,
 * not only what is done beside it.
 */
size_t sites_around(struct function *function, Dwarf_Die *instance,
		    uint64_t address, bool call_does, bool behind,
		    uint64_t *addresses, size_t most);
/*
 * How the lock of a call can be had at an address of its basic block; the
 * call's argument points `past' the lock's beginning.
 */
bool sites_reach_at(struct function *function, uint64_t call, int64_t past,
		    uint64_t address, struct sites_reach *reach);

/* points.c */
bool sites_find_points(struct function *function, const struct call *found_call,
		       struct sites_call *call);

#endif
