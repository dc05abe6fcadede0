"""The peers of the consensus benchmark, each in an environment of its own: ``python -m benchmarks._consensus_peers``.

Run without arguments it makes the environments (k-llms needs Python 3.12); the benchmark runs it once more inside each,
with the peer's name, and talks to it in lines of JSON: a list of revisions in, the merged records by row out. It
imports nothing of this project.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ENVIRONMENTS = Path(__file__).parent / ".peers"
REQUIREMENTS = {
    "extrai": ["--no-deps", "extrai-workflow==1.1.0"],
    "k-llms": ["k-llms==0.0.55", "retab==0.0.47", "fastapi", "pyyaml", "pillow", "tiktoken"],
}
INTERPRETERS = {"extrai": sys.executable, "k-llms": "python3.12"}

Merge = Callable[[list[Any]], Any]


def python_of(peer: str) -> Path | None:
    """The interpreter of a peer's environment; None, with a message, where it has not been made."""
    python = ENVIRONMENTS / peer / "bin" / "python"
    if python.exists():
        return python
    print(f"skipped: {peer} is not installed; python -m benchmarks._consensus_peers does that")
    return None


def install() -> None:
    for peer, requirements in REQUIREMENTS.items():
        folder = ENVIRONMENTS / peer
        subprocess.run([INTERPRETERS[peer], "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *requirements], check=True)


def ask(peer: str, cases: list[list[Any]]) -> dict[str, list[Any]] | None:
    """The merged record of every row of a peer for every case, and the seconds that each row took."""
    python = python_of(peer)
    if python is None:
        return None
    lines = "\n".join(map(json.dumps, cases))
    done = subprocess.run([python, __file__, peer], input=lines, capture_output=True, text=True, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))


def extrai() -> dict[str, Merge]:
    """Extrai's JSONConsensus with each of its resolvers, without its package's imports, which try the network."""
    import importlib.util
    import types

    spec = importlib.util.find_spec("extrai")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = Path(next(iter(spec.submodule_search_locations)))
    for name, folder in (("extrai", root), ("extrai.core", root / "core"), ("extrai.utils", root / "utils")):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    from extrai.core import conflict_resolvers, json_consensus

    resolvers = {
        "Extrai, omit": conflict_resolvers.default_conflict_resolver,
        "Extrai, most common": conflict_resolvers.prefer_most_common_resolver,
        "Extrai, cluster": conflict_resolvers.SimilarityClusterResolver(),
    }

    def row(resolver: Any) -> Merge:
        return lambda revisions: json_consensus.JSONConsensus(conflict_resolver=resolver).get_consensus(revisions)[0]

    return {name: row(resolver) for name, resolver in resolvers.items()}


def k_llms() -> dict[str, Merge]:
    """k-llms as its client merges, and with its own list alignment before that; texts by edit distance, offline."""
    from k_llms.utils import consensus_utils as utils

    chosen = utils.ConsensusSettings(string_similarity_method="levenshtein")

    def embed(texts: list[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]

    def merge(revisions: list[Any]) -> Any:
        return utils.consensus_values(revisions, chosen, embed)[0]

    def aligned(revisions: list[Any]) -> Any:
        support = chosen.min_support_ratio
        return merge(utils.recursive_list_alignments(revisions, chosen.string_similarity_method, embed, support)[0])

    return {"k-llms": merge, "k-llms, aligned": aligned}


def answers(rows: dict[str, Merge], cases: list[list[Any]]) -> Iterator[tuple[str, list[Any]]]:
    for name, merge in rows.items():
        attempt(merge, [{"text": "what takes time"}, {"text": "at the first call"}])
        forget()
        start = time.process_time()
        merged = [attempt(merge, case) for case in cases]
        yield name, [time.process_time() - start, merged]


def forget() -> None:
    """Empty the memory of k-llms, in which the row before has left how alike these texts are."""
    utils = sys.modules.get("k_llms.utils.consensus_utils")
    if utils is not None:
        utils.similarity_cache.clear()


def attempt(merge: Merge, revisions: list[Any]) -> Any:
    try:
        return merge(revisions) if revisions else {}
    except Exception:  # a peer that cannot merge these revisions has no record for them
        return {}


if __name__ == "__main__":
    if len(sys.argv) == 1:
        install()
    else:
        rows_of = {"extrai": extrai, "k-llms": k_llms}[sys.argv[1]]
        for answer in answers(rows_of(), [json.loads(line) for line in sys.stdin]):
            print(json.dumps(answer), flush=True)
