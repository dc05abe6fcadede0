"""Merge invoices: one invoice extracted five times, merged field by field, with a list of what to check by hand."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, model_validator

from consilience import Keyed, Similar, consensus
from consilience.testing import ReplaySampler

# Only the first adds up: the others read 6 mugs as 8. One is no JSON, one lacks a line and puts the date in words.
REPLIES = [
    '{"vendor": "Hoff & Sons Ltd.", "due": "2026-11-30", "total": 57.00, "lines":'
    ' [{"sku": "MUG", "quantity": 6, "price": 4.50}, {"sku": "LAMP", "quantity": 1, "price": 30.00}]}',
    '{"vendor": "Hoff & Sons Ltd", "due": "2026-11-30", "total": 57, "lines":'
    ' [{"sku": "LAMP", "quantity": 1, "price": 30.00}, {"sku": "MUG", "quantity": 8, "price": 4.50}]}',
    "The invoice is from Hoff & Sons.",
    '{"vendor": "Hoff & Sons Ltd.", "due": "in 30 days", "total": 57.00, "lines":'
    ' [{"sku": "MUG", "quantity": 8, "price": 4.50}]}',
    '{"vendor": "Hoff & Sons Ltd.", "due": "2026-12-30", "total": 57.00, "lines":'
    ' [{"sku": "MUG", "quantity": 8, "price": 4.50}, {"sku": "LAMP", "quantity": 1, "price": 30.00}]}',
]


class Line(BaseModel):
    sku: str
    quantity: int
    price: Decimal


class Invoice(BaseModel):
    """What is wanted; the annotations say when two values of a field are the same."""

    vendor: Annotated[str, Similar(0.9)]
    due: date
    total: Decimal
    lines: Annotated[list[Line], Keyed("sku")]

    @model_validator(mode="after")
    def adds_up(self) -> "Invoice":
        if self.total != sum(line.quantity * line.price for line in self.lines):
            raise ValueError("the lines do not add up to the total")
        return self


def main() -> None:
    result = consensus(ReplaySampler(REPLIES), "Extract the invoice as JSON: …", schema=Invoice)
    invoice = result.unwrap()
    print(f"{invoice.vendor}, due {invoice.due}, total {invoice.total:.2f}")
    for line in invoice.lines:
        print(f"  {line.quantity} x {line.sku} at {line.price:.2f}")
    print(result.detail)

    print("check by hand, worst first")
    for item in result.needs_review(below=0.8):
        seen = ", ".join(
            f"{'absent' if each.absent else each.value} in {len(each.revisions)}" for each in item.candidates
        )
        print(f"  {item.path!s:<18} {item.status:<10} agreement {item.agreement:.2f}: {seen}")


if __name__ == "__main__":
    main()
