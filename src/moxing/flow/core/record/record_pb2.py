"""The messages of OFRecord files, made from a descriptor at import."""

from __future__ import annotations

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
LISTS = {
    "bytes_list": ("BytesList", _FIELD.TYPE_BYTES),
    "float_list": ("FloatList", _FIELD.TYPE_FLOAT),
    "double_list": ("DoubleList", _FIELD.TYPE_DOUBLE),
    "int32_list": ("Int32List", _FIELD.TYPE_INT32),
    "int64_list": ("Int64List", _FIELD.TYPE_INT64),
}


def file_descriptor(maps: bool = True) -> descriptor_pb2.FileDescriptorProto:
    """The schema; without maps, entries are plain messages, which have the same encoding."""
    file = descriptor_pb2.FileDescriptorProto(
        name="moxing/flow/record.proto", package="oneflow", syntax="proto2"
    )
    for name, kind in LISTS.values():
        message = file.message_type.add(name=name)
        value = message.field.add(name="value", number=1, label=_FIELD.LABEL_REPEATED, type=kind)
        if kind != _FIELD.TYPE_BYTES:
            value.options.packed = True
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (field, (name, _)) in enumerate(LISTS.items(), 1):
        feature.field.add(
            name=field,
            number=number,
            label=_FIELD.LABEL_OPTIONAL,
            type=_FIELD.TYPE_MESSAGE,
            type_name=f".oneflow.{name}",
            oneof_index=0,
        )
    record = file.message_type.add(name="OFRecord")
    record.field.add(
        name="feature",
        number=1,
        label=_FIELD.LABEL_REPEATED,
        type=_FIELD.TYPE_MESSAGE,
        type_name=".oneflow.OFRecord.FeatureEntry",
    )
    entry = record.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = maps
    entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL, type=_FIELD.TYPE_STRING)
    entry.field.add(
        name="value",
        number=2,
        label=_FIELD.LABEL_OPTIONAL,
        type=_FIELD.TYPE_MESSAGE,
        type_name=".oneflow.Feature",
    )
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(file_descriptor())


def _message(name: str) -> type:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"oneflow.{name}"))


OFRecord, Feature = _message("OFRecord"), _message("Feature")
BytesList, FloatList, DoubleList = map(_message, ("BytesList", "FloatList", "DoubleList"))
Int32List, Int64List = _message("Int32List"), _message("Int64List")
