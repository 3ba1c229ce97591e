# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes saved reports into the current folder: small ones whose every number is known."""

CONTEND = ("kind mode name lock contended failed total_ns avg_ns min_ns max_ns spin_ns block_ns owner caller stack "
           "id comm hist tryfail").split()
HOLD = ("kind mode name lock acquired contended tryfail total_ns avg_ns min_ns max_ns caller stack raw_ns tid id comm "
        "hist max_stack").split()
STAT = "event kind mode name lock count rcnt total_ns avg_ns min_ns max_ns caller stack hist id comm word".split()
BLAME = ("kind mode name lock waits total_ns run_ns runnable_ns sleep_ns lock_ns waits_for holder_tid holder_comm "
         "holder_caller holder_stack waiter_caller waiter_stack id comm").split()
CHAIN = ("chain depth tid comm kind name lock owner owner_state wait_ns count mode pid owner_comm proven what max_ns "
         "caller stack found_ns").split()
ORDER = ("first_kind first_mode first_name then_kind then_mode then_name count inversion same gate tid comm first_lock "
         "then_lock first_caller then_caller first_stack then_stack").split()
LOSS = "#loss seen=%d recorded=%d brief=0 filtered=0 full=0 skipped=%d walks=3 known=9 blind=%s"


def report(name, columns, rows, loss=(9, 9, 0, "-")):
    lines = ["#locktap 1 " + name, "#" + "\t".join(columns)]
    for row in rows:
        values = dict(zip(columns, row)) if not isinstance(row, dict) else row
        lines.append("\t".join(str(values.get(column, "-")) for column in columns))
    lines.append(LOSS % loss)
    return "\n".join(lines) + "\n"


def contend(kind, mode, name, count, total, biggest, **more):
    row = {"kind": kind, "mode": mode, "name": name, "contended": count, "failed": 0, "total_ns": total,
           "avg_ns": total // count if count else 0, "min_ns": 1000 if count else 0, "max_ns": biggest,
           "spin_ns": 0, "block_ns": total, "owner": 0, "caller": "?", "tryfail": 0}
    row.update(more)
    return row


def write(file, text):
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)


STACKED = [
    contend("rwsem", "w", "inode.i_rwsem", 40, 5000000000, 900000000, lock="0xffff888000000001", owner=77,
            spin_ns=1000000000, block_ns=4000000000, caller="vfs_write+0x10",
            stack="entry_SYSCALL_64;do_syscall_64;vfs_write", hist="20:10,27:29,29:1"),
    contend("rwsem", "w", "inode.i_rwsem", 10, 1000000000, 200000000, lock="0xffff888000000001", owner=77,
            caller="vfs_unlink+0x8", stack="entry_SYSCALL_64;do_syscall_64;vfs_unlink", hist="26:10"),
    contend("spin", "x", "dentry.d_lockref.lock", 900, 500000000, 3000000, spin_ns=500000000, block_ns=0,
            caller="dput+0x22", stack="entry_SYSCALL_64;do_syscall_64;dput", hist="10:100,19:800"),
    contend("mutex", "x", "ext4_a.m_lock", 1, 999999, 999999, failed=1, owner=5, tryfail=4, caller="f+0x1 [ext4]",
            stack="ret_from_fork;kthread;f [ext4]", hist="19:1"),
    contend("mutex", "x", "only_tried", 0, 0, 0, tryfail=7, caller="g+0x1", stack="ret_from_fork;g", hist=""),
]
write("contend.tsv", report("contend", CONTEND, STACKED, (960, 951, 2, "names,waits")))

# By name, a report for each of three seconds, in the last of which a row is new.
write("intervals.tsv", "\n".join([
    report("contend", CONTEND, [contend("mutex", "x", "a", 2, 3000, 2000, caller="one+0x1"),
                                contend("spin", "x", "b", 1, 50, 50, min_ns=50)], (3, 3, 0, "-")),
    report("contend", CONTEND, [contend("spin", "x", "b", 9, 900, 200, min_ns=7),
                                contend("mutex", "x", "a", 1, 100, 100, min_ns=100, caller="two+0x1")],
           (13, 13, 1, "-")),
    report("contend", CONTEND, [contend("mutex", "x", "a", 3, 30000, 25000, min_ns=500, caller="three+0x1"),
                                contend("mutex", "x", "c", 1, 5, 5, min_ns=5)], (17, 17, 1, "-")),
]))

write("hold.tsv", report("hold", HOLD, [
    {"kind": "mutex", "mode": "x", "name": "ext4_a.m_lock", "acquired": 100, "contended": 25, "tryfail": 0,
     "total_ns": 4000000, "avg_ns": 40000, "min_ns": 500, "max_ns": 2000000, "caller": "f+0x1", "raw_ns": 4100000,
     "tid": 12, "stack": "start;work;f", "max_stack": "start;work;f;let_go", "hist": "9:50,20:50"},
    {"kind": "spin", "mode": "x", "name": "runqueues.__lock", "acquired": 7, "contended": 0, "tryfail": 3,
     "total_ns": 1000000, "avg_ns": 142857, "min_ns": 100, "max_ns": 400000, "caller": "tick+0x9",
     "raw_ns": 1000700, "tid": 0, "stack": "start;tick", "max_stack": "start;tick", "hist": "17:7"},
], (107, 107, 0, "-")))

write("stat.tsv", report("stat", STAT, [
    (1, "mutex", "x", "m", "-", 4, "0.00", 8000, 2000, 1000, 5000, "f+0x1", "-", "-", "-", "-", "mutex_block"),
    (4, "rwsem", "w", "r", "-", 3, "1.50", 6000, 2000, 1000, 5000, "g+0x1", "-", "-", "-", "-", "writer_by_readers"),
    (4, "rwsem", "w", "s", "-", 1, "1.00", 500, 500, 500, 500, "g+0x1", "-", "-", "-", "-", "writer_by_readers"),
    (32, "mutex", "x", "m", "-", 20, "0.00", 90000, 4500, 1000, 50000, "f+0x1", "-", "-", "-", "-", "mutex_hold"),
    (56, "spin", "x", "l", "-", 6, "0.00", 0, 0, 0, 0, "h+0x1", "-", "-", "-", "-", "tryfail"),
], (34, 34, 0, "-")))

write("blame.tsv", report("blame", BLAME, [
    ("mutex", "x", "m", "-", 4, 9000, 5000, 1000, 2000, 1000, "sb.s_umount", 31, "holder", "work+0x4",
     "start;work", "vfs_write+0x1", "entry;vfs_write", "-", "-"),
    ("mutex", "x", "m", "-", 2, 600, 600, 0, 0, 0, "-", 32, "other", "tick+0x4", "start;tick", "vfs_read+0x1",
     "entry;vfs_read", "-", "-"),
    ("mutex", "x", "m", "-", 5, 400, 0, 0, 0, 0, "-", 0, "-", "(handed over)", "(handed over)", "vfs_read+0x1",
     "entry;vfs_read", "-", "-"),
], (11, 11, 0, "-")))


def link(chain, depth, tid, comm, name, owner, owner_comm, state, wait, count, what, **more):
    row = {"chain": chain, "depth": depth, "tid": tid, "comm": comm, "kind": "mutex", "name": name, "lock": "-",
           "owner": owner, "owner_state": state, "wait_ns": wait, "count": count, "mode": "x", "pid": tid,
           "owner_comm": owner_comm, "proven": 1, "what": what, "max_ns": wait // 2, "caller": "f+0x1",
           "stack": "-", "found_ns": 0}
    row.update(more)
    return row


write("chain.tsv", report("chain", CHAIN, [
    link(1, 0, 11, "first", "a", 12, "second", "waiting", 70000, 7, "chain"),
    link(1, 1, 12, "second", "b", 13, "third", "running", 70000, 7, "chain", proven=0),
    link(2, 0, 21, "alone", "c", 0, "-", "?", 30000, 3, "chain", proven=0, kind="spin"),
    link(3, 0, 51, "a", "x", 52, "b", "waiting", 500, 1, "chain"),
    link(3, 1, 52, "b", "y", 51, "a", "waiting", 500, 1, "chain"),
    link(4, 0, 31, "now1", "a", 32, "now2", "waiting", 4000, 1, "now", stack="entry;vfs;lock", lock="0xffff01"),
    link(4, 1, 32, "now2", "b", 33, "now3", "sleeping", 3000, 1, "now", proven=0, lock="0xffff02"),
    link(5, 0, 34, "now4", "b", 33, "now3", "sleeping", 2000, 1, "now", proven=0, lock="0xffff02"),
    link(6, 0, 41, "dead1", "p", 42, "dead2", "waiting", 900000, 1, "deadlock", found_ns=5000, lock="0xffff03"),
    link(6, 1, 42, "dead2", "q", 41, "dead1", "waiting", 800000, 1, "deadlock", found_ns=5000, lock="0xffff04"),
], (15, 11, 0, "-")))

write("order.tsv", report("order", ORDER, [
    ("mutex", "x", "a", "mutex", "x", "b", 10, 1, "locks", "-", 5, "one", "-", "-", "f+0x1", "g+0x1", "s;f", "s;f;g"),
    ("mutex", "x", "b", "mutex", "x", "a", 3, 1, "locks", "-", 6, "two", "-", "-", "h+0x1", "i+0x1", "s;h", "s;h;i"),
    ("spin", "x", "c", "rwlock", "r", "d", 8, 2, "names", "gate", 7, "three", "-", "-", "j+0x1", "k+0x1", "s;j",
     "s;k"),
    ("rwlock", "w", "d", "spin", "x", "c", 9, 2, "names", "gate", 7, "three", "-", "-", "l+0x1", "m+0x1", "s;l",
     "s;m"),
    ("mutex", "x", "a", "mutex", "x", "z", 4, 0, "-", "-", 7, "-", "-", "-", "n+0x1", "o+0x1", "s;n", "s;o"),
], (34, 34, 0, "-")))

# What must not get out of its place, whatever the format.
HOSTILE = "<script>alert(1)</script>&amp;\"'`\\ü\u202ex"
write("hostile.tsv", report("contend", CONTEND, [
    contend("mutex", "x", HOSTILE, 2, 2000, 1500, owner=9, caller=HOSTILE, stack="%s;</svg><b>;f" % HOSTILE, id=9,
            comm="</title>\\\"", hist="9:1,10:1"),
], (2, 2, 0, "<i>,names")) + report("chain", CHAIN, [
    link(1, 0, 11, HOSTILE, HOSTILE, 12, "</script>", "waiting", 10, 1, "now"),
]))
with open("bytes.tsv", "wb") as out:
    text = report("contend", CONTEND, [contend("mutex", "x", "NAME", 2, 2000, 1500, caller="CODE")])
    out.write(text.encode().replace(b"NAME", b"a\xff\xc3(\x01\x7fz").replace(b"CODE", b"\xed\xa0\x80"))
