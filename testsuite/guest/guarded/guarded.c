// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guarded: what locks protect, for guarded reads.  A write to /proc/guarded
 * does one thing, and reading the file tells how it went:
 *
 *   torn KIND TIMES	calls gd_KIND() so often, while another CPU changes two
 *			fields under that lock, one after the other
 *   held KIND TIMES	the same while another CPU holds the lock
 *   inside KIND TIMES	the same while the caller itself holds it
 *   masked KIND TIMES	... nobody holds it, and interrupts are off
 *   irq KIND TIMES	... from an interrupt on another CPU
 *   site NAME TIMES	calls gd_NAME(), whose probe does what it should not
 *
 * KIND is spin, raw, rwlock (held: by a writer), mutex, rwsem or rtmutex.  What
 * is told: `calls', and after it whether every lock is free, the interrupts as
 * they were, and the preemption count too.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#define GD_ENTRIES 5

struct gd_entry {
	u64 number;
	struct list_head link;
	u64 square;
};

struct guarded {
	spinlock_t spin;
	raw_spinlock_t raw;
	rwlock_t rwlock;
	struct mutex mutex;
	struct rw_semaphore rwsem;
	struct rt_mutex rtmutex;
	u64 first, second; /* always the same, under the lock */
	short numbers[8];
	char text[12];
	unsigned int three : 3;
	struct guarded *self, *lost, *nowhere;
	struct list_head entries;
	struct list_head damaged; /* leads to nowhere after one entry */
	struct list_head endless; /* its only entry's next is itself */
};

static struct guarded gd;
static struct gd_entry gd_entries[GD_ENTRIES], gd_lost, gd_looped;
static char gd_told[256];
static DEFINE_MUTEX(gd_one);

/* ------------------------------------------------------------------------ */
/* Sites                                                                     */

/* clang-format off */

#define GD_SITES(F)						\
	F(spin) F(raw) F(rwlock) F(mutex) F(rwsem) F(rtmutex)	\
	F(parts) F(straight) F(blocks) F(divide) F(forever) F(pointers) F(next) F(return) F(much)

#define GD_SITE(name)						\
static noinline void gd_##name(struct guarded *g)		\
{								\
	asm volatile("" : : "r"(g) : "memory");			\
}
GD_SITES(GD_SITE)

/* In the middle of another one. */
static __always_inline void gd_inlined(struct guarded *g)
{
	asm volatile("nop" : : "r"(g) : "memory");
}

static const struct {
	const char *name;
	void (*call)(struct guarded *g);
} gd_sites[] = {
#define GD_ENTRY(name) { #name, gd_##name },
	GD_SITES(GD_ENTRY)
};

/* clang-format on */

/* ------------------------------------------------------------------------ */
/* Locks                                                                     */

enum gd_kind {
	GD_SPIN,
	GD_RAW,
	GD_RWLOCK,
	GD_MUTEX,
	GD_RWSEM,
	GD_RTMUTEX,
	GD_KINDS
};

static void gd_lock(enum gd_kind kind)
{
	switch (kind) {
	case GD_SPIN:
		spin_lock(&gd.spin);
		break;
	case GD_RAW:
		raw_spin_lock(&gd.raw);
		break;
	case GD_RWLOCK:
		write_lock(&gd.rwlock);
		break;
	case GD_MUTEX:
		mutex_lock(&gd.mutex);
		break;
	case GD_RWSEM:
		down_write(&gd.rwsem);
		break;
	default:
		rt_mutex_lock(&gd.rtmutex);
	}
}

static void gd_unlock(enum gd_kind kind)
{
	switch (kind) {
	case GD_SPIN:
		spin_unlock(&gd.spin);
		break;
	case GD_RAW:
		raw_spin_unlock(&gd.raw);
		break;
	case GD_RWLOCK:
		write_unlock(&gd.rwlock);
		break;
	case GD_MUTEX:
		mutex_unlock(&gd.mutex);
		break;
	case GD_RWSEM:
		up_write(&gd.rwsem);
		break;
	default:
		rt_mutex_unlock(&gd.rtmutex);
	}
}

static bool gd_all_free(void)
{
	bool all = !atomic_read(&gd.spin.rlock.raw_lock.val) &&
		   !atomic_read(&gd.raw.raw_lock.val) &&
		   !atomic_read(&gd.rwlock.raw_lock.cnts);

	all = all && !mutex_is_locked(&gd.mutex) && !rwsem_is_locked(&gd.rwsem);
	if (all && rt_mutex_trylock(&gd.rtmutex))
		rt_mutex_unlock(&gd.rtmutex);
	else
		all = false;
	return all;
}

/* ------------------------------------------------------------------------ */
/* Another CPU                                                               */

static enum gd_kind gd_other_kind;
static bool gd_other_changes;
static atomic_t gd_other_ready;

/* Where a guest's CPUs take turns, this is the end of one. */
static void gd_turns(int n)
{
	while (n--)
		cpu_relax();
}

static void gd_change(void)
{
	gd_lock(gd_other_kind);
	WRITE_ONCE(gd.first, gd.first + 1);
	gd_turns(2);
	WRITE_ONCE(gd.second, gd.first);
	gd_unlock(gd_other_kind);
	gd_turns(4);
}

static int gd_other(void *unused)
{
	if (!gd_other_changes)
		gd_lock(gd_other_kind);
	atomic_set(&gd_other_ready, 1);
	while (!kthread_should_stop()) {
		if (gd_other_changes) {
			gd_change();
			cond_resched();
		} else {
			gd_turns(1);
		}
	}
	if (!gd_other_changes)
		gd_unlock(gd_other_kind);
	return 0;
}

static struct task_struct *gd_start_other(enum gd_kind kind, bool changes)
{
	unsigned int cpu =
		cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct task_struct *task;

	gd_other_kind = kind;
	gd_other_changes = changes;
	atomic_set(&gd_other_ready, 0);
	task = kthread_create(gd_other, NULL, "guarded");
	if (IS_ERR(task))
		return NULL;
	kthread_bind(task, cpu);
	wake_up_process(task);
	while (!atomic_read(&gd_other_ready))
		schedule_timeout_uninterruptible(1);
	return task;
}

/* ------------------------------------------------------------------------ */
/* What can be done                                                          */

struct gd_job {
	void (*site)(struct guarded *g);
	unsigned long times, calls;
};

static void gd_call(void *data)
{
	struct gd_job *job = data;
	unsigned long i;

	for (i = 0; i < job->times; i++) {
		job->site(&gd);
		job->calls++;
		gd_turns(1);
	}
}

/* Under a lock no longer at a time than an ordinary holder. */
static void gd_call_inside(struct gd_job *job, enum gd_kind kind)
{
	unsigned long i;

	for (i = 0; i < job->times; i++) {
		gd_lock(kind);
		job->site(&gd);
		gd_unlock(kind);
		job->calls++;
	}
}

static void gd_call_masked(struct gd_job *job)
{
	unsigned long i, flags;

	for (i = 0; i < job->times; i++) {
		local_irq_save(flags);
		job->site(&gd);
		gd_inlined(
			READ_ONCE(gd.self)); /* in a register: stap knows it */
		WARN_ON_ONCE(!irqs_disabled());
		local_irq_restore(flags);
		job->calls++;
	}
}

static void gd_call_irq(struct gd_job *job)
{
	struct gd_job one = { .site = job->site, .times = 1 };
	unsigned long i;
	int cpu;

	for (i = 0; i < job->times; i++) {
		cpu = cpumask_any_but(cpu_online_mask, get_cpu());
		smp_call_function_single(cpu, gd_call, &one, 1);
		put_cpu();
	}
	job->calls = one.calls;
}

static int gd_do(const char *what, unsigned int site, unsigned long times)
{
	struct gd_job job = { .site = gd_sites[site].call, .times = times };
	struct task_struct *other = NULL;
	int count = preempt_count();

	if (!strcmp(what, "torn") || !strcmp(what, "held")) {
		if (site >= GD_KINDS)
			return -EINVAL;
		migrate_disable();
		other = gd_start_other(site, what[0] == 't');
		if (other) {
			gd_call(&job);
			kthread_stop(other);
		}
		migrate_enable();
		if (!other)
			return -ENOMEM;
	} else if (!strcmp(what, "inside") && site < GD_KINDS) {
		gd_call_inside(&job, site);
	} else if (!strcmp(what, "masked")) {
		gd_call_masked(&job);
	} else if (!strcmp(what, "irq")) {
		gd_call_irq(&job);
	} else if (!strcmp(what, "site")) {
		gd_call(&job);
	} else {
		return -EINVAL;
	}
	snprintf(gd_told, sizeof(gd_told), "%s\t%s\t%lu\t%s\t%s\n", what,
		 gd_sites[site].name, job.calls,
		 gd_all_free() ? "free" : "taken",
		 !irqs_disabled() && preempt_count() == count ? "balanced" :
								"unbalanced");
	return 0;
}

static ssize_t gd_write(struct file *file, const char __user *from,
			size_t length, loff_t *at)
{
	char text[64], what[16], name[16];
	unsigned long times;
	unsigned int site;
	int error = -EINVAL;

	if (length >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, length))
		return -EFAULT;
	text[length] = '\0';
	if (sscanf(text, "%15s %15s %lu", what, name, &times) != 3)
		return -EINVAL;
	mutex_lock(&gd_one);
	for (site = 0; site < ARRAY_SIZE(gd_sites); site++)
		if (!strcmp(name, gd_sites[site].name))
			error = gd_do(what, site, times);
	mutex_unlock(&gd_one);
	return error ? error : length;
}

static int gd_show(struct seq_file *out, void *unused)
{
	seq_puts(out, gd_told);
	return 0;
}

static int gd_open(struct inode *inode, struct file *file)
{
	return single_open(file, gd_show, NULL);
}

static const struct proc_ops gd_ops = {
	.proc_open = gd_open,
	.proc_read = seq_read,
	.proc_write = gd_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static void gd_fill(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gd.numbers); i++)
		gd.numbers[i] = -100 * (int)i;
	strscpy(gd.text, "under lock", sizeof(gd.text));
	gd.three = 5;
	gd.self = gd.lost = &gd;
	gd.nowhere = (void *)0xdead000000000100;
	INIT_LIST_HEAD(&gd.entries);
	for (i = 0; i < GD_ENTRIES; i++) {
		gd_entries[i].number = i;
		gd_entries[i].square = i * i;
		list_add_tail(&gd_entries[i].link, &gd.entries);
	}
	gd.damaged.next = &gd_lost.link;
	gd_lost.link.next = LIST_POISON1;
	gd.endless.next = &gd_looped.link;
	gd_looped.link.next = &gd_looped.link;
}

static int __init gd_init(void)
{
	spin_lock_init(&gd.spin);
	raw_spin_lock_init(&gd.raw);
	rwlock_init(&gd.rwlock);
	mutex_init(&gd.mutex);
	init_rwsem(&gd.rwsem);
	rt_mutex_init(&gd.rtmutex);
	gd_fill();
	return proc_create("guarded", 0600, NULL, &gd_ops) ? 0 : -ENOMEM;
}

static void __exit gd_exit(void)
{
	remove_proc_entry("guarded", NULL);
}

module_init(gd_init);
module_exit(gd_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("What locks protect, for guarded reads");
