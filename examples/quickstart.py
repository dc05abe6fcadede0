"""Quickstart: five replies to one question, one of them wrong and one of them no answer, become one decision."""

from consilience import vote
from consilience.testing import ReplaySampler

# Stands in for a model. In your program this is any function from prompt to reply.
sampler = ReplaySampler(
    [
        '```json\n{"team":"billing","confidence":0.9}\n```',
        'Sure! {"team":"billing","confidence":0.8}',
        '{"team":"shipping","confidence":0.6}',
        "Sorry, I cannot help with that.",
        '{"team":"billing","confidence":0.7}',
    ]
)

result = vote(
    sampler,
    "Which team handles this ticket? I was charged twice for order #1042. Answer in JSON.",
    n=5,
    key="team",
    min_valid=0.6,
    min_agreement=0.5,
    confidence_field="confidence",
)

if result.decided:
    print(f"route to {result.value} (agreement {result.agreement:.2f}, confidence {result.confidence:.2f})")
else:
    print(f"ask a human: {result.detail}")
print()
print(result.explain())
