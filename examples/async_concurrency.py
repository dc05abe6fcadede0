"""Async and concurrency: up to three calls at once; early stop starts no call that cannot matter."""

import asyncio

from consilience import avote
from consilience.testing import AsyncReplaySampler

AGREEING = ['{"label": "spam"}'] * 9


async def main() -> None:
    sampler = AsyncReplaySampler(AGREEING, delay=0.05)
    result = await avote(sampler, "Spam or ham?", n=6, key="label", concurrency=3)
    print(f"full run:   {result.value}, agreement {result.agreement:.2f}, {sampler.calls} calls, ", end="")
    print(f"at most {sampler.max_in_flight} at the same time")

    sampler = AsyncReplaySampler(AGREEING, delay=0.05)
    result = await avote(sampler, "Spam or ham?", n=9, key="label", concurrency=3, early_stop=True)
    print(f"early stop: {result.value}, agreement {result.agreement:.2f}, {sampler.calls} of 9 calls")

    sampler = AsyncReplaySampler(AGREEING, delay=0.05)
    tickets = ["Win a prize!", "You have won!", "Claim it now!"]
    results = await asyncio.gather(*(avote(sampler, ticket, n=3, key="label", concurrency=3) for ticket in tickets))
    print(f"three votes at once: {[each.value for each in results]}, {sampler.max_in_flight} calls in flight together")


if __name__ == "__main__":
    asyncio.run(main())
