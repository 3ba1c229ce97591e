/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every other part stands on: settings, the state of one CPU, and
 * the memory that lasts from the begin probe to the end probe.
 *
 * Everything here runs with interrupts masked on the CPU whose state it
 * touches, so the state of a CPU needs no lock; only an NMI could come
 * in between, and SystemTap's busy context turns that away and counts it.
 */
#ifndef LK_BASE_H
#define LK_BASE_H

#include <linux/version.h>
#include <linux/types.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <linux/cpu.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/hardirq.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/log2.h>
#include <linux/hash.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/spinlock.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/rtmutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/kallsyms.h>
#include <linux/cgroup.h>
#include <linux/list_sort.h>
#include <linux/cred.h>
#include <linux/capability.h>
#include <linux/pid.h>
#include <linux/nmi.h>
#include <linux/kprobes.h>
#ifdef CONFIG_RETHOOK
#include <linux/rethook.h>
#endif
#include <asm/unwind.h>

#ifndef CONFIG_X86_64
#error "locktap: only x86-64 kernels are supported"
#endif
#ifndef CONFIG_UNWINDER_ORC
#error "locktap: this kernel has no ORC unwinder (CONFIG_UNWINDER_ORC): callers and stacks cannot be had"
#endif

/*
 * An interrupt inside a handler would lose its lock events without a
 * count. With interrupts masked in handlers only NMIs are turned away,
 * and those are counted; the count must not end the script, it is told
 * in the loss line instead.
 */
#undef INTERRUPTIBLE
#define INTERRUPTIBLE 0
#undef MAXSKIPPED
#define MAXSKIPPED 0x7ffffffe

/*
 * stap ends each handler with a flush of what it has printed, which takes
 * locks and looks for its context again: with nothing printed that is a
 * sixth of what a wait costs here. The macro is there before the runtime
 * defines the function, whose own "void" leaves it as it is.
 */
#define LK_FLUSH_void _stp_print_flush(void)
#define LK_FLUSH_                                                                      \
	({                                                                             \
		if (unlikely(per_cpu_ptr(_stp_log_pcpu, raw_smp_processor_id())->len)) \
			_stp_print_flush();                                            \
	})
#define _stp_print_flush(arguments) LK_FLUSH_##arguments

/*
 * An interrupt that came during a kprobe's handler would run as soon as stap
 * lets interrupts in again, still inside the kprobe, which then turns away
 * (and counts as missed) every probe that the interrupt runs into: all its
 * locks. So interrupts stay masked until the kprobe is left, which restores
 * the flags that it was entered with. A tracepoint's handler must restore them
 * itself.
 */
#ifndef CONFIG_TRACE_IRQFLAGS
#undef local_irq_restore
#define local_irq_restore(flags)                      \
	do {                                          \
		if (!lk_stays_masked())               \
			raw_local_irq_restore(flags); \
	} while (0)
#endif
static inline bool lk_stays_masked(void);

/* Table sizes, all settable with stap's -D. */
#ifndef LOCKTAP_RECORDS /* records of one CPU */
#define LOCKTAP_RECORDS 1024
#endif
#ifndef LOCKTAP_WAITS /* sleeping-lock waits open at one time */
#define LOCKTAP_WAITS 4096
#endif
#ifndef LOCKTAP_STACKS /* different stacks */
#define LOCKTAP_STACKS 4096
#endif
#ifndef LOCKTAP_FRAMES /* return addresses whose frame size is known */
#define LOCKTAP_FRAMES 8192
#endif
#define LK_DEPTH 64 /* frames kept of one stack */
#define LK_BUCKETS 40 /* log2 buckets of ns: up to 2^40 ns, 18 minutes */

#if LOCKTAP_RECORDS < 1 || LOCKTAP_RECORDS > 32768
#error "locktap: LOCKTAP_RECORDS must be 1 to 32768"
#endif
#if LOCKTAP_WAITS < 8 || LOCKTAP_WAITS > (1 << 20)
#error "locktap: LOCKTAP_WAITS must be 8 to 1048576"
#endif
#if LOCKTAP_STACKS < 1 || LOCKTAP_STACKS > (1 << 20)
#error "locktap: LOCKTAP_STACKS must be 1 to 1048576"
#endif
#if LOCKTAP_FRAMES < 1024 || LOCKTAP_FRAMES > (1 << 20) || (LOCKTAP_FRAMES & (LOCKTAP_FRAMES - 1))
#error "locktap: LOCKTAP_FRAMES must be a power of two from 1024 to 1048576"
#endif

/* The flags of the kernel's contention_begin tracepoint. */
#define LK_F_SPIN 0x01u
#define LK_F_READ 0x02u
#define LK_F_WRITE 0x04u
#define LK_F_RT 0x08u
#define LK_F_PERCPU 0x10u
#define LK_F_MUTEX 0x20u
/* Ours: the wait was seen at the entry of the slow path, by a kprobe. */
#define LK_F_ENTRY 0x100u
#define LK_F_RESTARTS 0x200u /* interrupted by a signal, */
#define LK_F_GOES_ON 0x400u /* and gone on with */

enum lk_kind {
	LK_SPIN,
	LK_RWLOCK,
	LK_MUTEX,
	LK_RWSEM,
	LK_SEM,
	LK_RTMUTEX,
	LK_PERCPU_RWSEM,
	LK_RQSPIN,
	LK_FUTEX, /* of user space, from here on */
	LK_PTHREAD_MUTEX,
	LK_PTHREAD_RWLOCK,
	LK_KINDS
};

static const char *const lk_kind_name[LK_KINDS] = {
	"spin",	      "rwlock", "mutex",	 "rwsem",	   "sem", "rtmutex", "percpu_rwsem",
	"rqspinlock", "futex",	"pthread_mutex", "pthread_rwlock",
};

#define LK_USER_KINDS (1u << LK_FUTEX | 1u << LK_PTHREAD_MUTEX | 1u << LK_PTHREAD_RWLOCK)

static inline bool lk_is_user(unsigned int kind)
{
	return kind >= LK_FUTEX && kind <= LK_PTHREAD_RWLOCK;
}

/* "w" is the writer of a lock that readers can share, "x" has no readers. */
static const char *const lk_mode_name[] = { "x", "r", "w" };
enum lk_mode { LK_X, LK_R, LK_W };

static inline enum lk_mode lk_mode_of(const char *word)
{
	return word[0] == 'r' ? LK_R : word[0] == 'w' ? LK_W : LK_X;
}

enum lk_op {
	LK_NONE,
	LK_BEGIN,
	LK_END,
	LK_CONTENDED_RELEASE,
	LK_ACQUIRE,
	LK_ACQUIRED,
	LK_RELEASE,
	LK_TRYFAIL
};

enum lk_by {
	LK_BY_NAME,
	LK_BY_LOCK,
	LK_BY_CALLER,
	LK_BY_STACK,
	LK_BY_TASK,
	LK_BY_PROCESS,
	LK_BY_CGROUP
};
enum lk_format { LK_TABLE, LK_TSV, LK_FOLDED, LK_JSON, LK_DOT };
enum lk_report_kind { LK_CONTEND, LK_HOLD, LK_STAT, LK_BLAME, LK_ORDER, LK_CHAIN };

/* Set in a begin probe, from a script's options. */
static struct {
	bool started; /* the options are good, the tables are there */
	enum lk_report_kind report;
	enum lk_by by;
	enum lk_format format;
	u64 events; /* of lockstat, a bit each; 0 in other reports */
	u32 kinds;
	u32 top;
	u64 min_ns;
	u32 interval_s;
	s32 pid;
	bool user; /* about user space, too */
	bool hist;
	bool all; /* lockorder's: every order, not inversions alone */
	bool only;
	bool only_percpu;
	bool by_address; /* lockstat's by=lock: a lock's address instead of its name */
	bool trace;
	unsigned long in, in_bytes; /* the only caller */
	bool addresses; /* whoever runs this may read kernel addresses */
	unsigned long only_lo, only_hi;
	char only_name[128]; /* a NAME of locktap prep's, or "" */
	u64 start_ns;
	u8 plain_op; /* recorded by name, lock or stack, none left out, in one table; or LK_NONE */
} lk_opt;

/* One wait that has begun and is not over. */
struct lk_wait {
	struct task_struct *task;
	unsigned long lock;
	u64 begin_ns;
	u64 phase_ns; /* when the present phase began */
	u64 spin_ns; /* spun in the phases that are over */
	u32 flags; /* of the last begin */
	u32 skipped; /* stap's skip count at the begin */
	u32 switches; /* of lockstat: how often the task had slept, */
	u32 readers; /* and how many held the lock */
	s32 owner; /* who held the lock at the begin */
	s32 tid;
	const struct mm_struct *mm; /* its program's, */
	unsigned long user_sp; /* and where its stack was */
	unsigned long user_ip; /* of a user lock: as in an event */
	u32 user_place, user_name;
	u8 kind;
	u8 mode;
	u8 level; /* 0 task, 1 softirq, 2 hardirq, 3 NMI */
	u8 event; /* of lockstat */
	u8 spinning : 1;
	u8 inner : 1; /* on the internal lock of an outer wait */
	u8 tentative : 1; /* may turn out not to wait at all */
};

/* A lock that was asked for, and is held as far as is known. */
struct lk_hold {
	unsigned long lock;
	struct task_struct *task;
	u64 start_ns; /* of the hold; of the request until that is over */
	u64 wait_ns; /* of the wait before it, where waits are watched too */
	u64 spin_ns;
	u64 block_ns;
	s32 tid;
	u32 ip; /* low half of the caller's return address */
	u32 stack; /* number of its stack, where reports are by stack */
	u32 user_name; /* of a user lock */
	unsigned long sp; /* of orders: where its caller's calls leave their return address */
	u8 kind;
	u8 mode;
	u8 level; /* as in a wait */
	u8 nests : 1; /* of orders: several may be taken in any order */
	u8 got : 1; /* the function has returned with the lock */
	u8 told : 1; /* `acquired` has been told */
	u8 contended : 1;
	u8 tries : 1; /* by a trylock */
	u8 inner : 1; /* the internal lock of another lock */
	u8 by_return : 1; /* start_ns is from a return probe, */
	u8 by_site : 1; /* or from a probe behind the call */
};

/* What a release ends. */
struct lk_ended {
	u64 raw_ns; /* with the probes' own cost */
	s32 tid; /* of who took the lock */
	u32 ip;
	u32 stack;
	u32 user_name;
	u8 mode;
	u8 seen : 1; /* it was taken while we watched */
	u8 contended : 1;
};

/* What the last event on this CPU was: the probe variables. */
struct lk_event {
	const char *point; /* of the handler that saw it first, */
	unsigned long sp; /* its stack pointer, */
	u32 calls; /* and how many handlers have been called for it */
	u32 ip; /* the caller, where it is not on the stack any more; or 0 */
	unsigned long user_at; /* of a user lock: its address, 0 at a return, */
	u32 switches; /* and how often the task had been off its CPU */
	struct lk_ended hold;
	u64 hold_ns;
	struct task_struct *task;
	unsigned long lock;
	u64 begin_ns; /* of the wait that begins or is over */
	u64 wait_ns;
	u64 spin_ns;
	u64 block_ns;
	s64 ret;
	s32 owner;
	u32 readers; /* of lockstat: that held the lock when the wait began */
	u32 user_name; /* of a user lock: the place that names it, see lk_user.h, */
	unsigned long user_ip; /* and the caller's address in the program */
	u8 event; /* of lockstat, where a wait is over */
	u8 op;
	u8 kind;
	u8 mode;
	u8 valid; /* the user's handler is to run */
	u8 at_return; /* seen by a return probe */
	u8 at_entry; /* seen by a kprobe at a function's entry */
	u8 got_known : 1;
	u8 got : 1; /* ... and this is where `acquired` is told */
	u8 recursive : 1;
};

/* Counts of one CPU; the loss line is their sum. */
struct lk_counts {
	u64 seen; /* waits over, after the filters */
	u64 recorded;
	u64 filtered; /* kinds, only, pid */
	u64 brief; /* shorter than min_us */
	u64 full; /* lost: record table full */
	u64 waits_full; /* lost: no place to keep an open wait */
	u64 stacks_full; /* recorded, without their stack */
	u64 deep; /* recorded, stack cut at LK_DEPTH */
	u64 unmatched; /* an end without begin, or a begin whose end never came */
	u64 inner;
	u64 idle; /* waits of user space for something that is no lock */
	u64 entries; /* slow path entered, its end cannot be seen */
	u64 queued; /* ... of which the tracepoint told after all */
	u64 walks; /* stacks that had to be walked */
	u64 known; /* stacks that were recognised */
	/* operations */
	u64 held; /* released, taken before we came */
	u64 endless; /* taken, its release not seen */
	u64 foreign; /* released by another task */
	u64 recursive; /* asked for by a task that holds it */
	u64 inner_ops;
	u64 holds_full; /* lost: no place to keep a hold */
	u64 tryfails;
	/* who is to blame for waits */
	u64 waits_ns; /* of the waits that were shared out */
	u64 charged_ns; /* ... to holders */
	u64 handed_ns; /* ... while nobody had the lock */
	u64 full_ns; /* ... lost: record table full, or that of chains */
	u64 uncharged; /* waits lost: no place to keep them */
	/* orders */
	u64 orders_deep; /* left out: too many locks held at a time */
	u64 orders_unproven; /* left out: the first lock says that it is not held */
	u64 pairs_full; /* forgotten: which two locks were seen */
};

#define LK_SPIN_DEPTH 12
#define LK_HELD_DEPTH 48 /* spinning locks held on one CPU, its interrupts' included */

/*
 * A stack that was seen not long ago on this CPU: its return addresses and
 * where they are, in words from where it begins. The outermost may be at the
 * top of the task's stack instead, whatever lies between.
 */
#define LK_SEEN_WAYS 4
#define LK_SEEN_SETS 16
#define LK_SEEN_DEPTH 48

struct lk_seen {
	u32 ip; /* where it begins; 0: nothing here */
	u32 caller;
	u32 id; /* in the stack table; 0: not there yet */
	s32 top; /* at the top of the task's stack; 0: nothing */
	u16 n;
	u16 inner; /* so many are lock functions or our own */
	u16 last; /* the furthest of the places */
	bool probed;
	struct {
		u32 off;
		s32 ip;
	} frame[LK_SEEN_DEPTH];
};

struct lk_rec;

struct lk_table {
	struct lk_rec **chunks;
	u16 *index;
	u32 used;
};

struct lk_cpu {
	struct lk_event ev;
	struct lk_event user_ev; /* the last of a user lock; interrupts have their own */
	struct { /* where the last wait was recorded */
		struct lk_rec *rec;
		unsigned long lock;
		u64 by;
		u32 turn;
		u8 kind, mode, event;
	} last;
	u32 nspin;
	u32 in_record;
	u32 nheld;
	u32 stay_masked; /* see lk_stays_masked() */
	u32 may_look; /* at other tasks' maps: see lk_user_map_look() */
	unsigned long waited_lock; /* the wait that ended last here, of no known hold */
	struct task_struct *waited_task;
	unsigned long recent_key; /* the task whose hold `recent` is; 0: nobody's */
	struct lk_hold recent;
	struct lk_wait spin[LK_SPIN_DEPTH];
	struct lk_hold held[LK_HELD_DEPTH];
	struct lk_counts counts;
	struct lk_seen seen[LK_SEEN_SETS][LK_SEEN_WAYS];
	u32 seen_turn;
	u32 nips;
	u32 ips[LK_DEPTH]; /* the last stack that was followed */
	struct lk_table table[2]; /* the second only with interval reports */
};

/* Where a handler was called, for what needs registers or the stack. */
struct lk_at {
	struct pt_regs *regs; /* NULL at a tracepoint */
	unsigned long return_ip; /* at a function's return: where it returns to */
	const char *point; /* the probe point */
	u32 *mark; /* 0 when SystemTap's function for an event is entered */
};

/*
 * The last bytes of what SystemTap's context keeps for each type of probe:
 * cleared before the handlers of an event run, and used by tracepoints alone.
 */
#define LK_MARK(c) ((u32 *)(&(c)->ips + 1) - 1)

/* In a function body only, where SystemTap's context is known. */
#define LK_AT(c)                                                                        \
	(&(struct lk_at){ .regs = (c)->kregs,                                           \
			  .return_ip = (c)->probe_type == stp_probe_type_kretprobe ?    \
					       get_kretprobe_retaddr((c)->ips.krp.pi) : \
					       0,                                       \
			  .point = (c)->probe_point,                                    \
			  .mark = LK_MARK(c) })

/* SystemTap's count of probe hits it had to skip; set by lk_kernel_init(). */
static atomic_t *lk_skipped;

static inline void *lk_peek_pointer(const void *from)
{
	void *p = NULL;

	if (copy_from_kernel_nofault(&p, from, sizeof(p)))
		return NULL;
	return p;
}

/*
 * A percpu_rwsem's `block`, which a writer sets to keep readers out, and how many readers are
 * inside. A wait whose end was not seen may outlive its lock: it is read as if it were gone.
 */
static bool lk_percpu_block(unsigned long lock)
{
	const struct percpu_rw_semaphore *sem = (const void *)lock;
	atomic_t block = ATOMIC_INIT(0);

	copy_from_kernel_nofault(&block, &sem->block, sizeof(block));
	return atomic_read(&block);
}

static unsigned int lk_percpu_readers(unsigned long lock)
{
	const struct percpu_rw_semaphore *sem = (const void *)lock;
	unsigned int __percpu *count =
		(unsigned int __percpu *)(unsigned long)lk_peek_pointer(&sem->read_count);
	unsigned int cpu, n, sum = 0;

	for_each_possible_cpu(cpu)
		if (!copy_from_kernel_nofault(&n, per_cpu_ptr(count, cpu), sizeof(n)))
			sum += n;
	return sum;
}

/* Filled by lk_start() in a begin probe, only read by the hot path. */
static struct lk_cpu **lk_cpus;
static unsigned int lk_nr_cpus;

static struct {
	unsigned long text, etext; /* kernel image */
	unsigned long sched_text, sched_etext;
	unsigned long percpu, percpu_size; /* static per-CPU area: template, bytes */
	unsigned long percpu_min, percpu_max; /* ... of all CPUs */
	unsigned long resilient, resilient_size; /* resilient_queued_spin_lock_slowpath */
	unsigned long slowpath, slowpath_size; /* native_queued_spin_lock_slowpath */
	unsigned long trampoline; /* what a return probe puts in a return address's place */
	bool sees_entry; /* the spinlock's slow path is probed */
	bool sees_pending; /* ... and the end of its first waiter's wait */
	bool sees_rwsem; /* a rwsem's writer that spins */
	bool sees_percpu; /* a percpu_rwsem's writer behind readers */
	bool virt_spin; /* this guest uses the test-and-set lock */
	bool sees_percpu_readers;
	bool no_spin_release; /* _raw_spin_unlock is inlined: without CONFIG_PREEMPTION */
	bool sees_places; /* in the code, which need its debug information */
	bool tells_tries; /* the script asks for failed trylocks */
	bool tracks; /* holds are kept */
	bool tracks_user; /* ... of user locks, by probes in programs */
	bool mutex_late; /* ... that see a mutex let go when others are awake already */
	bool blames; /* ... with what their tasks do, and waits by lock */
	bool chains; /* of open waits are kept */
	bool orders; /* ... and in which order they begin */
	bool in_table; /* all of a task's holds are in the table */
	bool tracks_tries; /* ... of sleeping trylocks, until they return */
	bool tracks_returns; /* every sleeping lock's function has a return probe */
	u32 (*stacks)(struct lk_cpu *cpu, const struct lk_at *at); /* kept with each hold */
	void (*recursion)(const struct lk_at *at); /* told where a task asks for what it holds */
} lk_kernel;

static inline struct lk_cpu *lk_this_cpu(void)
{
	unsigned int cpu = smp_processor_id();

	if (unlikely(!lk_cpus || cpu >= lk_nr_cpus))
		return NULL;
	return lk_cpus[cpu];
}

/* The next restore of the flags is stap's, at the end of the present handler. */
static inline bool lk_stays_masked(void)
{
	struct lk_cpu *cpu;

	if (!irqs_disabled())
		return false;
	cpu = lk_this_cpu();
	if (!cpu || !cpu->stay_masked)
		return false;
	cpu->stay_masked = 0;
	return true;
}

static inline u64 lk_now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

static inline u32 lk_skips(void)
{
	return atomic_read(lk_skipped);
}

/*
 * 0 task, 1 softirq, 2 hardirq, 3 NMI. A kprobe made of a breakpoint runs
 * as if in an NMI (irqentry_nmi_enter): what it interrupted is meant.
 */
static inline unsigned int lk_level(const struct lk_at *at)
{
	unsigned long count = preempt_count();

	if (at->regs && count & NMI_MASK)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	if (likely(!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET))))
		return 0;
	return count & NMI_MASK ? 3 : count & HARDIRQ_MASK ? 2 : 1;
}

/*
 * Memory is taken in the begin probe, in pieces small enough for the page
 * allocator to have them at once, and given back in the end probe: begin
 * probes run with interrupts masked and cannot wait for memory.
 */
#define LK_PIECE_ORDER 3
#define LK_PIECE_BYTES (PAGE_SIZE << LK_PIECE_ORDER)

struct lk_piece {
	struct lk_piece *next;
	unsigned int order;
};

static struct lk_piece *lk_pieces;

static void *lk_alloc(size_t bytes)
{
	unsigned int order = get_order(bytes + sizeof(struct lk_piece));
	struct lk_piece *p;

	p = (void *)__get_free_pages(GFP_NOWAIT | __GFP_ZERO | __GFP_NOWARN, order);
	if (!p)
		return NULL;
	p->order = order;
	p->next = lk_pieces;
	lk_pieces = p;
	return p + 1;
}

static void lk_free_all(void)
{
	struct lk_piece *p, *next;

	WRITE_ONCE(lk_cpus, NULL);
	for (p = lk_pieces; p; p = next) {
		next = p->next;
		free_pages((unsigned long)p, p->order);
	}
	lk_pieces = NULL;
}

#endif
