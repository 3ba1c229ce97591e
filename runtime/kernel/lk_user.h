/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks in user space: what a task that waits in a futex waits for, who
 * holds it, and where in its program it asked.
 *
 * The kernel knows a word only, at which a task sleeps. What it belongs to
 * is told by the functions that the task's own stack leads through, and by
 * the C library's layout of what lies around the word. All of it is read
 * without a lock and without a fault, so a handler in any context can ask.
 */
#ifndef LK_USER_H
#define LK_USER_H

#include <linux/futex.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include "lk_base.h"
#include "lk_wait.h"
#include "lk_names.h"
#include "lk_user_names.h"

/* What a task that sleeps in a futex wait waits for. */
struct lk_user_wait {
	unsigned long uaddr; /* the futex word */
	unsigned long sp; /* of the system call */
	unsigned long lock; /* the lock that it is part of */
	s32 owner; /* tid (global pid namespace) of who holds it; 0: the lock does not tell */
	u8 kind, mode; /* LK_FUTEX, LK_PTHREAD_MUTEX, LK_PTHREAD_RWLOCK */
	bool idle; /* a condition variable, semaphore, barrier, join, event: no lock */
	bool proven; /* the owner is a living thread that shares the memory */
	unsigned long caller; /* user address behind the call of the lock function; 0 unknown */
	u32 place; /* the same, and the lock's name, as places of lk_user_places; */
	u32 name; /* never 0 */
};

/* --- Memory of another task -------------------------------------------------------------- */

/*
 * Another task's memory is read through its page tables, by hand. What makes
 * that safe, though nothing is locked and all of it may change meanwhile:
 * each step, the data's too, is a read of the kernel's direct map by
 * copy_from_kernel_nofault(), which fails where nothing is mapped; an entry
 * that is not present, not the user's or special (which may be a device's
 * memory) ends the walk, and so does one that points beyond the memory that
 * the direct map has. A page table that is given back while we look at it is
 * still memory, whatever it holds by then. So nothing worse can come of a
 * change than data of another page; to keep that out, the walk is done again
 * afterwards and must have led to the same page, of the same memory. Nobody
 * waits for us: interrupts are masked, and a page fault is never taken.
 */
static bool lk_user_walk(const struct mm_struct *mm, unsigned long addr, unsigned long *page,
			 u64 *entry)
{
	unsigned int shift = pgtable_l5_enabled() ? 48 : 39;
	unsigned long table = (unsigned long)lk_peek_pointer(&mm->pgd);
	u64 e;

	for (;; shift -= 9) {
		table += (addr >> shift & 511) * sizeof(e);
		if (table < PAGE_OFFSET || table >= (unsigned long)high_memory ||
		    copy_from_kernel_nofault(&e, (void *)table, sizeof(e)))
			return false;
		if ((e & (_PAGE_PRESENT | _PAGE_USER)) != (_PAGE_PRESENT | _PAGE_USER))
			return false;
		if (shift == PAGE_SHIFT || (shift <= 30 && e & _PAGE_PSE))
			break;
		table = (unsigned long)__va(e & PTE_PFN_MASK);
	}
	if (e & _PAGE_SPECIAL)
		return false;
	*entry = e;
	*page = (unsigned long)__va((e & PTE_PFN_MASK & ~((1ul << shift) - 1)) |
				    (addr & ((1ul << shift) - 1) & PAGE_MASK));
	return *page >= PAGE_OFFSET && *page < (unsigned long)high_memory;
}

/* No more than what is left of a page. */
static bool lk_user_peek_page(const struct task_struct *task, const struct mm_struct *mm,
			      unsigned long addr, void *to, unsigned int bytes)
{
	unsigned long page, again;
	u64 entry, entry_again;

	if (!lk_user_walk(mm, addr, &page, &entry) ||
	    copy_from_kernel_nofault(to, (void *)(page + (addr & ~PAGE_MASK)), bytes))
		return false;
	smp_rmb(); /* the data, then the way to it again */
	return READ_ONCE(task->mm) == mm && lk_user_walk(mm, addr, &again, &entry_again) &&
	       again == page;
}

/*
 * Read a task's memory, from any context. The task must not go away: it is
 * current, or interrupts are masked since it was found. False: it is not all
 * there (unmapped, not present, on its way), and `to` is not to be used.
 */
static bool lk_user_peek(struct task_struct *task, unsigned long addr, void *to, unsigned int bytes)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);

	if (!mm || !bytes || addr >= TASK_SIZE_MAX || bytes > TASK_SIZE_MAX - addr)
		return false;
	if (task == current)
		return !copy_from_user_nofault(to, (const void __user *)addr, bytes);
	while (bytes) {
		unsigned int part = min_t(unsigned long, bytes, PAGE_SIZE - (addr & ~PAGE_MASK));

		if (!lk_user_peek_page(task, mm, addr, to, part))
			return false;
		to += part;
		addr += part;
		bytes -= part;
	}
	return true;
}

/* The registers with which a task came into the kernel; its stack may be going away. */
static bool lk_user_regs(struct task_struct *task, struct pt_regs *regs)
{
	if (!READ_ONCE(task->mm))
		return false;
	return !copy_from_kernel_nofault(regs, task_pt_regs(task), sizeof(*regs));
}

/* --- Files and places in them ------------------------------------------------------------ */

#define LK_USER_FILES 256
#define LK_USER_PLACES 8192 /* a power of two */
#define LK_USER_MAP_SETS 64
#define LK_USER_MAP_WAYS 16

/* A program or library that a waiter's code was seen in. */
struct lk_user_file {
	u64 key; /* 0: free */
	bool ready;
	char name[64];
	unsigned long bytes;
	const struct lk_user_names *names; /* or NULL */
};

static struct lk_user_file lk_user_files[LK_USER_FILES];

/*
 * Code, or a lock variable, of a file: what a record keeps of it is its number
 * here. It is less than 2^31, so where the low half of a kernel address stands,
 * whose highest bit is always set, the two can be told apart.
 */
static u64 lk_user_places[LK_USER_PLACES];
#define LK_PLACE(file, fixed, at) ((u64)((file) + 1) << 40 | (u64)(fixed) << 32 | (u32)(at))
#define LK_PLACE_FILE(p) ((u32)((p) >> 40) - 1)
#define LK_PLACE_FIXED(p) ((p) >> 32 & 1)
#define LK_PLACE_UNKNOWN LK_USER_PLACES /* code that was not found */

static inline bool lk_is_place(unsigned long ip)
{
	return (u32)ip <= LK_PLACE_UNKNOWN && (u32)ip;
}

static u32 lk_user_place(unsigned int file, bool fixed, unsigned long at)
{
	u64 key = LK_PLACE(file, fixed, at);
	u32 slot = hash_64(key, ilog2(LK_USER_PLACES)), i;

	for (i = 0; i < 64; i++) {
		u64 there = READ_ONCE(lk_user_places[slot]);

		if (!there)
			there = cmpxchg(&lk_user_places[slot], 0, key);
		if ((!there || there == key) && slot)
			return slot;
		slot = (slot + 1) & (LK_USER_PLACES - 1);
	}
	return LK_PLACE_UNKNOWN;
}

/* An executable part of a file as a process has it in its memory. */
struct lk_user_map {
	const struct mm_struct *mm;
	unsigned long guard; /* of this mm: its address may come again */
	unsigned long start, end;
	unsigned long offset; /* in the file */
	u32 file;
};

/* What was seen: a task's maps are looked at once for each. */
static struct lk_user_map lk_user_maps[LK_USER_MAP_SETS][LK_USER_MAP_WAYS];
static u32 lk_user_maps_seq[LK_USER_MAP_SETS]; /* odd while one is written */

/*
 * Where things lie in a process is random, so this is as good as a number of its own;
 * and it is another one once a library comes or goes.
 */
static unsigned long lk_user_guard(const struct mm_struct *mm)
{
	unsigned long stack = (unsigned long)lk_peek_pointer(&mm->start_stack);
	unsigned long code = (unsigned long)lk_peek_pointer(&mm->start_code);
	unsigned long exec_pages = (unsigned long)lk_peek_pointer(&mm->exec_vm);

	return stack ^ code << 1 ^ exec_pages << 48;
}

static inline unsigned int lk_user_map_set(const struct mm_struct *mm)
{
	return hash_ptr((void *)mm, ilog2(LK_USER_MAP_SETS));
}

static bool lk_user_map_seen(const struct mm_struct *mm, unsigned long addr,
			     struct lk_user_map *map)
{
	unsigned int set = lk_user_map_set(mm), i;
	u32 seq = smp_load_acquire(&lk_user_maps_seq[set]);

	if (seq & 1)
		return false;
	for (i = 0; i < LK_USER_MAP_WAYS; i++) {
		*map = lk_user_maps[set][i];
		if (map->mm == mm && addr - map->start < map->end - map->start)
			break;
	}
	smp_rmb(); /* pairs with lk_user_map_keep() */
	return i < LK_USER_MAP_WAYS && READ_ONCE(lk_user_maps_seq[set]) == seq &&
	       map->guard == lk_user_guard(mm);
}

static void lk_user_map_keep(const struct lk_user_map *map)
{
	unsigned int set = lk_user_map_set(map->mm), i;
	u32 seq = READ_ONCE(lk_user_maps_seq[set]);
	struct lk_user_map *at = lk_user_maps[set];

	for (i = 0; i < LK_USER_MAP_WAYS; i++)
		if (!memcmp(&at[i], map, sizeof(*map)))
			return;
	if (seq & 1 || cmpxchg(&lk_user_maps_seq[set], seq, seq + 1) != seq)
		return; /* the next event will come */
	smp_wmb(); /* pairs with lk_user_map_seen() */
	for (i = 0; i < LK_USER_MAP_WAYS; i++)
		if (!at[i].mm ||
		    (at[i].mm == map->mm && (at[i].guard != map->guard ||
					     (at[i].start < map->end && map->start < at[i].end))))
			break;
	at[i < LK_USER_MAP_WAYS ? i : seq / 2 % LK_USER_MAP_WAYS] = *map;
	smp_store_release(&lk_user_maps_seq[set], seq + 2);
}

/* A file by the last part of its path and its size; LK_USER_FILES: no room, or no name. */
static u32 lk_user_file_of(const struct file *file)
{
	char name[sizeof(lk_user_files[0].name)];
	unsigned long bytes = i_size_read(file_inode(file));
	const unsigned char *text = lk_peek_pointer(&file->f_path.dentry->d_name.name);
	u64 key = bytes | 1ull << 63;
	unsigned int i, at;

	if (!text || copy_from_kernel_nofault(name, text, sizeof(name)))
		return LK_USER_FILES;
	name[sizeof(name) - 1] = '\0';
	for (i = 0; name[i]; i++)
		key = (key ^ name[i]) * 0x100000001b3ull; /* FNV-1a */
	key |= !key;
	at = key % LK_USER_FILES;
	for (i = 0; i < 16; i++, at = (at + 1) % LK_USER_FILES) {
		struct lk_user_file *f = &lk_user_files[at];
		u64 there = READ_ONCE(f->key);

		if (!there) {
			there = cmpxchg(&f->key, 0, key);
			if (!there) {
				strscpy(f->name, name, sizeof(f->name));
				f->bytes = bytes;
				f->names = lk_user_names_of(name, bytes);
				smp_store_release(&f->ready, true);
				return at;
			}
		}
		if (there == key) /* who put it in may be a moment before its end */
			return smp_load_acquire(&f->ready) ? at : LK_USER_FILES;
	}
	return LK_USER_FILES;
}

/* What the mapping at an address is, where nobody is changing the maps. */
static bool lk_user_map_find(struct mm_struct *mm, unsigned long addr, struct lk_user_map *map)
{
	struct vm_area_struct *vma;
	bool found;

	if (!mmap_read_trylock(mm))
		return false;
	vma = find_vma(mm, addr);
	found = vma && vma->vm_start <= addr && vma->vm_flags & VM_EXEC && vma->vm_file;
	if (found) {
		memset(map, 0, sizeof(*map));
		map->mm = mm;
		map->guard = lk_user_guard(mm);
		map->start = vma->vm_start;
		map->end = vma->vm_end;
		map->offset = vma->vm_pgoff << PAGE_SHIFT;
		map->file = lk_user_file_of(vma->vm_file);
	}
	mmap_read_unlock(mm);
	return found && map->file != LK_USER_FILES;
}

static bool lk_may_look(void)
{
	const struct lk_cpu *cpu = lk_this_cpu();

	return cpu && cpu->may_look;
}

/*
 * The executable mapping that an address of a task is in, if it has not been seen yet.
 * Nothing is waited for: a task's memory is its own as long as its alloc_lock is held,
 * which is tried, as its maps' lock is. Those locks' own probes, if the script has
 * them, are turned away here and counted as skipped.
 *
 * To let go of the maps' lock may wake a writer, which takes a run queue's lock: that may be
 * what the event of a kernel lock is about. So another task's maps are looked at by timers,
 * begin and end probes only (`may_look`), which come in no such place.
 */
static bool lk_user_map_look(struct task_struct *task, unsigned long addr, struct lk_user_map *map)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);
	unsigned long page;
	bool found = false;
	u64 entry;

	if (!mm || !lk_user_walk(mm, addr, &page, &entry) || entry & _PAGE_NX)
		return false;
	if (task == current) {
		found = lk_user_map_find(task->mm, addr, map);
	} else if (lk_may_look() && spin_trylock(&task->alloc_lock)) {
		found = task->mm && lk_user_map_find(task->mm, addr, map);
		spin_unlock(&task->alloc_lock);
	}
	if (found)
		lk_user_map_keep(map);
	return found;
}

static bool lk_user_map_at(struct task_struct *task, unsigned long addr, struct lk_user_map *map)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);

	return mm && (lk_user_map_seen(mm, addr, map) || lk_user_map_look(task, addr, map));
}

static const struct lk_user_names *lk_user_map_names(const struct lk_user_map *map)
{
	return lk_user_files[map->file].names;
}

/* The address as the file has it; by the file's own table, else as linkers usually do. */
static unsigned long lk_user_map_vaddr(const struct lk_user_map *map, unsigned long addr)
{
	const struct lk_user_names *names = lk_user_map_names(map);
	unsigned long offset = addr - map->start + map->offset, vaddr;

	if (names)
		return lk_user_vaddr(names, offset, &vaddr) ? vaddr : 0;
	return addr >> 32 ? offset : addr; /* a program that is not moved has its own addresses */
}

/*
 * The NAME of a place's lock by `locktap prep`, or NULL. A call that waits for a condition
 * is named by that, not by the mutex that it takes again.
 */
static const char *lk_user_place_name(u32 number)
{
	const struct lk_user_names *names;
	const char *name;
	u8 op = LK_UOP_NONE;
	u64 place;

	if (number >= LK_PLACE_UNKNOWN || !lk_user_places[number])
		return NULL;
	place = lk_user_places[number];
	names = lk_user_files[LK_PLACE_FILE(place)].names;
	if (!names)
		return NULL;
	name = LK_PLACE_FIXED(place) ? lk_user_fixed_name(names, names->low + (u32)place) :
				       lk_user_site_name(names, names->low + (u32)place, &op);
	return name && *name && strcmp(name, "?") && op != LK_UOP_IDLE ? name : NULL;
}

/* Whether `locktap prep` has seen a lock of the NAME in any program. */
static bool lk_user_names_have(const char *name)
{
	unsigned int i;
	unsigned long j;

	for (i = 0; i < lk_user_names_nr; i++) {
		const struct lk_user_names *n = lk_user_names[i];

		for (j = 0; j < n->sites_nr; j++)
			if (lk_same_name(n->text + n->sites[j][1], name))
				return true;
		for (j = 0; j < n->fixed_nr; j++)
			if (lk_same_name(n->text + n->fixed[j][1], name))
				return true;
	}
	return false;
}

/* PROGRAM+0xADDRESS, the address as the file has it. */
static void lk_user_place_text(u32 number, char *buf, size_t size)
{
	const struct lk_user_file *f;
	char name[sizeof(f->name)];
	char *p;
	u64 place;

	strscpy(buf, "?", size);
	if (number >= LK_PLACE_UNKNOWN || !lk_user_places[number])
		return;
	place = lk_user_places[number];
	f = &lk_user_files[LK_PLACE_FILE(place)];
	strscpy(name, f->name, sizeof(name));
	for (p = name; *p; p++) /* whatever somebody called it */
		if (*p <= ' ' || *p > '~' || *p == '"' || *p == '\\' || *p == ';')
			*p = '?';
	scnprintf(buf, size, "%s+0x%lx", name, (f->names ? f->names->low : 0) + (u32)place);
}

static u32 lk_user_map_place(const struct lk_user_map *map, unsigned long vaddr, bool fixed)
{
	const struct lk_user_names *names = lk_user_map_names(map);

	return lk_user_place(map->file, fixed, vaddr - (names ? names->low : 0));
}

/* --- Who called the lock function ----------------------------------------------------------- */

#define LK_USER_WORDS 96 /* of the stack that are looked at */
#define LK_USER_NEAR 4096 /* bytes from a lock function's begin to its last part */

/* What the instruction before a return address calls, where it says so itself. */
static unsigned long lk_user_called(struct task_struct *task, unsigned long ip, bool *calls)
{
	unsigned long at = 0, target;
	s32 relative;
	u8 code[16];
	unsigned int n = 0;

	*calls = false;
	if (!lk_user_peek(task, ip - 8, code, 8))
		return 0;
	memcpy(&relative, code + 4, sizeof(relative));
	if (code[3] == 0xe8) { /* call function */
		*calls = true;
		target = ip + relative;
	} else if (code[2] == 0xff && code[3] == 0x15) { /* call *pointer(%rip) */
		*calls = true;
		return lk_user_peek(task, ip + relative, &at, sizeof(at)) ? at : 0;
	} else { /* call *%register, call *offset(%register) */
		*calls = (code[6] == 0xff && (code[7] & 0xf8) == 0xd0) ||
			 (code[5] == 0xff && (code[6] & 0xf8) == 0x50) ||
			 (code[2] == 0xff && (code[3] & 0xf8) == 0x90);
		return 0;
	}
	/* Through the procedure linkage table: (endbr64) (bnd) jmp *pointer(%rip). */
	if (!lk_user_peek(task, target, code, sizeof(code)))
		return target;
	if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		n = 4;
	n += code[n] == 0xf2;
	if (code[n] != 0xff || code[n + 1] != 0x25)
		return target;
	memcpy(&relative, code + n + 2, sizeof(relative));
	return lk_user_peek(task, target + n + 6 + relative, &at, sizeof(at)) ? at : 0;
}

/* What is known of a wait by the functions that it came through. */
struct lk_user_path {
	unsigned long caller; /* behind the call of the lock function */
	unsigned long named; /* the same, or behind the call of a function that is a wrapper of it */
	u8 op; /* LK_UOP_… */
	bool known; /* the caller; its mapping: */
	bool wrapped; /* the caller is in a wrapper */
	struct lk_user_map map;
	struct lk_user_map named_map;
};

/*
 * What the function waits for that is called at a library's boundary, or in one file. One
 * that ends with a jump to a lock function leaves no return address of its own, but it
 * tells the name: *jump.
 */
static u8 lk_user_target_op(struct task_struct *task, unsigned long target, struct lk_user_map *map,
			    unsigned long *jump)
{
	const struct lk_user_names *names;
	u8 op;

	*jump = 0;
	if (!target || !lk_user_map_at(task, target, map))
		return LK_UOP_NONE;
	names = lk_user_map_names(map);
	if (!names)
		return LK_UOP_NONE;
	op = lk_user_function_op(names, lk_user_map_vaddr(map, target), jump);
	if (*jump)
		*jump += lk_user_bias(names, map->start, map->offset);
	return op;
}

/*
 * A word of the stack, once the lock function's caller is known to be a wrapper, which
 * was given the lock. 1: the call that names the lock, or that nothing does.
 */
static int lk_user_outer_word(struct task_struct *task, unsigned long word, unsigned long *pc,
			      struct lk_user_path *path)
{
	const struct lk_user_names *names;
	const char *name = NULL;
	struct lk_user_map map;
	unsigned long target;
	bool calls;
	u8 op;

	target = lk_user_called(task, word, &calls);
	if (!calls || !target || *pc - target >= LK_USER_NEAR || !lk_user_map_at(task, word, &map))
		return 0;
	*pc = word;
	names = lk_user_map_names(&map);
	if (names)
		name = lk_user_site_name(names, lk_user_map_vaddr(&map, word), &op);
	if (name && !*name)
		return 0; /* a wrapper too */
	if (name) {
		path->named = word;
		path->named_map = map;
	}
	return 1;
}

/*
 * A word of the stack: 1 where it is the return address of the call that is looked
 * for. It is not enough that it could be one, since a stack is full of those of calls
 * that are over: the call must be a known one of a lock, or its function must be the
 * one that the place of the system call, or of the inner return address, is in.
 */
static int lk_user_word(struct task_struct *task, unsigned long word, unsigned long *pc,
			const struct lk_user_map *inner, struct lk_user_path *path)
{
	const struct lk_user_names *names;
	const char *name = NULL;
	struct lk_user_map map, jump_map;
	unsigned long target, jump = 0;
	bool calls, inside;
	u8 op = LK_UOP_NONE;

	if (word < PAGE_SIZE || word >= TASK_SIZE_MAX)
		return 0;
	if (path->wrapped)
		return lk_user_outer_word(task, word, pc, path);
	target = lk_user_called(task, word, &calls);
	if (!calls || !lk_user_map_at(task, word, &map))
		return 0;
	names = lk_user_map_names(&map);
	if (names)
		name = lk_user_site_name(names, lk_user_map_vaddr(&map, word), &op);
	if (op == LK_UOP_NONE)
		op = lk_user_target_op(task, target, &jump_map, &jump);
	inside = target && target + LK_USER_NEAR - *pc < 2 * LK_USER_NEAR;
	if (op == LK_UOP_NONE && inside && map.file == inner->file) {
		*pc = word; /* one function of the C library in another */
		return 0;
	}
	if (op == LK_UOP_NONE && (!inside || target - inner->start >= inner->end - inner->start))
		return 0;
	path->caller = path->named = *pc = word;
	path->op = op;
	path->map = path->named_map = map;
	path->known = true;
	if (jump) {
		path->named = jump;
		path->named_map = jump_map;
	}
	path->wrapped = name && !*name;
	return !path->wrapped;
}

/* Is it the program itself, not a library? */
static bool lk_user_is_program(const struct task_struct *task, const struct lk_user_map *map)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);
	unsigned long code = mm ? (unsigned long)lk_peek_pointer(&mm->start_code) : 0;

	return code >= map->start && code < map->end;
}

static void lk_user_path_of(struct task_struct *task, const struct pt_regs *regs,
			    struct lk_user_path *path)
{
	unsigned long words[16], pc = regs->ip, sp = regs->sp;
	struct lk_user_map inner;
	unsigned int i, j;

	memset(path, 0, sizeof(*path));
	if (!lk_user_map_at(task, pc, &inner))
		return;
	for (i = 0; i < LK_USER_WORDS; i += ARRAY_SIZE(words)) {
		if (!lk_user_peek(task, sp + i * sizeof(long), words, sizeof(words)))
			break;
		for (j = 0; j < ARRAY_SIZE(words); j++)
			if (lk_user_word(task, words[j], &pc, &inner, path))
				return;
	}
	if (path->known || lk_user_is_program(task, &inner))
		return;
	/* A library's own lock: the outermost place in it that is sure. */
	path->caller = path->named = pc;
	path->map = path->named_map = inner;
	path->known = true;
}

/* --- What a futex word belongs to ----------------------------------------------------------- */

/* The kernel's command numbers and glibc's layouts; both are kept for ever. */
enum lk_user_form {
	LK_FORM_NONE,
	LK_FORM_WAIT,
	LK_FORM_WAIT_BITSET,
	LK_FORM_PI,
	LK_FORM_IDLE, /* a condition variable's with a PI mutex */
	LK_FORM_SEVERAL, /* several words */
	LK_FORM_OPAQUE, /* of a 32-bit program */
};

struct lk_user_call {
	enum lk_user_form form;
	unsigned long uaddr;
	u32 val;
};

static bool lk_user_is_compat(struct task_struct *task, const struct pt_regs *regs)
{
#ifdef CONFIG_COMPAT
	if (READ_ONCE(task_thread_info(task)->status) & TS_COMPAT)
		return true;
#endif
	return regs->cs == __USER32_CS;
}

static enum lk_user_form lk_user_form_of(unsigned int op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return LK_FORM_WAIT;
	case FUTEX_WAIT_BITSET:
		return LK_FORM_WAIT_BITSET;
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2 */
		return LK_FORM_PI;
	case FUTEX_WAIT_REQUEUE_PI:
		return LK_FORM_IDLE;
	default:
		return LK_FORM_NONE;
	}
}

static void lk_user_compat_call(const struct pt_regs *regs, struct lk_user_call *call)
{
	unsigned int op = regs->cx;

	call->uaddr = (u32)regs->bx;
	call->val = regs->dx;
	if ((regs->orig_ax == 240 || regs->orig_ax == 422) && /* futex, futex_time64 */
	    lk_user_form_of(op) != LK_FORM_NONE)
		call->form = lk_user_form_of(op) == LK_FORM_IDLE ? LK_FORM_IDLE : LK_FORM_OPAQUE;
}

/* The futex wait that a task is in, by the registers that it came with. */
static void lk_user_call_of(struct task_struct *task, const struct pt_regs *regs,
			    struct lk_user_call *call)
{
	u64 waitv[2];

	*call = (struct lk_user_call){ .uaddr = regs->di, .val = regs->dx };
	if (lk_user_is_compat(task, regs)) {
		lk_user_compat_call(regs, call);
		return;
	}
	switch (regs->orig_ax) {
	case 202: /* futex */
		call->form = lk_user_form_of(regs->si);
		break;
	case 449: /* futex_waitv: value and address of the first of several */
		if (!lk_user_peek(task, regs->di, waitv, sizeof(waitv)))
			memset(waitv, 0, sizeof(waitv));
		call->form = LK_FORM_SEVERAL;
		call->val = waitv[0];
		call->uaddr = waitv[1];
		break;
	case 455: /* futex_wait */
		call->form = LK_FORM_WAIT_BITSET;
		call->val = regs->si;
		break;
	}
}

/*
 * The thread that has this number in the task's own pid namespace: its tid in the
 * global one, 0 where there is none. Interrupts are masked, so RCU is held.
 */
static s32 lk_user_thread(struct task_struct *task, u32 nr, bool *shares)
{
	struct pid_namespace *ns = task_active_pid_ns(task);
	struct task_struct *owner;

	*shares = false;
	if (!ns || !nr || nr > PID_MAX_LIMIT)
		return 0;
	owner = pid_task(find_pid_ns(nr, ns), PIDTYPE_PID);
	if (!owner)
		return 0;
	*shares = READ_ONCE(owner->mm) && READ_ONCE(owner->mm) == READ_ONCE(task->mm);
	return owner->pid;
}

/* Of a lock that only threads of one process can hold, or of a shared one. */
static s32 lk_user_thread_of(struct task_struct *task, u32 nr, bool shared)
{
	bool shares;
	s32 owner = lk_user_thread(task, nr, &shares);

	return shares || shared ? owner : 0;
}

/* glibc, nptl: bits/struct_mutex.h, bits/struct_rwlock.h. */
struct lk_pthread_mutex {
	u32 lock; /* 0 free, 1 held, 2 held and waited for; robust and PI: the tid */
	u32 count;
	u32 owner;
	u32 nusers;
	u32 kind;
};

struct lk_pthread_rwlock {
	u32 readers, writers, wrphase_futex, writers_futex;
	u32 pad3, pad4, cur_writer, shared;
	u8 elision, pad1[7];
	u64 pad2;
	u32 flags;
};

#define LK_RWLOCK_PREFERS_WRITERS 2u
#define LK_MUTEX_TYPE 3u
#define LK_MUTEX_ROBUST 16u
#define LK_MUTEX_PI 32u
#define LK_MUTEX_SHARED 128u
#define LK_MUTEX_KINDS \
	(LK_MUTEX_TYPE | LK_MUTEX_ROBUST | LK_MUTEX_PI | 64u | LK_MUTEX_SHARED | 768u)
#define LK_MUSL_HELD 0x80000010u /* a normal mutex of musl, which does not tell */

/*
 * Mutexes that were once seen with an owner. Between two owners the word alone
 * would not tell what it belongs to.
 */
static u32 lk_user_mutexes[1024];

static inline u32 lk_user_mutex_tag(const struct mm_struct *mm, unsigned long lock)
{
	return (u32)(((unsigned long)mm ^ lock) * 0x9e3779b97f4a7c15ull >> 32) | 1;
}

static bool lk_user_mutex_known(const struct mm_struct *mm, unsigned long lock)
{
	u32 tag = lk_user_mutex_tag(mm, lock);

	return READ_ONCE(lk_user_mutexes[tag / 2 % ARRAY_SIZE(lk_user_mutexes)]) == tag;
}

static void lk_user_mutex_learn(const struct mm_struct *mm, unsigned long lock)
{
	u32 tag = lk_user_mutex_tag(mm, lock);

	WRITE_ONCE(lk_user_mutexes[tag / 2 % ARRAY_SIZE(lk_user_mutexes)], tag);
}

static void lk_user_is_mutex(struct lk_user_wait *w, unsigned long lock)
{
	w->kind = LK_PTHREAD_MUTEX;
	w->mode = LK_X;
	w->lock = lock;
	w->idle = false;
}

/* Whoever else has that number by now: only a thread of the process can hold a private lock. */
static void lk_user_is_private(struct lk_user_wait *w)
{
	if (!w->proven)
		w->owner = 0;
}

/* The owner by its number in the program; what is not a thread is not told. */
static void lk_user_owner(struct task_struct *task, struct lk_user_wait *w, u32 nr)
{
	w->owner = lk_user_thread(task, nr, &w->proven);
}

/* By the tid in the word itself: PI, robust, and musl's. */
static bool lk_user_by_word(struct task_struct *task, const struct lk_user_call *call,
			    struct lk_user_wait *w)
{
	struct lk_pthread_mutex m;
	u32 word = call->val, before;

	if (call->form == LK_FORM_PI && !lk_user_peek(task, w->uaddr, &word, sizeof(word)))
		return true; /* it is a lock all the same */
	if (call->form != LK_FORM_PI && !(word & FUTEX_WAITERS))
		return false;
	lk_user_owner(task, w, word & FUTEX_TID_MASK);
	if (lk_user_peek(task, w->uaddr, &m, sizeof(m)) && !(m.kind & ~LK_MUTEX_KINDS) &&
	    m.kind & (call->form == LK_FORM_PI ? LK_MUTEX_PI : LK_MUTEX_ROBUST) && m.nusers &&
	    (!m.owner || m.owner == (word & FUTEX_TID_MASK))) {
		lk_user_is_mutex(w, w->uaddr);
		if (!(m.kind & LK_MUTEX_SHARED))
			lk_user_is_private(w);
		return true;
	}
	if (call->form == LK_FORM_PI) {
		w->idle = false;
		return true;
	}
	if ((w->proven || word == LK_MUSL_HELD) &&
	    lk_user_peek(task, w->uaddr - sizeof(before), &before, sizeof(before)) &&
	    !(before & ~0x8fu) && (word != LK_MUSL_HELD || !(before & 15))) {
		lk_user_is_mutex(w, w->uaddr - sizeof(before));
		if (word == LK_MUSL_HELD) {
			w->owner = 0;
			w->proven = false;
		}
		return true;
	}
	w->owner = 0;
	w->proven = false;
	return false;
}

/* A mutex of glibc that has, or had a moment ago, an owner. */
static bool lk_user_by_mutex(struct task_struct *task, const struct lk_user_call *call, u8 op,
			     struct lk_user_wait *w)
{
	const struct mm_struct *mm = READ_ONCE(task->mm);
	struct lk_pthread_mutex m;

	if (call->val != 2 || !lk_user_peek(task, w->uaddr, &m, sizeof(m)))
		return false;
	if (m.kind & ~LK_MUTEX_KINDS || m.kind & (LK_MUTEX_PI | LK_MUTEX_ROBUST))
		return false;
	lk_user_owner(task, w, m.owner);
	if (w->owner && m.nusers && (w->proven || m.kind & LK_MUTEX_SHARED)) {
		lk_user_mutex_learn(mm, w->uaddr);
	} else if (op != LK_UOP_MUTEX &&
		   !(op == LK_UOP_NONE && lk_user_mutex_known(mm, w->uaddr))) {
		w->owner = 0;
		w->proven = false;
		return false;
	}
	lk_user_is_mutex(w, w->uaddr);
	if (!(m.kind & LK_MUTEX_SHARED))
		lk_user_is_private(w);
	return true;
}

static bool lk_user_rwlock_at(struct task_struct *task, unsigned long lock,
			      struct lk_pthread_rwlock *rw)
{
	return lk_user_peek(task, lock, rw, sizeof(*rw)) && rw->wrphase_futex <= 3 &&
	       rw->writers_futex <= 3 && rw->shared <= 1 && !rw->pad3 && !rw->pad4 && !rw->pad2 &&
	       rw->flags <= 3 && (rw->readers | rw->writers);
}

/*
 * A rwlock of glibc: readers sleep at wrphase_futex while it is 1 (2: somebody
 * sleeps), writers at writers_futex, and the one that is next at wrphase_futex;
 * readers that let a waiting writer go first sleep at `readers`.
 */
static bool lk_user_by_rwlock(struct task_struct *task, const struct lk_user_call *call, u8 op,
			      struct lk_user_wait *w)
{
	static const u8 offsets[] = { 8, 12, 0 };
	struct lk_pthread_rwlock rw;
	unsigned int i, n = op == LK_UOP_NONE ? 2 : 3;
	bool shares;
	s32 writer;

	if (op == LK_UOP_NONE && (call->val != 2 && call->val != 3))
		return false;
	for (i = 0; i < n; i++)
		if (lk_user_rwlock_at(task, w->uaddr - offsets[i], &rw))
			break;
	if (i == n) {
		if (op == LK_UOP_NONE)
			return false;
		rw.cur_writer = rw.shared = 0; /* of another C library */
		i = 2;
	}
	writer = lk_user_thread(task, rw.cur_writer, &shares);
	if (op == LK_UOP_NONE && rw.cur_writer && !shares)
		return false;
	w->kind = LK_PTHREAD_RWLOCK;
	w->mode = op == LK_UOP_WRLOCK	    ? LK_W :
		  op == LK_UOP_RDLOCK	    ? LK_R :
		  i == 0 && (call->val & 1) ? LK_R :
					      LK_W;
	w->lock = w->uaddr - offsets[i];
	w->owner = writer;
	w->proven = shares;
	if (!rw.shared)
		lk_user_is_private(w);
	w->idle = false;
	return true;
}

/*
 * Was the system call made through syscall(), which no C library's own function
 * does? Its last instruction before takes the sixth argument from the stack.
 */
static bool lk_user_by_hand(struct task_struct *task, const struct pt_regs *regs)
{
	u8 code[7];

	return lk_user_peek(task, regs->ip - sizeof(code), code, sizeof(code)) &&
	       !memcmp(code, "\x4c\x8b\x4c\x24\x08\x0f\x05", sizeof(code));
}

/*
 * A lock of the C library's own, or of a program or language that does as it does: 2
 * is "held and waited for". A barrier waits for its round's end in the same way.
 */
static bool lk_user_by_two(struct task_struct *task, const struct pt_regs *regs,
			   const struct lk_user_call *call)
{
	struct {
		u32 in, round, count, shared, out;
	} barrier;

	if (call->val != 2)
		return false;
	if (call->form == LK_FORM_WAIT_BITSET && !lk_user_by_hand(task, regs))
		return false; /* glibc's condition variables may have a 2 there */
	return !lk_user_peek(task, call->uaddr - 4, &barrier, sizeof(barrier)) ||
	       barrier.in < barrier.round || !barrier.count ||
	       barrier.in - barrier.round > barrier.count || (barrier.shared & ~128u);
}

static void lk_user_lock_of(struct task_struct *task, const struct pt_regs *regs,
			    const struct lk_user_call *call, const struct lk_user_path *path,
			    struct lk_user_wait *w)
{
	u8 op = path->op;

	w->uaddr = w->lock = call->uaddr;
	w->kind = LK_FUTEX;
	w->mode = LK_X;
	w->idle = true;
	switch (call->form) {
	case LK_FORM_IDLE:
		return;
	case LK_FORM_SEVERAL:
	case LK_FORM_OPAQUE:
		w->idle = false; /* it cannot be told */
		return;
	default:
		break;
	}
	if (lk_user_by_word(task, call, w) || lk_user_by_mutex(task, call, op, w))
		return;
	if (op == LK_UOP_IDLE)
		return;
	if (op != LK_UOP_MUTEX && lk_user_by_rwlock(task, call, op, w))
		return;
	if (op == LK_UOP_MUTEX)
		lk_user_is_mutex(w, w->uaddr);
	else
		w->idle = !lk_user_by_two(task, regs, call);
}

/* Where the lock function was called, and what names the lock. */
static void lk_user_places_of(const struct lk_user_path *path, struct lk_user_wait *w)
{
	const struct lk_user_names *names;
	unsigned long bias;

	w->caller = path->caller;
	w->place = w->name = LK_PLACE_UNKNOWN;
	if (!path->known)
		return;
	w->place =
		lk_user_map_place(&path->map, lk_user_map_vaddr(&path->map, path->caller), false);
	w->name = lk_user_map_place(&path->named_map,
				    lk_user_map_vaddr(&path->named_map, path->named), false);
	names = lk_user_map_names(&path->map);
	if (!names || lk_user_place_name(w->name))
		return;
	bias = lk_user_bias(names, path->map.start, path->map.offset);
	if (lk_user_fixed_name(names, w->lock - bias))
		w->name = lk_user_map_place(&path->map, w->lock - bias, true);
}

/* Where the present task, at a place in a lock function, was when it called that. */
static void lk_user_caller_of(const struct pt_regs *regs, unsigned long lock,
			      struct lk_user_wait *w)
{
	struct lk_user_path path;

	w->lock = lock;
	lk_user_path_of(current, regs, &path);
	lk_user_places_of(&path, w);
}

/*
 * What a task waits for in a futex; false: it is in no futex wait. The task is
 * current, or one that cannot go away, as for lk_user_peek(). A task that is not
 * asleep does not wait, unless it is current, which is about to.
 */
static bool lk_user_wait_of(struct task_struct *task, struct lk_user_wait *w)
{
	struct lk_user_path path;
	struct lk_user_call call;
	struct pt_regs regs;

	memset(w, 0, sizeof(*w));
	if ((task != current && READ_ONCE(task->__state) == TASK_RUNNING) ||
	    !lk_user_regs(task, &regs))
		return false;
	lk_user_call_of(task, &regs, &call);
	if (call.form == LK_FORM_NONE)
		return false;
	w->sp = regs.sp;
	memset(&path, 0, sizeof(path));
	if (!lk_user_is_compat(task, &regs))
		lk_user_path_of(task, &regs, &path);
	lk_user_lock_of(task, &regs, &call, &path, w);
	lk_user_places_of(&path, w);
	return true;
}

/* The lock's NAME, else the place in its program where it is waited for, else `?`. */
static const char *lk_user_name(const struct lk_user_wait *w, char *buf, size_t size)
{
	const char *name = lk_user_place_name(w->name);

	if (name)
		strscpy(buf, name, size);
	else
		lk_user_place_text(w->place, buf, size);
	return buf;
}

#endif
