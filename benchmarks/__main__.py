"""Runs every benchmark, or those that are named: ``python -m benchmarks reading voting``."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    known = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
    wanted = sys.argv[1:] or known
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted:
        try:
            module = importlib.import_module(f"benchmarks.{name}")
        except ModuleNotFoundError as error:  # that of an adapter, which runs in the adapter's environment
            print(f"\n== {name}: skipped, {error.name} is not installed here", flush=True)
            continue
        print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}\n", flush=True)
        module.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
