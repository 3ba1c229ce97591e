# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what `locktap report` makes of a saved report with the report's own rows.

check.py WHAT FILE OUTPUT...: prints nothing if all is right, else what is not.
The reports are read here in a way of its own.
"""
import collections
import gzip
import html.parser
import json
import sys

problems = []


def expect(what, wanted, got):
    if wanted != got:
        problems.append("%s: wanted %r, got %r" % (what, wanted, got))


def reports(file):
    """A list of (name, rows as dicts of texts, loss as a dict)."""
    found = []
    for line in open(file, encoding="utf-8", newline="\n").read().split("\n"):
        if line.startswith("#locktap 1 "):
            found.append((line[11:], [], {}))
            columns = None
        elif line.startswith("#loss "):
            found[-1][2].update(pair.split("=") for pair in line.split()[1:])
        elif line.startswith("#"):
            columns = line[1:].split("\t")
        elif line:
            found[-1][1].append(dict(zip(columns, line.split("\t"))))
    return found


def total(rows, column, **chosen):
    return sum(int(row[column]) for row in rows if all(row[key] == value for key, value in chosen.items()))


def documents(file):
    text = open(file, encoding="utf-8").read()
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        while text[at:at + 1].isspace():
            at += 1
    return found


STACKS = {"stack", "max_stack", "holder_stack", "waiter_stack"}


def as_json(column, text):
    if column in STACKS:
        return text.split(";")[::-1]
    if column == "hist":
        pairs = dict(map(int, pair.split(":")) for pair in text.split(","))
        return [pairs.get(i, 0) for i in range(max(pairs) + 1)]
    if column == "rcnt":
        return float(text)
    return int(text) if text.isdigit() else text


def check_json(file, output):
    """Rows in JSON have the columns of the rows, as values of their types."""
    wanted = reports(file)
    got = documents(output)
    expect("documents", len(wanted), len(got))
    for (name, rows, loss), document in zip(wanted, got):
        expect("form", (1, name), (document["locktap"], document["report"]))
        expect("loss", {key: as_json("", value) for key, value in loss.items()}, document["loss"])
        expect("rows", len(rows), len(document["rows"]))
        for row, item in zip(rows, document["rows"]):
            left_out = {column for column, text in row.items()
                        if text in ("-", "") and column in STACKS | {"hist", "id", "comm"}}
            expect("keys", set(row) - left_out, set(item))
            for column in set(row) - left_out:
                expect(column, as_json(column, row[column]), item.get(column))


def check_chain(file, output):
    (_, rows, _), = reports(file)
    document, = documents(output)
    first = [row for row in rows if row["what"] == "chain" and row["depth"] == "0"]
    expect("chains", [(int(row["count"]), int(row["wait_ns"]), int(row["max_ns"])) for row in first],
           [(chain["count"], chain["total_ns"], chain["max_ns"]) for chain in document["chains"]])
    for row, chain in zip(first, document["chains"]):
        links = [link for link in rows if link["chain"] == row["chain"]]
        tids = [int(link["tid"]) for link in links]
        last = int(links[-1]["owner"])
        back = last in tids
        expect("cycle", back, chain["cycle"])
        if back:
            expect("back", tids.index(last), chain["back"])
        elif last:
            tids.append(last)
        expect("links", tids, [link["tid"] for link in chain["links"]])
    now = [row for row in rows if row["what"] == "now"]
    locks = {lock["id"]: lock["name"] for lock in document["locks"]}
    expect("waits", sorted({(int(row["tid"]), row["name"], int(row["wait_ns"])) for row in now}),
           sorted((wait["tid"], locks[wait["lock"]], wait["wait_ns"]) for wait in document["waits"]))
    expect("holds", sorted({(int(row["owner"]), row["name"], row["proven"] == "1") for row in now if row["owner"] != "0"}),
           sorted((hold["tid"], locks[hold["lock"]], hold["proven"]) for hold in document["holds"]))
    dead = [row for row in rows if row["what"] == "deadlock"]
    expect("cycles", [int(row["tid"]) for row in dead], [tid for cycle in document["cycles"] for tid in cycle["tids"]])


def check_order(file, output):
    (_, rows, _), = reports(file)
    document, = documents(output)
    locks = {lock["id"]: lock["name"] for lock in document["locks"]}
    orders = [(locks[order["first"]], locks[order["then"]], order["count"]) for order in document["orders"]]
    expect("orders", [(row["first_name"], row["then_name"], int(row["count"])) for row in rows], orders)
    for number, inversion in enumerate(document["inversions"], 1):
        members = [row for row in rows if row["inversion"] == str(number)]
        expect("members", [(row["first_name"], row["then_name"]) for row in members],
               [orders[at][:2] for at in inversion["orders"]])
        expect("harmless", members[0]["gate"] != "-", inversion["harmless"])
        expect("gate", members[0]["gate"], locks.get(inversion.get("gate"), "-"))
    expect("inversions", max(int(row["inversion"]) for row in rows), len(document["inversions"]))


def check_folded(file, output):
    """Each stack with its time, and their sum."""
    wanted = collections.Counter()
    for name, rows, _ in reports(file):
        for row in rows:
            if name == "blame":
                stack = "%s;-- waits for %s --;%s" % (row["holder_stack"], row["name"], row["waiter_stack"])
            else:
                stack = row["stack"]
            if int(row["total_ns"]):
                wanted[stack] += int(row["total_ns"])
    got = collections.Counter()
    for line in open(output, encoding="utf-8"):
        if not line.startswith("#loss "):
            stack, _, number = line.rstrip("\n").rpartition(" ")
            got[stack] += int(number)
    expect("stacks", wanted, got)


def fields(data):
    """Protocol buffers' wire format: (field, value), bytes for what has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, "wire type %d" % (key & 7)
            length = varint()
            at += length
            yield key >> 3, data[at - length:at]


def varints(data):
    # As the field 1 of a message each.
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def check_pprof(file, output):
    """Each stack with its count and time, and the lock as a label."""
    counted = {"contend": "contended", "hold": "acquired", "stat": "count", "blame": "waits"}
    wanted = collections.Counter()
    for name, rows, _ in reports(file):
        for row in rows:
            if name == "blame":
                stack = "%s;-- waits for %s --;%s" % (row["holder_stack"], row["name"], row["waiter_stack"])
            else:
                stack = row["stack"] if row["stack"] != "-" else row["caller"].partition("+0x")[0]
            if name == "stat":
                stack = row["word"] + ";" + stack
            count, time = int(row[counted[name]]), int(row["total_ns"])
            if count or time:
                wanted[stack, row["name"], "count"] += count
                wanted[stack, row["name"], "ns"] += time
    message = list(fields(gzip.open(output).read()))
    strings = [value.decode() for key, value in message if key == 6]
    expect("first string", "", strings[0])
    functions = {}
    for key, value in message:
        if key == 5:
            function = dict(fields(value))
            functions[function[1]] = strings[function[2]]
    locations = {}
    for key, value in message:
        if key == 4:
            location = dict(fields(value))
            locations[location[1]] = functions[dict(fields(location[4]))[1]]
    types = [tuple(strings[index] for _, index in sorted(fields(value))) for key, value in message if key == 1]
    expect("types", {"hold": [("acquisitions", "count"), ("held", "nanoseconds")],
                     "stat": [("events", "count"), ("time", "nanoseconds")]}.get(
                         name, [("contentions", "count"), ("delay", "nanoseconds")]), types)
    got = collections.Counter()
    for key, value in message:
        if key != 2:
            continue
        sample = list(fields(value))
        stack = ";".join(locations[number] for number in varints(dict(sample)[1])[::-1])
        labels = [dict(fields(label)) for field, label in sample if field == 3]
        lock = [strings[label[2]] for label in labels if strings[label[1]] == "lock"]
        count, time = varints(dict(sample)[2])
        got[stack, lock[0], "count"] += count
        got[stack, lock[0], "ns"] += time
    expect("samples", wanted, got)


METRICS = {
    "contend": {"locktap_contentions_total": "contended", "locktap_failed_waits_total": "failed",
                "locktap_wait_seconds_total": "total_ns", "locktap_wait_spin_seconds_total": "spin_ns",
                "locktap_wait_block_seconds_total": "block_ns", "locktap_failed_trylocks_total": "tryfail",
                "locktap_wait_max_seconds": "max_ns"},
    "hold": {"locktap_acquisitions_total": "acquired", "locktap_contended_acquisitions_total": "contended",
             "locktap_held_seconds_total": "total_ns", "locktap_held_max_seconds": "max_ns",
             "locktap_hold_failed_trylocks_total": "tryfail"},
    "stat": {"locktap_events_total": "count", "locktap_event_seconds_total": "total_ns",
             "locktap_event_max_seconds": "max_ns"},
    "blame": {"locktap_blamed_waits_total": "waits"},
}


def samples(output):
    """The samples of a metrics file: {(name, labels): value}, with each family's type."""
    from prometheus_client.parser import text_string_to_metric_families
    found, types = {}, {}
    for family in text_string_to_metric_families(open(output, encoding="utf-8").read()):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            expect("twice", False, key in found)
            found[key] = sample.value
            types[sample.name] = family.type
    return found, types


def check_prometheus(file, output):
    """Each lock's numbers, and the types of the metrics."""
    got, types = samples(output)
    left = set(got)
    for name, rows, loss in reports(file):
        wanted = collections.defaultdict(int)
        for row in rows:
            labels = {"lock": row["name"], "kind": row["kind"], "mode": row["mode"]}
            if name == "stat":
                labels["event"] = row["word"]
            if name == "blame":
                labels["holder"] = "" if row["holder_comm"] == "-" else row["holder_comm"]
            elif row["comm"] != "-":
                labels["task"] = row["comm"]
            for metric, column in METRICS[name].items():
                key = (metric, tuple(sorted(labels.items())))
                wanted[key] = max(wanted[key], int(row[column])) if "_max_" in metric else wanted[key] + int(row[column])
            if name == "blame":
                for state, column in (("run", "run_ns"), ("runnable", "runnable_ns"), ("sleep", "sleep_ns"),
                                      ("lock", "lock_ns")):
                    wanted["locktap_blamed_seconds_total", tuple(sorted(dict(labels, state=state).items()))] += \
                        int(row[column])
            if row.get("hist", "-") not in ("-", ""):
                for bucket, count in (map(int, pair.split(":")) for pair in row["hist"].split(",")):
                    metric = {"contend": "locktap_wait_seconds", "hold": "locktap_held_seconds"}[name]
                    wanted[metric + "_count", tuple(sorted(labels.items()))] += count
                    wanted[metric + "_sum", tuple(sorted(labels.items()))] = \
                        wanted[METRICS[name] and {"contend": "locktap_wait_seconds_total",
                                                  "hold": "locktap_held_seconds_total"}[name],
                               tuple(sorted(labels.items()))]
                    for key in got:
                        bound = dict(key[1]).get("le")
                        if key[0] == metric + "_bucket" and {k: v for k, v in key[1] if k != "le"} == labels \
                                and 2 ** bucket < float(bound) * 1e9:
                            wanted[key] += count
        for key, value in wanted.items():
            seconds = "_seconds" in key[0] and not key[0].endswith(("_bucket", "_count"))
            expect(key, value / 1e9 if seconds else value, got.get(key))
            expect(key[0], "histogram" if key[0].endswith(("_bucket", "_sum", "_count")) else
                   "counter" if key[0].endswith("_total") else "gauge", types.get(key[0]))
        for key, value in loss.items():
            if value.isdigit():
                expect(key, int(value), got.get(("locktap_loss", (("key", key), ("report", name)))))
            elif value != "-":
                for word in value.split(","):
                    expect(word, 1, got.get(("locktap_blind", (("report", name), ("what", word)))))
        # Empty buckets and histograms of rows of failed trylocks alone.
        left -= set(wanted) | {key for key in got if key[0].startswith(("locktap_loss", "locktap_blind"))}
    expect("no others", set(), {key for key in left if got[key]})


def check_sums(output):
    """intervals.tsv: three reports of one run, whose loss line counts on."""
    got, _ = samples(output)
    named = {(name, dict(labels).get("lock") or dict(labels).get("key")): value for (name, labels), value in got.items()}
    for key, value in {
            ("locktap_contentions_total", "a"): 6, ("locktap_contentions_total", "b"): 10,
            ("locktap_contentions_total", "c"): 1, ("locktap_wait_seconds_total", "a"): 33100 / 1e9,
            ("locktap_wait_max_seconds", "a"): 25000 / 1e9, ("locktap_wait_max_seconds", "b"): 200 / 1e9,
            ("locktap_loss", "seen"): 17, ("locktap_loss", "skipped"): 1}.items():
        expect(key, value, named.get(key))


def check_names(file, output):
    got, _ = samples(output)
    row = reports(file)[0][1][0]
    # What turns the direction of text is not let through.
    name = row["name"].replace("\u202e", "?")
    expect("labels", {"lock": name, "kind": "mutex", "mode": "x", "task": row["comm"]},
           dict(next(labels for (metric, labels) in got if metric == "locktap_contentions_total")))


class Page(html.parser.HTMLParser):
    """Texts by the class of their element, and whether elements nest."""
    EMPTY = {"meta", "link"}

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.tags = [], collections.defaultdict(list), set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in self.EMPTY:
            self.open.append((tag, dict(attributes).get("class") or ""))
            self.texts[self.open[-1]].append("")

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            expect("nesting", tag, self.open.pop()[0] if self.open else None)

    def handle_data(self, data):
        for element in set(self.open):
            self.texts[element][-1] += data


def check_page(file, *tsv):
    """Each lock of the reports is there, the largest first, and no element but those that the page has."""
    page = Page()
    page.feed(open(file, encoding="utf-8").read())
    expect("unclosed", [], page.open)
    expect("tags", set(), page.tags - {
        "html", "head", "meta", "link", "title", "style", "body", "h1", "h2", "p", "section", "div", "span", "b", "i", "small",
        "details", "summary", "dl", "dt", "dd", "ul", "li", "figure", "figcaption", "button", "svg", "rect", "text", "output",
        "footer", "code", "script", "g", "a", "polygon", "path", "ellipse", "polyline"})
    expect("scripts", 1, len(page.texts["script", ""]))
    wanted = []
    names = sum((page.texts[element] for element in page.texts if element == ("b", "name")), [])
    for one in tsv:
        name, rows, _ = reports(one)[0]
        sums = collections.Counter()
        for row in rows:
            sums[int(row.get("event", 0)), row["kind"], row["mode"], row["name"]] += \
                int(row["count" if name == "stat" else "total_ns"])
        for key in sorted(sums, key=lambda key: (key[0], -sums[key])):
            wanted.append(key[3].replace("\u202e", "?"))
    expect("locks", sorted(wanted), sorted(names[:len(wanted)]))
    if len(tsv) == 1:
        expect("locks, the largest first", wanted, names[:len(wanted)])


def main():
    globals()["check_" + sys.argv[1]](*sys.argv[2:])
    print("\n".join(problems[:10]), end="")


main()
