"""`flow.scope`: later names of placements, strategies and prefixes of names."""

from __future__ import annotations

from moxing.flow import absent
from moxing.flow.deprecated import variable_scope
from moxing.flow.distribute import consistent_strategy, mirrored_strategy
from moxing.flow.placement import fixed_placement

consistent_view, mirrored_view, placement = consistent_strategy, mirrored_strategy, fixed_placement
namespace = variable_scope

__getattr__, __dir__ = absent.of("flow.scope", globals())
