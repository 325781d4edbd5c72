"""Signals as programs in a terminal have them; imported for that.

A shell that starts tests in the background ignores SIGINT, nohup SIGHUP, and all that tests start would
inherit it. A handler of our own is not inherited.
"""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
