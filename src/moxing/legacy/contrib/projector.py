"""`tf.contrib.tensorboard.plugins.projector`: the file that describes embeddings to TensorBoard.

The field numbers and names are the same as in TensorBoard's projector_config.proto.
"""

from __future__ import annotations

import os
from typing import Any

import tensorflow.compat.v1 as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

PROJECTOR_FILENAME = "projector_config.pbtxt"
_FIELD = descriptor_pb2.FieldDescriptorProto
_ONE, _MANY = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
_TEXT, _NUMBER, _MESSAGE = _FIELD.TYPE_STRING, _FIELD.TYPE_UINT32, _FIELD.TYPE_MESSAGE
# The fields of each message: name, number, label (one or repeated), type, message type.
_MESSAGES: dict[str, tuple[tuple[str, int, Any, Any, str], ...]] = {
    "SpriteMetadata": (
        ("image_path", 1, _ONE, _TEXT, ""),
        ("single_image_dim", 2, _MANY, _NUMBER, ""),
    ),
    "EmbeddingInfo": (
        ("tensor_name", 1, _ONE, _TEXT, ""),
        ("metadata_path", 2, _ONE, _TEXT, ""),
        ("bookmarks_path", 3, _ONE, _TEXT, ""),
        ("tensor_shape", 4, _MANY, _NUMBER, ""),
        ("sprite", 5, _ONE, _MESSAGE, "SpriteMetadata"),
        ("tensor_path", 6, _ONE, _TEXT, ""),
    ),
    "ProjectorConfig": (
        ("model_checkpoint_path", 1, _ONE, _TEXT, ""),
        ("embeddings", 2, _MANY, _MESSAGE, "EmbeddingInfo"),
        ("model_checkpoint_dir", 3, _ONE, _TEXT, ""),
    ),
}


def _message_types() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="moxing/projector_config.proto", package="tensorflow", syntax="proto3"
    )
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, number, label, kind, of in fields:
            type_name = f".tensorflow.{of}" if of else None
            described.field.add(
                name=name, number=number, label=label, type=kind, type_name=type_name
            )
    # Use a separate pool: TensorBoard, if installed, registers these messages in the default pool.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.{name}"))
        for name in _MESSAGES
    }


_TYPES = _message_types()
EmbeddingInfo = _TYPES["EmbeddingInfo"]
ProjectorConfig = _TYPES["ProjectorConfig"]
SpriteMetadata = _TYPES["SpriteMetadata"]


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Writes projector_config.pbtxt into the folder of a summary writer.

    Args:
        summary_writer: a `tf.summary.FileWriter`, or the folder's path.
        config: a `ProjectorConfig`.
    """
    folder = summary_writer if isinstance(summary_writer, str) else summary_writer.get_logdir()
    path = os.path.join(tf.compat.as_str_any(folder), PROJECTOR_FILENAME)
    with tf.io.gfile.GFile(path, "w") as file:
        file.write(text_format.MessageToString(config))
