"""Intent with paraphrases: three wordings of one question take turns, and their answers go into one pool.

With early stop a vote ends as soon as the calls that are left cannot change it: after six calls when all agree, later
when they do not, and without a decision once no answer can reach the quorum.
"""

from collections import Counter

from consilience import VoteResult, VoteSettings, vote
from consilience.testing import ReplaySampler

SETTINGS = VoteSettings(n=9, key="intent", min_agreement=0.6, early_stop=True)


def wordings(message: str) -> list[str]:
    return [
        f'What does the customer want: cancel, refund or exchange? "{message}"',
        f'Name the intent (cancel, refund, exchange) of this message: "{message}"',
        f'"{message}" Is this customer asking to cancel, for a refund or for an exchange?',
    ]


# What a model said to the three wordings in turn.
ANSWERS = {
    "Please stop my order.": "cancel cancel cancel cancel cancel cancel",
    "I want my money back, stop the delivery.": "refund cancel refund refund cancel refund refund refund",
    "The blue one was a mistake.": "cancel exchange exchange cancel exchange cancel cancel exchange",
}


def votes_by_wording(result: VoteResult) -> str:
    pools = [Counter[str]() for _ in range(3)]
    for sample in result.samples:
        pools[sample.prompt_index][sample.vote] += 1
    return "; ".join(", ".join(f"{intent} {votes}" for intent, votes in pool.most_common()) for pool in pools)


def main() -> None:
    for message, answers in ANSWERS.items():
        sampler = ReplaySampler([f'{{"intent": "{answer}"}}' for answer in answers.split()])
        result = vote(sampler, wordings(message), settings=SETTINGS)
        print(message)
        print(f"  {result.value if result.decided else result.reason}: {result.detail}")
        print(f"  {result.num_samples} of {result.n_planned} calls; votes by wording: {votes_by_wording(result)}")


if __name__ == "__main__":
    main()
