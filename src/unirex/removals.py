"""The ways to remove tokens from a text, by name; `perturb` carries them out."""

from __future__ import annotations

from typing import Literal

Removal = Literal["attention_mask", "delete", "mask_token", "pad_token", "previous_token"]
REMOVALS = {
    "attention_mask": "no other token sees it; positions stay",
    "delete": "the token is cut out; positions close up",
    "mask_token": "the mask token stands in its place",
    "pad_token": "the pad token stands in its place",
    "previous_token": "the last token before it that stays is repeated in its place",
}
