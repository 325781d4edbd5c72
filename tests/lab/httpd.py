#!/usr/bin/python3
"""Serves the files of a folder over HTTP: httpd.py FOLDER PORT [LOG]. Prints "ready" once it
listens.
"""

import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    log = None

    def log_message(self, *_):
        pass

    def log_request(self, code="-", size="-"):
        if self.log is not None:
            status = getattr(code, "value", code)
            self.log.write(f"{self.command} {self.path} {status}\n")
            self.log.flush()


def main():
    folder, port = sys.argv[1], int(sys.argv[2])
    if len(sys.argv) > 3:
        Handler.log = open(sys.argv[3], "a")
    handler = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer(("", port), handler)
    print("ready", flush=True)
    server.serve_forever()


main()
