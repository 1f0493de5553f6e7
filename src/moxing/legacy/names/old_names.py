"""The table of names that TensorFlow 1.0 renamed and of functions that changed since."""

from __future__ import annotations

from moxing.legacy.face.faces import Spec

_V1 = "tensorflow.compat.v1"
_OLD = "moxing.legacy.names.before_1_0"
_RESTORED = "moxing.legacy.names.restored"
_LEGACY = "face:tensorflow.contrib.legacy_seq2seq"

# Renamed, with the same arguments.
_SAME = {
    "batch_cholesky": "linalg.cholesky",
    "batch_fft": "signal.fft",
    "batch_fft2d": "signal.fft2d",
    "batch_fft3d": "signal.fft3d",
    "batch_ifft": "signal.ifft",
    "batch_ifft2d": "signal.ifft2d",
    "batch_ifft3d": "signal.ifft3d",
    "batch_matrix_band_part": "matrix_band_part",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_diag_part": "matrix_diag_part",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_matrix_set_diag": "matrix_set_diag",
    "batch_matrix_solve": "matrix_solve",
    "batch_matrix_solve_ls": "matrix_solve_ls",
    "batch_matrix_transpose": "matrix_transpose",
    "batch_matrix_triangular_solve": "matrix_triangular_solve",
    "batch_self_adjoint_eig": "self_adjoint_eig",
    "batch_self_adjoint_eigvals": "self_adjoint_eigvals",
    "batch_svd": "svd",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "initialize_all_tables": "tables_initializer",
    "initialize_all_variables": "global_variables_initializer",
    "initialize_local_variables": "local_variables_initializer",
    "initialize_variables": "variables_initializer",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "reverse_v2": "reverse",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}
_OWN = (
    "RegisterShape",
    "audio_summary",
    "batch_matmul",
    "concat",
    "histogram_summary",
    "image_summary",
    "op_scope",
    "reverse",
    "scalar_summary",
    "split",
    "split_v",
)
_OWN_NN = (
    "nce_loss",
    "sampled_softmax_loss",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
)

# The names of static networks until 1.0, in tf.nn and in the private file of these functions.
RNN = {name: f"{_V1}:nn.static_{name}" for name in ("bidirectional_rnn", "rnn", "state_saving_rnn")}


def restore_cells() -> None:
    """Gives cells what programs of their time expect: private attributes, inputs of any width."""
    # Imported with the first cell: the classes are Keras layers.
    from moxing.legacy.contrib.rnn import private, widths

    private.restore()
    widths.install()


NN = Spec(
    roots=(f"{_V1}.nn",),
    names={
        **{name: f"{_OLD}:{name}" for name in _OWN_NN},
        "conv2d_transpose": f"{_RESTORED}:conv2d_transpose",
        "deconv2d": f"{_RESTORED}:conv2d_transpose",
        **RNN,
        # Until 1.0 the cells were in this module; then they moved to contrib.rnn.
        "rnn_cell": Spec(
            roots=(f"{_V1}.nn.rnn_cell", "moxing.legacy.contrib.rnn"),
            names={"MultiRNNCell": "moxing.legacy.contrib.rnn.repeated:MultiRNNCell"},
            arrive=restore_cells,
        ),
        "seq2seq": _LEGACY,
    },
)

_CORE = "tensorflow.core.profiler"
_PROFILE = f"{_CORE}.tfprof_output_pb2"
# Messages of tfprof; TensorFlow 1.3 renamed them and moved their files.
TFPROF = Spec(
    names={
        "tfprof_log_pb2": Spec(
            roots=(f"{_CORE}.tfprof_log_pb2",),
            names={"OpLog": f"{_CORE}.tfprof_log_pb2:OpLogProto"},
        ),
        "tfprof_options_pb2": f"{_CORE}.tfprof_options_pb2",
        "tfprof_output_pb2": Spec(
            roots=(_PROFILE,), names={"TFGraphNodeProto": f"{_PROFILE}:GraphNodeProto"}
        ),
    }
)

_GFILES = {
    "FastGFile": f"{_RESTORED}:FastGFile",
    "GFile": f"{_RESTORED}:GFile",
    "Open": f"{_RESTORED}:GFile",
}
GFILE = Spec(roots=(f"{_V1}.gfile",), names=_GFILES)
PLATFORM_GFILE = Spec(roots=("tensorflow.python.platform.gfile",), names=_GFILES)

RENAMED = {
    "assign": f"{_RESTORED}:assign",
    **{name: f"{_V1}:{path}" for name, path in _SAME.items()},
    **{name: f"{_OLD}:{name}" for name in _OWN},
    "gfile": GFILE,
    "image": Spec(
        roots=(f"{_V1}.image",),
        names={
            "per_image_whitening": f"{_OLD}:per_image_whitening",
            "random_crop": f"{_V1}:random_crop",
            "resize_images": f"{_OLD}:resize_images",
        },
    ),
    "models": Spec(
        names={
            "rnn": Spec(
                names={
                    "linear": Spec(roots=("moxing.legacy.contrib.rnn.linear",)),
                    "rnn": NN,
                    "rnn_cell": "face:tensorflow.nn.rnn_cell",
                    "seq2seq": _LEGACY,
                    "translate": Spec(
                        names={"data_utils": "moxing.legacy.names.translate_data"},
                        otherwise=" Take the other files of the translation tutorial from the"
                        " folder of the program that you run.",
                    ),
                },
                otherwise=" Take the reader of the PTB tutorial from the folder of the program"
                " that you run: it was a script, not a part of TensorFlow.",
            )
        },
        otherwise=" Only tensorflow.models.rnn was a part of TensorFlow, until 0.12.",
    ),
    "nn": NN,
    "test": Spec(
        roots=(f"{_V1}.test",),
        names={
            "is_built_with_cuda": f"{_RESTORED}:is_built_with_cuda",
            "mock": "face:unittest.mock",
            "test_util": "tensorflow.python.framework.test_util",
        },
    ),
    "train": Spec(
        roots=(f"{_V1}.train",),
        names={
            "Int64List": "moxing.legacy.names.examples:Int64List",
            "Server": "moxing.legacy.sessions.servers:Server",
            "SummaryWriter": f"{_OLD}:summary_writer",
        },
    ),
}
