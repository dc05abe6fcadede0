"""Invoice fields: one invoice extracted five times; the fields that agree can be used, the others need a look."""

from typing import Any

from consilience import vote
from consilience.testing import ReplaySampler

# The due dates differ: two replies agree, the other three all differ. The total is spelled in three ways.
REPLIES = [
    '{"invoice_number": "INV-2041", "total": 1180.0, "currency": "EUR", "due_date": "2026-11-30"}',
    '{"invoice_number": "INV-2041", "total": 1180, "currency": "EUR", "due_date": "2026-12-30"}',
    '{"invoice_number": "INV-2041", "total": "1,180.00", "currency": "EUR", "due_date": "2026-11-30"}',
    '{"invoice_number": "INV-2041", "total": 1180.0, "currency": "EUR", "due_date": "2026-10-31"}',
    '{"invoice_number": "INV-2041", "total": 1180, "currency": "EUR", "due_date": "30 days net"}',
]


def check_invoice(record: dict[str, Any]) -> dict[str, Any]:
    """Read the total as a number; a record without one raises, which rejects it."""
    return {**record, "total": float(str(record["total"]).replace(",", ""))}


def main() -> None:
    prompt = "Extract invoice_number, total, currency and due_date as JSON: …"

    whole = vote(ReplaySampler(REPLIES), prompt, validator=check_invoice)
    print(f"whole record:   {whole.reason}: {whole.detail}")

    number = vote(ReplaySampler(REPLIES), prompt, key="invoice_number", validator=check_invoice)
    print(f"invoice_number: {number.value}: {number.detail}")
    print(f"record:         {number.record}")
    for name, share in number.field_agreement.items():
        verdict = "use" if share >= 0.6 else "check by hand"
        print(f"  {name:<15} agreement {share:.2f}  {verdict}")


if __name__ == "__main__":
    main()
