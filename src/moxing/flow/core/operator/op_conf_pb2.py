"""Activations by the names of the original's enum, which models compare and pass on."""

from __future__ import annotations

kNone, kTanH, kRelu, kSigmoid, kGelu = range(5)
