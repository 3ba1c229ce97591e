/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers and stacks at the price of a few loads.
 *
 * In code unwound through the stack pointer (nearly all of the kernel) a
 * return address alone tells how far its frame's own return address lies
 * above it. The ORC unwinder tells that distance once; from then on a
 * stack is followed by table look-ups. A frame for which the distance is
 * not fixed (frame pointer, register frame, change of stack, a return
 * address replaced by a return probe) is marked and always unwound.
 */
#ifndef LK_FRAME_H
#define LK_FRAME_H

#include "lk_base.h"

#define LK_FR_SKIP 1u /* a lock function, or this module itself */
#define LK_FR_END 2u /* the outermost frame */
#define LK_FR_VARIES 4u /* distance not fixed: unwind */
#define LK_FR_OWN 8u /* this module, or the tracepoint's own function */
#define LK_FR_KNOWN 16u /* keeps the word of a first entry from being 0 */
#define LK_FR_TOP 32u /* the next one is at the top of the task's stack */
#define LK_FR_INSIDE 64u /* ... not always */
#define LK_FR_USER 128u /* the outermost, where it is at the top of the task's stack */
#define LK_FR_WRAPPER 256u /* a lock function that takes its caller's lock by another */

/*
 * An entry is one word, so it is read and written whole: low half of the
 * return address (the upper one is all ones in kernel and modules), flags,
 * distance in words. Written once; only LK_FR_VARIES, _INSIDE and _USER are ever
 * added.
 */
static u64 lk_frames[LOCKTAP_FRAMES];

#define LK_FR(ip32, flags, words) ((u64)(ip32) << 32 | (u64)(flags) << 16 | (words))
#define LK_FR_IP(e) ((u32)((e) >> 32))
#define LK_FR_FLAGS(e) ((u32)((e) >> 16) & 0xffff)
#define LK_FR_WORDS(e) ((u32)(e)&0xffff)
#define LK_FR_PROBES 8

/* The same address as an interrupted instruction, not a return address. */
#define LK_AS_PROBED(ip32) ((ip32) ^ 0x80000000u)

#define LK_IP(ip32) (0xffffffff00000000ul | (ip32))

struct lk_cursor {
	unsigned long *slot; /* where ip is stored; for `probed`, the stack pointer */
	unsigned long ip;
	bool probed;
};

/* The return address whose place a return probe has taken, any script's: kernel/trace/rethook.c. */
static noinline unsigned long lk_replaced(const unsigned long *slot)
{
#ifdef CONFIG_RETHOOK
	const struct llist_node *node = READ_ONCE(current->rethooks.first);
	unsigned int i;

	for (i = 0; node && i < 32; node = READ_ONCE(node->next), i++) {
		const struct rethook_node *hook = container_of(node, struct rethook_node, llist);

		if (hook->frame == (unsigned long)slot)
			return hook->ret_addr;
	}
#endif
	return READ_ONCE_NOCHECK(*slot);
}

static inline unsigned long lk_return_address(const unsigned long *slot)
{
	unsigned long ip = READ_ONCE_NOCHECK(*slot);

	return unlikely(ip == lk_kernel.trampoline) ? lk_replaced(slot) : ip;
}

static inline bool lk_is_text(unsigned long ip)
{
	return ip >> 32 == 0xffffffff && (u32)ip >= 0x80000000u;
}

static inline u64 *lk_frame_find(u32 ip32)
{
	u32 h = hash_32(ip32, ilog2(LOCKTAP_FRAMES));
	unsigned int i;

	for (i = 0; i < LK_FR_PROBES; i++) {
		u64 *e = &lk_frames[(h + i) & (LOCKTAP_FRAMES - 1)];

		if (LK_FR_IP(READ_ONCE(*e)) == ip32)
			return e;
	}
	return NULL;
}

static const char *const lk_lock_prefix[] = {
	"mutex_",  "__mutex_",	   "ww_mutex_",	    "__ww_mutex_", "down",
	"__down",  "___down",	   "up_",	    "rwsem_",	   "rt_spin_",
	"rtlock_", "percpu_down_", "percpu_rwsem_", "__percpu_",
};

/* ... and of those that the linker puts elsewhere. */
static const char *const lk_lock_outside[] = {
	"rt_mutex_",
	"__rt_mutex_",
	"rwsem_",
	"down_read_trylock",
	"up_read",
	"up_write",
	"down_write_trylock",
	"downgrade_write",
	"ww_mutex_",
	"__ww_mutex_",
	"__percpu_down_read",
	"__percpu_up_read",
	"percpu_up_",
	"percpu_rwsem_",
};

/* LK_FR_OWN and LK_FR_SKIP of an address. Seldom: once for each. */
static u32 lk_frame_class(unsigned long ip)
{
	char sym[KSYM_SYMBOL_LEN];
	unsigned int i;

	if (within_module(ip, THIS_MODULE))
		return LK_FR_OWN | LK_FR_SKIP;
	if (in_lock_functions(ip))
		return LK_FR_SKIP;
	sprint_symbol_no_offset(sym, ip - 1);
	if (!strncmp(sym, "__traceiter_", 12) || !strncmp(sym, "__probestub_", 12))
		return LK_FR_OWN | LK_FR_SKIP;
	if (!strncmp(sym, "raw_spin_rq_lock", 16) || !strncmp(sym, "_raw_spin_rq_lock", 17))
		return LK_FR_SKIP | LK_FR_WRAPPER;
	/* These are (partly) outside the sections of lock functions. */
	for (i = 0; i < ARRAY_SIZE(lk_lock_outside); i++)
		if (!strncmp(sym, lk_lock_outside[i], strlen(lk_lock_outside[i])))
			return LK_FR_SKIP;
	if (!strcmp(sym, "up"))
		return LK_FR_SKIP;
	if (ip < lk_kernel.sched_text || ip >= lk_kernel.sched_etext)
		return 0;
	for (i = 0; i < ARRAY_SIZE(lk_lock_prefix); i++)
		if (!strncmp(sym, lk_lock_prefix[i], strlen(lk_lock_prefix[i])))
			return LK_FR_SKIP;
	return 0;
}

static void lk_frame_learn(u32 ip32, unsigned long ip, u32 flags, unsigned long words)
{
	u32 h = hash_32(ip32, ilog2(LOCKTAP_FRAMES));
	u64 entry, *e = lk_frame_find(ip32);
	unsigned int i;

	if (words > 0xffff)
		flags = LK_FR_VARIES;
	if (e) {
		u64 old = READ_ONCE(*e);

		if (LK_FR_WORDS(old) != words || (LK_FR_FLAGS(old) ^ flags) & LK_FR_END)
			flags |= LK_FR_VARIES;
		flags &= LK_FR_VARIES | LK_FR_INSIDE | LK_FR_USER;
		if (flags & ~LK_FR_FLAGS(old))
			WRITE_ONCE(*e, old | (u64)flags << 16);
		return;
	}
	flags |= lk_frame_class(ip);
	entry = LK_FR(ip32, flags | LK_FR_KNOWN, flags & LK_FR_VARIES ? 0 : words);
	for (i = 0; i < LK_FR_PROBES; i++) {
		u64 *place = &lk_frames[(h + i) & (LOCKTAP_FRAMES - 1)];

		if (!READ_ONCE(*place) && cmpxchg(place, 0, entry) == 0)
			return;
	}
	/* No room: this address is unwound each time. */
}

/* Where the return address of a system call's outermost function is. */
static inline unsigned long *lk_top_slot(void)
{
	return (unsigned long *)task_pt_regs(current) - 1;
}

/* Frames of one stack, as the unwinder has found them. */
static inline bool lk_near(const void *a, const void *b)
{
	return ((unsigned long)a ^ (unsigned long)b) < THREAD_SIZE;
}

/*
 * May one be read where the other is on the stack? A task's stack is aligned to its
 * size. Others, such as that of interrupts, begin at any page, and behind their last one
 * nothing is mapped (arch/x86/kernel/irq_64.c): there the same page is certain.
 */
static inline bool lk_same_stack(const void *a, const void *b)
{
	return ((unsigned long)a ^ (unsigned long)b) < PAGE_SIZE ||
	       (lk_near(a, b) &&
		(unsigned long)b - (unsigned long)task_stack_page(current) < THREAD_SIZE);
}

/* Take down a frame; one that is not on the stack where all began spoils it. */
static void lk_seen_add(struct lk_seen *s, const struct lk_cursor *from, unsigned long *slot,
			unsigned long ip)
{
	if (slot && slot == lk_top_slot()) {
		s->top = (s32)ip;
	} else if (s->n < LK_SEEN_DEPTH && slot >= from->slot && lk_same_stack(slot, from->slot)) {
		s->frame[s->n].off = s->last = slot - from->slot;
		s->frame[s->n++].ip = (s32)ip;
	} else {
		s->n = LK_SEEN_DEPTH + 1;
	}
}

/*
 * Unwind from `from` outwards; store return addresses, leaving out the
 * innermost ones of class `skip`, and learn the frames passed.
 */
static unsigned int lk_unwind(const struct lk_cursor *from, struct pt_regs *regs, u32 skip,
			      u32 *ips, unsigned int max, struct lk_seen *s)
{
	struct unwind_state st;
	unsigned long ip, prev_ip = 0, prev_bp = 0, *slot, *prev_slot = NULL;
	bool prev_probed = false, started = false, below = true, user = false;
	unsigned int n = 0, steps = 0;

	if (from->probed) {
		prev_ip = from->ip;
		prev_slot = from->slot;
		prev_probed = true;
		started = true;
	}
	/* From registers it begins at the frame after theirs. */
	unwind_start(&st, current, regs, regs ? NULL : from->slot - 1);
	if (regs)
		prev_bp = regs->bp;
	for (; !unwind_done(&st) && steps < 4 * LK_DEPTH; unwind_next_frame(&st), steps++) {
		bool fixed = !st.regs && st.sp;

		ip = unwind_get_return_address(&st);
		if (!ip) {
			/* The registers with which user space came in. */
			user = st.regs && user_mode(st.regs) && prev_slot == lk_top_slot();
			break;
		}
		slot = fixed ? (unsigned long *)st.sp - 1 : NULL;
		if (prev_ip) {
			u32 key = prev_probed ? LK_AS_PROBED((u32)prev_ip) : (u32)prev_ip;
			u32 flags = slot == lk_top_slot() ? LK_FR_TOP : LK_FR_INSIDE;

			/*
			 * Found through the frame pointer: a function that aligns its
			 * stack, or takes a piece of it, has no fixed distance.
			 */
			if (st.sp == prev_bp + 2 * sizeof(long))
				flags |= LK_FR_VARIES;
			if (!prev_slot || !slot || !lk_near(slot, prev_slot) || slot <= prev_slot ||
			    READ_ONCE_NOCHECK(*slot) != ip)
				lk_frame_learn(key, prev_ip, LK_FR_VARIES | LK_FR_INSIDE, 0);
			else
				lk_frame_learn(key, prev_ip, flags, slot - prev_slot);
		}
		prev_bp = st.bp;
		/*
		 * What an interrupt came in on is no return address, though it may be
		 * the place that one points to: nothing is learnt of it.
		 */
		prev_ip = st.regs ? 0 : ip;
		prev_slot = slot;
		prev_probed = false;
		started = true;
		if (s && (from->probed || slot != from->slot))
			lk_seen_add(s, from, slot, ip);
		if (below) {
			u64 *e = lk_frame_find((u32)ip);

			below = (e ? LK_FR_FLAGS(*e) : lk_frame_class(ip)) & skip;
			if (below)
				continue;
		}
		/* One frame more than wanted, to learn the last one's distance. */
		if (n >= max)
			return n;
		ips[n++] = (u32)ip;
	}
	if (user && !prev_probed)
		/* A system call, or an exception that may come from the kernel as well. */
		lk_frame_learn((u32)prev_ip, prev_ip, LK_FR_USER | LK_FR_VARIES | LK_FR_INSIDE, 0);
	else if (started && unwind_done(&st) && !unwind_error(&st) && prev_ip && !prev_probed)
		lk_frame_learn((u32)prev_ip, prev_ip, LK_FR_END, 0);
	else if (s)
		s->n = LK_SEEN_DEPTH + 1;
	return n;
}

/* The same, by the frames learnt. Innermost first; `max` 1 gives the caller alone. */
static unsigned int lk_walk(struct lk_cpu *cpu, struct lk_cursor at, struct pt_regs *regs, u32 skip,
			    u32 *ips, unsigned int max, struct lk_seen *s)
{
	const struct lk_cursor from = at;
	unsigned int n = 0, steps;
	bool below = true;

	for (steps = 0; steps < 2 * LK_DEPTH; steps++) {
		u32 key = at.probed ? LK_AS_PROBED((u32)at.ip) : (u32)at.ip;
		u64 entry, *e = lk_frame_find(key);
		u32 flags;

		if (unlikely(!e))
			goto unwind;
		entry = READ_ONCE(*e);
		flags = LK_FR_FLAGS(entry);
		if (s && steps)
			lk_seen_add(s, &from, at.slot, at.ip);
		if (!at.probed) {
			if (below)
				below = flags & skip;
			if (!below) {
				if (n >= max)
					break;
				ips[n++] = (u32)at.ip;
				if (n >= max && !s)
					break;
			}
		}
		if (flags & LK_FR_END || (flags & LK_FR_USER && at.slot == lk_top_slot()))
			break;
		if ((flags & (LK_FR_TOP | LK_FR_INSIDE)) == LK_FR_TOP)
			at.slot = lk_top_slot();
		else if (unlikely(flags & LK_FR_VARIES))
			goto unwind;
		else
			at.slot += LK_FR_WORDS(entry);
		if (unlikely(!lk_same_stack(at.slot, from.slot)))
			goto unwind;
		at.ip = lk_return_address(at.slot);
		at.probed = false;
		if (unlikely(!lk_is_text(at.ip)))
			goto unwind;
	}
	cpu->counts.known++;
	return n;
unwind:
	cpu->counts.walks++;
	if (s)
		s->n = 0;
	return lk_unwind(&from, regs, skip, ips, max, s);
}

/*
 * Where a handler's stack begins. A kprobe at a function's entry has the
 * return address on top of its stack; elsewhere in a function the frame of
 * the probed address is learnt like any other; a tracepoint's handler
 * begins at its own frame. __always_inline: the frame must be the caller's.
 */
static __always_inline struct lk_cursor lk_cursor_here(void)
{
	unsigned long *frame = __builtin_frame_address(0);
	struct lk_cursor at = { .slot = frame + 1, .ip = frame[1], .probed = false };

	return at;
}

static noinline unsigned int lk_stack_here(struct lk_cpu *cpu, u32 skip, u32 *ips, unsigned int max)
{
	return lk_walk(cpu, lk_cursor_here(), NULL, skip, ips, max, NULL);
}

/* The same for a kprobe. */
static struct lk_cursor lk_cursor_at(struct lk_cpu *cpu, const struct lk_at *at)
{
	struct pt_regs *regs = at->regs;
	struct lk_cursor from = { .slot = (unsigned long *)kernel_stack_pointer(regs) };

	if (at->return_ip) {
		/* The slot has just been left; the unwinder starts below it. */
		from.slot--;
		from.ip = at->return_ip;
	} else if (cpu->ev.at_entry) {
		from.ip = lk_return_address(from.slot);
	} else {
		from.ip = regs->ip;
		from.probed = true;
	}
	return from;
}

/*
 * Each return address in the place where it was? Then it is the same stack.
 * What tells stacks of one lock apart, the callers, is looked at first.
 */
static inline bool lk_seen_again(const struct lk_seen *s, const struct lk_cursor *from)
{
	u32 i;

	if (s->ip != (u32)from->ip || s->probed != from->probed ||
	    !lk_same_stack(from->slot + s->last, from->slot))
		return false;
#define LK_SEEN_SAME(f) (READ_ONCE_NOCHECK(from->slot[(f)->off]) == (unsigned long)(long)(f)->ip)
	for (i = s->inner; i < s->n; i++)
		if (!LK_SEEN_SAME(s->frame + i))
			return false;
	for (i = 0; i < s->inner; i++)
		if (!LK_SEEN_SAME(s->frame + i))
			return false;
#undef LK_SEEN_SAME
	return !s->top || READ_ONCE_NOCHECK(*lk_top_slot()) == (unsigned long)(long)s->top;
}

/* A new stack: followed into cpu->ips, and kept if it can be. */
static noinline struct lk_seen *lk_seen_new(struct lk_cpu *cpu, struct lk_seen *s,
					    const struct lk_cursor *from, struct pt_regs *regs)
{
	u32 n;

	s->ip = 0;
	s->n = s->last = 0;
	s->top = 0;
	cpu->nips = lk_walk(cpu, *from, regs, LK_FR_SKIP, cpu->ips, LK_DEPTH, s);
	n = s->n + !from->probed + !!s->top;
	if (!cpu->nips || s->n > LK_SEEN_DEPTH || n < cpu->nips)
		return NULL;
	n -= cpu->nips; /* lock functions and our own, the first among them */
	s->inner = n && !from->probed ? n - 1 : n;
	s->caller = cpu->ips[0];
	s->id = 0;
	s->probed = from->probed;
	s->ip = (u32)from->ip;
	return s;
}

static __always_inline struct lk_seen *
lk_seen_from(struct lk_cpu *cpu, const struct lk_cursor *from, struct pt_regs *regs)
{
	struct lk_seen *set = cpu->seen[hash_long(cpu->ev.lock, ilog2(LK_SEEN_SETS))];
	struct lk_seen *s;

	for (s = set; s < set + LK_SEEN_WAYS; s++) {
		if (lk_seen_again(s, from)) {
			cpu->counts.known++;
			return s;
		}
	}
	return lk_seen_new(cpu, set + cpu->seen_turn++ % LK_SEEN_WAYS, from, regs);
}

static noinline struct lk_seen *lk_seen_here(struct lk_cpu *cpu)
{
	const struct lk_cursor from = lk_cursor_here();

	return lk_seen_from(cpu, &from, NULL);
}

/*
 * The stack at the present event, from the first caller outside the lock
 * functions on. NULL: it could not be kept, and is in cpu->ips.
 */
static struct lk_seen *lk_seen(struct lk_cpu *cpu, const struct lk_at *at)
{
	struct lk_cursor from;

	if (!at->regs)
		return lk_seen_here(cpu);
	from = lk_cursor_at(cpu, at);
	return lk_seen_from(cpu, &from, at->return_ip ? NULL : at->regs);
}

static unsigned long lk_caller(struct lk_cpu *cpu, const struct lk_at *at)
{
	const struct lk_seen *s;

	if (cpu->ev.ip)
		return LK_IP(cpu->ev.ip);
	s = lk_seen(cpu, at);
	if (s)
		return LK_IP(s->caller);
	return cpu->nips ? LK_IP(cpu->ips[0]) : 0;
}

/* Is the present spin event the resilient lock's? Its slow path has the same flags. */
static bool lk_is_resilient(struct lk_cpu *cpu)
{
	u32 ip;

	return lk_kernel.resilient && lk_stack_here(cpu, LK_FR_OWN, &ip, 1) &&
	       LK_IP(ip) - lk_kernel.resilient < lk_kernel.resilient_size;
}

#endif
