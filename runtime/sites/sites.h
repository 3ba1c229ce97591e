/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libsites: what debug information tells about the locks of a kernel, a
 * kernel module or a program.
 *
 * An image is opened once; everything else is asked of it.  There is no
 * global state: images may be used from several threads, one thread each.
 *
 * Functions that can fail take a struct sites_error, which the caller owns.
 * They return false or NULL then, and error->text is one line that can be
 * shown as it is.  Lists that a function hands out are the caller's and are
 * given back with free(), or with the function named beside them; names and
 * file names in them belong to the image and last until it is closed.
 *
 * Addresses are those of the file, before the kernel or the loader moves it
 * (in a relocatable file, those of libdwfl's layout).
 */
#ifndef SITES_H
#define SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sites_failure {
	SITES_FAILED,
	SITES_NO_DEBUG_INFO, /* the file has none, all else about it is good */
};

struct sites_error {
	enum sites_failure failure;
	char text[512];
};

/* A file with its debug information. */
struct sites_image;

enum sites_kind {
	SITES_KERNEL, /* vmlinux */
	SITES_MODULE, /* a relocatable file: a kernel module */
	SITES_PROGRAM, /* a program or a shared library */
};

/* [low, high) */
struct sites_range {
	uint64_t low;
	uint64_t high;
};

/* ------------------------------------------------------------------------ */
/* image.c, kernel.c: files                                                  */

/*
 * Opens an ELF file for x86-64.  Its debug information may be in the file
 * itself or in a separate file that its build ID or debug link leads to.
 * A file without debug information is an error.
 */
struct sites_image *sites_open(const char *path, struct sites_error *error);

/*
 * The same, but a program or library may have no debug information: of such a
 * one sites_calls(), sites_waiting() and what symbols.c has can be asked.
 */
struct sites_image *sites_open_program(const char *path,
				       struct sites_error *error);

/* Whether there is debug information, and whether all symbols are there. */
bool sites_has_debug_info(const struct sites_image *image);
bool sites_has_symbols(const struct sites_image *image);

/*
 * Opens the kernel image of a release (as `uname -r` says it) from the places
 * where distributions put it.  If the release is the running one, the image
 * has to be the running kernel's own.  If there is none, the error names the
 * package to install.
 */
struct sites_image *sites_open_kernel(const char *release,
				      struct sites_error *error);

/*
 * The same of the system below another root ("": this one), whose kernel is not
 * the running one.
 */
struct sites_image *sites_open_kernel_below(const char *root,
					    const char *release,
					    struct sites_error *error);

void sites_close(struct sites_image *image);

/* The path that the image was opened by. */
const char *sites_path(const struct sites_image *image);

enum sites_kind sites_kind(const struct sites_image *image);

/* The build ID in lower-case hexadecimal, "" if the file has none. */
const char *sites_build_id(const struct sites_image *image);

/*
 * The build ID among the notes that the kernel shows of itself
 * (/sys/kernel/notes) or of a module (notes/.note.gnu.build-id below
 * /sys/module/NAME); "" if there is none, or no room.
 */
void sites_notes_build_id(const char *path, char *id, size_t room);

/* A kernel image's release as `uname -r` says it, "" for other files. */
const char *sites_release(const struct sites_image *image);

/* ------------------------------------------------------------------------ */
/* inlines.c: inlined functions                                              */

/* One place where a function has been inlined. */
struct sites_inline {
	const char *function; /* the inlined function */
	const char *inside; /* the out-of-line function it ended up in */
	const char *call_file; /* where it is called, "?" if unknown */
	int call_line; /* 0 if unknown */
	unsigned int depth; /* 0: inlined directly into `inside' */
	uint64_t entry; /* entry point */
	size_t range_count;
	struct sites_range *ranges; /* all its code, ascending */
};

/*
 * Every instance of `function' that is inlined, at any depth, into the
 * out-of-line function `inside' (in each of that name, if several files have
 * a static one).  No instance, or no such function, is an empty list.
 */
bool sites_inlines(struct sites_image *image, const char *function,
		   const char *inside, struct sites_inline **list,
		   size_t *count, struct sites_error *error);

void sites_inlines_free(struct sites_inline *list, size_t count);

/* ------------------------------------------------------------------------ */
/* lines.c: the line table, and where stap can put a probe                   */

/* A function that an address lies in, out-of-line or inlined. */
struct sites_scope {
	const char *function; /* "?" if it has no name */
	const char *call_file; /* NULL for the out-of-line function */
	int call_line; /* 0 if unknown */
};

/* The functions that an address lies in, the innermost first. */
bool sites_scopes(struct sites_image *image, uint64_t address,
		  struct sites_scope **list, size_t *count,
		  struct sites_error *error);

/* The addresses in a range at which rows of the line table begin, ascending. */
bool sites_rows(struct sites_image *image, struct sites_range range,
		uint64_t **list, size_t *count, struct sites_error *error);

/*
 * Whether `probe kernel.statement(ADDRESS)' is accepted by stap without -g:
 * the address begins a row of the line table, and neither the innermost
 * function there nor its file or section is one that stap refuses.  If not,
 * `why' says what is in the way (or what went wrong).
 */
bool sites_can_probe(struct sites_image *image, uint64_t address,
		     struct sites_error *why);

/* ------------------------------------------------------------------------ */
/* symbols.c: the symbol table                                               */

/* The section that has an address in memory, and its range; NULL if none. */
const char *sites_section(struct sites_image *image, uint64_t address,
			  struct sites_range *range);

/* False if there is no such symbol. */
bool sites_symbol_address(struct sites_image *image, const char *name,
			  uint64_t *address);

/*
 * The name of a function in a range that no other symbol of the file has; what
 * the loader made of its address tells where the range is.  NULL if none.
 */
const char *sites_anchor(struct sites_image *image,
			 const struct sites_range *range, uint64_t *address);

/* What a program's file has to be mapped. */
struct sites_segment {
	uint64_t address;
	uint64_t offset; /* in the file */
	uint64_t bytes; /* there */
};

/*
 * The lowest address of all segments, and the one with code; false if there is
 * none.
 */
bool sites_segments(struct sites_image *image, uint64_t *low,
		    struct sites_segment *code);

/* A per-CPU variable. */
struct sites_percpu {
	const char *name;
	uint64_t offset; /* in the per-CPU area */
	uint64_t size;
};

/*
 * Where per-CPU variables have their addresses; false if there are none.
 */
bool sites_percpu_area(struct sites_image *image, struct sites_range *area);

/*
 * The per-CPU variables that are large enough to hold a lock, by ascending
 * offset; where several names have one offset, the first one's is kept.
 */
bool sites_percpu(struct sites_image *image, struct sites_percpu **list,
		  size_t *count, struct sites_error *error);

/* ------------------------------------------------------------------------ */
/* calls.c: the places where locks are taken and released                    */

enum sites_op {
	SITES_LOCK,
	SITES_TRYLOCK,
	SITES_UNLOCK,
	SITES_DOWNGRADE,
	SITES_WAIT, /* for something that is no lock: a condition, a semaphore, … */
};

enum sites_lock_kind {
	SITES_SPIN, /* spinlock_t and raw_spinlock_t */
	SITES_RWLOCK,
	SITES_MUTEX, /* ww_mutex as well */
	SITES_RWSEM,
	SITES_SEM,
	SITES_RTMUTEX,
	SITES_PERCPU_RWSEM,
	SITES_PTHREAD_MUTEX, /* the first of those of programs; mtx_t as well */
	SITES_PTHREAD_RWLOCK,
	SITES_PTHREAD_SPIN,
	SITES_PTHREAD_COND, /* from here on: what is waited for, but is no lock */
	SITES_PTHREAD_BARRIER,
	SITES_PTHREAD_SEM,
	SITES_PTHREAD_JOIN, /* a thread's end, which has no name */
	SITES_LOCK_KINDS, /* how many there are */
};

/* What a call returns when it has taken the lock. */
enum sites_success {
	SITES_ALWAYS, /* nothing that says so: it always has */
	SITES_NONZERO,
	SITES_ZERO,
};

/* How the name of a call's lock was found. */
enum sites_how {
	SITES_UNKNOWN, /* it was not: the name is "?" */
	SITES_BY_SYMBOL, /* the lock has a fixed address, in a variable */
	SITES_BY_VARIABLE, /* by the type of a variable, at the call */
	SITES_BY_CODE, /* the same, followed back through the machine code */
	SITES_BY_POINTER, /* the name is that of a pointer to the lock */
	SITES_BY_PLACE, /* another call made from the same place in the source */
	SITES_HOWS, /* how many there are */
};

/* Where the address of a lock is when a probe is hit. */
struct sites_reach {
	enum { SITES_NOWHERE, SITES_FIXED, SITES_REGISTER } base;
	uint64_t address; /* SITES_FIXED: the lock */
	int reg; /* else its number in DWARF: rax 0, rdx 1, rcx 2, rbx 3, … */
	int64_t offset; /* lock = register + offset, */
	bool loaded; /* or, then, */
	int64_t then; /* lock = *(register + offset) + then */
};

/* A place for a probe. */
struct sites_point {
	enum {
		SITES_NOT_ASKED, /* SITES_POINTS was not given */
		SITES_GOOD,
		SITES_NO_BLOCK, /* other code gets there too */
		SITES_NO_ROW, /* stap accepts no address there */
		SITES_NO_LOCK, /* the lock's address is not known there */
	} state;
	uint64_t address;
	struct sites_reach reach;
};

/* A call of a lock function. */
struct sites_call {
	uint64_t address; /* of the call or jump instruction */
	uint64_t after; /* of the next instruction */
	bool tail; /* a jump: the lock function returns to our caller */
	uint64_t entry; /* of the function that it is in; 0 unknown */
	enum sites_op op;
	enum sites_lock_kind kind;
	char mode; /* 'x' exclusive, 'r' shared, 'w' writer, '?' not told */
	enum sites_how how;
	/*
	 * The lock is what the function that the call is in was given, and the
	 * calls of that function are in the list.
	 */
	bool by_caller;
	const char *called; /* the lock function, or one that calls it */
	const char *name; /* the lock's NAME, "?" if unknown */
	/*
	 * SITES_BY_SYMBOL: the lock's address, in a per-CPU variable that in
	 * the section, and the file that has the variable; else 0 and NULL.
	 */
	uint64_t fixed;
	const char *declared;
	const char *function; /* the out-of-line function that it is in */
	const char *file; /* the source line with the operation, outside of */
	int line; /* the lock headers; "?" and 0 if unknown */
	/*
	 * The inlined functions that it is in, the innermost first, without
	 * those of the lock headers.
	 */
	const struct sites_scope *chain;
	size_t chain_count;
	/*
	 * The last address before the call, and the first one behind it, that
	 * can be probed; they are in the call's basic block, so nobody gets to
	 * them who does not make the call.  Behind a call that may fail, rax
	 * still has what it returned: see `success'.
	 */
	struct sites_point before;
	struct sites_point behind;
	enum sites_success success;
	/*
	 * Of a call that may fail: the first such address where only those get
	 * to who have the lock, and where only those do who have not.
	 */
	struct sites_point taken;
	struct sites_point failed;
};

struct sites_calls {
	struct sites_call *list; /* by ascending address */
	size_t count;
	size_t unreadable; /* call sites whose code is not what it should be */
	struct sites_strings *strings; /* what the names live in */
};

/* What sites_calls() is to look for beside the names; each takes time. */
enum sites_ask {
	SITES_POINTS = 1, /* where probes can be put */
};

/*
 * Every call of a lock function, from the debug information's call sites, and,
 * in functions of a program that have none (compilers write them when they
 * optimise), from the machine code.
 */
bool sites_calls(struct sites_image *image, unsigned int ask,
		 struct sites_calls *calls, struct sites_error *error);

void sites_calls_free(struct sites_calls *calls);

/* The words: spin, rwlock, …; lock, unlock, …; symbol, variable, … */
const char *sites_kind_name(enum sites_lock_kind kind);
const char *sites_op_name(enum sites_op op);
const char *sites_how_name(enum sites_how how);

/* ------------------------------------------------------------------------ */
/* waiting.c: where a C library waits                                        */

/* A function that waits for a lock, or (SITES_WAIT) for something else. */
struct sites_waiting {
	struct sites_range range;
	enum sites_op op;
	enum sites_lock_kind kind;
	char mode;
};

/*
 * Those that the file itself has, by ascending address, none twice: none unless
 * it is a C library's, or has one linked into it.
 */
bool sites_waiting(struct sites_image *image, struct sites_waiting **list,
		   size_t *count, struct sites_error *error);

/* ------------------------------------------------------------------------ */
/* spin.c: the ways out of the kernel's spinlock slow path                   */

/* An attempt to take a lock whose address is in a register. */
struct sites_attempt {
	uint64_t address;
	/* As instructions number them: 0 rax, 1 rcx, 2 rdx, 3 rbx, … 15 r15. */
	unsigned int lock_register;
};

/*
 * Where a task that waits for a spinlock gets it without any tracepoint.
 * Only addresses that stap can probe are in the lists; the others are counted.
 */
struct sites_spin_exits {
	/*
	 * The first waiter, who spins on the pending bit, is about to store
	 * that it has the lock.
	 */
	uint64_t *pending_end;
	size_t pending_end_count;
	size_t pending_end_refused;
	/*
	 * The test-and-set lock of guests without paravirtual spinlocks: an
	 * attempt is about to be made on a lock that was seen free.  Where
	 * the attempt has succeeded cannot be probed: those rows belong to
	 * functions that stap refuses.  So a wait ends at its last attempt.
	 */
	struct sites_attempt *virt_try;
	size_t virt_try_count;
	size_t virt_try_refused;
};

/* A kernel without such a slow path has empty lists. */
bool sites_spin_exits(struct sites_image *image, struct sites_spin_exits *exits,
		      struct sites_error *error);

void sites_spin_exits_free(struct sites_spin_exits *exits);

#endif
