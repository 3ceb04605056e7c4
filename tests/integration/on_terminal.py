# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command with a pseudo-terminal of so many columns for input and output, and writes what it
put there to standard output, as it came but for the carriage returns; the exit status is the command's.
usage: on_terminal.py COLUMNS COMMAND..."""
import fcntl, os, pty, struct, sys, termios

errors = os.dup(2)
child, terminal = pty.fork()
if child == 0:
    os.dup2(errors, 2)
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
output = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # the other end is closed
        break
    if not piece:
        break
    output += piece
sys.stdout.buffer.write(output.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
