"""XLA's answers: a JSON object a line in, one a line out. XLA may abort the process; then the
other side starts another."""

import json
import sys

import jaxlib.xla_client
from jaxlib import _hlo, _jax

CLIENT = jaxlib.xla_client.make_cpu_client()


def shape(case):
    shape = _hlo.Shape(case["text"])
    return {"text": repr(shape), "proto": shape.to_serialized_proto().hex()}


def equal(case):
    return {"equal": _hlo.Shape(case["text"]) == _hlo.Shape(case["other"])}


def size(case):
    module = _hlo.hlo_module_from_text(
        f"HloModule m\nENTRY e {{\n p = {case['text']} parameter(0)\n"
        f" ROOT c = {case['text']} copy(p)\n}}"
    )
    # Nothing is said of an array without elements. XLA sums in 32-bit floating point.
    costs = _jax.hlo_module_cost_analysis(CLIENT, module)
    return {"bytes": costs.get("bytes accessed0{}", 0.0)}


def module(case):
    module = _hlo.hlo_module_from_text(case["text"])
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    program = computation.program_shape()
    return {
        "text": module.to_string(),
        "program": repr(program),
        "parameters": [repr(p) for p in program.parameter_shapes()],
        "result": repr(program.result_shape()),
    }


def sharding(case):
    sharding = _hlo.HloSharding.from_string(case["text"])
    module = _hlo.hlo_module_from_text(
        f"HloModule m\nENTRY e {{\n ROOT p = f32[] parameter(0), sharding={case['text']}\n}}"
    )
    (line,) = [line for line in module.to_string().splitlines() if "ROOT" in line]
    proto = sharding.to_proto()
    answer = {
        "text": str(sharding),
        "in_module": line.split(", sharding=", 1)[1],
        "proto": proto.SerializeToString().hex(),
        "back": str(_hlo.HloSharding.from_proto(proto)),
        "replicated": sharding.is_replicated(),
        "maximal": sharding.is_maximal(),
        "manual": sharding.is_manual(),
        "unknown": sharding.is_unknown(),
        "unreduced": sharding.is_unreduced(),
        "tiled": sharding.is_tiled(),
    }
    # Asked of another kind, XLA aborts.
    if answer["text"].startswith(("{mesh", "{maximal_mesh")):
        answer["tiles"] = str(sharding.v3_to_v2_sharding())
    elif answer["text"].startswith("{devices"):
        answer["dimensions"] = list(sharding.tile_assignment_dimensions())
        answer["devices"] = list(sharding.tile_assignment_devices())
    return answer


KINDS = {f.__name__: f for f in (shape, equal, size, module, sharding)}

for line in sys.stdin:
    case = json.loads(line)
    try:
        answer = KINDS[case["kind"]](case)
    except Exception as error:  # XLA's own errors have no narrower type
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
