# SPDX-License-Identifier: BSD-3-Clause
"""Headless Chromium, driven through its debugging pipe: no driver and no package beyond Python's own.

    browser = Browser("chromium", folder)      folder: scratch space; patience: seconds
    page = browser.open("file:///...")         when it is loaded
    page.evaluate("1 + 1")                     the value of an expression, as JSON has it
    page.errors                                errors on the console, exceptions, refused loads
    page.requests                              addresses that the page asked for
    browser.close()
"""
import base64
import fcntl
import json
import os
import select
import subprocess


class Browser:
    def __init__(self, program, folder, patience=90):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        self.patience = patience
        self.buffer, self.last, self.pages = b"", 0, {}

        def own_numbers():
            # 3 and 4 are the browser's convention; the pipes may have just these numbers.
            high = [fcntl.fcntl(number, fcntl.F_DUPFD, 20) for number in (to_browser, from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
             "--no-sandbox", "--disable-dev-shm-usage", "--disable-extensions", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
             "--hide-scrollbars", "--user-data-dir=" + os.path.join(folder, "chromium")],
            preexec_fn=own_numbers, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=folder))
        os.close(to_browser)
        os.close(from_browser)

    def receive(self):
        """The next message; events go to their page."""
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], self.patience)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.input, 1 << 20)
            if not got:
                raise EOFError("the browser ended")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message and message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].event(message["method"], message["params"])
        return message

    def call(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.output, text):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]

    def open(self, address, **options):
        return Page(self, address, **options)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Page:
    def __init__(self, browser, address, scripts=True, dark=False, width=1280, height=1600):
        self.browser, self.loaded, self.errors, self.requests = browser, False, [], []
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.scheme(dark)
        self.call("Page.navigate", url=address)
        while not self.loaded:
            browser.receive()

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def event(self, method, parameters):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + parameters["message"])
            self.browser.call("Page.handleJavaScriptDialog", self.session, accept=True)
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def scheme(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, whole=False):
        """PNG of what is in view, or of the whole page."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png",
                                          captureBeyondViewport=whole)["data"])

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        self.browser.pages.pop(self.session, None)
