"""Headless Chromium, controlled through a pipe with the Chrome DevTools Protocol."""

import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import threading

LIMIT = 60  # maximum wait in seconds


class Chromium:
    """The browser process; stopped by close(). Certificates are not verified, and names ending in
    `.example` resolve to this machine. `within`: a command prefix to run it elsewhere."""

    def __init__(self, folder, within=()):
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        assert program, "chromium-headless-shell is not installed; see tools/install-packages"
        commands, self.to_browser = os.pipe()
        self.from_browser, responses = os.pipe()
        self.log = open(folder / "chromium.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            # It reads from descriptor 3 and writes to 4.
            [*within, "bash", "-c", f'exec "$0" "$@" 3<&{commands} 4>&{responses}', program, "--headless",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--no-first-run", "--remote-debugging-pipe",
             "--ignore-certificate-errors", "--host-resolver-rules=MAP *.example 127.0.0.1",
             f"--user-data-dir={folder / 'profile'}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(commands, responses),
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"})
        os.close(commands)
        os.close(responses)
        self.numbers = itertools.count(1)
        self.responses = {}
        self.pages = {}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        waiting = b""
        while chunk := os.read(self.from_browser, 1 << 16):
            *messages, waiting = (waiting + chunk).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self.responses[message["id"]].put(message)
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].take(message)
        for response in list(self.responses.values()):
            response.put({"error": "the browser has ended; see chromium.log"})

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        self.responses[number] = queue.Queue()
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        response = self.responses[number].get(timeout=LIMIT)
        assert "error" not in response, (method, response["error"])
        return response["result"]

    def page(self, cookies_of=None):
        """A new page with its own cookies, or those of another page."""
        context = (cookies_of.context if cookies_of else
                   self.call("Target.createBrowserContext")["browserContextId"])
        return Page(self, context)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # with its child processes
        self.process.wait()
        os.close(self.to_browser)
        self.reader.join()
        os.close(self.from_browser)
        self.log.close()


class Page:
    def __init__(self, browser, context):
        self.browser = browser
        self.context = context
        self.complaints = []  # console messages: exceptions, policy violations, errors
        self.responses = []  # status and header fields of every response
        self.sent_cookie = False  # whether any request was answered
        self.seen = queue.Queue()
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)
        self.session = browser.call("Target.attachToTarget", targetId=target["targetId"],
                                    flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def take(self, message):
        method, params = message["method"], message["params"]
        if method == "Log.entryAdded":
            entry = params["entry"]
            self.complaints.append((entry["source"], entry["text"], entry.get("url", "")))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(("exception", json.dumps(params), ""))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(("console", json.dumps(params["args"]), ""))
        elif method == "Network.responseReceivedExtraInfo":
            self.responses.append((params["statusCode"], params["headers"]))
        elif method == "Network.requestWillBeSentExtraInfo":
            self.sent_cookie |= "cookie" in map(str.lower, params["headers"])
        elif method == "Page.loadEventFired":
            self.seen.put("load")

    def open(self, url):
        """Returns when the page is loaded."""
        self._loaded("Page.navigate", url=url)

    def reload(self):
        self._loaded("Page.reload")

    def _loaded(self, method, **params):
        while not self.seen.empty():
            self.seen.get()
        response = self.call(method, **params)
        assert "errorText" not in response, response
        assert self.seen.get(timeout=LIMIT) == "load"

    def leave(self, text):
        """Runs JavaScript that navigates, and returns when the new page is loaded."""
        self._loaded("Runtime.evaluate", expression=text)

    def run(self, text):
        """The result of JavaScript; promises are awaited."""
        response = self.call("Runtime.evaluate", expression=text, awaitPromise=True,
                             returnByValue=True)
        assert "exceptionDetails" not in response, response["exceptionDetails"]
        return response["result"].get("value")

    def wait(self, condition):
        """Waits until the JavaScript expression is true; it is evaluated again on every document change."""
        return self.run(f"""new Promise((done, fail) => {{
            const look = () => {{
                const found = ({condition});
                if (found) {{ changes.disconnect(); done(found); }}
            }};
            const changes = new MutationObserver(look);
            changes.observe(document, {{ subtree: true, childList: true, attributes: true,
                                         characterData: true }});
            setTimeout(() => fail(new Error("never: " + {json.dumps(condition)})), {LIMIT * 1000});
            look();
        }})""")

    def cookies(self):
        return self.call("Network.getAllCookies")["cookies"]
