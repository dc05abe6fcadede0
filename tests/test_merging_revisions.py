"""The revision: instances of pydantic models become the JSON that their models read."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    create_model,
    field_serializer,
)

from consilience.merging import merge
from consilience.merging._revisions import plain_json


class Price(BaseModel):
    amount: float
    currency: str = "EUR"

    @field_serializer("amount")
    def shown(self, value: float) -> str:
        return f"{value:.0f} EUR"


class Prices(RootModel[list[Price]]):
    pass


class Contact(BaseModel):
    model_config = ConfigDict(extra="allow")
    site: AnyUrl
    host: IPv4Address
    token: SecretStr


class Place(BaseModel):
    city: str = Field(validation_alias=AliasPath("address", "city"))
    code: str = Field(validation_alias=AliasPath("address", "code"))


def of(field: Any, **values: Any) -> BaseModel:
    return create_model("Made", y=(int, field))(**values)


@pytest.mark.parametrize(
    ("instance", "written"),
    [
        (Price(amount=1.2), {"amount": 1.2}),
        (Prices([Price(amount=1.2, currency="USD")]), [{"amount": 1.2, "currency": "USD"}]),
        (
            Contact(site="https://example.org/a", host="10.0.0.1", token="t", more=1),
            {"site": "https://example.org/a", "host": "10.0.0.1", "token": "t", "more": 1},
        ),
        (
            Place.model_validate({"address": {"city": "X", "code": "1"}}),
            {"address": {"city": "X", "code": "1"}},
        ),
        (of(Field(alias="x"), x=1), {"x": 1}),
        (of(Field(validation_alias="x"), x=1), {"x": 1}),
        (of(Field(validation_alias=AliasChoices("x", "z")), z=1), {"x": 1}),
        (of(Field(serialization_alias="x"), y=1), {"y": 1}),
        (of(Field(exclude=True), y=1), {"y": 1}),
    ],
)
def test_instances_are_written_as_their_models_read_them(instance, written):
    assert plain_json(instance) == written
    assert merge([instance] * 2, schema=type(instance)).value == instance
