"""The face of `keras` and `tf.keras`: tf_keras by the paths of Keras 1 and 2."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from moxing.legacy.data import keras_data
from moxing.legacy.face.faces import Spec
from moxing.legacy.keras import arrival, backend, devices, merging
from moxing.legacy.keras.older import rooms
from moxing.legacy.plain.old_optimizers import NAMES as OLD_OPTIMIZERS

_SRC = "tf_keras.src"
_EAGER_API = "tf_keras.api._v2.keras"
_ROOM = "moxing.legacy.keras"
# Modules of Keras 2's `keras.layers`, each with the modules of tf_keras that hold its parts.
_LAYER_MODULES: dict[str, tuple[str, ...]] = {
    "advanced_activations": ("activation",),
    "convolutional": ("convolutional", "convolutional.base_conv"),
    "convolutional_recurrent": ("rnn", "rnn.base_conv_rnn"),
    "core": ("core",),
    "cudnn_recurrent": ("rnn",),
    "embeddings": ("core",),
    "local": ("locally_connected",),
    "noise": ("regularization",),
    "normalization": ("normalization",),
    "pooling": ("pooling",),
    "recurrent": ("rnn", "rnn.base_rnn", "rnn.rnn_utils"),
    "wrappers": ("rnn", "rnn.base_wrapper"),
}
# Names that Keras 2 had for the classes from which its layers derive, and that programs ask of.
_BASES: dict[str, dict[str, str]] = {
    "convolutional": {
        "_Conv": f"{_SRC}.layers.convolutional.base_conv:Conv",
        "_SeparableConv": f"{_SRC}.layers.convolutional.base_separable_conv:SeparableConv",
    },
    "pooling": {
        f"_{kind}Pooling{axes}D": (
            f"{_SRC}.layers.pooling.base_{kind.lower()}{'_' * bool(kind)}pooling{axes}d"
            f":{kind}Pooling{axes}D"
        )
        for kind in ("", "Global")
        for axes in (1, 2, 3)
    },
}
_OLDER_LAYERS = {
    "convolutional": rooms.CONVOLUTIONS,
    "convolutional_recurrent": rooms.CONVOLUTIONAL_RECURRENT,
    "recurrent": rooms.RECURRENT,
}
# Modules of Keras 2 that knew its backend as K, as those of layers and models did.
_WITH_BACKEND = ("activations", "callbacks", "initializers", "losses", "metrics", "regularizers")
# Modules of `keras.applications` that took their code from a module of the same name.
_NETS = (
    *("densenet", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet"),
    *("resnet50", "vgg16", "vgg19", "xception"),
)
_SOURCES_OF_NETS = {"resnet50": "resnet"}
# Names that models of MobileNet are loaded with: custom_objects={"relu6": mobilenet.relu6, ...}.
_MOBILE = {
    "relu6": f"{_ROOM}.backend:relu6",
    "DepthwiseConv2D": "tf_keras.api._v1.keras.layers:DepthwiseConv2D",
}
_PARTS_OF_NETS = {"mobilenet": _MOBILE, "mobilenet_v2": _MOBILE}
_GONE = {
    "MaxoutDense": "Use Dense and keras.layers.Lambda with K.max, or two Dense and maximum.",
    "Highway": "Write it with Dense, multiply and add.",
    "Recurrent": "Derive from keras.layers.RNN or keras.layers.Layer.",
}
_OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "Adamax", "Nadam", "RMSprop", "SGD")
_SLICES = {
    name: f"{_ROOM}.backend:slice_arrays" for name in ("_slice_arrays", "slice_X", "slice_arrays")
}
_OPS = ("control_flow_ops", "functional_ops", "tensor_array_ops")
_BACKEND = {
    **rooms.BACKEND,
    "image_dim_ordering": f"{_ROOM}.backend:image_dim_ordering",
    "set_image_dim_ordering": f"{_ROOM}.backend:set_image_dim_ordering",
    "logsumexp": f"{_ROOM}.backend:logsumexp",
    "set_session": f"{_ROOM}.backend:set_session_if_graph",
    # Modules that Keras 2's backend imported, which programs took from it.
    **{name: f"face:tensorflow.python.ops.{name}" for name in _OPS},
    "ctc": "face:tensorflow.python.ops.ctc_ops",
    "moving_averages": "face:tensorflow.python.training.moving_averages",
    "np": "face:numpy",
    "tf": "face:tensorflow",
    "tf_ops": "face:tensorflow.python.framework.ops",
}


def bare(eager: bool = False, old_optimizers: bool = False) -> Spec:
    """Returns `keras` for a program that was written for Keras 1 or 2.

    Args:
        eager: whether the program runs eagerly.
        old_optimizers: whether an eager program needs the optimizers of before TensorFlow 2.11.
    """
    if not eager:
        return _spec("keras", "tf_keras.api._v1.keras", _for_graphs())
    return _spec("keras", _EAGER_API, _of_before_2_11() if old_optimizers else {})


def of_tensorflow(eager: bool = False, old_optimizers: bool = False) -> Spec:
    """Returns `tensorflow.keras`.

    Args:
        eager: whether the program was written for TensorFlow 2.
        old_optimizers: whether such a program needs the optimizers of before TensorFlow 2.11.
    """
    if not eager:
        return _spec("tensorflow.keras", "tf_keras.api._v1.keras", {})
    return _spec("tensorflow.keras", _EAGER_API, _of_before_2_11() if old_optimizers else {})


def _of_before_2_11() -> dict[str, Any]:
    show = f"{_EAGER_API}.optimizers"
    names = {name: f"{show}.legacy:{name}" for name in OLD_OPTIMIZERS} | dict(rooms.OPTIMIZERS)
    return {"optimizers": Spec(roots=(show,), names=names, deep=True)}


def _for_graphs() -> dict[str, Any]:
    return {
        # Programs derive their optimizers from `Optimizer`; Keras' optimizers are TensorFlow's.
        "optimizers": Spec(
            roots=("tf_keras.api._v1.keras.optimizers", f"{_SRC}.optimizers"),
            names={
                **rooms.OPTIMIZERS,
                "Optimizer": f"{_SRC}.optimizers.optimizer_v1:Optimizer",
                # Keras 2 had its classes under these names, too.
                **{
                    name.lower(): f"tf_keras.api._v1.keras.optimizers:{name}"
                    for name in _OPTIMIZERS
                },
            },
            deep=True,
        ),
    }


def _spec(face: str, api: str, more: dict[str, Any]) -> Spec:
    with_backend = {"K": f"face:{face}.backend"}
    layers = _layers(api, with_backend)
    return Spec(
        roots=(api, _SRC, "tf_keras"),
        names={
            "_impl": Spec(names={"keras": f"face:{face}"}),
            "api": Spec(roots=("tf_keras.api",), names={"keras": f"face:{face}"}, deep=True),
            "__version__": _version,
            "python": Spec(names={"keras": f"face:{face}"}),
            "backend": Spec(
                roots=(f"{api}.backend", f"{_SRC}.backend"),
                names={
                    **_BACKEND,
                    **{
                        name: functools.partial(backend.with_old_arguments, f"{api}.backend", name)
                        for name in backend.RENAMED
                    },
                    **_old_batch_dot(api),
                    **{
                        name: functools.partial(backend.filled, f"{api}.backend", name)
                        for name in ("ones", "zeros")
                    },
                    "tensorflow_backend": f"face:{face}.backend",
                    "common": f"face:{face}.backend",
                },
            ),
            "wrappers": Spec(names={"scikit_learn": f"{_ROOM}.scikit_learn"}),
            "constraints": _renamed(
                f"{api}.constraints",
                {"maxnorm": "MaxNorm", "nonneg": "NonNeg", "unitnorm": "UnitNorm"},
            ),
            "datasets": keras_data.spec(),
            "engine": _engine(with_backend),
            "experimental": Spec(
                roots=(f"{api}.experimental",),
                names={
                    **rooms.SCHEDULES,
                    **{
                        name: f"{_ROOM}.saved_models:{name}"
                        for name in ("export_saved_model", "load_from_saved_model")
                    },
                },
            ),
            "mixed_precision": rooms.mixed_precision(),
            "preprocessing": _preprocessing(api),
            "estimator": Spec(
                names={"model_to_estimator": "moxing.estimator:model_to_estimator"},
            ),
            "legacy": Spec(names={"interfaces": f"{_ROOM}.interfaces"}),
            "initializations": Spec(roots=(f"{api}.initializers",)),
            "layers": layers,
            "models": _models(api, with_backend),
            **{
                name: Spec(
                    roots=(f"{api}.{name}", f"{_SRC}.{name}"),
                    names={**with_backend, **rooms.HELPERS, **_more(face).get(name, {})},
                    deep=True,
                )
                for name in _WITH_BACKEND
            },
            "objectives": Spec(roots=(f"{api}.losses", f"{_SRC}.losses")),
            # The path in tensorflow.python.keras until TensorFlow 2.10.
            "optimizer_v2": Spec(roots=(f"{_SRC}.optimizers.legacy",), deep=True),
            "utils": _utils(api),
            "applications": _applications(face, api),
            **more,
        },
        deep=True,
        arrive=arrival.prepare_bare if face == "keras" else arrival.prepare,
    )


def _more(face: str) -> dict[str, Any]:
    return {
        "callbacks": rooms.callbacks(face),
        "initializers": {"_compute_fans": f"{_SRC}.initializers.initializers:_compute_fans"},
        "metrics": rooms.METRICS,
        "regularizers": rooms.REGULARIZERS,
    }


def _preprocessing(api: str) -> Spec:
    show, source = f"{api}.preprocessing", f"{_SRC}.preprocessing"
    image = Spec(roots=(f"{show}.image", f"{source}.image"), names=rooms.IMAGES)
    return Spec(roots=(show, source), names={"image": image}, deep=True)


def _applications(face: str, api: str) -> Spec:
    """Returns `keras.applications`, whose modules of Keras 2.2 held modules of their own names."""
    show, source = f"{api}.applications", f"{_SRC}.applications"
    names, others = rooms.applications(face)
    nets = {
        name: Spec(
            roots=(f"{show}.{name}", f"{source}.{_SOURCES_OF_NETS.get(name, name)}"),
            names={
                **names,
                name: f"face:{face}.applications.{name}",
                **_PARTS_OF_NETS.get(name, {}),
            },
            fallback=others,
        )
        for name in _NETS
    }
    utils = Spec(
        roots=(f"{source}.imagenet_utils",),
        names={**names, "_obtain_input_shape": f"{source}.imagenet_utils:obtain_input_shape"},
    )
    return Spec(
        roots=(show, source),
        names={
            "imagenet_utils": utils,
            "keras_modules_injection": names["keras_modules_injection"],
            "mobilenetv2": f"face:{face}.applications.mobilenet_v2",
            **nets,
        },
        deep=True,
    )


def _old_batch_dot(api: str) -> dict[str, Any]:
    """Returns the `batch_dot` of graph-mode programs; eager programs have the newer function."""
    if "_v1" not in api:
        return {}
    return {"batch_dot": functools.partial(backend.batch_dot, f"{api}.backend")}


def _layers(api: str, with_backend: dict[str, str]) -> Spec:
    show = f"{api}.layers"
    modules = {
        name: Spec(
            roots=(show, *(f"{_SRC}.layers.{part}" for part in parts)),
            names={
                **with_backend,
                **rooms.HELPERS,
                **_BASES.get(name, {}),
                **_OLDER_LAYERS.get(name, {}),
            },
            fallback=(f"{_SRC}.layers",),
            gone=_GONE,
        )
        for name, parts in _LAYER_MODULES.items()
    }
    return Spec(
        roots=(show, f"{_SRC}.layers"),
        names={
            **modules,
            **rooms.HELPERS,
            **rooms.CONVOLUTIONS,
            **rooms.CONVOLUTIONAL_RECURRENT,
            # Keras 1's function, and the module of the same name.
            "merge": f"{_ROOM}.merging",
            "Merge": merging.merge_layer,
            "CuDNNLSTM": devices.cudnn("CuDNNLSTM", "LSTM"),
            "CuDNNGRU": devices.cudnn("CuDNNGRU", "GRU"),
            "TimeDistributedDense": _time_distributed_dense,
        },
        deep=True,
        gone=_GONE,
    )


def _time_distributed_dense() -> Callable[..., Any]:
    from tf_keras import layers

    def time_distributed_dense(output_dim: int, **named: Any) -> Any:
        keep = ("input_shape", "batch_input_shape", "name")
        own = {key: named.pop(key) for key in keep if key in named}
        return layers.TimeDistributed(layers.Dense(output_dim, **named), **own)

    return time_distributed_dense


def _models(api: str, with_backend: dict[str, str]) -> Spec:
    return Spec(
        roots=(f"{api}.models", f"{_SRC}.models", f"{_SRC}.engine.functional"),
        names={"Graph": _no_graph, **with_backend},
    )


def _no_graph() -> Callable[..., Any]:
    def graph(*given: Any, **named: Any) -> Any:
        from moxing.errors import MoxNotSupportedError

        raise MoxNotSupportedError(
            "keras.models.Graph is gone since Keras 1: use the functional keras.models.Model."
        )

    return graph


def _engine(with_backend: dict[str, str]) -> Spec:
    topology = Spec(
        roots=tuple(
            f"{_SRC}.{name}"
            for name in (
                "engine.base_layer",
                "engine.input_layer",
                "engine.input_spec",
                "engine.functional",
                "engine.node",
                "utils.layer_utils",
                "saving.legacy.hdf5_format",
                "engine.sequential",
                "engine.training",
            )
        ),
        names={
            **with_backend,
            **rooms.HELPERS,
            "Container": f"{_SRC}.engine.functional:Functional",
            "Network": f"{_SRC}.engine.functional:Functional",
            "merge": f"{_ROOM}.merging",
        },
    )
    return Spec(
        roots=(f"{_SRC}.engine", *topology.roots),
        names={
            **topology.names,
            **rooms.ENGINE,
            "topology": topology,
            "network": topology,
            "base_layer": topology,
            "container": topology,
            "training": Spec(
                roots=(
                    f"{_SRC}.engine.training",
                    f"{_SRC}.engine.training_v1",
                    f"{_SRC}.engine.training_utils_v1",
                ),
                names={**rooms.TRAINING, **_SLICES, **with_backend},
            ),
        },
        deep=True,
    )


def _utils(api: str) -> Spec:
    show = f"{api}.utils"
    return Spec(
        roots=(show, f"{_SRC}.utils"),
        names={
            "multi_gpu_model": f"{_ROOM}.devices:multi_gpu_model",
            "training_utils": Spec(
                roots=(f"{_SRC}.engine.training_utils_v1",),
                names={"multi_gpu_model": f"{_ROOM}.devices:multi_gpu_model"},
            ),
            "multi_gpu_utils": Spec(names={"multi_gpu_model": f"{_ROOM}.devices:multi_gpu_model"}),
            **rooms.utils(show),
            "generic_utils": Spec(
                names=rooms.HELPERS,
                roots=(f"{_SRC}.utils.generic_utils", f"{_SRC}.saving.object_registration", show),
            ),
            "visualize_util": Spec(
                roots=(f"{_SRC}.utils.vis_utils",),
                names={"plot": f"{_SRC}.utils.vis_utils:plot_model"},
            ),
            "test_utils": Spec(roots=(f"{_SRC}.testing_infra.test_utils",)),
            "plot_model": f"{_SRC}.utils.vis_utils:plot_model",
            "print_summary": f"{_SRC}.utils.layer_utils:print_summary",
        },
        deep=True,
    )


def _renamed(module: str, names: dict[str, str]) -> Spec:
    return Spec(roots=(module,), names={old: f"{module}:{new}" for old, new in names.items()})


def _version() -> str:
    """Returns the version of Keras 2 that tf_keras continues, for programs that compare it."""
    import tf_keras

    return tf_keras.__version__
