"""What is looked at beside the main metrics of a system, and why."""

from __future__ import annotations

from collections.abc import Sequence

from unirex.errors import UserError
from unirex.probing import check_probes
from unirex.recording import Protocol
from unirex.system import System

HELD_OUT = ("mask_token", "pad_token", "delete", "attention_mask")  # the first that training did not see


def checked_protocol(
    system: System, chosen: str, *, beside: Sequence[str] | None, draws: int, probes: Sequence[str]
) -> Protocol:
    """What is looked at beside the main metrics; a name nobody knows is a mistake."""
    if draws < 0:
        raise UserError(f"draws {draws}: give how often random scores are drawn, 0 or more.")
    check_probes(probes)
    model = system.model
    if model.config.predict_from == "rationale" and chosen != model.config.removal:
        raise UserError(
            f"removal {chosen}: this system predicts from a rationale taken out by '{model.config.removal}'; "
            "another would change its answers. --beside shows what it would come to."
        )
    if probes and model.config.predict_from == "rationale":
        raise UserError(
            "probes edit whole texts; this system predicts from its rationale and reads no others."
        )
    trained = model.config.removal if model.trained_views() else None
    others = held_out(system, chosen, trained) if beside is None else beside
    perturbers = [model.perturber(name) for name in dict.fromkeys(others) if name != chosen]
    return Protocol(perturbers, draws, tuple(probes), trained)


def held_out(system: System, chosen: str, trained: str | None) -> list[str]:
    """The way of removing tokens that training used, and one that neither it nor the main metrics use.

    Faithfulness can be learnt for one way of removing tokens alone (SPEC part D, Goodhart).
    """
    known = [name for name in HELD_OUT if name not in (chosen, trained) and _possible(system, name)]
    return [*([trained] if trained else []), *known[:1]]


def _possible(system: System, removal: str) -> bool:
    try:
        system.model.perturber(removal)
    except UserError:  # no mask token
        return False
    return True
