// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: chain and deadlock, as kernel/chain.c has them, on the locks of
 * user space, and on kernel locks that a thread holds across system calls.
 *
 * In a chain thread 0 holds lock 0, thread 1 holds lock 1 and waits for lock 0,
 * and so on: the last one waits only.  In a deadlock every thread holds a lock,
 * and thread 0 closes the ring.  The main thread lets one after another begin
 * to wait, each only when the kernel says that the one before is asleep in the
 * system call of its lock.
 *
 * The locks of place=heap are members of a heap object for each chain:
 * lockgen_conn.link_D.MEMBER; those of place=global are lockgen_link_D_MEMBER,
 * and those of place=array lockgen_table.slot[D].MEMBER.  Each depth and kind
 * has functions of its own: lockgen_PLACE_hold_D_KIND holds lock D, and from
 * lockgen_PLACE_wait_D_KIND, or _close_, the next thread waits for it.
 *
 * Kernel locks are those of /proc/lockgen_lock, see kernel/holdable.c.
 */
#include "lockgen.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>

#define MAX_LENGTH 8
#define MAX_CHAINS 40
#define MAX_MORE 32
#define MAX_PLACES (MAX_CHAINS * MAX_LENGTH)
#define NEVER_NS (365 * 24 * 3600 * NSEC_PER_SEC)
#define KERNEL_LOCKS "/proc/lockgen_lock"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* Of linux/futex.h, whose older versions lack it. */
struct waitv {
	uint64_t value;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

#define WAITV_32 2
#define WAITV_PRIVATE 128

/* clang-format off */

/*
 * word, how it is held, how it is waited for, the member, what a tool calls the
 * kind, the mode, whether the lock itself tells its owner
 */
#define LINK_KINDS(F, ...)                                                    \
	F(mutex, mutex, mutex, mutex, "pthread_mutex", "x", 1, __VA_ARGS__)   \
	F(rwlock_w, rwlock_w, rwlock_w, rwlock, "pthread_rwlock", "w", 1,     \
	  __VA_ARGS__)                                                        \
	F(rwlock_r, rwlock_w, rwlock_r, rwlock, "pthread_rwlock", "r", 1,     \
	  __VA_ARGS__)                                                        \
	F(pi, pi, pi, pi_mutex, "pthread_mutex", "x", 1, __VA_ARGS__)         \
	F(futex, futex, futex, futex, "futex", "x", 0, __VA_ARGS__)           \
	F(futex_bitset, futex, futex_bitset, futex, "futex", "x", 0,          \
	  __VA_ARGS__)                                                        \
	F(futex_waitv, futex, futex_waitv, futex, "futex", "x", 0,            \
	  __VA_ARGS__)                                                        \
	F(futex_pi, futex_pi, futex_pi, futex, "futex", "x", 1, __VA_ARGS__)  \
	F(futex_pi2, futex_pi, futex_pi2, futex, "futex", "x", 1,             \
	  __VA_ARGS__)                                                        \
	F(kernel, kernel, kernel, kernel, "mutex", "x", 1, __VA_ARGS__)

/* The two kinds that have global places as well. */
#define GLOBAL_KINDS(F, ...)                                                  \
	F(mutex, mutex, mutex, mutex, "pthread_mutex", "x", 1, __VA_ARGS__)   \
	F(rwlock_w, rwlock_w, rwlock_w, rwlock, "pthread_rwlock", "w", 1,     \
	  __VA_ARGS__)

#define LINK_ID(word, ...) LINK_##word,
enum link_kind {
	LINK_KINDS(LINK_ID)
	LINK_KIND_COUNT,
	LINK_MIXED = LINK_KIND_COUNT,
	LINK_CROSS,
	LINK_CROSS_KERNEL,
};

#define LINK_WORD(word, ...) #word,
const char *const link_words[] = {
	LINK_KINDS(LINK_WORD)
	"mixed", "cross", "cross_kernel", NULL
};

/* clang-format on */

enum place_kind { PLACE_HEAP, PLACE_GLOBAL, PLACE_ARRAY, PLACE_KINDS };
const char *const place_words[] = { "heap", "global", "array", NULL };
const char *const build_words[] = { "front", "back", NULL };

struct lockgen_link {
	pthread_mutex_t mutex;
	pthread_mutex_t pi_mutex;
	pthread_rwlock_t rwlock;
	/* 0 free, 1 held, 2 held and waited for; or that of a PI futex. */
	atomic_uint futex;
	/* Its number in KERNEL_LOCKS. */
	unsigned int kernel;
};

/* What the chains of place=heap are: a connection with its locks. */
struct lockgen_conn {
	int fd;
	struct lockgen_link link_0;
	struct lockgen_link link_1;
	struct lockgen_link link_2;
	struct lockgen_link link_3;
	struct lockgen_link link_4;
	struct lockgen_link link_5;
	struct lockgen_link link_6;
	struct lockgen_link link_7;
};

/* clang-format off */
#define DEPTHS(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)

#define LINK_GLOBALS(d)                                                      \
	static pthread_mutex_t lockgen_link_##d##_mutex =                    \
		PTHREAD_MUTEX_INITIALIZER;                                   \
	static pthread_rwlock_t lockgen_link_##d##_rwlock =                  \
		PTHREAD_RWLOCK_INITIALIZER;
DEPTHS(LINK_GLOBALS)
/* clang-format on */

static struct {
	int used;
	struct lockgen_link slot[MAX_LENGTH];
} lockgen_table;

struct place;

/* One depth and kind in one place: how its lock is held and waited for. */
struct link {
	void (*hold)(struct lockgen_conn *conn, struct place *p);
	void (*wait)(struct lockgen_conn *conn, struct place *p);
	/* The wait that a time-out or a signal ends. */
	void (*close)(struct lockgen_conn *conn, struct place *p);
	void *(*lock)(struct lockgen_conn *conn);
	const char *hold_symbol;
	const char *wait_symbol;
	const char *close_symbol;
	const char *name;
	const char *kind;
	const char *mode;
	int told;
	enum link_kind id;
};

struct graph;

/* A thread's place: what it holds, what it waits for, and how that went. */
struct place {
	struct graph *g;
	pthread_t handle;
	bool started;
	unsigned int chain;
	unsigned int depth;
	char comm[16];
	struct lockgen_conn *conn;
	const struct link *own;
	const struct link *awaited;
	const struct place *owner;
	bool closes;
	uint64_t timeout_ns;
	/* Written to by the main thread: go on. */
	int event_fd;
	/* What its system call is. */
	int syscall_fd;
	atomic_int tid;
	unsigned int round;
	/* The last round in which it holds its lock, waits, is done. */
	atomic_uint ready;
	atomic_uint announced;
	atomic_uint finished;
	atomic_ullong called_ns;
	uint64_t wait_ns;
	uint64_t ended_ns;
	unsigned int failed;
	/* The main thread's: waits that it has seen, and has not. */
	unsigned int seen;
	unsigned int missed;
	uint64_t seen_ns;
};

struct graph {
	const struct request *rq;
	bool ring;
	unsigned int length;
	unsigned int width;
	unsigned int chains;
	unsigned int rounds;
	unsigned int nplaces;
	struct place *place;
	struct lockgen_conn *conn;
	bool ended;
};

/* Raw futexes. */

static long futex(atomic_uint *word, int op, unsigned int value,
		  const struct timespec *timeout, unsigned int bits)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout,
		       NULL, bits);
}

static long futex_waitv(atomic_uint *word, unsigned int value,
			const struct timespec *deadline)
{
	struct waitv waiter = {
		.value = value,
		.address = (uintptr_t)word,
		.flags = WAITV_32 | WAITV_PRIVATE,
	};

	return syscall(SYS_futex_waitv, &waiter, 1, 0, deadline,
		       CLOCK_MONOTONIC);
}

/* How a raw futex is waited for, one call. */
ALWAYS_INLINE long futex_sleep(enum link_kind kind, atomic_uint *word,
			       uint64_t end_ns)
{
	struct timespec ts = { (time_t)(end_ns / NSEC_PER_SEC),
			       (long)(end_ns % NSEC_PER_SEC) };
	uint64_t start = now(), left = end_ns > start ? end_ns - start : 0;
	struct timespec relative = { (time_t)(left / NSEC_PER_SEC),
				     (long)(left % NSEC_PER_SEC) };

	switch (kind) {
	case LINK_futex_bitset:
		return futex(word, FUTEX_WAIT_BITSET, 2, end_ns ? &ts : NULL,
			     FUTEX_BITSET_MATCH_ANY);
	case LINK_futex_waitv:
		return futex_waitv(word, 2, end_ns ? &ts : NULL);
	default:
		return futex(word, FUTEX_WAIT, 2, end_ns ? &relative : NULL, 0);
	}
}

/* Without an end where end_ns is 0. */
ALWAYS_INLINE int futex_take(enum link_kind kind, atomic_uint *word,
			     uint64_t end_ns)
{
	unsigned int unlocked = 0;

	if (atomic_compare_exchange_strong(word, &unlocked, 1))
		return 0;
	while (atomic_exchange(word, 2)) {
		if (futex_sleep(kind, word, end_ns) && errno != EAGAIN &&
		    errno != EINTR)
			return errno;
	}
	return 0;
}

static void futex_let(atomic_uint *word)
{
	if (atomic_exchange(word, 0) == 2)
		futex(word, FUTEX_WAKE, 1, NULL, 0);
}

ALWAYS_INLINE int futex_pi_take(int op, atomic_uint *word)
{
	unsigned int unlocked = 0;

	if (atomic_compare_exchange_strong(word, &unlocked,
					   (unsigned int)gettid()))
		return 0;
	while (futex(word, op, 0, NULL, 0))
		if (errno != EINTR && errno != EAGAIN)
			return errno;
	return 0;
}

static void futex_pi_let(atomic_uint *word)
{
	unsigned int locked = (unsigned int)gettid();

	if (!atomic_compare_exchange_strong(word, &locked, 0))
		futex(word, FUTEX_UNLOCK_PI, 0, NULL, 0);
}

/* Kernel locks. */

static int kernel_fd = -1;

static int kernel_command(const char *what, unsigned int number)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%s %u", what, number);

	return write(kernel_fd, text, (size_t)n) < 0 ? errno : 0;
}

ALWAYS_INLINE int kernel_take(const unsigned int *number, bool once)
{
	int error;

	/* Only the signal that is meant for it ends a wait. */
	do {
		error = kernel_command("lock", *number);
	} while (error == EINTR && !once);
	return error;
}

/*
 * The operations.  Always inlined with a constant kind, so the call of the lock
 * function stands in the link's own function.
 */
ALWAYS_INLINE int take(enum link_kind kind, void *lock)
{
	switch (kind) {
	case LINK_mutex:
	case LINK_pi:
		return pthread_mutex_lock(lock);
	case LINK_rwlock_w:
		return pthread_rwlock_wrlock(lock);
	case LINK_rwlock_r:
		return pthread_rwlock_rdlock(lock);
	case LINK_futex_pi:
		return futex_pi_take(FUTEX_LOCK_PI, lock);
	case LINK_futex_pi2:
		return futex_pi_take(FUTEX_LOCK_PI2, lock);
	case LINK_kernel:
		return kernel_take(lock, false);
	default:
		return futex_take(kind, lock, 0);
	}
}

/* A PI lock cannot close a ring: the kernel sees it, and does not wait. */
ALWAYS_INLINE int take_until(enum link_kind kind, void *lock, uint64_t ns)
{
	struct timespec deadline = deadline_after(ns);

	switch (kind) {
	case LINK_mutex:
		return pthread_mutex_timedlock(lock, &deadline);
	case LINK_rwlock_w:
		return pthread_rwlock_timedwrlock(lock, &deadline);
	case LINK_rwlock_r:
		return pthread_rwlock_timedrdlock(lock, &deadline);
	case LINK_kernel:
		return kernel_take(lock, true);
	case LINK_pi:
	case LINK_futex_pi:
	case LINK_futex_pi2:
		return ENOTSUP;
	default:
		return futex_take(kind, lock, now() + ns);
	}
}

ALWAYS_INLINE void let(enum link_kind kind, void *lock)
{
	switch (kind) {
	case LINK_mutex:
	case LINK_pi:
		must(pthread_mutex_unlock(lock));
		break;
	case LINK_rwlock_w:
	case LINK_rwlock_r:
		must(pthread_rwlock_unlock(lock));
		break;
	case LINK_futex_pi:
	case LINK_futex_pi2:
		futex_pi_let(lock);
		break;
	case LINK_kernel:
		must(kernel_command("unlock", *(unsigned int *)lock));
		break;
	default:
		futex_let(lock);
		break;
	}
}

/* What a thread does. */

/* In a system call that is no lock's: read(). */
static void hear(struct place *p)
{
	uint64_t n;

	while (read(p->event_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

/* Called with its own lock held, where it has one. */
static OWN_FUNCTION void lockgen_stand(struct place *p)
{
	p->ready = p->round;
	hear(p);
	if (!p->awaited)
		return;
	if (p->closes)
		p->awaited->close(p->conn, p);
	else
		p->awaited->wait(p->conn, p);
	/* The caller of these stays on the stack. */
	atomic_signal_fence(memory_order_seq_cst);
}

ALWAYS_INLINE void hold_link(struct place *p, enum link_kind kind, void *lock)
{
	must(take(kind, lock));
	lockgen_stand(p);
	let(kind, lock);
	atomic_signal_fence(memory_order_seq_cst);
}

ALWAYS_INLINE void wait_link(struct place *p, enum link_kind kind, void *lock,
			     bool closes)
{
	uint64_t called = now();
	int error;

	p->called_ns = called;
	p->announced = p->round;
	error = closes ? take_until(kind, lock, p->timeout_ns) :
			 take(kind, lock);
	p->ended_ns = now();
	p->wait_ns += p->ended_ns - called;
	if (!error)
		let(kind, lock);
	else if (closes && (error == ETIMEDOUT || error == EINTR))
		p->failed++;
	else
		must(error);
	atomic_signal_fence(memory_order_seq_cst);
}

static void *chain_main(void *data)
{
	struct place *p = data;

	pthread_setname_np(pthread_self(), p->comm);
	p->tid = gettid();
	for (p->round = 1; p->round <= p->g->rounds; p->round++) {
		hear(p);
		if (p->own)
			p->own->hold(p->conn, p);
		else
			lockgen_stand(p);
		p->finished = p->round;
	}
	return NULL;
}

/* clang-format off */

#define LOCK_heap(d, member) (&conn->link_##d.member)
#define LOCK_global(d, member) (&lockgen_link_##d##_##member)
#define LOCK_array(d, member) (&lockgen_table.slot[d].member)

#define NAME_heap(d, member) "lockgen_conn.link_" #d "." #member
#define NAME_global(d, member) "lockgen_link_" #d "_" #member
#define NAME_array(d, member) "lockgen_table.slot[]." #member

/* A function for each place, depth and kind: a caller that can be told apart. */
#define LINK_FN(word, holds, waits, member, kind, mode, told, where, d)       \
static OWN_FUNCTION void                                                      \
lockgen_##where##_hold_##d##_##word(struct lockgen_conn *conn,                \
				    struct place *p)                          \
{                                                                             \
	(void)conn;                                                           \
	hold_link(p, LINK_##holds, LOCK_##where(d, member));                  \
}                                                                             \
static OWN_FUNCTION void                                                      \
lockgen_##where##_wait_##d##_##word(struct lockgen_conn *conn,                \
				    struct place *p)                          \
{                                                                             \
	(void)conn;                                                           \
	wait_link(p, LINK_##waits, LOCK_##where(d, member), false);           \
}                                                                             \
static OWN_FUNCTION void                                                      \
lockgen_##where##_close_##d##_##word(struct lockgen_conn *conn,               \
				     struct place *p)                         \
{                                                                             \
	(void)conn;                                                           \
	wait_link(p, LINK_##waits, LOCK_##where(d, member), true);            \
}                                                                             \
static void *                                                                 \
lock_##where##_##d##_##word(struct lockgen_conn *conn)                        \
{                                                                             \
	(void)conn;                                                           \
	return LOCK_##where(d, member);                                       \
}

#define LINK_ENTRY(word, holds, waits, member, kind_, mode_, told_, where, d) \
	[LINK_##word] = {                                                     \
		.hold = lockgen_##where##_hold_##d##_##word,                  \
		.wait = lockgen_##where##_wait_##d##_##word,                  \
		.close = lockgen_##where##_close_##d##_##word,                \
		.lock = lock_##where##_##d##_##word,                          \
		.hold_symbol = "lockgen_" #where "_hold_" #d "_" #word,       \
		.wait_symbol = "lockgen_" #where "_wait_" #d "_" #word,       \
		.close_symbol = "lockgen_" #where "_close_" #d "_" #word,     \
		.name = NAME_##where(d, member),                              \
		.kind = kind_,                                                \
		.mode = mode_,                                                \
		.told = told_,                                                \
		.id = LINK_##word,                                            \
	},

#define HEAP_FNS(d) LINK_KINDS(LINK_FN, heap, d)
#define GLOBAL_FNS(d) GLOBAL_KINDS(LINK_FN, global, d)
#define ARRAY_FNS(d) GLOBAL_KINDS(LINK_FN, array, d)

DEPTHS(HEAP_FNS)
DEPTHS(GLOBAL_FNS)
DEPTHS(ARRAY_FNS)

#define HEAP_ROW(d) [d] = { LINK_KINDS(LINK_ENTRY, heap, d) },
#define GLOBAL_ROW(d) [d] = { GLOBAL_KINDS(LINK_ENTRY, global, d) },
#define ARRAY_ROW(d) [d] = { GLOBAL_KINDS(LINK_ENTRY, array, d) },

static const struct link links[PLACE_KINDS][MAX_LENGTH][LINK_KIND_COUNT] = {
	[PLACE_HEAP] = { DEPTHS(HEAP_ROW) },
	[PLACE_GLOBAL] = { DEPTHS(GLOBAL_ROW) },
	[PLACE_ARRAY] = { DEPTHS(ARRAY_ROW) },
};

/* clang-format on */

/* cross: user and kernel locks in turn. */
static enum link_kind kind_at(const struct request *rq, unsigned int depth)
{
	static const enum link_kind chain[MAX_LENGTH] = {
		LINK_mutex, LINK_rwlock_w, LINK_pi,	      LINK_futex_pi,
		LINK_mutex, LINK_rwlock_r, LINK_futex_bitset, LINK_mutex,
	};
	static const enum link_kind ring[MAX_LENGTH] = {
		LINK_mutex,    LINK_rwlock_w, LINK_mutex,    LINK_rwlock_w,
		LINK_rwlock_r, LINK_mutex,    LINK_rwlock_w, LINK_mutex,
	};
	int kind = rq->value[K_LINK_KIND];

	switch (kind) {
	case LINK_MIXED:
		return rq->scenario == DEADLOCK ? ring[depth] : chain[depth];
	case LINK_CROSS:
		return depth % 2 ? LINK_kernel : LINK_mutex;
	case LINK_CROSS_KERNEL:
		return depth % 2 ? LINK_mutex : LINK_kernel;
	default:
		return (enum link_kind)kind;
	}
}

static const struct link *link_at(const struct request *rq, unsigned int depth)
{
	const struct link *l =
		&links[rq->value[K_PLACE]][depth][kind_at(rq, depth)];

	return l->hold ? l : NULL;
}

static unsigned int links_of(const struct request *rq)
{
	unsigned int length = (unsigned int)rq->value[K_LENGTH];

	return rq->scenario == DEADLOCK ? length : length - 1;
}

static bool needs_kernel(const struct request *rq)
{
	unsigned int d;

	for (d = 0; d < links_of(rq); d++)
		if (kind_at(rq, d) == LINK_kernel)
			return true;
	return false;
}

/* The main thread conducts. */

static void tell(const struct place *p)
{
	uint64_t one = 1;

	while (write(p->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* 1 it sleeps in the system call of its lock, 0 not, -1 not told. */
static int queued(const struct place *p)
{
	uintptr_t lock = (uintptr_t)p->awaited->lock(p->conn);
	unsigned long first;
	long nr;
	int in = in_syscall(p->syscall_fd, &nr, &first);

	if (in <= 0)
		return in;
	switch (p->awaited->id) {
	case LINK_kernel:
		return nr == SYS_write && first == (unsigned long)kernel_fd;
	case LINK_futex_waitv:
		return nr == SYS_futex_waitv;
	default:
		return nr == SYS_futex && first >= lock &&
		       first < lock + sizeof(pthread_rwlock_t);
	}
}

static void let_wait(struct place *p, unsigned int round)
{
	uint64_t start = now();

	tell(p);
	await((p->announced == round && queued(p)) ||
	      since(start) > 2 * NSEC_PER_SEC);
	if (p->announced != round || !queued(p)) {
		p->missed++;
		return;
	}
	p->seen++;
	p->seen_ns = now();
}

static void build(struct graph *g, unsigned int chain, unsigned int round)
{
	struct place *first = &g->place[chain * g->width];
	bool back = g->rq->value[K_BUILD];
	unsigned int i;

	for (i = 1; i < g->length && !stopped; i++)
		let_wait(&first[back ? g->length - i : i], round);
	/* Last the one that closes the ring, and then those behind it all. */
	if (g->ring && !stopped)
		let_wait(first, round);
	for (i = g->length; i < g->width && !stopped; i++)
		let_wait(&first[i], round);
}

static bool all_ready(const struct graph *g, unsigned int round)
{
	unsigned int i;

	for (i = 0; i < g->nplaces; i++)
		if (g->place[i].ready != round)
			return false;
	return true;
}

static bool all_finished(const struct graph *g, unsigned int round)
{
	unsigned int i;

	for (i = 0; i < g->nplaces; i++)
		if (g->place[i].finished != round)
			return false;
	return true;
}

/* A signal, or a line; the end of the input is not one. */
void stand(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char text[64];
	ssize_t n;

	while (!stopped) {
		if (poll(&input, 1, 200) <= 0 || !input.revents)
			continue;
		n = read(STDIN_FILENO, text, sizeof(text));
		if (n > 0 && memchr(text, '\n', (size_t)n))
			return;
		if (n <= 0)
			input.fd = -1;
	}
}

static void hold_all(const struct graph *g)
{
	uint64_t start = now();
	uint64_t ns = (uint64_t)g->rq->value[K_STAND_US] * NSEC_PER_USEC;
	uint64_t gone;

	while ((gone = since(start)) < ns && !stopped)
		sleep_ns(ns - gone);
}

static void release_all(const struct graph *g)
{
	unsigned int c;

	for (c = 0; c < g->chains; c++) {
		const struct place *root = &g->place[c * g->width];

		if (!g->ring)
			tell(root);
		else if (root->awaited->id == LINK_kernel)
			pthread_kill(root->handle, SIGUSR1);
	}
}

/* The truth. */

/* The address of a kernel lock, as its module tells it. */
static unsigned long kernel_address(unsigned int number)
{
	unsigned long address = 0;
	char line[256];
	unsigned int n;
	FILE *f = fopen(KERNEL_LOCKS, "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "klock %u %lx", &n, &address) == 2 &&
		    n == number)
			break;
		address = 0;
	}
	if (f)
		fclose(f);
	return address;
}

static void print_link(const struct graph *g, const struct place *p)
{
	const struct link *l = p->awaited;
	void *lock = l->lock(p->conn);
	bool kernel = l->id == LINK_kernel;
	char name[64], ns[24] = "-";

	if (kernel)
		snprintf(name, sizeof(name), "lockgen_held.lock_%u",
			 p->owner->depth);
	else
		snprintf(name, sizeof(name), "%s", l->name);
	if (!g->rq->value[K_STAND] || g->ended)
		snprintf(ns, sizeof(ns), "%llu",
			 (unsigned long long)(p->wait_ns ?
						      p->wait_ns :
						      now() - p->called_ns));
	printf("link\t%u\t%u\t%d\t%s\t%s\t%s\t%s\t0x%lx\t%d\t%s\t%u\t%u\t%s\t"
	       "%u\t%llu\t%s\t%s\t%s\t%d\n",
	       p->chain, p->depth, p->tid, p->comm, l->kind, l->mode, name,
	       kernel ? kernel_address(*(unsigned int *)lock) :
			(unsigned long)(uintptr_t)lock,
	       p->owner->tid, p->owner->comm, p->seen, p->missed, ns, p->failed,
	       (unsigned long long)p->called_ns,
	       p->closes ? l->close_symbol : l->wait_symbol, l->hold_symbol,
	       link_words[l->id], l->told);
}

static void print_graph(const struct graph *g)
{
	unsigned int i;

	printf("#lockgen 1 %s\n", g->ring ? "deadlock" : "chain");
	printf("#link\tchain\tdepth\ttid\tcomm\tkind\tmode\tname\tlock\towner\t"
	       "owner_comm\twaits\tmissed\twait_ns\tfailed\tcalled_ns\tcaller\t"
	       "holder\tvariant\ttold\n");
	for (i = 0; i < g->nplaces; i++)
		if (g->place[i].awaited)
			print_link(g, &g->place[i]);
	if (!g->ring)
		return;
	printf("#ring\tring\tlength\ttimes\tcloser\tclosed_ns\tseen_ns\t"
	       "ended_ns\n");
	for (i = 0; i < g->nplaces; i += g->width) {
		const struct place *p = &g->place[i];

		printf("ring\t%u\t%u\t%u\t%d\t%llu\t%llu\t%llu\n", p->chain,
		       g->length, p->seen, p->tid,
		       (unsigned long long)p->called_ns,
		       (unsigned long long)p->seen_ns,
		       (unsigned long long)p->ended_ns);
	}
}

/* The making of it. */

static void init_link(const struct link *l, struct lockgen_conn *conn,
		      unsigned int number)
{
	pthread_mutexattr_t attr;
	void *lock = l->lock(conn);

	switch (l->id) {
	case LINK_mutex:
		must(pthread_mutex_init(lock, NULL));
		break;
	case LINK_pi:
		must(pthread_mutexattr_init(&attr));
		must(pthread_mutexattr_setprotocol(&attr,
						   PTHREAD_PRIO_INHERIT));
		must(pthread_mutex_init(lock, &attr));
		pthread_mutexattr_destroy(&attr);
		break;
	case LINK_rwlock_w:
	case LINK_rwlock_r:
		must(pthread_rwlock_init(lock, NULL));
		break;
	case LINK_kernel:
		*(unsigned int *)lock = number;
		break;
	default:
		*(atomic_uint *)lock = 0;
		break;
	}
}

static void settle_place(struct graph *g, unsigned int index)
{
	unsigned int depth = index % g->width, awaits;
	struct place *p = &g->place[index];
	bool extra = depth >= g->length;

	p->g = g;
	p->chain = index / g->width;
	p->depth = depth;
	p->conn = &g->conn[p->chain];
	p->closes = g->ring && !depth;
	p->timeout_ns =
		g->rq->value[K_STAND] ?
			NEVER_NS :
			(uint64_t)g->rq->value[K_STAND_US] * NSEC_PER_USEC;
	p->event_fd = -1;
	p->syscall_fd = -1;
	if (extra)
		snprintf(p->comm, sizeof(p->comm), "lg_u%s_more",
			 g->ring ? "dead" : "chain");
	else
		snprintf(p->comm, sizeof(p->comm), "lg_u%s_%c",
			 g->ring ? "dead" : "chain", (char)('0' + depth));
	if (depth < links_of(g->rq)) {
		p->own = link_at(g->rq, depth);
		init_link(p->own, p->conn, p->chain * MAX_LENGTH + depth);
	}
	if (!depth && !g->ring)
		return;
	awaits = extra ? 0 : (depth ? depth : g->length) - 1;
	p->awaited = link_at(g->rq, awaits);
	p->owner = &g->place[p->chain * g->width + awaits];
}

static int start_places(struct graph *g)
{
	unsigned int i;
	int error;

	for (i = 0; i < g->nplaces; i++) {
		struct place *p = &g->place[i];

		p->event_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
		if (p->event_fd < 0)
			return errno;
		error = pthread_create(&p->handle, NULL, chain_main, p);
		if (error)
			return error;
		p->started = true;
		await(p->tid);
		p->syscall_fd = open_syscall(p->tid);
	}
	return 0;
}

static int run_graph(struct graph *g)
{
	bool stands = g->rq->value[K_STAND];
	unsigned int i, round;

	for (round = 1; round <= g->rounds && !stopped; round++) {
		for (i = 0; i < g->nplaces; i++)
			tell(&g->place[i]);
		await(all_ready(g, round));
		for (i = 0; i < g->chains; i++)
			build(g, i, round);
		if (stopped)
			break;
		if (!stands) {
			hold_all(g);
		} else {
			print_graph(g);
			fflush(stdout);
			stand();
			stopped = false;
			g->ended = true;
			/* Nothing but the end of all ends that deadlock. */
			if (g->ring)
				return 0;
		}
		release_all(g);
		await(all_finished(g, round));
	}
	if (stopped)
		return EINTR;
	for (i = 0; i < g->nplaces; i++)
		pthread_join(g->place[i].handle, NULL);
	return 0;
}

/* What is not freed here is in the hands of threads that may still run. */
static int perform_chain(const struct request *rq)
{
	static struct graph g;
	unsigned int i;
	int error;

	g.rq = rq;
	g.ring = rq->scenario == DEADLOCK;
	g.length = (unsigned int)rq->value[K_LENGTH];
	g.width = g.length + (unsigned int)rq->value[K_MORE];
	g.chains = (unsigned int)rq->value[K_CHAINS];
	g.rounds = (unsigned int)rq->value[K_FEW_ROUNDS];
	g.nplaces = g.chains * g.width;
	g.place = calloc(g.nplaces, sizeof(*g.place));
	g.conn = calloc(g.chains, sizeof(*g.conn));
	if (!g.place || !g.conn)
		return ENOMEM;
	if (needs_kernel(rq)) {
		kernel_fd = open(KERNEL_LOCKS, O_WRONLY | O_CLOEXEC);
		if (kernel_fd < 0) {
			error = errno;
			fprintf(stderr,
				"lockgen: no " KERNEL_LOCKS
				": load kernel/lockgen.ko, and run this as root\n");
			return error;
		}
	}
	for (i = 0; i < g.nplaces; i++)
		settle_place(&g, i);
	error = start_places(&g);
	if (!error)
		error = run_graph(&g);
	if (!error)
		print_graph(&g);
	return error;
}

static bool refuse_closer(const struct request *rq, char *why, size_t size)
{
	enum link_kind last = kind_at(rq, links_of(rq) - 1);

	if (last != LINK_pi && last != LINK_futex_pi && last != LINK_futex_pi2)
		return false;
	snprintf(why, size,
		 "kind=%s: the kernel refuses to close a ring of PI futexes, "
		 "use another kind",
		 link_words[rq->value[K_LINK_KIND]]);
	return true;
}

static bool refuse_chain(const struct request *rq, char *why, size_t size)
{
	int n = rq->value[K_CHAINS] * (rq->value[K_LENGTH] + rq->value[K_MORE]);
	unsigned int d;

	for (d = 0; d < links_of(rq); d++) {
		if (link_at(rq, d))
			continue;
		snprintf(why, size,
			 "place=%s: only for kind=mutex and kind=rwlock_w",
			 place_words[rq->value[K_PLACE]]);
		return true;
	}
	if (rq->value[K_PLACE] != PLACE_HEAP && rq->value[K_CHAINS] > 1)
		snprintf(why, size,
			 "chains=%d: place=%s has the locks of one chain only",
			 rq->value[K_CHAINS], place_words[rq->value[K_PLACE]]);
	else if (n > MAX_PLACES)
		snprintf(why, size,
			 "chains=%d: are %d threads, at most %d are allowed",
			 rq->value[K_CHAINS], n, MAX_PLACES);
	else if (rq->value[K_STAND] && rq->given[K_STAND_US])
		snprintf(why, size,
			 "hold_us=%d: stand=1 lasts until it is ended, give "
			 "one of them",
			 rq->value[K_STAND_US]);
	else if (rq->value[K_STAND] && rq->value[K_FEW_ROUNDS] > 1)
		snprintf(why, size, "rounds=%d: with stand=1 there is only one",
			 rq->value[K_FEW_ROUNDS]);
	else
		return rq->scenario == DEADLOCK && refuse_closer(rq, why, size);
	return true;
}

const struct plan plan_chain = { refuse_chain, perform_chain };
