/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guarded reads: copies of what a lock protects, made while it is held, for a
 * handler to look at afterwards.
 *
 * A lock is taken by one attempt, never waited for, and let go in the function
 * that took it: SystemTap's own code never runs with it held, so nothing that a
 * handler does can leave it held.  What is taken here is taken as the kernel's
 * own trylock does it, below lockdep and without a preemption count, since the
 * interrupts of this CPU are masked until it is let go.
 *
 * Every address may be wrong: a script has it from the memory of the kernel.
 * So all accesses are such that a fault ends the read, the lock's too.
 */
#ifndef LK_GUARD_H
#define LK_GUARD_H

#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <asm/asm.h>
#include <asm/cpu_entry_area.h>

#include "lk_guard_loss.h"

#ifndef CONFIG_X86_64
#error "locktap: only x86-64 kernels are supported"
#endif

#define LK_GUARD_BYTES 4096 /* of one read */
#define LK_GUARD_ENTRIES 64 /* of a list, and parts of a read */
/* Of the copies of one handler; a ring of them for each CPU. */
#define LK_GUARD_ARENA (28 * 1024)

/* What a guard is made of: the lock's address, three bits up, and one of these. */
enum lk_guard_kind {
	LK_GUARD_NONE,
	LK_GUARD_SPIN, /* raw ones too: the word is the same */
	LK_GUARD_RWLOCK,
	LK_GUARD_MUTEX,
	LK_GUARD_RWSEM,
	LK_GUARD_RTMUTEX,
	LK_GUARD_SPIN_HELD, /* by the code that the probe is in, as the script says */
	LK_GUARD_RWLOCK_HELD,
};

/* What became of a read; all but the first are aborts. */
enum lk_guard_end {
	LK_GUARD_DONE,
	LK_GUARD_BUSY, /* the lock was not to be had */
	LK_GUARD_CHANGED, /* it was taken meanwhile, or what leads to the object was another */
	LK_GUARD_FREE, /* it was said to be held, and was not */
	LK_GUARD_NMI,
	LK_GUARD_FAULT, /* an address was wrong */
	LK_GUARD_FULL, /* too much for one read, or for one handler */
	LK_GUARD_ENDS
};

static const char *const lk_guard_words[LK_GUARD_ENDS] = {
	"read", "busy", "changed", "not held", "in an NMI", "bad address", "too large",
};

/* Before each copy. */
struct lk_guard_head {
	u32 entries; /* of a list, of an array */
	u32 unguarded; /* no lock was held meanwhile */
	u64 pad;
};

struct lk_guard_part {
	unsigned long from, bytes;
	void *to;
};

/* A pointer that the parts' addresses were made from. */
struct lk_guard_link {
	unsigned long at, value;
};

/* What is to be read under one hold of a lock. */
struct lk_guard_plan {
	s64 guard;
	u32 nparts, nlinks;
	bool bad; /* does not fit in */
	struct lk_guard_part parts[LK_GUARD_ENTRIES];
	struct lk_guard_link links[LK_GUARD_ENTRIES];
};

/* Where a handler is: what of SystemTap's context is needed. */
struct lk_guard_at {
	const char *point;
	const void *regs;
	int remaining; /* what the handler may still do, of which each read is a part */
	bool breakpoint;
};

/* In a function body only, where SystemTap's context is known. */
#ifdef STAP_SUPPRESS_TIME_LIMITS_ENABLE
#define LK_GUARD_REMAINING(c) 0
#else
#define LK_GUARD_REMAINING(c) ((c)->actionremaining--)
#endif
#define LK_GUARD_IS_KPROBE(c) \
	((c)->probe_type == stp_probe_type_kprobe || (c)->probe_type == stp_probe_type_kretprobe)
#define LK_GUARD_AT(c)                                                               \
	(&(struct lk_guard_at){ .point = (c)->probe_point,                           \
				.regs = (c)->kregs,                                  \
				.remaining = LK_GUARD_REMAINING(c),                  \
				.breakpoint = LK_GUARD_IS_KPROBE(c) && (c)->kregs && \
					      (c)->kregs->orig_ax == LK_GUARD_NO_ERROR })

/* What an exception without an error code has in the place of one; ftrace has another. */
#define LK_GUARD_NO_ERROR (~0ul)

struct lk_guard_cpu {
	u64 ends[LK_GUARD_ENDS];
	/* The handler that the newest copies are for, and how much of the ring they take. */
	const char *point;
	const void *regs;
	const struct task_struct *task;
	int remaining;
	u32 taken;
	u32 next; /* where the next copy goes */
	struct lk_guard_plan plan;
	unsigned char arena[LK_GUARD_ARENA] __aligned(16);
};

#define LK_GUARD_ORDER get_order(sizeof(struct lk_guard_cpu))

static struct lk_guard_cpu **lk_guard_cpus;

static struct lk_guard_cpu *lk_guard_this_cpu(void)
{
	unsigned int cpu = smp_processor_id();

	return lk_guard_cpus && cpu < nr_cpu_ids ? lk_guard_cpus[cpu] : NULL;
}

/* ------------------------------------------------------------------------ */
/* Setting up                                                                */

static void lk_guard_add_up(u64 *reads, u64 *aborts)
{
	unsigned int cpu, end;

	*reads = *aborts = 0;
	for (cpu = 0; lk_guard_cpus && cpu < nr_cpu_ids; cpu++) {
		if (!lk_guard_cpus[cpu])
			continue;
		*reads += lk_guard_cpus[cpu]->ends[LK_GUARD_DONE];
		for (end = LK_GUARD_DONE + 1; end < LK_GUARD_ENDS; end++)
			*aborts += lk_guard_cpus[cpu]->ends[end];
	}
}

static u64 lk_guard_ended(enum lk_guard_end end)
{
	unsigned int cpu;
	u64 sum = 0;

	for (cpu = 0; lk_guard_cpus && cpu < nr_cpu_ids; cpu++)
		if (lk_guard_cpus[cpu])
			sum += lk_guard_cpus[cpu]->ends[end];
	return sum;
}

static void lk_guard_fini(void)
{
	struct lk_guard_cpu **cpus = lk_guard_cpus;
	unsigned int cpu;

	lk_guard_cpus = NULL;
	if (!cpus)
		return;
	for_each_possible_cpu(cpu)
		free_pages((unsigned long)cpus[cpu], LK_GUARD_ORDER);
	kfree(cpus);
}

/* In a begin probe, which runs with interrupts masked. */
static bool lk_guard_init(void)
{
	unsigned int cpu;

	lk_guard_sum = lk_guard_add_up;
	lk_guard_cpus = kcalloc(nr_cpu_ids, sizeof(*lk_guard_cpus), GFP_NOWAIT | __GFP_NOWARN);
	if (!lk_guard_cpus)
		return false;
	for_each_possible_cpu(cpu) {
		lk_guard_cpus[cpu] = (void *)__get_free_pages(
			GFP_NOWAIT | __GFP_ZERO | __GFP_NOWARN, LK_GUARD_ORDER);
		if (!lk_guard_cpus[cpu]) {
			lk_guard_fini();
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------ */
/* Where we are                                                              */

/*
 * The stacks that the processor itself switches to lie in one area: that of an
 * NMI (but for one that came in user space, where no lock is held), and those of
 * other exceptions that can come anywhere.
 */
static bool lk_guard_on_exception_stack(void)
{
	unsigned long sp = (unsigned long)__builtin_frame_address(0);

	return sp >= CPU_ENTRY_AREA_BASE && sp - CPU_ENTRY_AREA_BASE < CPU_ENTRY_AREA_MAP_SIZE;
}

/* The count of what was interrupted: a kprobe's breakpoint counts as an NMI. */
static unsigned long lk_guard_count(const struct lk_guard_at *at)
{
	unsigned long count = preempt_count();

	if (at->breakpoint && count & NMI_MASK)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return count;
}

static bool lk_guard_in_nmi(const struct lk_guard_at *at)
{
	return lk_guard_count(at) & NMI_MASK || lk_guard_on_exception_stack();
}

/* What `current' holds, the code that runs holds: it is no interrupt. */
static bool lk_guard_in_task(const struct lk_guard_at *at)
{
	return !(lk_guard_count(at) & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

/* ------------------------------------------------------------------------ */
/* Room for copies                                                           */

/*
 * Copies stay until the handler ends, so its own are never overwritten by later
 * ones.  The same handler may have run for another event before: then it may
 * do as much as it could there again, or more.
 */
static void lk_guard_event(struct lk_guard_cpu *g, const struct lk_guard_at *at)
{
	if (g->point != at->point || g->regs != at->regs || g->task != current ||
	    at->remaining >= g->remaining)
		g->taken = 0;
	g->point = at->point;
	g->regs = at->regs;
	g->task = current;
	g->remaining = at->remaining;
}

/* For a copy of so many bytes, with zeroes behind it: a string ends there. NULL: no room. */
static struct lk_guard_head *lk_guard_room(struct lk_guard_cpu *g, unsigned long bytes)
{
	u32 whole = ALIGN(sizeof(struct lk_guard_head) + bytes + 8, 16);
	u32 at = g->next, skipped = 0;
	struct lk_guard_head *head;

	if (at + whole > LK_GUARD_ARENA) {
		skipped = LK_GUARD_ARENA - at;
		at = 0;
	}
	if (g->taken + skipped + whole > LK_GUARD_ARENA)
		return NULL;
	head = (void *)(g->arena + at);
	memset(head, 0, sizeof(*head));
	memset((char *)(head + 1) + bytes, 0, 8);
	g->next = at + whole;
	g->taken += skipped + whole;
	return head;
}

/* NULL: not a copy of this handler's CPU. */
static const struct lk_guard_head *lk_guard_head(unsigned long copy)
{
	const struct lk_guard_cpu *g = lk_guard_this_cpu();
	unsigned long at;

	if (!g || copy < (unsigned long)g->arena)
		return NULL;
	at = copy - (unsigned long)g->arena;
	if (at % 16 || at < sizeof(struct lk_guard_head) || at >= LK_GUARD_ARENA)
		return NULL;
	return (const struct lk_guard_head *)copy - 1;
}

/* ------------------------------------------------------------------------ */
/* Under the lock                                                            */

/*
 * What is not, the processor may not tell by a page fault but in a way that the
 * kernel complains of.
 */
static bool lk_guard_in_kernel(unsigned long at)
{
	return (long)at >> __VIRTUAL_MASK_SHIFT == -1;
}

static enum lk_guard_end lk_guard_fetch(void *to, unsigned long from, unsigned long bytes)
{
	if (!lk_guard_in_kernel(from))
		return LK_GUARD_FAULT;
	return copy_from_kernel_nofault(to, (const void *)from, bytes) ? LK_GUARD_FAULT :
									 LK_GUARD_DONE;
}

/* A list's first entries, each whole; it may be damaged, so their number is bounded. */
struct lk_guard_list {
	unsigned long head;
	unsigned long offset; /* of its list_head in an entry */
	unsigned long bytes; /* of an entry */
	u32 most;
	u32 entries;
	char *to;
};

static enum lk_guard_end lk_guard_fetch_list(struct lk_guard_list *list)
{
	unsigned long at;

	if (lk_guard_fetch(&at, list->head, sizeof(at)))
		return LK_GUARD_FAULT;
	for (list->entries = 0; at != list->head && list->entries < list->most; list->entries++) {
		char *to = list->to + list->entries * list->bytes;

		if (lk_guard_fetch(to, at - list->offset, list->bytes))
			return LK_GUARD_FAULT;
		memcpy(&at, to + list->offset, sizeof(at));
	}
	return LK_GUARD_DONE;
}

static enum lk_guard_end lk_guard_fetch_plan(const struct lk_guard_plan *plan)
{
	unsigned long now;
	u32 i;

	for (i = 0; i < plan->nlinks; i++) {
		if (lk_guard_fetch(&now, plan->links[i].at, sizeof(now)))
			return LK_GUARD_FAULT;
		if (now != plan->links[i].value)
			return LK_GUARD_CHANGED;
	}
	for (i = 0; i < plan->nparts; i++) {
		const struct lk_guard_part *part = &plan->parts[i];

		if (part->bytes && lk_guard_fetch(part->to, part->from, part->bytes))
			return LK_GUARD_FAULT;
	}
	return LK_GUARD_DONE;
}

/* What is to be done with the lock held: one of the two. */
struct lk_guard_work {
	const struct lk_guard_plan *plan;
	struct lk_guard_list *list;
	bool unguarded; /* result: no lock was held */
};

static enum lk_guard_end lk_guard_do(const struct lk_guard_work *work)
{
	return work->list ? lk_guard_fetch_list(work->list) : lk_guard_fetch_plan(work->plan);
}

/* ------------------------------------------------------------------------ */
/* Locks that spin                                                           */

/* Puts `new' where `old' is; a lock's word that cannot be written is a fault. */
static enum lk_guard_end lk_guard_swap(unsigned long lock, u32 *old, u32 new)
{
	u32 found = *old;
	int fault = 1;

	asm volatile("1: lock cmpxchgl %[new], %[word]\n"
		     "   xorl %[fault], %[fault]\n"
		     "2:\n" _ASM_EXTABLE(1b, 2b)
		     : [word] "+m"(*(u32 *)lock), "+a"(found), [fault] "+r"(fault)
		     : [new] "r"(new)
		     : "memory", "cc");
	if (fault)
		return LK_GUARD_FAULT;
	if (found == *old)
		return LK_GUARD_DONE;
	*old = found;
	return LK_GUARD_BUSY;
}

static enum lk_guard_end lk_guard_spin(unsigned long lock, const struct lk_guard_work *work)
{
	enum lk_guard_end end;
	u32 free = 0;

	end = lk_guard_swap(lock, &free, _Q_LOCKED_VAL);
	if (end)
		return end;
	end = lk_guard_do(work);
	arch_spin_unlock((arch_spinlock_t *)lock);
	return end;
}

/* As a reader; other readers may come and go between the look and the attempt. */
static enum lk_guard_end lk_guard_rwlock(unsigned long lock, const struct lk_guard_work *work)
{
	enum lk_guard_end end = LK_GUARD_BUSY;
	unsigned int tries;
	u32 count;

	if (lk_guard_fetch(&count, lock, sizeof(count)))
		return LK_GUARD_FAULT;
	for (tries = 0; tries < 4 && end == LK_GUARD_BUSY; tries++) {
		if (count & (_QW_WAITING | _QW_LOCKED))
			return LK_GUARD_BUSY;
		end = lk_guard_swap(lock, &count, count + _QR_BIAS);
	}
	if (end)
		return end;
	end = lk_guard_do(work);
	arch_read_unlock((arch_rwlock_t *)lock);
	return end;
}

/* The lock is the business of the code that the probe is in, but somebody must hold it. */
static enum lk_guard_end lk_guard_held(unsigned long lock, u32 bits,
				       const struct lk_guard_work *work)
{
	enum lk_guard_end end;
	u32 word;

	if (lk_guard_fetch(&word, lock, sizeof(word)))
		return LK_GUARD_FAULT;
	if (!(word & bits))
		return LK_GUARD_FREE;
	end = lk_guard_do(work);
	if (end || lk_guard_fetch(&word, lock, sizeof(word)))
		return end ? end : LK_GUARD_FAULT;
	return word & bits ? LK_GUARD_DONE : LK_GUARD_FREE;
}

/* ------------------------------------------------------------------------ */
/* Locks that sleep                                                          */

/* Who can change what the lock protects. */
struct lk_guard_owner {
	bool is_held;
	unsigned long task;
	unsigned long word; /* another one: it has been taken meanwhile */
};

#ifdef CONFIG_PREEMPT_RT
/* They are others there, and the tapset does not take them for what they are here. */
static enum lk_guard_end lk_guard_owner(enum lk_guard_kind kind, unsigned long lock,
					struct lk_guard_owner *owner)
{
	return LK_GUARD_BUSY;
}
#else
/* The low bits of an owner's word are flags, and a reader's name does not count. */
static enum lk_guard_end lk_guard_owner(enum lk_guard_kind kind, unsigned long lock,
					struct lk_guard_owner *owner)
{
	unsigned long at = lock, word, count;

	if (kind == LK_GUARD_RTMUTEX)
		at += offsetof(struct rt_mutex_base, owner);
	else if (kind == LK_GUARD_RWSEM)
		at += offsetof(struct rw_semaphore, owner);
	else
		at += offsetof(struct mutex, owner);
	if (lk_guard_fetch(&word, at, sizeof(word)))
		return LK_GUARD_FAULT;
	owner->task = word & ~7ul;
	owner->is_held = owner->task != 0;
	owner->word = word;
	if (kind != LK_GUARD_RWSEM)
		return LK_GUARD_DONE;
	at = lock + offsetof(struct rw_semaphore, count);
	if (lk_guard_fetch(&count, at, sizeof(count)))
		return LK_GUARD_FAULT;
	owner->is_held = count & 1; /* by a writer */
	owner->word = 0; /* readers come and go, and change nothing */
	if (word & 1)
		owner->task = 0;
	return LK_GUARD_DONE;
}
#endif

/*
 * Nothing here can take such a lock.  If the code that the probe is in holds it,
 * no more is needed; else the copy stands if nobody was seen to hold it before
 * or after.
 */
static enum lk_guard_end lk_guard_sleeping(enum lk_guard_kind kind, unsigned long lock,
					   const struct lk_guard_at *at, struct lk_guard_work *work)
{
	struct lk_guard_owner before, after;
	enum lk_guard_end end;

	end = lk_guard_owner(kind, lock, &before);
	if (end)
		return end;
	if (before.is_held) {
		if (before.task != (unsigned long)current || !lk_guard_in_task(at))
			return LK_GUARD_BUSY;
		return lk_guard_do(work);
	}
	smp_rmb(); /* pairs with the lock's own: what is read is read between the two looks */
	end = lk_guard_do(work);
	smp_rmb();
	if (!end)
		end = lk_guard_owner(kind, lock, &after);
	if (end)
		return end;
	work->unguarded = true;
	return after.is_held || after.word != before.word ? LK_GUARD_CHANGED : LK_GUARD_DONE;
}

/* ------------------------------------------------------------------------ */
/* Reads                                                                     */

static enum lk_guard_end lk_guard_work(const struct lk_guard_at *at, s64 guard,
				       struct lk_guard_work *work)
{
	unsigned long lock = guard >> 3, flags;
	enum lk_guard_kind kind = guard & 7;
	enum lk_guard_end end;

	if (lk_guard_in_nmi(at))
		return LK_GUARD_NMI;
	/* A word that is not aligned could lie in two lines: no atomic access then. */
	if (!lk_guard_in_kernel(lock) || lock & 3)
		return LK_GUARD_FAULT;
	raw_local_irq_save(flags);
	switch (kind) {
	case LK_GUARD_SPIN:
		end = lk_guard_spin(lock, work);
		break;
	case LK_GUARD_RWLOCK:
		end = lk_guard_rwlock(lock, work);
		break;
	case LK_GUARD_SPIN_HELD:
		end = lk_guard_held(lock, _Q_LOCKED_MASK, work);
		break;
	case LK_GUARD_RWLOCK_HELD:
		end = lk_guard_held(lock, ~_QW_WAITING, work);
		break;
	case LK_GUARD_NONE:
		end = LK_GUARD_FAULT;
		break;
	default:
		end = lk_guard_sleeping(kind, lock, at, work);
	}
	raw_local_irq_restore(flags);
	return end;
}

/* Counts the read; the copy's address, or 0. */
static unsigned long lk_guard_end(struct lk_guard_cpu *g, enum lk_guard_end end,
				  struct lk_guard_head *head, u32 entries, bool unguarded)
{
	g->ends[end]++;
	if (end)
		return 0;
	head->entries = entries;
	head->unguarded = unguarded;
	return (unsigned long)(head + 1);
}

/* Begins a read under one guard, whose parts and links follow. */
static void lk_guard_plan(s64 guard)
{
	struct lk_guard_cpu *g = lk_guard_this_cpu();

	if (!g)
		return;
	g->plan.guard = guard;
	g->plan.nparts = g->plan.nlinks = 0;
	g->plan.bad = false;
}

/* Of no bytes: what is in no memory, and has a number all the same. */
static void lk_guard_plan_part(unsigned long from, unsigned long bytes)
{
	struct lk_guard_cpu *g = lk_guard_this_cpu();
	struct lk_guard_plan *plan;

	if (!g)
		return;
	plan = &g->plan;
	if (plan->nparts >= LK_GUARD_ENTRIES || bytes > LK_GUARD_BYTES) {
		plan->bad = true;
		return;
	}
	plan->parts[plan->nparts].from = from;
	plan->parts[plan->nparts++].bytes = bytes;
}

/* A pointer at that address must still have that value; an array is its own address. */
static void lk_guard_plan_link(unsigned long at, unsigned long value)
{
	struct lk_guard_cpu *g = lk_guard_this_cpu();
	struct lk_guard_plan *plan;

	if (!g || at == value)
		return;
	plan = &g->plan;
	if (plan->nlinks >= LK_GUARD_ENTRIES) {
		plan->bad = true;
		return;
	}
	plan->links[plan->nlinks].at = at;
	plan->links[plan->nlinks++].value = value;
}

/* Makes the read: each part is then at a multiple of 16 bytes, in their order. */
static unsigned long lk_guard_plan_read(const struct lk_guard_at *at, u32 entries)
{
	struct lk_guard_cpu *g = lk_guard_this_cpu();
	struct lk_guard_work work = { 0 };
	struct lk_guard_head *head;
	struct lk_guard_plan *plan;
	unsigned long bytes = 0;
	enum lk_guard_end end;
	char *to;
	u32 i;

	if (!g)
		return 0;
	plan = &g->plan;
	lk_guard_event(g, at);
	for (i = 0; i < plan->nparts; i++)
		bytes += ALIGN(plan->parts[i].bytes + 8, 16);
	if (plan->bad || bytes > LK_GUARD_BYTES + 32 * LK_GUARD_ENTRIES)
		return lk_guard_end(g, LK_GUARD_FULL, NULL, 0, false);
	head = lk_guard_room(g, bytes);
	if (!head)
		return lk_guard_end(g, LK_GUARD_FULL, NULL, 0, false);
	to = (char *)(head + 1);
	for (i = 0; i < plan->nparts; i++) {
		plan->parts[i].to = to;
		memset(to + plan->parts[i].bytes, 0, 8);
		to += ALIGN(plan->parts[i].bytes + 8, 16);
	}
	work.plan = plan;
	end = lk_guard_work(at, plan->guard, &work);
	return lk_guard_end(g, end, head, entries, work.unguarded);
}

/* Where the part of that number was put by the last such read. */
static unsigned long lk_guard_plan_copy(u32 part)
{
	struct lk_guard_cpu *g = lk_guard_this_cpu();

	return g && part < g->plan.nparts ? (unsigned long)g->plan.parts[part].to : 0;
}

/* `entries' things one behind the other. */
static unsigned long lk_guard_read(const struct lk_guard_at *at, s64 guard, unsigned long from,
				   unsigned long bytes, s64 entries)
{
	bool fits = entries > 0 && entries <= LK_GUARD_BYTES && bytes && bytes <= LK_GUARD_BYTES &&
		    bytes * entries <= LK_GUARD_BYTES;

	lk_guard_plan(guard);
	lk_guard_plan_part(from, fits ? bytes * entries : LK_GUARD_BYTES + 1);
	return lk_guard_plan_read(at, entries);
}

static unsigned long lk_guard_read_list(const struct lk_guard_at *at, s64 guard, unsigned long head,
					unsigned long offset, unsigned long bytes, s64 most)
{
	struct lk_guard_cpu *g = lk_guard_this_cpu();
	struct lk_guard_list list = { .head = head, .offset = offset, .bytes = bytes };
	struct lk_guard_work work = { .list = &list };
	struct lk_guard_head *copy = NULL;
	enum lk_guard_end end = LK_GUARD_FULL;

	if (!g)
		return 0;
	lk_guard_event(g, at);
	if (most > 0 && most <= LK_GUARD_ENTRIES && bytes <= LK_GUARD_BYTES &&
	    bytes * most <= LK_GUARD_BYTES && offset + sizeof(struct list_head) <= bytes)
		copy = lk_guard_room(g, bytes * most);
	if (copy) {
		list.most = most;
		list.to = (char *)(copy + 1);
		end = lk_guard_work(at, guard, &work);
	}
	return lk_guard_end(g, end, copy, list.entries, work.unguarded);
}

/* The word of a kind of lock, as the lock probes have it, to that of a guard. */
static enum lk_guard_kind lk_guard_kind(const char *word)
{
	static const struct {
		const char *word;
		enum lk_guard_kind kind;
	} kinds[] = {
		{ "spin", LK_GUARD_SPIN },	 { "rwlock", LK_GUARD_RWLOCK },
		{ "mutex", LK_GUARD_MUTEX },	 { "rwsem", LK_GUARD_RWSEM },
		{ "rtmutex", LK_GUARD_RTMUTEX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(word, kinds[i].word))
			return kinds[i].kind;
	return LK_GUARD_NONE;
}

#endif
