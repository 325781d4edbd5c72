#!/usr/bin/python3
"""The Python side of the benchmarks: Jinja2, PyYAML's C loader and Python's json module.

    python_bench.py TEMPLATES DATA SECONDS

Supports the commands described in lang_bench.c: text, render, compile, yaml and json.
"""

import json
import pathlib
import sys
import time

import jinja2
import yaml


class Bench:
    def __init__(self, templates, data, seconds):
        self.data = pathlib.Path(data)
        self.seconds = float(seconds)
        self.texts = {path.name: path.read_text(encoding="utf-8")
                      for path in pathlib.Path(templates).iterdir()}
        self.opened = {}

    def environment(self, name, **options):
        return jinja2.Environment(loader=jinja2.DictLoader(self.texts), trim_blocks=True,
                                  lstrip_blocks=True, autoescape=name.endswith(".html"), **options)

    def open_template(self, name):
        """The environment for compiling caches nothing, the one for rendering caches everything."""
        if name not in self.opened:
            context = json.loads((self.data / name).with_suffix(".json").read_text("utf-8"))
            self.opened[name] = (self.environment(name).get_template(name),
                                 self.environment(name, cache_size=0), context)
        return self.opened[name]

    def time_render(self, name):
        template, _, context = self.open_template(name)

        def measure(batch):
            start = time.process_time()
            for _ in range(batch):
                template.render(context)
            return time.process_time() - start
        return measure

    def time_compile(self, name):
        _, environment, context = self.open_template(name)

        def measure(batch):
            start = time.process_time()
            for _ in range(batch):
                environment.get_template(name).render(context)
            return time.process_time() - start
        return measure

    def time_load(self, path, load):
        text = pathlib.Path(path).read_text(encoding="utf-8")

        def measure(batch):
            used = 0
            for _ in range(batch):
                start = time.process_time()
                value = load(text)
                used += time.process_time() - start
                del value
            return used
        return measure

    def sample(self, measure):
        """The mean of as many iterations as fit into the time."""
        batch = 1
        used = measure(batch)
        while used < self.seconds:
            batch = int(batch * min(1.2 * self.seconds / max(used, 1e-9), 100)) + 1
            used = measure(batch)
        return used / batch

    def run(self, command, name, file=None):
        if command == "text":
            template, _, context = self.open_template(name)
            text = template.render(context)
            pathlib.Path(file).write_text(text, encoding="utf-8")
            return len(text)
        if command == "render":
            return self.sample(self.time_render(name))
        if command == "compile":
            return self.sample(self.time_compile(name))
        if command == "yaml":
            return self.sample(self.time_load(
                name, lambda text: yaml.load(text, Loader=yaml.CSafeLoader)))
        if command == "json":
            return self.sample(self.time_load(name, json.loads))
        raise SystemExit(f"python_bench.py: no such command: {command}")


def main():
    bench = Bench(*sys.argv[1:4])
    for line in sys.stdin:
        print(bench.run(*line.split()), flush=True)


if __name__ == "__main__":
    main()
