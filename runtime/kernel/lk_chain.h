/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who waits behind whom.
 *
 * Each open wait has a link: the chain from its waiter over the lock and the
 * lock's owner to the lock that the owner waits for, and so on. A chain's
 * shape, the names of its threads and locks, has a number; what is counted is
 * the time that waiters spent at the end of chains of each shape, and the time
 * that they spent behind each holder.
 *
 * A link is made anew, and the time up to then counted, where the chain may have
 * changed: the wait begins; somebody in the chain begins to wait or has waited;
 * the lock has got another owner through a wait. An owner that took the lock
 * without a wait tells nobody: a timer looks at all links ten times a second.
 * The timer also finds cycles. Each of their waits has lasted from one look
 * to the next, so all of them stood at one moment.
 *
 * Links are made from what the locks say (lk_owner()), never from guesses;
 * where a lock only hints at its owner the link is marked.
 */
#ifndef LK_CHAIN_H
#define LK_CHAIN_H

#include "lk_base.h"
#include "lk_frame.h"
#include "lk_wait.h"
#include "lk_hold.h"
#include "lk_user.h"
#include "lk_record.h"
#include "lk_asleep.h"

#ifndef LOCKTAP_CHAINS /* different shapes of chain, and holders */
#define LOCKTAP_CHAINS 2048
#endif
#if LOCKTAP_CHAINS < 16 || LOCKTAP_CHAINS > (1 << 14)
#error "locktap: LOCKTAP_CHAINS must be 16 to 16384"
#endif
#define LK_CHAIN_DEPTH 16 /* waits that are followed */
#define LK_CHAIN_PROBES 64 /* places for a shape or a holder */
#define LK_CYCLES 64 /* deadlocks that are kept */
#define LK_LATE 64 /* links that one event makes anew; the others wait for the timer */

enum lk_state {
	LK_ST_UNKNOWN,
	LK_ST_RUNNING,
	LK_ST_RUNNABLE,
	LK_ST_SLEEPING,
	LK_ST_WAITING,
	LK_ST_GONE,
	LK_STATES
};

static const char *const lk_state_word[LK_STATES] = { "?",	  "running", "runnable",
						      "sleeping", "waiting", "gone" };

/* A thread, and what it waits for if it does. */
struct lk_hop {
	struct task_struct *task;
	const struct lk_wait *wait; /* NULL: it waits for no lock */
	u64 begin_ns;
	u64 name;
	unsigned long lock;
	u32 ip, stack;
	s32 tid, pid;
	u8 kind, mode, name_is;
	u8 state;
	u8 proven; /* it holds what the one before it waits for */
	char comm[TASK_COMM_LEN];
};

/* From the waiter to the one that holds all up. */
struct lk_path {
	u32 n;
	u32 back; /* of a cycle: the last waits for this one */
	bool cycle;
	bool back_proven;
	bool cut; /* goes on, deeper than is followed */
	bool open; /* the last one waits, and the lock does not tell for whom */
	struct lk_hop node[LK_CHAIN_DEPTH + 1];
};

struct lk_shape_node {
	char comm[TASK_COMM_LEN];
	u64 name;
	u32 ip;
	s32 tid; /* by=task */
	u8 kind, mode, name_is, waits;
};

/* The key of a shape, or a holder, that is going to be forgotten: nobody finds it. */
#define LK_LEAVES (~0ull)

/* One chain of a shape, with who and where. */
struct lk_instance {
	u64 ns;
	unsigned long lock[LK_CHAIN_DEPTH + 1];
	u32 stack[LK_CHAIN_DEPTH + 1];
	s32 tid[LK_CHAIN_DEPTH + 1];
	s32 pid[LK_CHAIN_DEPTH + 1];
	u32 proven; /* a bit each, */
#define LK_BACK_PROVEN (1u << 31) /* and of a cycle's last link */
	u8 state; /* of the last */
	u32 state_stack; /* its stack, where it sleeps */
};

struct lk_shape {
	u64 hash;
	u32 n;
	u8 cycle, cut, open;
	u8 back; /* of a cycle: the last waits for this one */
	unsigned long busy;
	struct lk_shape_node node[LK_CHAIN_DEPTH + 1];
	struct lk_instance longest;
	u64 told_ns, told_count; /* in reports before */
	u64 last_ns; /* of the last report, of it alone */
	/* while a report is made */
	u64 total_ns, count;
	u64 text_hash;
	struct lk_shape *same;
	struct list_head order;
};

struct lk_holder {
	u64 key;
	bool ready;
	s32 tid, pid;
	char comm[TASK_COMM_LEN];
	u64 name;
	unsigned long lock;
	u8 kind, mode, name_is;
	u32 ip;
	u32 stack; /* of a moment when it slept */
	u32 states[LK_STATES]; /* how often the timer saw it so */
	u64 told_ns, told_count;
	u64 total_ns, count;
	struct list_head order;
};

/* What one CPU has counted. */
struct lk_chain_sum {
	u64 ns, count;
};

/* Beside each open wait. */
struct lk_link {
	unsigned long busy; /* bit 0: a lock that nobody waits for long */
	bool live;
	bool wanted; /* counted, by kinds=, only= and pid=; others are followed through */
	bool found; /* it had begun before: its end may not be seen */
	u8 doubt; /* times in a row that it was found not asleep, */
	u64 asked_ns; /* and when it was last looked at so */
	u64 name;
	u32 ip, stack;
	u8 name_is;
	u64 since_ns; /* counted up to here */
	u32 shape, holder; /* from 1; 0: none */
	u32 counted_shape, counted_holder;
	struct task_struct *owner;
	s32 slot; /* in lk_behind; -1: in none */
	struct lk_instance now;
};

struct lk_cycle {
	u64 at_ns; /* its last wait began */
	u64 found_ns; /* how much later it was found */
	u64 key;
	struct lk_path path;
};

#define LK_LINKS_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_link))
#define LK_LINK_PIECES DIV_ROUND_UP(LOCKTAP_WAITS, LK_LINKS_PER_PIECE)
#define LK_SHAPES_PER_PIECE ((LK_PIECE_BYTES - sizeof(struct lk_piece)) / sizeof(struct lk_shape))
#define LK_SHAPE_PIECES DIV_ROUND_UP(LOCKTAP_CHAINS, LK_SHAPES_PER_PIECE)
#define LK_BEHIND roundup_pow_of_two(2 * LOCKTAP_WAITS)
#define LK_BEHIND_PROBES 64

/* Of one CPU. */
struct lk_chain_cpu {
	struct lk_path path;
	const struct lk_wait *took; /* the present event's: a user lock that it now gets */
	const struct lk_wait *begins; /* the present event's: its lock is there for sure */
	struct lk_link spin[LK_SPIN_DEPTH];
	struct lk_wait *late[LK_LATE];
	struct lk_chain_sum shape[LOCKTAP_CHAINS];
	struct lk_chain_sum holder[LOCKTAP_CHAINS];
};

static struct lk_link *lk_link_pieces[LK_LINK_PIECES];
static struct lk_shape *lk_shape_pieces[LK_SHAPE_PIECES];
static struct lk_holder *lk_holders;
static struct lk_chain_cpu **lk_chain_cpus;

/* Open waits by owner: number of the wait, from 1; and how many begin at each place. */
static u32 lk_behind[LK_BEHIND];
static atomic_t lk_behind_nr[LK_BEHIND];

static struct lk_cycle *lk_cycles;
static u32 lk_cycles_nr, lk_cycles_told; /* in reports before */

static struct {
	bool by_task;
	bool stacks; /* in the table too */
	u32 deepest; /* threads of the longest chain that was seen */
	u64 late; /* links left to the timer */
	u64 holders_full; /* ns behind holders that there was no room for */
	u64 cycles_full;
} lk_chain;

/*
 * A report and the timer's looks print, and tell of cycles, on whatever CPU they are: one of
 * them at a time. A look is left out; a report waits for the look, which waits for nobody.
 */
static unsigned long lk_chain_busy;

static bool lk_chain_claim(void)
{
	unsigned int spins = 10000000;

	while (test_and_set_bit_lock(0, &lk_chain_busy) && --spins)
		cpu_relax();
	return spins;
}

static void lk_chain_release(void)
{
	clear_bit_unlock(0, &lk_chain_busy);
}

/* The last writer that a percpu_rwsem let in: the lock itself does not tell. */
#define LK_TAKEN 64
static struct {
	unsigned long lock;
	struct task_struct *task;
} lk_taken[LK_TAKEN];

static struct lk_shape *lk_shape_at(u32 i)
{
	return &lk_shape_pieces[i / LK_SHAPES_PER_PIECE][i % LK_SHAPES_PER_PIECE];
}

static bool lk_is_task_wait(const struct lk_wait *w)
{
	return (unsigned long)w - (unsigned long)lk_waits < sizeof(lk_waits);
}

static u32 lk_wait_index(const struct lk_wait *w)
{
	return w - &lk_waits[0][0];
}

static struct lk_wait *lk_wait_at(u32 i)
{
	return &lk_waits[i / LK_WAYS][i % LK_WAYS];
}

/* Whose the place of a wait is; NULL: it is free. */
static struct task_struct *lk_wait_task_at(u32 i)
{
	return READ_ONCE(lk_wait_task[i / LK_WAYS][i % LK_WAYS]);
}

/* The link beside an open wait: of a task, or on a CPU's stack of spinning ones. */
static struct lk_link *lk_link_of(const struct lk_wait *w)
{
	unsigned int cpu;

	if (lk_is_task_wait(w)) {
		u32 i = lk_wait_index(w);

		return &lk_link_pieces[i / LK_LINKS_PER_PIECE][i % LK_LINKS_PER_PIECE];
	}
	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		if (lk_cpus[cpu] && w >= lk_cpus[cpu]->spin &&
		    w < lk_cpus[cpu]->spin + LK_SPIN_DEPTH)
			return &lk_chain_cpus[cpu]->spin[w - lk_cpus[cpu]->spin];
	return NULL;
}

static bool lk_edges_alloc(void); /* lk_report_chain.h */

static bool lk_chain_alloc(void)
{
	unsigned int i, cpu;

	lk_chain_cpus = lk_alloc(nr_cpu_ids * sizeof(*lk_chain_cpus));
	lk_holders = lk_alloc(LOCKTAP_CHAINS * sizeof(*lk_holders));
	lk_cycles = lk_alloc(LK_CYCLES * sizeof(*lk_cycles));
	if (!lk_chain_cpus || !lk_holders || !lk_cycles)
		return false;
	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		if (lk_cpus[cpu]) {
			lk_chain_cpus[cpu] = lk_alloc(sizeof(**lk_chain_cpus));
			if (!lk_chain_cpus[cpu])
				return false;
		}
	for (i = 0; i < LK_LINK_PIECES; i++) {
		lk_link_pieces[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!lk_link_pieces[i])
			return false;
	}
	for (i = 0; i < LK_SHAPE_PIECES; i++) {
		lk_shape_pieces[i] = lk_alloc(LK_PIECE_BYTES - sizeof(struct lk_piece));
		if (!lk_shape_pieces[i])
			return false;
	}
	return lk_edges_alloc();
}

/*
 * A hint may be at somebody who has let go meanwhile, and who waits for itself may have
 * been given the lock a moment ago: these have to last.
 */
#define LK_LASTS_NS (250 * NSEC_PER_MSEC)

/* --- Who holds a lock -------------------------------------------------------------------- */

/* The kernel task of an owner word that is sure, as in lk_owner(). */
static struct task_struct *lk_word_task(unsigned long word, unsigned long flag_bits)
{
	return (struct task_struct *)(word & ~flag_bits);
}

/* Who took a semaphore, where its operations are watched: it has no owner. */
static struct task_struct *lk_sem_holder(unsigned long lock)
{
	unsigned int set, turn, i;

	if (!lk_kernel.tracks)
		return NULL;
	for (turn = 0, set = lk_hold_set(lock); turn <= READ_ONCE(lk_hold_spilled);
	     turn++, set = lk_hold_next_set(set))
		for (i = 0; i < LK_WAYS; i++)
			if (lk_hold_key[set][i] == lock && lk_holds[set][i].got)
				return lk_hinted(lk_holds[set][i].task);
	return NULL;
}

static void lk_chain_took(unsigned long lock)
{
	unsigned int i = hash_long(lock, ilog2(LK_TAKEN));

	WRITE_ONCE(lk_taken[i].task, NULL);
	lk_taken[i].lock = lock;
	smp_store_release(&lk_taken[i].task, current);
}

static struct task_struct *lk_percpu_holder(unsigned long lock)
{
	unsigned int i = hash_long(lock, ilog2(LK_TAKEN));
	struct task_struct *task = smp_load_acquire(&lk_taken[i].task);

	return lk_taken[i].lock == lock && lk_percpu_block(lock) ? lk_hinted(task) : NULL;
}

static struct lk_chain_cpu *lk_chain_here(void)
{
	return lk_chain_cpus ? lk_chain_cpus[smp_processor_id()] : NULL;
}

/*
 * An owner word is sure while its waiter is here: the lock cannot go away (lk_owner_tid()).
 * That is so in the event with which the wait begins, and only there: a timer may find the
 * present task in a wait whose end was not seen.
 */
static struct task_struct *lk_word_holder(const struct lk_hop *node, const void *at,
					  unsigned long flag_bits, unsigned long handed_bit)
{
	const struct lk_chain_cpu *c = lk_chain_here();
	struct task_struct *task;
	unsigned long word;

	if (c && node->wait == c->begins)
		return lk_word_task(READ_ONCE(*(const unsigned long *)at), flag_bits);
	if (!lk_word_at((unsigned long)at, &word))
		return NULL;
	task = lk_hinted(lk_word_task(word, flag_bits));
	/* Handed to it, which does not know yet: it does not wait for itself. */
	return word & handed_bit && task == node->task ? NULL : task;
}

/*
 * The owner of a lock whose layout is known and that the task still sleeps on: what
 * lk_user_wait_of() would say, without a look at how it came there. False: ask that.
 */
static bool lk_user_owner_quick(const struct lk_hop *node, s32 *owner)
{
	struct lk_pthread_mutex m;
	struct lk_pthread_rwlock rw;
	struct pt_regs regs;

	if ((node->task != current && !READ_ONCE(node->task->__state)) ||
	    !lk_user_regs(node->task, &regs) || regs.orig_ax != 202 ||
	    lk_user_is_compat(node->task, &regs)) /* futex */
		return false;
	if (node->kind == LK_PTHREAD_MUTEX && regs.di == node->lock &&
	    lk_user_peek(node->task, node->lock, &m, sizeof(m)) && !(m.kind & ~LK_MUTEX_KINDS)) {
		*owner = lk_user_thread_of(node->task,
					   m.kind & (LK_MUTEX_PI | LK_MUTEX_ROBUST) ?
						   m.lock & FUTEX_TID_MASK :
						   m.owner,
					   m.kind & LK_MUTEX_SHARED);
		return true;
	}
	if (node->kind == LK_PTHREAD_RWLOCK && regs.di - node->lock <= 12 &&
	    lk_user_peek(node->task, node->lock, &rw, sizeof(rw))) {
		*owner = lk_user_thread_of(node->task, rw.cur_writer, rw.shared);
		return true;
	}
	return false;
}

/* By the lock as it is now: the present task may have slept since its wait began. */
static struct task_struct *lk_user_holder(const struct lk_hop *node, bool *proven)
{
	const struct lk_chain_cpu *c = lk_chain_here();
	struct task_struct *owner;
	struct lk_user_wait u;

	if (!lk_user_owner_quick(node, &u.owner)) {
		if (node->task == current)
			u.owner = node->wait->owner;
		else if (!lk_user_wait_of(node->task, &u) || u.lock != node->lock || u.idle)
			return NULL;
	}
	if (!u.owner && c && c->took && c->took->lock == node->lock &&
	    READ_ONCE(c->took->task->mm) == READ_ONCE(node->task->mm)) {
		/* Woken for it, but it has not run yet to write its number there. */
		*proven = false;
		return c->took->task;
	}
	owner = u.owner ? pid_task(find_pid_ns(u.owner, &init_pid_ns), PIDTYPE_PID) : NULL;
	/* A PI lock names its next owner before that one wakes. */
	if (owner == node->task && lk_now_ns() - node->begin_ns < LK_LASTS_NS)
		return NULL;
	*proven = owner && READ_ONCE(owner->mm) == READ_ONCE(node->task->mm);
	return owner;
}

/*
 * The thread that holds what the node waits for, or NULL. The lock may go away
 * with its last waiter: another task's is read as if it were gone.
 */
static struct task_struct *lk_holder_of(const struct lk_hop *node, bool *proven)
{
	unsigned long lock = node->lock, word = 0;
	struct task_struct *task;

	*proven = true;
	switch (node->kind) {
	case LK_MUTEX:
		return lk_word_holder(node, &((struct mutex *)lock)->owner, 7, 4);
	case LK_RWSEM:
		if (!lk_word_at((unsigned long)&((struct rw_semaphore *)lock)->owner, &word))
			return NULL;
		*proven = !(word & 1); /* one of its readers, or the last */
		return lk_hinted(lk_word_task(word, 7));
	case LK_RTMUTEX:
		return lk_word_holder(node, &((struct rt_mutex_base *)lock)->owner, 1, 0);
	case LK_SEM:
		task = lk_sem_holder(lock);
		*proven = false;
#if defined(CONFIG_DETECT_HUNG_TASK_BLOCKER) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
		if (!task &&
		    lk_word_at((unsigned long)&((struct semaphore *)lock)->last_holder, &word))
			task = lk_hinted(lk_word_task(word, 0));
#endif
		return task;
	case LK_PERCPU_RWSEM:
		*proven = false;
		return lk_percpu_holder(lock);
	case LK_FUTEX:
	case LK_PTHREAD_MUTEX:
	case LK_PTHREAD_RWLOCK:
		return lk_user_holder(node, proven);
	default:
		return NULL;
	}
}

static enum lk_state lk_state_of(const struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);

	if (READ_ONCE(task->exit_state))
		return LK_ST_GONE;
	if (READ_ONCE(task->on_cpu))
		return LK_ST_RUNNING;
	return state ? LK_ST_SLEEPING : LK_ST_RUNNABLE;
}

/* What is behind the end of a name must not tell two apart. */
static void lk_comm_copy(char *to, const char *from)
{
	memset(to, 0, TASK_COMM_LEN);
	strscpy(to, from, TASK_COMM_LEN);
}

/* --- A chain, followed ------------------------------------------------------------------- */

static bool lk_is_live(const struct lk_wait *w, const struct lk_link *l)
{
	return l && READ_ONCE(l->live) && !w->inner && !w->tentative;
}

/* What a task waits for, or NULL. */
static struct lk_wait *lk_wait_of(struct task_struct *task)
{
	unsigned int set = lk_wait_set(task), i, cpu = task_cpu(task), n;
	struct lk_wait *found = NULL;
	struct lk_cpu *c;

	for (i = 0; i < LK_WAYS; i++) {
		struct lk_wait *w = &lk_waits[set][i];

		if (READ_ONCE(lk_wait_task[set][i]) == task && lk_is_live(w, lk_link_of(w)) &&
		    (!found || w->begin_ns > found->begin_ns))
			found = w;
	}
	c = !found && cpu < lk_nr_cpus ? lk_cpus[cpu] : NULL;
	for (n = c ? min_t(u32, READ_ONCE(c->nspin), LK_SPIN_DEPTH) : 0; n--;) {
		struct lk_wait *w = &c->spin[n];

		if (w->task == task && !w->level && lk_is_live(w, &lk_chain_cpus[cpu]->spin[n]))
			return w;
	}
	return found;
}

/*
 * What the holder of a lock waits for. One that is awake, with a wait for this very lock, has
 * just got it: the end of its wait is still to come.
 */
static struct lk_wait *lk_holder_wait(struct task_struct *holder, unsigned long lock)
{
	struct lk_wait *w = lk_wait_of(holder);

	return w && w->lock == lock && lk_state_of(holder) != LK_ST_SLEEPING ? NULL : w;
}

static void lk_hop_set(struct lk_hop *node, struct task_struct *task, const struct lk_wait *w)
{
	const struct lk_link *l = w ? lk_link_of(w) : NULL;

	node->task = task;
	node->wait = w;
	node->state = lk_state_of(task);
	if (w && w->level) { /* whoever it came in on has nothing to do with it */
		node->tid = node->pid = 0;
		lk_comm_copy(node->comm, "(interrupt)");
	} else {
		node->tid = task->pid;
		node->pid = task->tgid;
		lk_comm_copy(node->comm, task->comm);
	}
	node->proven = true;
	node->lock = 0;
	if (!w)
		return;
	if (node->state == LK_ST_SLEEPING)
		node->state = LK_ST_WAITING;
	node->begin_ns = w->begin_ns;
	node->kind = w->kind;
	node->mode = w->mode;
	node->lock = w->lock;
	node->name = l->name;
	node->name_is = l->name_is;
	node->ip = l->ip;
	node->stack = l->stack;
}

/* From a wait on: who holds the lock, what that one waits for, and so on. */
static void lk_path_follow(struct lk_path *p, struct task_struct *task, const struct lk_wait *w)
{
	u32 i;

	p->n = 0;
	p->cycle = p->cut = p->open = false;
	for (;;) {
		struct lk_hop *last = &p->node[p->n++];
		struct task_struct *holder;
		bool proven = last->proven;

		lk_hop_set(last, task, w);
		if (p->n > 1)
			last->proven = proven;
		if (!w)
			return;
		holder = lk_holder_of(last, &proven);
		if (!holder) {
			p->open = true;
			return;
		}
		for (i = 0; i < p->n; i++)
			if (p->node[i].task == holder) {
				p->back = i;
				/* A lock's hint at its own waiter is none; who is awake has got it. */
				p->cycle = i + 1 < p->n || (proven && last->state == LK_ST_WAITING);
				p->back_proven = proven;
				p->open = !p->cycle;
				return;
			}
		if (p->n > LK_CHAIN_DEPTH) {
			p->cut = true;
			return;
		}
		p->node[p->n].proven = proven;
		task = holder;
		w = lk_holder_wait(task, last->lock);
	}
}

/* --- Shapes and holders ------------------------------------------------------------------- */

static u64 lk_mix_comm(u64 hash, const char *comm)
{
	u64 word[2];

	BUILD_BUG_ON(sizeof(word) != TASK_COMM_LEN);
	memcpy(word, comm, sizeof(word));
	return lk_mix(lk_mix(hash, word[0]), word[1]);
}

/* Neither of the two values that mean something else. */
static u64 lk_key(u64 hash)
{
	return !hash || hash == LK_LEAVES ? 1 : hash;
}

static u64 lk_path_hash(const struct lk_path *p)
{
	u64 hash = (p->cycle ? p->back << 8 : 0) | p->n << 3 | p->cycle << 2 | p->cut << 1 |
		   p->open;
	u32 i;

	for (i = 0; i < p->n; i++) {
		const struct lk_hop *n = &p->node[i];

		hash = lk_mix_comm(hash, n->comm);
		if (lk_chain.by_task)
			hash = lk_mix(hash, n->tid);
		if (n->wait)
			hash = lk_mix(lk_mix(hash, n->name),
				      n->kind << 16 | n->mode << 8 | n->name_is);
	}
	return lk_key(hash);
}

static void lk_shape_fill(struct lk_shape *s, const struct lk_path *p)
{
	u32 i;

	s->cycle = p->cycle;
	s->back = p->cycle ? p->back : 0;
	s->cut = p->cut;
	s->open = p->open;
	for (i = 0; i < p->n; i++) {
		const struct lk_hop *n = &p->node[i];
		struct lk_shape_node *to = &s->node[i];

		memcpy(to->comm, n->comm, TASK_COMM_LEN);
		to->tid = n->tid;
		to->waits = n->wait != NULL;
		if (!n->wait)
			continue;
		to->kind = n->kind;
		to->mode = n->mode;
		to->name_is = n->name_is;
		to->name = n->name;
		to->ip = n->ip;
	}
	smp_store_release(&s->n, p->n);
}

/* Number of the chain's shape, from 1; 0 where there is no room. */
static u32 lk_shape_number(const struct lk_path *p)
{
	u64 hash = lk_path_hash(p);
	u32 place = (hash >> 32) % LOCKTAP_CHAINS, i;

	for (i = 0; i < LK_CHAIN_PROBES; i++, place = (place + 1) % LOCKTAP_CHAINS) {
		struct lk_shape *s = lk_shape_at(place);
		u64 there = READ_ONCE(s->hash);

		if (!there) {
			there = cmpxchg(&s->hash, 0, hash);
			if (!there) {
				lk_shape_fill(s, p);
				return place + 1;
			}
		}
		if (there == hash)
			return place + 1;
	}
	return 0;
}

#define LK_HOLDERS_FULL (~0u)

/*
 * Number of the thread that holds all up, with the lock by which it does, from 1; 0 where
 * nobody is known to.
 */
static u32 lk_holder_number(const struct lk_path *p)
{
	const struct lk_hop *root = &p->node[p->n - 1], *behind;
	u64 key;
	u32 place, i;

	if (p->n < 2 || p->cycle || p->cut)
		return 0;
	if (p->open && p->n < 3) /* nobody is known to hold it */
		return 0;
	root = p->open ? root - 1 : root;
	behind = root - 1;
	key = lk_mix(lk_mix(lk_mix(root->tid, (unsigned long)root->task), behind->name),
		     behind->kind << 8 | behind->name_is);
	key = lk_key(key);
	place = (key >> 32) % LOCKTAP_CHAINS;
	for (i = 0; i < LK_CHAIN_PROBES; i++, place = (place + 1) % LOCKTAP_CHAINS) {
		struct lk_holder *h = &lk_holders[place];
		u64 there = READ_ONCE(h->key);

		if (!there) {
			there = cmpxchg(&h->key, 0, key);
			if (!there) {
				h->tid = root->tid;
				h->pid = root->pid;
				lk_comm_copy(h->comm, root->comm);
				h->name = behind->name;
				h->name_is = behind->name_is;
				h->kind = behind->kind;
				h->mode = behind->mode;
				h->ip = behind->ip;
				h->lock = behind->lock;
				smp_store_release(&h->ready, true);
				return place + 1;
			}
		}
		if (there == key)
			return place + 1;
	}
	return LK_HOLDERS_FULL;
}

/* --- Links ------------------------------------------------------------------------------- */

/* Short: whoever has it counts some time. Not got: the timer does it. */
static bool lk_link_lock(struct lk_link *l)
{
	unsigned int spins;

	for (spins = 0; spins < 4000; spins++) {
		if (!test_and_set_bit_lock(0, &l->busy))
			return true;
		cpu_relax();
	}
	return false;
}

static void lk_link_unlock(struct lk_link *l)
{
	clear_bit_unlock(0, &l->busy);
}

static u32 lk_behind_home(const struct task_struct *owner)
{
	return hash_ptr((void *)owner, ilog2(LK_BEHIND));
}

static void lk_behind_leave(struct lk_link *l)
{
	if (l->slot < 0)
		return;
	WRITE_ONCE(lk_behind[l->slot], 0);
	atomic_dec(&lk_behind_nr[lk_behind_home(l->owner)]);
	l->slot = -1;
}

/* Only sleeping waits: who spins for a spinning lock finds its owner running. */
static void lk_behind_enter(const struct lk_wait *w, struct lk_link *l, struct task_struct *owner)
{
	u32 home, i;

	if (l->slot >= 0 && l->owner == owner)
		return;
	lk_behind_leave(l);
	l->owner = owner;
	if (!owner || !lk_is_task_wait(w))
		return;
	home = lk_behind_home(owner);
	for (i = 0; i < LK_BEHIND_PROBES; i++) {
		u32 slot = (home + i) & (LK_BEHIND - 1);

		if (READ_ONCE(lk_behind[slot]) ||
		    cmpxchg(&lk_behind[slot], 0, lk_wait_index(w) + 1))
			continue;
		l->slot = slot;
		atomic_inc(&lk_behind_nr[home]);
		return;
	}
}

/* Waits behind this task go into the list of late ones. */
static u32 lk_behind_add(struct lk_chain_cpu *c, u32 n, struct task_struct *owner,
			 unsigned long lock)
{
	u32 home = lk_behind_home(owner), i, j;
	int left = atomic_read(&lk_behind_nr[home]);

	for (i = 0; i < LK_BEHIND_PROBES && left > 0; i++) {
		u32 number = READ_ONCE(lk_behind[(home + i) & (LK_BEHIND - 1)]);
		struct lk_wait *w;

		if (!number)
			continue;
		w = lk_wait_at(number - 1);
		if (lk_link_of(w)->owner != owner)
			continue;
		left--;
		if (lock && w->lock != lock)
			continue;
		for (j = 0; j < n && c->late[j] != w; j++)
			;
		if (j < n)
			continue;
		if (n == LK_LATE) {
			lk_chain.late++;
			return n;
		}
		c->late[n++] = w;
	}
	return n;
}

/* An instance that is longer than the shape's longest takes its place. */
static void lk_shape_longest(struct lk_shape *s, const struct lk_link *l, u64 ns)
{
	if (ns <= READ_ONCE(s->longest.ns) || test_and_set_bit_lock(0, &s->busy))
		return;
	if (ns > s->longest.ns) {
		u32 root_stack = l->now.state_stack;

		s->longest = l->now;
		s->longest.state_stack = root_stack;
		s->longest.ns = ns;
	}
	clear_bit_unlock(0, &s->busy);
}

/* The time since the last count goes to the chain that the link has. Locked. */
static void lk_link_count(struct lk_cpu *cpu, struct lk_chain_cpu *c, const struct lk_wait *w,
			  struct lk_link *l, u64 now)
{
	u64 ns = now - l->since_ns;

	if ((s64)ns <= 0 || !l->wanted)
		return;
	if (now - w->begin_ns < lk_opt.min_ns)
		return;
	l->since_ns = now;
	cpu->counts.waits_ns += ns;
	if (l->shape) {
		struct lk_chain_sum *sum = &c->shape[l->shape - 1];

		sum->ns += ns;
		sum->count += l->counted_shape != l->shape;
		l->counted_shape = l->shape;
		lk_shape_longest(lk_shape_at(l->shape - 1), l, now - w->begin_ns);
	} else {
		cpu->counts.full_ns += ns;
		cpu->counts.full += !l->counted_shape;
		l->counted_shape = ~0u;
	}
	if (l->holder == LK_HOLDERS_FULL) {
		lk_chain.holders_full += ns;
	} else if (l->holder) {
		struct lk_chain_sum *sum = &c->holder[l->holder - 1];

		sum->ns += ns;
		sum->count += l->counted_holder != l->holder;
		l->counted_holder = l->holder;
	}
}

/* The chain as it is now. Locked. */
static void lk_link_make(struct lk_chain_cpu *c, const struct lk_wait *w, struct lk_link *l)
{
	struct lk_path *p = &c->path;
	u32 i, shape;

	lk_path_follow(p, w->task, w);
	lk_behind_enter(w, l, p->n > 1 ? p->node[1].task : p->cycle ? p->node[0].task : NULL);
	if (p->n > READ_ONCE(lk_chain.deepest))
		WRITE_ONCE(lk_chain.deepest, p->n);
	l->now.proven = p->cycle && p->back_proven ? LK_BACK_PROVEN : 0;
	for (i = 0; i < p->n; i++) {
		l->now.tid[i] = p->node[i].tid;
		l->now.pid[i] = p->node[i].pid;
		l->now.lock[i] = p->node[i].lock;
		l->now.stack[i] = p->node[i].wait ? p->node[i].stack : 0;
		l->now.proven |= p->node[i].proven ? 1u << i : 0;
	}
	l->now.state = p->node[p->n - 1].state;
	shape = lk_shape_number(p);
	if (shape != l->shape)
		l->now.state_stack = 0;
	l->shape = shape;
	l->holder = lk_holder_number(p);
}

static void lk_link_again(struct lk_cpu *cpu, struct lk_chain_cpu *c, struct lk_wait *w, u64 now)
{
	struct lk_link *l = lk_link_of(w);

	if (!lk_link_lock(l)) {
		lk_chain.late++;
		return;
	}
	if (l->live && lk_wait_task_at(lk_wait_index(w)) == w->task &&
	    lk_hinted(w->task) == w->task) {
		lk_link_count(cpu, c, w, l, now);
		lk_link_make(c, w, l);
	}
	lk_link_unlock(l);
}

/* All whose chains go through one of these waits. */
static void lk_links_again(struct lk_cpu *cpu, struct lk_chain_cpu *c, u32 n, u64 now)
{
	u32 i;

	for (i = 0; i < n; i++) {
		lk_link_again(cpu, c, c->late[i], now);
		n = lk_behind_add(c, n, c->late[i]->task, 0);
	}
}

static void lk_link_open(struct lk_cpu *cpu, struct lk_chain_cpu *c, struct lk_wait *w,
			 unsigned long caller, u32 stack, bool wanted)
{
	struct lk_link *l = lk_link_of(w);

	if (!lk_link_lock(l)) {
		cpu->counts.waits_full++;
		return;
	}
	if (l->slot >= 0 && l->live) /* its end was not seen */
		lk_behind_leave(l);
	l->slot = -1;
	l->doubt = 0;
	l->found = false;
	l->asked_ns = 0;
	l->wanted = wanted;
	if (wanted)
		cpu->counts.recorded++;
	else
		cpu->counts.filtered++;
	l->ip = (u32)caller;
	l->stack = stack;
	if (lk_is_user(w->kind)) {
		l->name_is = LK_NAME_USER;
		l->name = w->user_name;
	} else {
		l->name_is = lk_name_of(w->lock, &l->name);
		if (l->name_is == LK_NAME_CALLER)
			l->name = caller;
	}
	l->since_ns = w->begin_ns;
	l->shape = l->holder = l->counted_shape = l->counted_holder = 0;
	l->now.state_stack = 0;
	WRITE_ONCE(l->live, true);
	c->begins = w->task == current ? w : NULL;
	lk_link_make(c, w, l);
	c->begins = NULL;
	lk_link_unlock(l);
	lk_links_again(cpu, c, lk_behind_add(c, 0, w->task, 0), w->begin_ns);
}

/* A wait begins: the present event. */
static void lk_chain_event(struct lk_cpu *cpu, const struct lk_at *at)
{
	struct lk_chain_cpu *c = lk_chain_here();
	struct lk_event *ev = &cpu->ev;
	unsigned long caller = 0;
	struct lk_wait *w;
	u32 stack;

	if (!c || ev->op != LK_BEGIN || !ev->valid)
		return;
	w = lk_task_wait(current, ev->lock);
	if (!w && cpu->nspin && cpu->spin[cpu->nspin - 1].lock == ev->lock)
		w = &cpu->spin[cpu->nspin - 1];
	if (!w)
		return;
	stack = lk_stack_id(cpu, at, &caller);
	lk_link_open(cpu, c, w, caller, stack, lk_wanted(cpu, at));
}

/*
 * A wait is over, from lk_wait_close(). The lock is the waiter's now: the
 * others that wait for it wait for this one.
 */
static void lk_chain_end(struct lk_cpu *cpu, const struct lk_wait *w, s64 ret, u64 now)
{
	struct lk_chain_cpu *c = lk_chain_here();
	struct lk_link *l = c ? lk_link_of(w) : NULL;
	struct task_struct *owner;
	u32 n = 0;

	if (w->kind == LK_PERCPU_RWSEM && w->mode == LK_W && !ret)
		lk_chain_took(w->lock);
	if (!l || !READ_ONCE(l->live))
		return;
	if (!lk_link_lock(l)) {
		lk_chain.late++;
		return;
	}
	cpu->counts.seen += l->wanted;
	cpu->counts.brief += l->wanted && now - w->begin_ns < lk_opt.min_ns;
	lk_link_count(cpu, c, w, l, now);
	owner = l->owner;
	WRITE_ONCE(l->live, false);
	lk_behind_leave(l);
	lk_link_unlock(l);
	if (owner && !ret)
		n = lk_behind_add(c, n, owner, w->lock);
	n = lk_behind_add(c, n, w->task, 0);
	if (n)
		lk_links_again(cpu, c, n, now);
}

/* What began has been no wait. */
static void lk_chain_none(struct lk_cpu *cpu, const struct lk_wait *w)
{
	struct lk_link *l = lk_chain_cpus ? lk_link_of(w) : NULL;

	if (!l || !READ_ONCE(l->live))
		return;
	if (l->wanted)
		cpu->counts.recorded--;
	else
		cpu->counts.filtered--;
}

/* A wait is given up: its end was not seen. */
static void lk_chain_gone(const struct lk_wait *w)
{
	struct lk_link *l = lk_chain_cpus ? lk_link_of(w) : NULL;

	if (!l || !READ_ONCE(l->live) || !lk_link_lock(l))
		return;
	WRITE_ONCE(l->live, false);
	lk_behind_leave(l);
	lk_link_unlock(l);
}

/* --- What the timer does ------------------------------------------------------------------ */

/* The stack of a task that sleeps, as a number. */
static u32 lk_sleeper_stack(struct lk_cpu *cpu, struct task_struct *task)
{
	u32 ips[LK_DEPTH], n = 0;
	struct unwind_state st;

	if (!lk_has_stack(task))
		return 0;
	for (unwind_start(&st, task, NULL, NULL); !unwind_done(&st) && n < LK_DEPTH;
	     unwind_next_frame(&st)) {
		unsigned long ip = unwind_get_return_address(&st);

		if (!ip)
			break;
		ips[n++] = (u32)ip;
	}
	return n ? lk_stack_number(cpu, ips, n) : 0;
}

/* What the thread does that holds others up. */
static void lk_holder_look(struct lk_cpu *cpu, const struct lk_path *p, struct lk_link *l)
{
	const struct lk_hop *root = &p->node[p->n - 1];
	struct lk_holder *h;

	if (!l->holder || l->holder == LK_HOLDERS_FULL)
		return;
	h = &lk_holders[l->holder - 1];
	root = p->open ? root - 1 : root;
	h->states[root->state]++;
	if (root->state != LK_ST_SLEEPING)
		return;
	if (!l->now.state_stack)
		l->now.state_stack = lk_sleeper_stack(cpu, root->task);
	h->stack = l->now.state_stack;
}

/* Two cycles of the same waits are one, wherever they are entered. */
static u64 lk_cycle_key(const struct lk_path *p)
{
	u64 key = 0;
	u32 i;

	for (i = p->back; i < p->n; i++)
		key += lk_mix(lk_mix(p->node[i].begin_ns, (unsigned long)p->node[i].task),
			      p->node[i].lock);
	return key | !key;
}

/*
 * Does the wait last that the thread was seen in? One that has been woken for a lock
 * of user space is on its way to it.
 */
static bool lk_hop_waits(const struct lk_hop *n)
{
	const struct lk_wait *w = n->wait;

	return lk_is_live(w, lk_link_of(w)) && w->task == n->task && w->begin_ns == n->begin_ns &&
	       w->lock == n->lock && (!lk_is_user(w->kind) || READ_ONCE(n->task->__state));
}

/* Each wait still the same one, a moment later: then all stood at once. */
static bool lk_cycle_stands(const struct lk_path *p)
{
	u32 i;

	for (i = p->back; i < p->n; i++) {
		const struct lk_hop *n = &p->node[i];
		bool proven;

		if (!lk_hop_waits(n))
			return false;
		if (lk_holder_of(n, &proven) != p->node[i + 1 < p->n ? i + 1 : p->back].task)
			return false;
	}
	return true;
}

/* Where a lock only hints at its holder, it may be none. */
static bool lk_path_is_proven(const struct lk_path *p)
{
	u32 i;

	for (i = p->back + 1; i < p->n; i++)
		if (!p->node[i].proven)
			return false;
	return p->back_proven;
}

/* One that there is no room for; it is looked at again and again, and counted once. */
static void lk_cycle_lose(u64 key)
{
	static u64 lost[LK_CYCLES];
	u32 i;

	for (i = 0; i < LK_CYCLES; i++)
		if (lost[i] == key)
			return;
	lost[lk_chain.cycles_full++ % LK_CYCLES] = key;
}

/* A cycle that has not been seen before, or NULL. */
static struct lk_cycle *lk_cycle_new(const struct lk_path *p)
{
	u64 key = lk_cycle_key(p), at_ns = 0, now = lk_now_ns();
	struct lk_cycle *cycle;
	u32 i;

	for (i = p->back; i < p->n; i++)
		at_ns = max(at_ns, p->node[i].begin_ns);
	if ((p->back + 1 == p->n || !lk_path_is_proven(p)) && now - at_ns < LK_LASTS_NS)
		return NULL;
	for (i = 0; i < lk_cycles_nr; i++)
		if (lk_cycles[i].key == key)
			return NULL;
	if (!lk_cycle_stands(p))
		return NULL;
	if (lk_cycles_nr == LK_CYCLES) {
		lk_cycle_lose(key);
		return NULL;
	}
	cycle = &lk_cycles[lk_cycles_nr++];
	cycle->key = key;
	cycle->path = *p;
	/* Of the two that wait for its lock, the one in the cycle counts. */
	cycle->path.node[p->back].proven = p->back_proven;
	cycle->at_ns = at_ns;
	cycle->found_ns = now - at_ns;
	return cycle;
}

/*
 * A wait whose end was not seen must not stand for ever: the sleeper is asked,
 * where the wait has lasted for long.
 */
#define LK_DOUBT_NS NSEC_PER_SEC /* between two questions */
#define LK_DOUBTS 2

/* Is it asleep on this lock? */
static bool lk_sleeps_for(const struct lk_wait *w)
{
	static struct lk_asleep a;
	struct lk_user_wait u;

	if (lk_is_user(w->kind))
		return lk_user_wait_of(w->task, &u) && u.lock == w->lock;
	if (lk_asleep_on(w->task, &a))
		return a.lock == w->lock;
	/* In the function, but too many wait for the lock to find it. */
	return a.ip && a.kind == w->kind && !a.lock;
}

static bool lk_wait_is_gone(struct lk_wait *w, struct lk_link *l, u64 now)
{
	if (lk_hinted(w->task) != w->task || w->task->pid != w->tid || lk_is_past_restart(w, now))
		return true;
	if (!lk_is_task_wait(w) ||
	    (!l->found &&
	     now - max(w->spinning ? w->phase_ns : w->begin_ns, l->asked_ns) < LK_DOUBT_NS))
		return false;
	l->asked_ns = now;
	l->doubt = lk_sleeps_for(w) ? 0 : l->doubt + 1;
	return l->doubt >= LK_DOUBTS;
}

/* Looks at one open wait. */
static void lk_chain_look(struct lk_cpu *cpu, struct lk_chain_cpu *c, struct lk_wait *w, u64 now,
			  void (*tell)(const struct lk_cycle *cycle))
{
	struct lk_link *l = lk_link_of(w);
	const struct lk_cycle *cycle = NULL;
	bool gone = false;

	if (!lk_is_live(w, l) || !lk_link_lock(l))
		return;
	if (l->live && lk_wait_is_gone(w, l, now)) {
		WRITE_ONCE(l->live, false);
		lk_behind_leave(l);
		cpu->counts.unmatched++;
		gone = true;
	} else if (l->live) {
		lk_link_count(cpu, c, w, l, now);
		lk_link_make(c, w, l);
		if (c->path.cycle)
			cycle = lk_cycle_new(&c->path);
		else
			lk_holder_look(cpu, &c->path, l);
	}
	lk_link_unlock(l);
	if (gone)
		lk_task_wait_drop(w);
	if (cycle)
		tell(cycle);
}

static void lk_chain_tick(void (*tell)(const struct lk_cycle *cycle))
{
	struct lk_chain_cpu *c = lk_chain_here();
	struct lk_cpu *cpu = lk_this_cpu();
	unsigned int set, i;
	u64 now;

	if (!c || !cpu || !lk_opt.started || test_and_set_bit_lock(0, &lk_chain_busy))
		return;
	now = lk_now_ns();
	cpu->may_look = 1;
	for (set = 0; set < LK_WAIT_SETS; set++) {
		if (lk_wait_set_empty(set))
			continue;
		for (i = 0; i < LK_WAYS; i++)
			if (READ_ONCE(lk_wait_task[set][i]))
				lk_chain_look(cpu, c, &lk_waits[set][i], now, tell);
	}
	cpu->may_look = 0;
	lk_chain_release();
}

/* --- What began before the probes were armed ----------------------------------------------- */

/* A wait that had begun, for `slept_ns` already. */
static struct lk_wait *lk_chain_found(struct lk_cpu *cpu, struct task_struct *task,
				      unsigned long lock, unsigned int kind, unsigned int mode)
{
	struct lk_wait *w = lk_task_wait_new(cpu, task);
	u64 now = lk_now_ns(), slept_ns = lk_slept_ns(task);

	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	w->task = task;
	w->tid = task->pid;
	w->lock = lock;
	w->kind = kind;
	w->mode = mode;
	w->begin_ns = w->phase_ns = now - min(slept_ns, now - 1);
	w->skipped = lk_skips();
	return w;
}

/* As lk_wanted(), of another task's wait; `ip` is its caller, or the place of that. */
static bool lk_chain_wants(struct lk_cpu *cpu, const struct task_struct *task,
			   const struct lk_wait *w, u32 ip)
{
	if (!(lk_opt.kinds & 1u << w->kind) || (lk_opt.pid && task->tgid != lk_opt.pid))
		return false;
	if (!lk_opt.only)
		return true;
	cpu->ev.op = LK_NONE;
	cpu->ev.lock = w->lock;
	cpu->ev.kind = w->kind;
	cpu->ev.user_name = w->user_name;
	cpu->ev.ip = ip;
	return lk_is_only(cpu, NULL); /* with its ip known it asks for no stack */
}

static void lk_chain_asleep(struct lk_cpu *cpu, struct lk_chain_cpu *c, struct task_struct *task)
{
	static struct lk_asleep a;
	struct lk_user_wait u;
	struct lk_wait *w;
	bool asleep;

	if (lk_wait_of(task))
		return;
	asleep = lk_asleep_on(task, &a);
	/* The rt_mutex behind a futex is part of that: it is waited for in the program. */
	if (asleep && !(a.kind == LK_RTMUTEX && lk_user_wait_of(task, &u) && !u.idle)) {
		w = lk_chain_found(cpu, task, a.lock, a.kind, a.mode);
		if (w)
			lk_link_open(cpu, c, w, LK_IP(a.ip), lk_stack_number(cpu, a.ips, a.n),
				     lk_chain_wants(cpu, task, w, a.ip));
	} else if (READ_ONCE(task->__state) && lk_user_wait_of(task, &u) && !u.idle) {
		w = lk_chain_found(cpu, task, u.lock, u.kind, u.mode);
		if (!w)
			return;
		w->user_ip = u.caller;
		w->user_place = u.place;
		w->user_name = u.name;
		lk_link_open(cpu, c, w, LK_IP(u.place), lk_stack_number(cpu, &u.place, 1),
			     lk_chain_wants(cpu, task, w, u.place));
	} else {
		return;
	}
	/* The time before we came is nobody's record. */
	if (w) {
		lk_link_of(w)->since_ns = lk_now_ns();
		lk_link_of(w)->found = true;
	}
}

/* In a begin probe. Many tasks take a while: interrupts are let in. */
static void lk_chain_start(void)
{
	struct lk_chain_cpu *c = lk_chain_here();
	struct lk_cpu *cpu = lk_this_cpu();
	struct task_struct *process, *task;
	unsigned int set, i;
	u64 now;

	if (!c || !cpu)
		return;
	cpu->may_look = 1;
	rcu_read_lock();
	for_each_process_thread(process, task)
	{
		touch_nmi_watchdog();
		lk_chain_asleep(cpu, c, task);
	}
	rcu_read_unlock();
	/* Now that all are known, the chains between them. */
	now = lk_now_ns();
	for (set = 0; set < LK_WAIT_SETS; set++)
		for (i = 0; i < LK_WAYS; i++)
			if (lk_wait_task[set][i])
				lk_link_again(cpu, c, &lk_waits[set][i], now);
	cpu->may_look = 0;
}

#endif
