"""Enums and messages of the original's operators that programs name, made at import.

Activations are numbers, which models compare and pass on. `InitializerConf` and the messages in it
describe the first values of a variable: `flow.get_variable` takes one in place of an initializer.
"""

from __future__ import annotations

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_FLOAT, _DOUBLE, _STRING = _FIELD.TYPE_FLOAT, _FIELD.TYPE_DOUBLE, _FIELD.TYPE_STRING
_INT32, _INT64, _ENUM = _FIELD.TYPE_INT32, _FIELD.TYPE_INT64, _FIELD.TYPE_ENUM

kNone, kTanH, kSigmoid, kRelu, kGelu = range(5)
kFanIn, kFanOut, kAverage = range(3)
kRandomUniform, kRandomNormal, kTruncatedNormal = range(3)
_ENUMS = {
    "VarianceNorm": ("kFanIn", "kFanOut", "kAverage"),
    "RandomDistribution": ("kRandomUniform", "kRandomNormal", "kTruncatedNormal"),
}
# The fields of each message in the order of their numbers: the name, the type, the default.
_Fields = tuple[tuple[str, int, str], ...]
_FAN: _Fields = (("variance_norm", _ENUM, "kFanIn"), ("data_format", _STRING, ""))
_INITIALIZERS: dict[str, tuple[str, _Fields]] = {
    "constant_conf": ("Constant", (("value", _FLOAT, "0"),)),
    "constant_int_conf": ("ConstantInt", (("value", _INT64, "0"),)),
    "random_uniform_conf": ("RandomUniform", (("min", _FLOAT, "0"), ("max", _FLOAT, "1"))),
    "random_uniform_int_conf": ("RandomUniformInt", (("min", _INT32, "0"), ("max", _INT32, "1"))),
    "random_normal_conf": ("RandomNormal", (("mean", _FLOAT, "0"), ("std", _FLOAT, "1"))),
    "truncated_normal_conf": ("TruncatedNormal", (("mean", _FLOAT, "0"), ("std", _FLOAT, "0.05"))),
    "xavier_conf": ("Xavier", _FAN),
    "msra_conf": ("Msra", _FAN),
    "range_conf": (
        "Range",
        (("start", _DOUBLE, "0"), ("stride", _DOUBLE, "1"), ("axis", _INT64, "-1")),
    ),
    "int_range_conf": (
        "IntRange",
        (("start", _INT64, "0"), ("stride", _INT64, "1"), ("axis", _INT64, "-1")),
    ),
    "variance_scaling_conf": (
        "VarianceScaling",
        (
            *(("scale", _FLOAT, "1"), ("variance_norm", _ENUM, "kFanIn")),
            *(("distribution", _ENUM, "kTruncatedNormal"), ("data_format", _STRING, "")),
        ),
    ),
}
_ENUM_OF = {"variance_norm": "VarianceNorm", "distribution": "RandomDistribution"}


def _schema() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="moxing/flow/op_conf.proto", package="oneflow", syntax="proto2"
    )
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    whole = descriptor_pb2.DescriptorProto(name="InitializerConf")
    whole.oneof_decl.add(name="type")
    for number, (key, (kind, fields)) in enumerate(_INITIALIZERS.items(), 1):
        message = file.message_type.add(name=f"{kind}InitializerConf")
        for place, (name, form, default) in enumerate(fields, 1):
            field = message.field.add(name=name, number=place, label=1, type=form)
            field.default_value = default
            if form == _ENUM:
                field.type_name = f".oneflow.{_ENUM_OF[name]}"
        inner = whole.field.add(name=key, number=number, label=1, type=_FIELD.TYPE_MESSAGE)
        inner.type_name, inner.oneof_index = f".oneflow.{message.name}", 0
    file.message_type.append(whole)
    return file


def _messages() -> dict[str, type]:
    pool, schema = descriptor_pool.DescriptorPool(), _schema()
    pool.Add(schema)
    return {
        message.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"oneflow.{message.name}")
        )
        for message in schema.message_type
    }


_made = _messages()
InitializerConf = _made["InitializerConf"]
ConstantInitializerConf = _made["ConstantInitializerConf"]
ConstantIntInitializerConf = _made["ConstantIntInitializerConf"]
RandomUniformInitializerConf = _made["RandomUniformInitializerConf"]
RandomUniformIntInitializerConf = _made["RandomUniformIntInitializerConf"]
RandomNormalInitializerConf = _made["RandomNormalInitializerConf"]
TruncatedNormalInitializerConf = _made["TruncatedNormalInitializerConf"]
XavierInitializerConf, MsraInitializerConf = (
    _made["XavierInitializerConf"],
    _made["MsraInitializerConf"],
)
RangeInitializerConf = _made["RangeInitializerConf"]
IntRangeInitializerConf = _made["IntRangeInitializerConf"]
VarianceScalingInitializerConf = _made["VarianceScalingInitializerConf"]
