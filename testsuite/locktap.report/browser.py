# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a page in Chromium, through DevTools, and tells what is not as it must be.

browser.py CHROMIUM PAGE REPORT... : prints a line for each check, PASS or FAIL;
leaves a picture of each size and colour scheme beside the page.
"""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


class Browser:
    """Chromium behind a pair of pipes: commands go to its 3, answers and events come from its 4."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.of, of_write = os.pipe()
        # Numbers that the child's 3 and 4 cannot be taken by.
        high_read, high_write = os.dup2(to_read, 100), os.dup2(of_write, 101)
        self.process = subprocess.Popen(
            ["bash", "-c", "exec \"$@\" 3<&100 4>&101 100<&- 101>&-", "bash", program, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
             "--user-data-dir=" + folder, "about:blank"],
            pass_fds=(high_read, high_write), start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for fd in (to_read, of_write, high_read, high_write):
            os.close(fd)
        self.number, self.rest, self.events, self.session = 0, b"", [], None

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.of, 1 << 20)
            if not more:
                raise SystemExit("FAIL: the browser has ended")
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(message)
        if message.get("method") == "Page.javascriptDialogOpening":
            # Else nothing would be answered any more.
            self.send("Page.handleJavaScriptDialog", accept=True)
        return message

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise SystemExit("FAIL: %s: %s" % (method, answer["error"]))
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait(self, method):
        while not any(event["method"] == method for event in self.events):
            message = self.receive()
            if "method" in message:
                self.events.append(message)

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            return "exception: %s" % result["exceptionDetails"]["exception"].get("description")
        return result["result"].get("value")

    def open(self, page, size, scheme):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=size[0] < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(page))
        self.wait("Page.loadEventFired")
        # Whatever a script would still do.
        self.ask("new Promise(done => setTimeout(done, 300))")
        return target

    def close(self, target):
        self.session = None
        self.call("Target.closeTarget", targetId=target)

    def picture(self, file):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1})
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))

    def end(self):
        """It, and all that it has started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def is_(name, wanted, got):
    if wanted == got:
        print("PASS: " + name)
    else:
        print("FAIL: %s\n  expected: %s\n  got:      %s" % (name, wanted, got))


def complaints(events):
    said = []
    for event in events:
        parameters = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            said.append(parameters["exceptionDetails"]["text"])
        elif event["method"] == "Runtime.consoleAPICalled":
            said.append(str(parameters["args"]))
        elif event["method"] == "Log.entryAdded":
            said.append(parameters["entry"]["text"])
        elif event["method"] == "Page.javascriptDialogOpening":
            said.append("dialog: " + parameters["message"])
    return said


def requests(events, page):
    return [event["params"]["request"]["url"] for event in events
            if event["method"] == "Network.requestWillBeSent"
            and event["params"]["request"]["url"] != "file://" + os.path.abspath(page)
            and not event["params"]["request"]["url"].startswith("data:")]


# The frames of a graph's lowest line, as parts of the whole.
GROUND = """[...document.querySelectorAll('.flame')].map(flame => {
    const frames = [...flame.querySelectorAll('.frame')];
    const low = Math.max(...frames.map(frame => +frame.getAttribute('y')));
    return Math.round(frames.filter(frame => +frame.getAttribute('y') === low)
        .reduce((sum, frame) => sum + +frame.dataset.w, 0));
})"""

# What sticks out of the page at this width.
OUT = """[document.documentElement.scrollWidth > WIDTH ? 'page ' + document.documentElement.scrollWidth : '',
    ...[...document.querySelectorAll('summary > *, .name, figcaption, .loss, footer, dd, li')]
        .filter(one => one.getBoundingClientRect().right > WIDTH + 0.5 && one.getClientRects().length)
        .map(one => one.className + ': ' + one.textContent.slice(0, 40))].filter(Boolean).slice(0, 5)"""

# Text on its background, where it is too pale: WCAG's contrast below 4.5.
PALE = """(() => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = colour => parts(colour).slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = one => {
        for (; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if (parts(colour).length < 4 || parts(colour)[3] > 0)
                return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    return [...document.querySelectorAll('h1, h2, p, summary span, summary b, dt, dd, li, small, figcaption, footer p')]
        .filter(one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
        .filter(one => {
            const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05) < 4.5;
        }).map(one => one.className + ': ' + one.textContent.slice(0, 30)).slice(0, 5);
})()"""

ZOOM = """(() => {
    const flame = document.querySelector('.flame');
    const frames = [...flame.querySelectorAll('.frame')];
    const one = frames.find(frame => +frame.dataset.w < 60 && +frame.dataset.w > 1);
    const width = frame => frame.getAttribute('width');
    const button = flame.querySelector('button');
    const before = [width(one), button.hidden];
    one.dispatchEvent(new MouseEvent('click'));
    const wide = [width(one), button.hidden, flame.querySelector('output').textContent.length > 5];
    button.click();
    return [before[1], ...wide, width(one) === before[0], button.hidden];
})()"""


def too_long(*_):
    raise SystemExit("FAIL: it took too long")


def check(browser, page, names):
    for size, pixels in SIZES.items():
        for scheme in ("light", "dark"):
            where = "%s, %s" % (size, scheme)
            target = browser.open(page, pixels, scheme)
            is_(where + ": no complaint", [], complaints(browser.events))
            is_(where + ": no request", [], requests(browser.events, page))
            is_(where + ": nothing sticks out", [], browser.ask(OUT.replace("WIDTH", str(pixels[0]))))
            is_(where + ": text can be read", [], browser.ask(PALE))
            browser.picture("%s.%s.%s.png" % (page, size, scheme))
            if scheme == "light":
                is_(where + ": flame graphs are whole", [True], browser.ask("[...new Set(%s.map(w => w === 100))]" % GROUND))
                if browser.ask("[...document.querySelectorAll('.frame')].some(frame => +frame.dataset.w < 60)"):
                    is_(where + ": a frame enlarged, and back", [True, "100%", False, True, True, True],
                        browser.ask(ZOOM))
                browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
                is_(where + ": unfolded, nothing sticks out", [], browser.ask(OUT.replace("WIDTH", str(pixels[0]))))
                shown = browser.ask("[...document.querySelectorAll('.row .name')].map(one => one.textContent)")
                # What turns the direction of text is not let through.
                is_(where + ": each row's name", [name.replace("\u202e", "?") for name in names],
                    shown[:len(names)])
                is_(where + ": nothing complains after that", [], complaints(browser.events))
            browser.close(target)


def main():
    program, page, *rows = sys.argv[1:]
    names = []
    for file in rows:
        lines = open(file, encoding="utf-8", newline="\n").read().split("\n")
        columns = lines[1][1:].split("\t")
        seen = set()
        # Each lock once, or each event of it; of the first report of the file.
        for line in lines[2:]:
            if line.startswith("#loss"):
                break
            row = dict(zip(columns, line.split("\t")))
            key = (row.get("event"), row["kind"], row["mode"], row["name"])
            if key not in seen:
                seen.add(key)
                names.append(row["name"])
    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGTERM, too_long)
    signal.alarm(150)
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, folder)
        try:
            check(browser, page, names)
        finally:
            browser.end()


main()
