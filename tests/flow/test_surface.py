"""Every name of the API's documents is there; each operation among them against numpy."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import moxing.flow as flow
from moxing.errors import MoxAttributeError, MoxValueError
from moxing.flow.core.common import data_type_pb2
from moxing.flow.core.operator import op_conf_pb2
from moxing.flow.operations import arrays, indexing

RANDOM = np.random.default_rng(11)
X = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -6.0]], np.float32)
Y = np.array([[2.0, -2.0, 0.5], [1.0, 4.0, 2.0]], np.float32)
P = np.abs(X)
U = (X / 7).astype(np.float32)  # In (-1, 1).
I32 = np.array([2, 0], np.int32)
IMAGE = RANDOM.normal(size=(2, 3, 5, 6)).astype(np.float32)
CUBE = RANDOM.normal(size=(1, 2, 4, 4, 4)).astype(np.float32)

NAMES = """
function global_function FunctionConfig function_config clear_default_session input_blob_def
FixedTensorDef MirroredTensorDef MirroredTensorListDef config.gpu_device_num config.cpu_device_num
config.machine config.machine_num config.ctrl_port config.data_port config.log_dir
config.logtostderr config.logbuflevel config.v config.grpc_use_no_signal config.use_rdma
config.comm_net_worker_num config.compute_thread_pool_size config.reserved_host_mem_mbyte
config.reserved_device_mem_mbyte config.persistence_buf_byte
config.save_downloaded_file_to_local_fs config.collect_act_event config.max_mdsave_worker_num
config.rdma_mem_block_mbyte config.rdma_recv_msg_buf_mbyte config.enable_debug_mode
config.default_data_type config.default_initializer_conf config.total_batch_num
config.enable_inplace config.enable_cudnn config.enable_nccl
config.use_nccl_inter_node_communication config.use_boxing_v2 config.disable_all_reduce_sequence
config.enable_non_distributed_optimizer config.enable_auto_mixed_precision
config.concurrency_width config.use_memory_allocation_algorithm_v2
config.static_mem_alloc_policy_white_list.has config.enable_reused_mem config.all_reduce_group_num
config.all_reduce_group_min_mbyte config.all_reduce_lazy_ratio config.all_reduce_fp16
config.cudnn_buf_limit_mbyte config.cudnn_conv_use_deterministic_algo_only
config.cudnn_conv_heuristic_search_algo config.train.primary_lr config.train.secondary_lr
config.train.model_update_conf config.train.weight_l1 config.train.weight_l2 config.train.bias_l1
config.train.bias_l2 config.train.loss_scale_factor env.machine env.ctrl_port env.data_port
env.log_dir env.logtostderr env.logbuflevel env.grpc_use_no_signal losses.add_loss
train.CheckPoint train.SimpleCheckPointManager watch watch_diff watch_scope
deprecated.variable_scope deprecated.init_worker deprecated.delete_worker fixed_placement
device_prior_placement placement.current_scope scope.consistent_view scope.mirrored_view
scope.placement scope.namespace distribute.split distribute.broadcast
distribute.auto distribute.consistent_strategy distribute.mirrored_strategy parallel_cast
regularizers.l1 regularizers.l2 regularizers.l1_l2 get_variable random_uniform_initializer
random_normal_initializer constant_initializer zeros_initializer ones_initializer truncated_normal
truncated_normal_initializer glorot_uniform_initializer xavier_uniform_initializer
variance_scaling_initializer data.BlobConf data.ImageCodec data.RawCodec data.BytesListCodec
data.ImageResizePreprocessor data.ImagePreprocessor data.NormByChannelPreprocessor
data.ImageCropPreprocessor data.ImageCenterCropPreprocessor
data.ImageCropWithRandomSizePreprocessor data.ImageTargetResizePreprocessor image.CoinFlip
data.decode_ofrecord data.decode_random layers.dense layers.conv2d layers.batch_normalization
layers.layer_norm config.cudnn_conv_force_fwd_algo config.cudnn_conv_force_bwd_data_algo
config.cudnn_conv_force_bwd_filter_algo config.cudnn_conv_enable_pseudo_half
config.enable_float_compute_for_half_gemm config.prune_cast_to_static_shape_ops
char float float32 double float64 half float16 int8 int32 int64 uint8
"""


# The names that the original had in November 2019, March 2020 and June 2020.
API = """
Box FixedTensorDef FunctionConfig MirroredTensorDef MirroredTensorListDef acc
advanced.distribute_add advanced.distribute_clone advanced.distribute_concat
advanced.distribute_map advanced.distribute_split argsort argwhere assign broadcast_like
broadcast_to_compatible_with cast categorical_ordinal_encode clear_default_session clip_by_value
concat config.all_reduce_fp16 config.all_reduce_group_min_mbyte config.all_reduce_group_num
config.all_reduce_group_size_warmup config.all_reduce_lazy_ratio config.collect_act_event
config.collective_boxing.enable_fusion config.collective_boxing.nccl_fusion_all_gather
config.collective_boxing.nccl_fusion_all_reduce
config.collective_boxing.nccl_fusion_all_reduce_use_buffer
config.collective_boxing.nccl_fusion_broadcast config.collective_boxing.nccl_fusion_reduce
config.collective_boxing.nccl_fusion_reduce_scatter
config.collective_boxing.nccl_fusion_threshold_mb config.collective_boxing.nccl_num_streams
config.collective_boxing.num_callback_threads config.comm_net_worker_num
config.compute_thread_pool_size config.concurrency_width config.cpu_device_num config.ctrl_port
config.cudnn_buf_limit_mbyte config.cudnn_conv_force_bwd_data_algo
config.cudnn_conv_force_bwd_filter_algo config.cudnn_conv_force_fwd_algo config.data_port
config.default_data_type config.default_initializer_conf config.enable_all_reduce_group
config.enable_auto_mixed_precision config.enable_cudnn config.enable_debug_mode
config.enable_float_compute_for_half_gemm config.enable_inplace config.enable_mem_sharing
config.enable_nccl config.enable_numa_aware_cuda_malloc_host
config.enable_true_half_config_when_conv config.exp_run_conf config.gpu_device_num
config.grpc_use_no_signal config.load_library config.log_dir config.logbuflevel config.logtostderr
config.machine config.machine_num config.max_data_id_length config.max_mdsave_worker_num
config.persistence_buf_byte config.rdma_mem_block_mbyte config.rdma_recv_msg_buf_mbyte
config.reserved_device_mem_mbyte config.reserved_host_mem_mbyte
config.save_downloaded_file_to_local_fs config.thread_enable_local_message_queue
config.total_batch_num config.train.bias_l1 config.train.bias_l2 config.train.loss_scale_factor
config.train.model_update_conf config.train.primary_lr config.train.secondary_lr
config.train.weight_l1 config.train.weight_l2 config.use_nccl_inter_node_communication
config.use_rdma config.v consistent_user_op_builder constant constant_initializer constant_like
constant_scalar copy current_global_function_desc current_machine_id current_resource
data.BlobConf data.BytesListCodec data.COCODataset data.DataLoader data.ImageAlign data.ImageCodec
data.ImageNormalizeByChannel data.ImagePreprocessor data.ImageRandomFlip
data.ImageResizePreprocessor data.NormByChannelPreprocessor data.OFRecordImageDecoder
data.OFRecordRawDecoder data.RawCodec data.SegmentationPolygonListToAlignedMask
data.SegmentationPolygonListToMask data.TargetResizeTransform data.coco_reader
data.decode_ofrecord data.decode_random data.ofrecord_image_decoder data.ofrecord_loader
data.ofrecord_raw_decoder data.ofrecord_reader debug.distribute_concat debug.distribute_split
deprecated.delete_worker deprecated.get_cur_job_dlnet_builder deprecated.init_worker
deprecated.nn.sigmoid_cross_entropy_with_logits deprecated.variable_scope detection.affine_channel
detection.anchor_generate detection.box_decode detection.box_encode detection.calc_iou_matrix
detection.clip_to_image detection.extract_piece_slice_id detection.identify_non_small_boxes
detection.identify_outside_anchors detection.level_map detection.maskrcnn_split
detection.masks_crop_and_resize detection.nms detection.object_bbox_flip
detection.object_bbox_scale detection.random_perm_like detection.roi_align detection.smooth_l1
detection.upsample_nearest device_prior_placement dim0_dynamic_to_fixed
distribute.assert_is_valid_distribute distribute.auto distribute.broadcast
distribute.consistent_strategy distribute.consistent_strategy_enabled distribute.mirrored_strategy
distribute.mirrored_strategy_enabled distribute.split dynamic_reshape eager_execution_enabled
eager_nccl_all_reduce elem_cnt enable_eager_execution env.ctrl_port env.current_resource
env.data_port env.grpc_use_no_signal env.init env.log_dir env.logbuflevel env.logtostderr
env.machine expand_dims experimental.broadcast_maximum experimental.broadcast_minimum
experimental.distribution_name_scope experimental.dynamic_binary_concat
experimental.dynamic_binary_split experimental.indexed_slices_reduce_sum experimental.name_scope
experimental.square_sum experimental.unique_with_counts fixed_placement function function_config
gather gather_nd get_default_job_set get_variable global_function glorot_normal_initializer
glorot_uniform_initializer identity identity_n image.CropMirrorNormalize image.Resize
image.batch_align image.crop_mirror_normalize image.decode image.flip image.normalize image.resize
image.target_resize image_batch_align image_decode image_flip image_normalize image_target_resize
input_blob_def inter_job_reuse_mem_strategy job_mem_sharing_strategy kaiming_initializer
keras.activations.gelu keras.activations.gelu_grad keras.activations.relu
keras.activations.sigmoid keras.activations.tanh keras.activations.tanh_grad keras.maths.add
layers.affine_channel layers.batch_normalization layers.categorical_ordinal_encoder layers.conv2d
layers.dense layers.layer_norm layers.layer_norm_grad layers.layer_norm_param_grad layers.prelu
linalg.matmul local_gather local_nonzero local_scatter_nd_update lod_to_dense losses.add_loss
math.abs math.acos math.acosh math.add math.add_n math.argmax math.asin math.asinh math.atan
math.atanh math.broadcast_to_compatible_with math.ceil math.cos math.cosh math.divide math.equal
math.erf math.erfc math.exp math.expm1 math.floor math.gelu math.greater math.greater_equal
math.l2_normalize math.less math.less_equal math.lgamma math.log math.log1p math.log_sigmoid
math.logical_and math.maximum math.minimum math.mod math.multiply math.naive_logical_and
math.negative math.not_equal math.reciprocal math.reciprocal_no_nan math.reduce_all
math.reduce_any math.reduce_euclidean_norm math.reduce_logsumexp math.reduce_max math.reduce_mean
math.reduce_min math.reduce_prod math.reduce_std math.reduce_sum math.reduce_variance
math.reduced_shape_elem_cnt math.relu math.rint math.round math.rsqrt math.sigmoid math.sigmoid_v2
math.sign math.sin math.sinh math.softplus math.sqrt math.square math.squared_difference
math.subtract math.tan math.tanh math.tanh_v2 math.top_k math.unsorted_batch_segment_sum
math.unsorted_segment_sum math.unsorted_segment_sum_like matmul name_scope nn.avg_pool1d
nn.avg_pool2d nn.avg_pool3d nn.batch_normalization nn.bias_add nn.compat_conv2d nn.conv2d
nn.conv2d_transpose nn.dropout nn.leaky_relu nn.max_pool1d nn.max_pool2d nn.max_pool3d
nn.random_mask_like nn.relu nn.sigmoid_cross_entropy_with_logits nn.softmax
nn.softmax_cross_entropy_with_logits nn.softmax_grad nn.sparse_cross_entropy
nn.sparse_softmax_cross_entropy_with_logits nonzero object_bbox_flip object_bbox_scale
object_segmentation_polygon_flip object_segmentation_polygon_scale
object_segmentation_polygon_to_mask one_hot ones_initializer ones_like pack pad pad_grad
parallel_cast piece_slice placement.current_scope random.CoinFlip random.coin_flip
random.generate_random_batch_permutation_indices random.shuffle random_like random_mask_like
random_normal_initializer random_uniform_initializer regularizers.l1 regularizers.l1_l2
regularizers.l2 repeat reset_default_job_set reshape reshape_like scatter_nd sleep_identity slice
slice_v2 smooth_l1_loss sort squeeze stack sync_default_session sync_dynamic_resize
sysconfig.get_compile_flags sysconfig.get_include sysconfig.get_lib sysconfig.get_link_flags
tensor_buffer_to_tensor_list tensor_list_split tensor_list_to_tensor_buffer tensor_scatter_nd_add
tensor_scatter_nd_update train.CheckPoint train.SimpleCheckPointManager transpose truncated_normal
truncated_normal_initializer unittest.num_nodes_required unittest.register_test_cases unpack
unsorted_batch_segment_sum unsorted_segment_sum unsorted_segment_sum_like user_op_builder
variance_scaling_initializer watch watch_diff watch_scope where xavier_normal_initializer
xavier_uniform_initializer zeros_initializer zeros_like
"""


def test_every_name_of_the_original_is_there_or_names_an_alternative() -> None:
    lost = []
    for name in API.split():
        found: Any = flow
        for part in name.split("."):
            try:
                found = getattr(found, part)
            except AttributeError as error:
                if not re.search(r" is not offered; use .*\.$", str(error)):
                    lost.append(name)
                break
    assert not lost


@pytest.mark.parametrize("name", NAMES.split())
def test_every_name_is_there(name: str) -> None:
    found: Any = flow
    for part in name.split("."):
        found = getattr(found, part)

    assert found is not None


@dataclass
class Case:
    """An operation, what numpy makes of its inputs, and the inputs."""

    name: str
    run: Callable[..., Any]
    wanted: Callable[..., Any]
    given: tuple[np.ndarray, ...] = (X,)


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _same(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Padding before and after: the extra one comes at the end."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _windows(x: np.ndarray, kernel: tuple[int, ...], stride: int, padding: str, fill: float) -> Any:
    """Windows over the spatial axes of [n, c, ...]: [n, c, ..., *kernel]."""
    pads = [(0, 0), (0, 0)]
    for size, k in zip(x.shape[2:], kernel, strict=True):
        pads.append(_same(size, k, stride) if padding == "SAME" else (0, 0))
    padded = np.pad(x, pads, constant_values=fill)
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=axes)  # type: ignore
    return windows[(slice(None), slice(None), *[slice(None, None, stride)] * len(kernel))]


def _pool(x: np.ndarray, kernel: int, stride: int, padding: str, function: Any) -> np.ndarray:
    count = x.ndim - 2
    windows = _windows(x, (kernel,) * count, stride, padding, np.nan)
    return function(windows, axis=tuple(range(-count, 0)))


def _conv(x: np.ndarray, w: np.ndarray, stride: int, padding: str) -> np.ndarray:
    windows = _windows(x, w.shape[2:], stride, padding, 0)
    return np.einsum("nchwij,ocij->nohw", windows, w)


def _bias(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    return x + b.reshape(1, -1, *[1] * (x.ndim - 2))


def _layer_norm(x: np.ndarray) -> np.ndarray:
    axes = tuple(range(1, x.ndim))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


W_OIHW = RANDOM.normal(size=(4, 3, 3, 2)).astype(np.float32)
B4 = np.arange(4, dtype=np.float32)
VECTOR = np.array([1.0, -2.0, 0.5], np.float32)
LABELS = np.array([2, 0], np.int32)

f, m, nn = flow, flow.math, flow.nn
UNARY: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "relu": (lambda x: np.maximum(x, 0), X), "gelu": (_gelu, X), "tanh": (np.tanh, X),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), X), "sqrt": (np.sqrt, P),
    "rsqrt": (lambda x: 1 / np.sqrt(x), P), "square": (np.square, X), "exp": (np.exp, X),
    "log": (np.log, P), "abs": (np.abs, X), "negative": (np.negative, X), "sign": (np.sign, X),
    "ceil": (np.ceil, X), "floor": (np.floor, X), "reciprocal": (np.reciprocal, X),
    "softplus": (lambda x: np.log1p(np.exp(x)), X), "sin": (np.sin, X), "cos": (np.cos, X),
    "tan": (np.tan, X), "asin": (np.arcsin, U), "acos": (np.arccos, U), "atan": (np.arctan, X),
    "sinh": (np.sinh, X), "cosh": (np.cosh, X), "erf": (np.vectorize(math.erf), X),
    "expm1": (np.expm1, X), "log1p": (np.log1p, P), "round": (np.round, X),
    "acosh": (np.arccosh, 1 + P), "asinh": (np.arcsinh, X), "atanh": (np.arctanh, U),
    "erfc": (np.vectorize(math.erfc), X), "lgamma": (np.vectorize(math.lgamma), P),
    "log_sigmoid": (lambda x: -np.log1p(np.exp(-x)), X), "rint": (np.rint, X),
    "reciprocal_no_nan": (np.reciprocal, X), "sigmoid_v2": (lambda x: 1 / (1 + np.exp(-x)), X),
    "tanh_v2": (np.tanh, X),
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "floor_mod": np.mod, "mod": np.mod, "maximum": np.maximum, "minimum": np.minimum,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
    "squared_difference": lambda x, y: (x - y) ** 2, "logical_and": np.logical_and,
    "naive_logical_and": np.logical_and,
}  # fmt: skip
REDUCE: dict[str, Callable[..., Any]] = {
    "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_max": np.max, "reduce_min": np.min,
    "reduce_prod": np.prod, "reduce_std": np.std, "reduce_variance": np.var,
    "reduce_euclidean_norm": lambda x, axis=None, keepdims=False:
        np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
    "reduce_logsumexp": lambda x, axis=None, keepdims=False:
        np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)),
    "reduce_all": np.all, "reduce_any": np.any,
}  # fmt: skip


def _with_a_number(name: str, wanted: Callable[..., Any]) -> Case:
    run = getattr(m, name)
    return Case(f"math.{name} of a number", lambda x: run(x, 0.5), lambda x: wanted(x, 0.5))


def _cases() -> Iterator[Case]:
    for name, (wanted, given) in UNARY.items():
        yield Case(f"math.{name}", getattr(m, name), wanted, (given,))
    for name, wanted in BINARY.items():
        yield Case(f"math.{name}", getattr(m, name), wanted, (X, Y))
        # Broadcast as numpy does, and with a number.
        yield Case(f"math.{name} of a row", getattr(m, name), wanted, (X, VECTOR))
        yield _with_a_number(name, wanted)
    yield Case("math.pow", m.pow, np.power, (P, Y))
    for name, wanted in REDUCE.items():
        op = getattr(m, name)
        yield Case(f"math.{name}", op, lambda x, w=wanted: w(x).reshape(1))
        for axis, keep in ((0, False), (-1, True), ((0, 1), True), ((-1,), False)):
            yield Case(f"math.{name} over {axis}",
                       lambda x, o=op, a=axis, k=keep: o(x, a, keepdims=k),
                       lambda x, w=wanted, a=axis, k=keep: w(x, axis=a, keepdims=k))  # fmt: skip
    for name in ("relu", "gelu", "tanh", "sigmoid"):
        yield Case(f"keras.activations.{name}", getattr(f.keras.activations, name), UNARY[name][0])
    for name in ("relu", "tanh", "sigmoid"):
        yield Case(f"nn.{name}", getattr(nn, name), UNARY[name][0])
    yield from _shapes()
    yield from _choices()
    yield from _networks()


def _shapes() -> Iterator[Case]:
    yield Case("transpose", lambda x: f.transpose(x, (1, 0)), np.transpose)
    yield Case("reshape", lambda x: f.reshape(x, (3, -1)), lambda x: x.reshape(3, 2))
    yield Case("concat", lambda x, y: f.concat([x, y], -1),
               lambda x, y: np.concatenate([x, y], -1), (X, Y))  # fmt: skip
    yield Case("stack", lambda x, y: f.stack([x, y], 1), lambda x, y: np.stack([x, y], 1), (X, Y))
    yield Case(
        "matmul", lambda x, y: f.matmul(x, y, transpose_b=True), lambda x, y: x @ y.T, (X, Y)
    )
    yield Case("linalg.matmul", lambda x, y: f.linalg.matmul(x, y, transpose_a=True),
               lambda x, y: x.T @ y, (X, Y))  # fmt: skip
    yield Case("matmul of three axes", f.matmul, np.matmul, (IMAGE[0], IMAGE[0].transpose(0, 2, 1)))
    yield Case(
        "gather", lambda x, i: f.gather(x, i, axis=-1), lambda x, i: x[:, i], (X, I32))  # fmt: skip
    yield Case("gather by batch", lambda x, i: f.gather(x, f.reshape(i, (2, 1)), batch_dims=1),
               lambda x, i: x[[0, 1], i][:, None], (X, I32))  # fmt: skip
    yield Case("slice", lambda x: f.slice(x, [None, 1], [None, -1]), lambda x: x[:, 1:])
    yield Case("cast", lambda x: f.cast(x, f.int32), lambda x: x.astype(np.int32))
    yield Case("constant", lambda x: x + f.constant(2.5, f.float, (3,)), lambda x: x + 2.5)
    yield Case("constant_scalar", lambda x: x * f.constant_scalar(2.0, f.float), lambda x: x * 2)
    yield Case("constant_like", lambda x: f.constant_like(x, 3), lambda x: np.full_like(x, 3))
    yield Case("zeros_like", f.zeros_like, np.zeros_like)
    yield Case("ones_like", f.ones_like, np.ones_like)
    yield Case("identity", f.identity, np.array)
    yield Case("parallel_cast", lambda x: f.parallel_cast(x, distribute=f.distribute.broadcast()),
               np.array)  # fmt: skip
    yield Case("expand_dims", lambda x: f.expand_dims(x, -1), lambda x: x[..., None])
    yield Case("squeeze", lambda x: f.squeeze(f.expand_dims(x, 1), [1]), np.array)
    yield Case("pad", lambda x: f.pad(x, [[0, 1], [1, 0]], 2),
               lambda x: np.pad(x, [[0, 1], [1, 0]], constant_values=2))  # fmt: skip
    yield Case(
        "one_hot", lambda x: f.one_hot(x, 3, 5.0, -1.0), lambda x: np.eye(3)[x] * 6 - 1, (I32,)
    )
    yield Case("argsort", f.argsort, lambda x: np.argsort(x, -1))
    yield Case("argsort downwards", lambda x: f.argsort(x, direction="DESCENDING"),
               lambda x: np.argsort(-x, -1))  # fmt: skip
    yield Case("math.top_k", lambda x: m.top_k(x, 2), lambda x: np.argsort(-x, -1)[:, :2])
    yield Case("math.argmax", m.argmax, lambda x: np.argmax(x, -1))
    yield Case("clip_by_value", lambda x: f.clip_by_value(x, -1, 2), lambda x: np.clip(x, -1, 2))
    yield Case("add_n", lambda x, y: f.add_n([x, y, x]), lambda x, y: 2 * x + y, (X, Y))
    yield Case("math.add_n", lambda x, y: m.add_n([x, y]), np.add, (X, Y))
    yield Case("unsorted_segment_sum", lambda x, i: f.unsorted_segment_sum(x, i, 3),
               lambda x, i: np.stack([x[1], np.zeros(3), x[0]]), (X, I32))  # fmt: skip
    yield Case("math.unsorted_segment_sum along the last axis",
               lambda x, i: m.unsorted_segment_sum(x, i, 3, axis=1),
               lambda x, i: np.stack([x[:, 1], np.zeros(2), x[:, 0]], 1),
               (X[:, :2], I32))  # fmt: skip
    yield Case("operators", lambda x, y: -(1.0 - x / y) * 2 + 3 / y - y,
               lambda x, y: -(1 - x / y) * 2 + 3 / y - y, (X, Y))  # fmt: skip


PLACES = np.array([[1, 0], [0, 2]], np.int32)


def _scattered(base: np.ndarray, values: np.ndarray, add: bool) -> np.ndarray:
    result = base.copy()
    for (row, column), value in zip(PLACES, values, strict=True):
        result[row, column] = value + result[row, column] * add
    return result


def _choices() -> Iterator[Case]:
    yield Case("where", lambda x, y: f.where(x > y, x, y), np.maximum, (X, Y))
    yield Case("where of a row", lambda x, y: f.where(x, x, y),
               lambda x, y: np.where(x != 0, x, y), (X, VECTOR))  # fmt: skip
    yield Case("where without values", lambda x: f.where(x > 1),
               lambda x: np.argwhere(x > 1))  # fmt: skip
    yield Case("argwhere", f.argwhere, np.argwhere, (np.maximum(X, 0),))
    yield Case("nonzero", f.nonzero, np.nonzero, (np.maximum(X, 0),))
    yield Case("sort", f.sort, np.sort)
    yield Case("sort downwards", lambda x: f.sort(x, "DESCENDING"), lambda x: -np.sort(-x))
    yield Case("slice_v2", lambda x: f.slice_v2(x, [(None, None, None), (2, None, -1)]),
               lambda x: x[:, 2::-1])  # fmt: skip
    yield Case("slice_v2 along axis 0", lambda x: f.slice_v2(x, [(1, None, None)]),
               lambda x: x[1:])  # fmt: skip
    yield Case("slice along axis 0", lambda x: f.slice(x, [-1, 1], [1, 2]), lambda x: x[-1:, 1:3])
    yield Case("gather_nd", f.gather_nd, lambda x, i: x[i[:, 0], i[:, 1]], (X, PLACES))
    yield Case("scatter_nd", lambda x, i: f.scatter_nd(i, x, (2, 3)),
               lambda x, i: _scattered(np.zeros((2, 3)), x, False), (X[0, :2], PLACES))  # fmt: skip
    for name, add in (("update", False), ("add", True)):
        op = getattr(f, f"tensor_scatter_nd_{name}")
        yield Case(f"tensor_scatter_nd_{name}",
                   lambda x, i, o=op: o(x, i, f.slice(f.reshape(x, (6,)), [0], [2])),
                   lambda x, i, a=add: _scattered(x, x.ravel()[:2], a), (X, PLACES))  # fmt: skip
    yield Case("unsorted_segment_sum_like", lambda x, i: f.unsorted_segment_sum_like(x, i, x),
               lambda x, i: x[i], (X, np.array([1, 0], np.int32)))  # fmt: skip
    yield Case("unsorted_batch_segment_sum",
               lambda x, i: f.unsorted_batch_segment_sum(x, i, 2),
               lambda x, i: np.stack([[x[r][i[r] == s].sum(0) for s in (0, 1)] for r in (0, 1)]),
               (X, np.array([[0, 1, 0], [1, 1, 1]], np.int32)))  # fmt: skip
    yield Case("unsorted_batch_segment_sum of two batch axes",
               lambda x, i: f.unsorted_batch_segment_sum(f.reshape(x, (1, 2, 3)), i, 2),
               lambda x, i: np.stack([[x[r][i[0, r] == s].sum(0) for s in (0, 1)]
                                      for r in (0, 1)])[None],
               (X, np.array([[[0, 1, 0], [1, 1, 1]]], np.int32)))  # fmt: skip
    yield Case("unsorted_batch_segment_sum of rows",
               lambda x, i: f.unsorted_batch_segment_sum(f.reshape(x, (1, 2, 3)), i, 4),
               lambda x, i: np.stack([0 * x[0], x.sum(0), 0 * x[0], 0 * x[0]])[None],
               (X, np.array([[1, 1]], np.int32)))  # fmt: skip
    yield Case("broadcast_like", lambda x, y: f.broadcast_like(y, x, (0,)),
               lambda x, y: np.broadcast_to(y, x.shape), (X, VECTOR))  # fmt: skip
    yield Case("broadcast_to_compatible_with", lambda x, y: f.broadcast_to_compatible_with(y, [x]),
               lambda x, y: np.broadcast_to(y, x.shape), (X, VECTOR))  # fmt: skip
    yield Case("reshape_like", lambda x, y: f.reshape_like(f.reshape(x, (6,)), y),
               lambda x, y: x, (X, Y))  # fmt: skip
    yield Case("dynamic_reshape", lambda x: f.dynamic_reshape(x, (3, -1)),
               lambda x: x.reshape(3, 2))  # fmt: skip
    yield Case("elem_cnt", f.elem_cnt, lambda x: [x.size])
    yield Case("math.reduced_shape_elem_cnt", m.reduced_shape_elem_cnt, lambda x: [x.size])
    yield Case("math.reduced_shape_elem_cnt of axes",
               lambda x: f.concat([m.reduced_shape_elem_cnt(x, [-1], f.float),
                                   m.reduced_shape_elem_cnt(x, [], f.float),
                                   m.reduced_shape_elem_cnt(x, 0, f.float)], 0),
               lambda x: [x.shape[1], 1, x.shape[0]])  # fmt: skip
    yield Case("identity_n", lambda x: f.identity_n([x, x])[1], np.array)
    yield Case("smooth_l1_loss", lambda x, y: f.smooth_l1_loss(x, y, 2.0),
               lambda x, y: np.where(abs(x - y) < 2, (x - y) ** 2 / 4, abs(x - y) - 1),
               (X, Y))  # fmt: skip
    yield Case("math.l2_normalize", lambda x: m.l2_normalize(x, -1),
               lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True))  # fmt: skip
    yield Case("experimental.square_sum", f.experimental.square_sum, lambda x: [np.sum(x * x)])
    yield Case("experimental.broadcast_maximum", f.experimental.broadcast_maximum, np.maximum,
               (X, VECTOR))  # fmt: skip
    yield Case("experimental.unique_with_counts",
               lambda x: f.concat(list(f.experimental.unique_with_counts(x)), 0),
               lambda x: [7, 5, 0, 0, 0, 1, 0, 0, 3, 1, 0, 0, 2],
               (np.array([7, 5, 7, 7], np.int32),))  # fmt: skip
    yield Case("experimental.indexed_slices_reduce_sum",
               lambda x, i: f.experimental.indexed_slices_reduce_sum(i, x)[1],
               lambda x, i: np.stack([x.sum(0), 0 * x[0]]),
               (X, np.array([4, 4], np.int32)))  # fmt: skip


def _networks() -> Iterator[Case]:
    yield Case("nn.leaky_relu", lambda x: nn.leaky_relu(x, 0.1), lambda x: np.maximum(x, 0.1 * x))
    yield Case("nn.softmax_cross_entropy_with_logits",
               lambda x, p: nn.softmax_cross_entropy_with_logits(p, x),
               lambda x, p: -(p * np.log(_softmax(x))).sum(-1), (X, _softmax(Y)))  # fmt: skip
    yield Case("nn.conv2d_transpose",
               lambda x, w: nn.conv2d_transpose(x, w, (2, 3, 6, 7), 1, "VALID", "NCHW"),
               lambda x, w: _transposed(x, w),
               (IMAGE[:, :1, :4].repeat(4, 1), W_OIHW))  # fmt: skip
    yield Case("nn.conv2d_transpose of NHWC, with channels that the filter does not have",
               lambda x, w: nn.conv2d_transpose(x, w, (2, 6, 7, 99), 1),
               lambda x, w: _transposed(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2))
               .transpose(0, 2, 3, 1),
               (IMAGE[:, :1, :4].repeat(4, 1).transpose(0, 2, 3, 1),
                W_OIHW.transpose(0, 2, 3, 1)))  # fmt: skip
    yield Case("nn.batch_normalization",
               lambda x, v: nn.batch_normalization(x, v, v * v, v, v, 0.5, -1),
               lambda x, v: (x - v) / np.sqrt(v * v + 0.5) * v + v, (X, VECTOR))  # fmt: skip
    yield Case("nn.random_mask_like of rate 0", lambda x: nn.random_mask_like(x, 0.0), np.ones_like)
    yield Case("layers.prelu", lambda x: f.layers.prelu(x, f.constant_initializer(0.5), name="p"),
               lambda x: np.where(x > 0, x, 0.5 * x))  # fmt: skip
    last = IMAGE.transpose(0, 2, 3, 1)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            yield Case(f"nn.conv2d {padding} {stride}",
                       lambda x, w, p=padding, s=stride: nn.conv2d(x, w, s, p.lower(), "NCHW"),
                       lambda x, w, p=padding, s=stride: _conv(x, w, s, p),
                       (IMAGE, W_OIHW))  # fmt: skip
            yield Case(f"nn.compat_conv2d {padding} {stride}",
                       lambda x, w, p=padding, s=stride: nn.compat_conv2d(x, w, s, p, "NCHW"),
                       lambda x, w, p=padding, s=stride: _conv(x, w, s, p),
                       (IMAGE, W_OIHW))  # fmt: skip
        for name, function in (("avg", np.nanmean), ("max", np.nanmax)):
            op2, op3 = getattr(nn, f"{name}_pool2d"), getattr(nn, f"{name}_pool3d")
            yield Case(f"nn.{name}_pool2d {padding}",
                       lambda x, o=op2, p=padding: o(x, 3, 2, p, "NCHW"),
                       lambda x, g=function, p=padding: _pool(x, 3, 2, p, g), (IMAGE,))  # fmt: skip
            yield Case(f"nn.{name}_pool3d {padding}",
                       lambda x, o=op3, p=padding: o(x, 3, 2, p, "NCDHW"),
                       lambda x, g=function, p=padding: _pool(x, 3, 2, p, g), (CUBE,))  # fmt: skip
    yield Case("nn.conv2d NHWC", lambda x, w: nn.conv2d(x, w, [1, 1], "VALID"),
               lambda x, w: _conv(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2), 1, "VALID")
               .transpose(0, 2, 3, 1), (last, W_OIHW.transpose(0, 2, 3, 1)))  # fmt: skip
    yield Case("nn.conv2d dilated", lambda x, w: nn.conv2d(x, w, 1, "VALID", "NCHW", 2),
               lambda x, w: _conv(x, _dilated(w), 1, "VALID"), (IMAGE, W_OIHW))  # fmt: skip
    yield Case("nn.bias_add", lambda x, b: nn.bias_add(x, b), _bias, (IMAGE[:, :2], B4[:2]))
    yield Case("nn.bias_add NHWC", lambda x, b: nn.bias_add(x, b, "NHWC"), np.add, (last, VECTOR))
    yield Case("nn.bias_add of rows", nn.bias_add, np.add, (X, VECTOR))
    yield Case("nn.softmax", nn.softmax, _softmax)
    yield Case("nn.softmax along axis 0", lambda x: nn.softmax(x, 0), lambda x: _softmax(x.T).T)
    yield Case("nn.dropout in a predict job", lambda x: nn.dropout(x, rate=0.5), np.array)
    yield Case("nn.sparse_softmax_cross_entropy_with_logits",
               lambda x, y: nn.sparse_softmax_cross_entropy_with_logits(y, x),
               lambda x, y: -np.log(_softmax(x)[[0, 1], y]), (X, LABELS))  # fmt: skip
    yield Case("nn.sparse_cross_entropy",
               lambda x, y: nn.sparse_cross_entropy(y, nn.softmax(x)),
               lambda x, y: -np.log(_softmax(x)[[0, 1], y]), (X, LABELS))  # fmt: skip
    yield Case("nn.sigmoid_cross_entropy_with_logits",
               lambda x, z: nn.sigmoid_cross_entropy_with_logits(z, x),
               lambda x, z: np.log1p(np.exp(x)) - x * z,
               (X, (Y > 0).astype(np.float32)))  # fmt: skip
    one, two = f.ones_initializer(), f.constant_initializer(2.0)
    yield Case("layers.dense", lambda x: f.layers.dense(x, 4, m.relu, True, one, two, name="fc"),
               lambda x: np.maximum(x.sum(-1, keepdims=True) + 2, 0).repeat(4, -1))  # fmt: skip
    yield Case("layers.dense of three axes",
               lambda x: f.layers.dense(x, 2, use_bias=False, kernel_initializer=one,
                                        bias_initializer=False, name="fc"),
               lambda x: x.sum(-1, keepdims=True).repeat(2, -1), (IMAGE[0],))  # fmt: skip
    yield Case("layers.conv2d",
               lambda x: f.layers.conv2d(x, 4, 3, padding="SAME", kernel_initializer=one,
                                         bias_initializer=two, name="c"),
               lambda x: _conv(x, np.ones((4, 3, 3, 3)), 1, "SAME") + 2, (IMAGE,))  # fmt: skip
    yield Case("layers.layer_norm", lambda x: f.layers.layer_norm(x, name="ln"), _layer_norm,
               (IMAGE,))  # fmt: skip


def _dilated(w: np.ndarray) -> np.ndarray:
    """Filters with a hole between any two of their places."""
    height, width = w.shape[2:]
    result = np.zeros((*w.shape[:2], 2 * height - 1, 2 * width - 1), w.dtype)
    result[:, :, ::2, ::2] = w
    return result


def _transposed(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Each element of x puts its filter into the result."""
    height, width = w.shape[2:]
    result = np.zeros((len(x), w.shape[1], x.shape[2] + height - 1, x.shape[3] + width - 1))
    for i in range(height):
        for j in range(width):
            part = np.einsum("nchw,co->nohw", x, w[:, :, i, j])
            result[:, :, i : i + x.shape[2], j : j + x.shape[3]] += part
    return result


CASES = list(_cases())


def _job(name: str, case: Case) -> Any:
    types = {"float32": flow.float, "int32": flow.int32}
    defs = [flow.FixedTensorDef(g.shape, types[g.dtype.name], None) for g in case.given]

    def one(x: Any = defs[0]) -> Any:
        return case.run(x)

    def two(x: Any = defs[0], y: Any = defs[-1]) -> Any:
        return case.run(x, y)

    job = one if len(case.given) == 1 else two
    job.__name__ = name
    return flow.function(job)


def test_every_operation_makes_what_numpy_makes() -> None:
    """One session of all cases; each job has variables of its own by its scope."""
    jobs = []
    for index, case in enumerate(CASES):

        def run(*blobs: Any, case: Case = case, index: int = index) -> Any:
            with flow.deprecated.variable_scope(f"case{index}"):
                return case.run(*blobs)

        jobs.append(_job(f"job{index}", Case(case.name, run, case.wanted, case.given)))
    flow.train.CheckPoint().init()

    wrong = []
    for job, case in zip(jobs, CASES, strict=True):
        found, wanted = job(*case.given).get(), np.asarray(case.wanted(*case.given))
        # float32 loses digits in tan and in powers.
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=1e-4, atol=1e-5):
            wrong.append((case.name, found.tolist(), wanted.tolist()))
    assert not wrong


def test_the_table_has_every_operation_that_is_offered() -> None:
    """So that an operation that is added is tested too."""
    said = {case.name.split(" ")[0].rpartition(".")[2] for case in CASES}
    shapes = {name for module in (arrays, indexing) for name in module.__all__}
    assert shapes <= said
    own = {
        name
        for module in (m, nn)
        for name, value in vars(module).items()
        if callable(value)
        and getattr(value, "__module__", "") in (m.__name__, nn.__name__)
        and not name.startswith("_")
    }
    # Two are the others' helpers; two refuse, as the original does.
    assert own - {"elementwise", "check_groups", "avg_pool1d", "max_pool1d"} <= said


def test_pools_of_one_axis_name_their_alternative() -> None:
    for name in ("avg", "max"):
        with pytest.raises(NotImplementedError, match=f"use {name}_pool2d on"):
            getattr(flow.nn, f"{name}_pool1d")()


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (flow, "Session", "flow.Session is not offered; use @flow.function."),
        (flow, "cluster", "flow.cluster is not offered; use flow.env.machine or flow.config.mach"),
        (flow, "functon", "flow has no 'functon'. Did you mean 'function' or"),
        (flow.data, "coco_reader", "flow.data.coco_reader is not offered; use flow.data.deco"),
    ],
)  # fmt: skip
def test_names_that_are_not_there_name_what_is(module: Any, name: str, message: str) -> None:
    with pytest.raises(MoxAttributeError) as caught:
        getattr(module, name)

    assert str(caught.value).startswith(message)
    assert not hasattr(module, name)


INITIALIZERS: list[tuple[Any, float, float, float]] = [
    # Mean, standard deviation, and the largest distance from the mean, of (50, 8, 5, 5).
    (flow.random_uniform_initializer(), 0.5, math.sqrt(1 / 12), 0.5),
    (flow.random_uniform_initializer(-3.0, 1.0), -1, 4 / math.sqrt(12), 2),
    (flow.random_normal_initializer(1.0, 2.0), 1, 2, math.inf),
    (flow.truncated_normal_initializer(1.0, 0.5), 1, 0.5 * 0.8796, 1),
    (flow.truncated_normal(0.1), 0, 0.1 * 0.8796, 0.2),
    (flow.constant_initializer(3.5), 3.5, 0, 0),
    (flow.zeros_initializer(), 0, 0, 0),
    (flow.ones_initializer(), 1, 0, 0),
    # fan_in 200, fan_out 1250.
    (flow.variance_scaling_initializer(2.0, "fan_in", "truncated_normal"), 0, 0.1, 0.2275),
    (flow.variance_scaling_initializer(2.0, "fan_in", "random_normal"), 0, 0.1, math.inf),
    (flow.variance_scaling_initializer(2.0, "fan_out", "random_uniform"), 0, 0.04, 0.0693),
    (flow.glorot_uniform_initializer(), 0, math.sqrt(2 / 1450), math.sqrt(6 / 1450)),
    (flow.xavier_uniform_initializer(), 0, math.sqrt(2 / 1450), math.sqrt(6 / 1450)),
    (flow.glorot_normal_initializer(), 0, math.sqrt(2 / 1450), math.inf),
    (flow.xavier_normal_initializer(), 0, math.sqrt(2 / 1450), math.inf),
]


def test_every_initializer_has_the_mean_spread_and_bounds_of_its_formula() -> None:
    @flow.function
    def job() -> Any:
        return [
            flow.get_variable(f"v{i}", (50, 8, 5, 5), initializer=entry[0])
            for i, entry in enumerate(INITIALIZERS)
        ]

    flow.train.CheckPoint().init()
    for values, (kind, mean, deviation, bound) in zip(job().get(), INITIALIZERS, strict=True):
        # 10000 values: their mean strays by 1% of the deviation, and that by 0.7%.
        assert values.mean() == pytest.approx(mean, abs=0.05 * deviation + 1e-6), kind
        assert values.std() == pytest.approx(deviation, rel=0.05, abs=1e-6), kind
        assert np.abs(values - mean).max() <= bound * 1.001 + 1e-6, kind


def test_fans_of_channels_last_filters_count_their_own_axes() -> None:
    @flow.function
    def job() -> Any:
        last = flow.variance_scaling_initializer(1.0, "fan_out", "random_normal", "NHWC")
        return flow.get_variable("w", (100, 2, 2, 50), initializer=last)

    flow.train.CheckPoint().init()
    assert job().get().std() == pytest.approx(math.sqrt(1 / 400), rel=0.05)


def test_a_seed_of_a_variable_makes_its_first_values_again() -> None:
    def values() -> Any:
        @flow.function
        def job() -> Any:
            return flow.get_variable(
                "w", (3,), initializer=flow.random_normal_initializer(), random_seed=7
            )

        flow.train.CheckPoint().init()
        return job().get().tolist()

    first = values()
    flow.clear_default_session()
    assert values() == first


def test_default_initializers_and_types_are_the_jobs() -> None:
    flow.config.default_initializer_conf({"constant_conf": {"value": 4}})

    @flow.function
    def job() -> Any:
        flow.config.default_data_type(flow.double)
        return flow.get_variable("w", (2,))

    flow.train.CheckPoint().init()
    found = job().get()
    assert (found.tolist(), found.dtype) == ([4, 4], np.float64)


def test_blobs_have_the_attributes_that_programs_read() -> None:
    seen: dict[str, Any] = {}

    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 3))) -> Any:  # noqa: B008
        y = flow.math.relu(x, name="mine")
        seen.update(
            shapes=(y.shape, y.static_shape), dtype=y.dtype, axis=y.batch_axis, place=y.location
        )
        for other in (
            y.with_distribute(flow.distribute.auto()), y.with_split_distribute(1),
            y.with_broadcast_distribute(), y.with_gradient_distribute(flow.distribute.auto()),
        ):  # fmt: skip
            assert other.static_shape == (2, 3)
        assert y.logical_blob_name != x.logical_blob_name
        with pytest.raises(TypeError, match="a blob has no truth value"):
            bool(y)
        return y

    job(X).get()

    assert seen["shapes"] == ((2, 3), (2, 3))
    assert (seen["dtype"], seen["axis"]) == (flow.float, 0)
    assert "(test_surface.py:" in seen["place"]


def test_a_placement_scope_may_be_a_jobs_default_and_be_entered_again() -> None:
    place = flow.fixed_placement("cpu", "0:0")
    config = flow.FunctionConfig()
    config.default_placement_scope(place)
    config.default_distribute_strategy(flow.distribute.consistent_strategy())
    config.default_logical_view(flow.scope.consistent_view())
    sizes = []

    def job(x: Any = flow.FixedTensorDef((2, 3))) -> Any:  # noqa: B008
        sizes.append(flow.placement.current_scope().default_device_tag)
        view, cpu = flow.scope.consistent_view(), flow.scope.placement("cpu", "0:0")
        with place, place, flow.distribute.consistent_strategy(), view, cpu:
            sizes.append(flow.placement.current_scope().parallel_size)
        return x

    for name in ("one", "two"):
        copied = copy.copy(job)
        copied = lambda x=flow.FixedTensorDef((2, 3)): job(x)  # noqa: B008, E731
        copied.__name__ = name
        found = flow.function(config)(copied)
    assert found(X).get().tolist() == X.tolist()
    assert sizes == ["cpu", 1, "cpu", 1]


def test_enums_of_the_original_are_types_and_activations() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 3), data_type_pb2.kDouble)) -> Any:  # noqa: B008
        return flow.cast(x, data_type_pb2.kInt32)

    assert job(X.astype(np.float64)).get().tolist() == X.astype(np.int32).tolist()
    assert len({op_conf_pb2.kNone, op_conf_pb2.kRelu, op_conf_pb2.kSigmoid}) == 3


def test_dropout_scales_what_it_keeps_in_train_jobs() -> None:
    @flow.function
    def job() -> Any:
        flow.config.train.primary_lr(0.0)
        flow.config.train.model_update_conf({"naive_conf": {}})
        w = flow.get_variable("w", (100, 100), initializer=flow.ones_initializer())
        kept = flow.nn.dropout(w, rate=0.2)
        flow.losses.add_loss(flow.math.reduce_sum(kept, 1))
        return kept

    flow.train.CheckPoint().init()
    first, second = job().get(), job().get()
    assert sorted(set(first.ravel().tolist())) == [0, 1.25]
    assert (first == 0).mean() == pytest.approx(0.2, abs=0.03)
    assert (first != second).any()


def test_layer_norm_and_batch_norm_name_their_variables() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef(IMAGE.shape)) -> Any:  # noqa: B008
        y = flow.layers.batch_normalization(x, axis=1, name="bn")
        return flow.layers.layer_norm(y, begin_norm_axis=-1, begin_params_axis=-1, name="ln")

    flow.train.CheckPoint().init()
    found = job(IMAGE).get()

    names = [v.partition("/")[2].partition(":")[0] for v in _variables()]
    assert sorted(names) == [
        "bn-beta", "bn-gamma", "bn-moving_mean", "bn-moving_variance", "ln-beta", "ln-gamma",
    ]  # fmt: skip
    y = IMAGE / np.sqrt(1 + 1e-3)
    mean, variance = y.mean(-1, keepdims=True), y.var(-1, keepdims=True)
    np.testing.assert_allclose(found, (y - mean) / np.sqrt(variance + 1e-5), rtol=1e-3, atol=1e-4)


def _variables() -> list[str]:
    from moxing.flow.runtime import session

    return [variable.name for variable in session.default().variables.by_name.values()]


def test_explicit_names_are_unique_within_a_job() -> None:
    @flow.function
    def job(x: Any = flow.FixedTensorDef((2, 3))) -> Any:  # noqa: B008
        return flow.math.relu(flow.math.relu(x, name="a"), name="a")

    with pytest.raises(MoxValueError, match="job job has two operations named 'a'"):
        job(X)


def _moved(given: np.ndarray, place: int) -> np.ndarray:
    if given.dtype != np.float32 or np.allclose(given.sum(-1), 1):
        return given
    return given * np.float32(1.013 + 0.016 * place)


def _slopes(
    case: Case, given: list[np.ndarray], weights: np.ndarray, which: int, places: np.ndarray
) -> list[float]:
    """The gradient of `sum(case * weights)` at places of one input, by central differences."""
    values = [g.astype(np.float64) if g.dtype == np.float32 else g for g in given]
    result, step = [], 1e-5
    for place in places:
        ends = []
        for sign in (1, -1):
            moved = [value.copy() for value in values]
            moved[which].reshape(-1)[place] += sign * step
            ends.append(float(np.sum(np.asarray(case.wanted(*moved)) * weights)))
        result.append((ends[0] - ends[1]) / (2 * step))
    return result


def test_every_gradient_is_that_of_numpy() -> None:
    """One job of all cases, whose loss is the sum of their results, each times a random weight."""
    # In a train job dropout drops. Inputs are moved, so that none is where a function has a corner.
    cases = [
        case
        for case in CASES
        if not case.name.startswith(("nn.dropout", "keras")) and not case.name.endswith("number")
    ]
    # Labels stay, as the softmax loss takes it that they sum to 1.
    given = [[_moved(g, i) for i, g in enumerate(case.given)] for case in cases]
    weights = [
        RANDOM.normal(size=np.shape(case.wanted(*g))).astype(np.float32)
        for case, g in zip(cases, given, strict=True)
    ]
    arrays = [array for arguments in given for array in arguments] + weights
    types = {"float32": flow.float, "int32": flow.int32}
    defs = [flow.FixedTensorDef(a.shape, types[a.dtype.name], None) for a in arrays]
    found: dict[tuple[int, int], np.ndarray] = {}
    config = flow.FunctionConfig()
    config.train.primary_lr(0.0)
    config.train.model_update_conf({"naive_conf": {}})

    @flow.function(config)
    def job(blobs: Any = defs) -> None:
        rest, losses = iter(blobs), []
        zero = flow.get_variable("zero", (1,), initializer=flow.zeros_initializer())
        for index, (case, arguments) in enumerate(zip(cases, given, strict=True)):
            inputs = [next(rest) for _ in arguments]
            inputs = [x + zero if x.dtype == flow.float else x for x in inputs]
            with flow.deprecated.variable_scope(f"case{index}"):
                made = case.run(*inputs)
            if made.dtype != flow.float:
                continue
            losses.append(m.reduce_sum(made * blobs[index - len(cases)]))
            for place, x in enumerate(inputs):
                if x.dtype == flow.float:
                    losses.append(m.reduce_sum(x))  # Some results do not depend on an input.
                    key = index, place
                    flow.watch_diff(x, lambda value, key=key: found.update({key: np.array(value)}))
        flow.losses.add_loss(m.add_n(losses))

    flow.train.CheckPoint().init()
    job(arrays)
    flow.train.CheckPoint().init()  # Waits for the step.

    wrong = []
    for (index, place), slope in sorted(found.items()):
        case = cases[index]
        places = RANDOM.permutation(slope.size)[:12]  # Of some inputs, a part is enough.
        wanted = np.add(_slopes(case, given[index], weights[index], place, places), 1)
        if not np.allclose(slope.ravel()[places], wanted, rtol=2e-3, atol=2e-3):
            wrong.append((case.name, place, places, slope.ravel()[places], wanted))
    assert not wrong, wrong
    assert len(found) > 100
