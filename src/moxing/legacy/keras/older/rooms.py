"""The names that modules of Keras 1 and 2 had besides those of tf_keras, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.keras import orders

_SRC = "tf_keras.src"
_ROOM = "moxing.legacy.keras.older"
_KERNELS, _KERAS_1, _SMALL = f"{_ROOM}.kernels", f"{_ROOM}.keras_1", f"{_ROOM}.small"
_GENERIC = f"{_SRC}.utils.generic_utils"
_TRAINING = f"{_SRC}.engine.training_utils_v1"

CONVERTED = {"convert_all_kernels_in_model": f"{_KERNELS}:convert_all_kernels_in_model"}
_KERNEL = {"convert_kernel": f"{_KERNELS}:convert_kernel"}

# Helpers that many modules of Keras 2 imported, so that programs find each in several.
HELPERS: Mapping[str, str] = {
    "_object_list_uid": f"{_SMALL}:object_list_uid",
    "_is_all_none": f"{_GENERIC}:is_all_none",
    "_to_list": f"{_GENERIC}:to_list",
    "_to_snake_case": f"{_GENERIC}:to_snake_case",
    "disable_tracking": f"{_SMALL}:as_it_is",
    "object_list_uid": f"{_SMALL}:object_list_uid",
    "transpose_shape": f"{_SMALL}:transpose_shape",
    "unpack_singleton": f"{_SMALL}:unpack_singleton",
    **{
        name: f"{_GENERIC}:{name}"
        for name in ("func_dump", "func_load", "has_arg", "is_all_none", "make_batches", "to_list")
    },
    **{
        name: f"{_SRC}.saving.legacy.serialization:{name}"
        for name in ("deserialize_keras_object", "serialize_keras_object")
    },
}

BACKEND: Mapping[str, str] = {
    "control_dependencies": "tensorflow.compat.v1:control_dependencies",
    "eager": f"{_SMALL}:as_it_is",
    "get_variable_shape": f"{_SRC}.backend:int_shape",
    "has_arg": f"{_GENERIC}:has_arg",
    "is_tensor": "tensorflow.compat.v1:is_tensor",
    "is_variable": f"{_SMALL}:is_variable",
    "lesser": f"{_SRC}.backend:less",
    "lesser_equal": f"{_SRC}.backend:less_equal",
    "normalize_data_format": f"{_SRC}.utils.conv_utils:normalize_data_format",
    "size": f"{_SMALL}:size",
    "slice": f"{_SMALL}:slice_tensor",
    "symbolic": f"{_SMALL}:as_it_is",
    "transpose_shape": f"{_SMALL}:transpose_shape",
}

_STANDARDIZED = (
    *("batch_shuffle", "check_array_lengths", "check_loss_and_target_compatibility"),
    *("standardize_class_weights", "standardize_input_data", "standardize_sample_weights"),
    *("standardize_sample_or_class_weights", "standardize_weights"),
)
# Until Keras 2.1 these functions stood in `keras.engine.training`, with an underscore.
TRAINING: Mapping[str, str] = {
    **HELPERS,
    **{f"_{name}": f"{_TRAINING}:{name}" for name in _STANDARDIZED},
    "_make_batches": f"{_GENERIC}:make_batches",
    "Container": f"{_SRC}.engine.functional:Functional",
    "Network": f"{_SRC}.engine.functional:Functional",
    "Progbar": f"{_GENERIC}:Progbar",
    **{
        name: f"{_SRC}.utils.data_utils:{name}"
        for name in ("GeneratorEnqueuer", "OrderedEnqueuer", "Sequence")
    },
    "count_params": f"{_SRC}.utils.layer_utils:count_params",
}

ENGINE: Mapping[str, str | Spec] = {
    "training_arrays": f"{_SRC}.engine.training_arrays_v1",
    "training_generator": f"{_SRC}.engine.training_generator_v1",
    "training_utils": Spec(
        roots=(_TRAINING, f"{_SRC}.engine.training_utils"),
        names={
            **HELPERS,
            "Sequence": f"{_SRC}.utils.data_utils:Sequence",
            "is_generator_or_sequence": f"{_SRC}.utils.data_utils:is_generator_or_sequence",
            "iter_sequence_infinite": f"{_SRC}.utils.data_utils:iter_sequence_infinite",
        },
    ),
    "saving": Spec(
        roots=(
            f"{_SRC}.saving.legacy.hdf5_format",
            f"{_SRC}.saving.legacy.save",
            f"{_SRC}.saving.legacy.model_config",
        ),
    ),
}

RECURRENT: Mapping[str, str] = {
    "_generate_dropout_mask": f"{_SMALL}:generate_dropout_mask",
    "_standardize_args": f"{_SRC}.layers.rnn.rnn_utils:standardize_args",
}
CONVOLUTIONS: Mapping[str, Any] = {
    "AtrousConv1D": f"{_SRC}.layers:Conv1D",
    "AtrousConv2D": f"{_SRC}.layers:Conv2D",
    "AtrousConvolution1D": f"{_SRC}.layers:Conv1D",
    "AtrousConvolution2D": f"{_SRC}.layers:Conv2D",
    "Deconv2D": orders.deconvolution,
    "Deconvolution2D": orders.deconvolution,
    "Deconv3D": f"{_SRC}.layers:Conv3DTranspose",
    "Deconvolution3D": f"{_SRC}.layers:Conv3DTranspose",
}
CONVOLUTIONAL_RECURRENT: Mapping[str, str] = {
    "ConvLSTM2DCell": f"{_SRC}.layers.rnn.base_conv_lstm:ConvLSTMCell",
    "ConvRNN2D": f"{_SRC}.layers.rnn.base_conv_rnn:ConvRNN",
}

REGULARIZERS: Mapping[str, str] = {
    **{name: f"{_KERAS_1}:{name}" for name in ("activity_l1", "activity_l2", "l1l2")},
    "activity_l1l2": f"{_KERAS_1}:l1l2",
    **{
        name: f"{_KERAS_1}:weight_regularizer"
        for name in ("ActivityRegularizer", "L1L2Regularizer", "WeightRegularizer")
    },
}
METRICS: Mapping[str, str] = {
    name: f"{_KERAS_1}:{name}"
    for name in ("precision", "recall", "fbeta_score", "fmeasure", "matthews_correlation")
}
OPTIMIZERS: Mapping[str, str] = {"clip_norm": f"{_SMALL}:clip_norm"}
IMAGES: Mapping[str, str] = {"list_pictures": f"{_SMALL}:list_pictures"}


def utils(show: str) -> dict[str, Any]:
    """Returns names of `keras.utils` and its modules.

    Args:
        show: the module that shows the present names.
    """
    matrix = f"{_ROOM}.h5_matrix:HDF5Matrix"
    functions = ("probas_to_classes", "categorical_probas_to_classes", "accuracy")
    return {
        **CONVERTED,
        "HDF5Matrix": matrix,
        "conv_utils": Spec(
            roots=(f"{_SRC}.utils.conv_utils",),
            names={**_KERNEL, "deconv_length": f"{_KERNELS}:deconv_length"},
        ),
        "io_utils": Spec(roots=(f"{_SRC}.utils.io_utils",), names={"HDF5Matrix": matrix}),
        "layer_utils": Spec(
            roots=(f"{_SRC}.utils.layer_utils",),
            names={**CONVERTED, **_KERNEL},
            fallback=(f"{_SRC}.layers",),
        ),
        "np_utils": Spec(
            roots=(f"{_SRC}.utils.np_utils",),
            names={**_KERNEL, **{name: f"{_KERAS_1}:{name}" for name in functions}},
        ),
    }


def callbacks(face: str) -> dict[str, str]:
    """Returns the modules of which `keras.callbacks` of Keras 2.3 was made: all show all names."""
    return {
        name: f"face:{face}.callbacks" for name in ("callbacks", "tensorboard_v1", "tensorboard_v2")
    }


def applications(face: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns names of a module of `keras.applications`, and modules whose names it imported."""
    names = {
        **CONVERTED,
        "K": f"face:{face}.backend",
        "get_file": f"{_SRC}.utils.data_utils:get_file",
        "get_source_inputs": f"{_SRC}.utils.layer_utils:get_source_inputs",
        "keras_modules_injection": f"{_SMALL}:keras_modules_injection",
    }
    return names, (f"{_SRC}.layers", f"{_SRC}.models")


def mixed_precision() -> Spec:
    """Returns `tf.keras.mixed_precision`, whose names were in `experimental` until 2.3."""
    kept = f"{_SRC}.mixed_precision.policy"
    experimental = Spec(
        names={
            "LossScaleOptimizer": f"{_ROOM}.precision:loss_scale_optimizer",
            "Policy": f"{_ROOM}.precision:policy",
            "get_layer_policy": f"{_ROOM}.precision:layer_policy",
            "global_policy": f"{kept}:global_policy",
            "set_policy": f"{kept}:set_global_policy",
        }
    )
    return Spec(
        roots=("tf_keras.api._v2.keras.mixed_precision",), names={"experimental": experimental}
    )


SCHEDULES: Mapping[str, str] = {
    name: f"{_ROOM}.schedules:{name}" for name in ("LinearCosineDecay", "NoisyLinearCosineDecay")
}
