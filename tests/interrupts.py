"""Default signal handling, as for programs in a terminal; imported for this effect.

A shell that starts tests in the background ignores SIGINT, nohup ignores SIGHUP, and all processes
started by tests would inherit this. A handler of our own is not inherited.
"""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
