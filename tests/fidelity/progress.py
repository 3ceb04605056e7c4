# SPDX-License-Identifier: BSD-3-Clause
"""One line on stderr that tells how far a measurement is: rewritten on terminals, whole lines elsewhere."""
import sys
import time


class Progress:
    def __init__(self, steps):
        self.steps = steps
        self.done = 0
        self.start = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def step(self, what):
        """The next of the steps begins."""
        elapsed = time.monotonic() - self.start
        text = f"[{self.done + 1}/{self.steps}] {elapsed:.0f} s  {what}"
        self.done += 1
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)

    def clear(self):
        """Room for other output."""
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
