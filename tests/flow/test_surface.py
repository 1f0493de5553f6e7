"""Every name of the API's documents is there; flow_operations has a case of each operation."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import numpy as np
import pytest
from flow_operations import CASES, IMAGE, X

import moxing.flow as flow
from moxing.errors import MoxAttributeError, MoxValueError
from moxing.flow.core.common import data_type_pb2
from moxing.flow.core.operator import op_conf_pb2
from moxing.flow.operations import arrays, indexing

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


# The names that the original had in September 2019, November 2019, March 2020 and June 2020.
API = """
Box ConfigProtoBuilder Session add_job init get_cur_job_conf_builder
deprecated.init_worker_and_master
 FixedTensorDef FunctionConfig MirroredTensorDef MirroredTensorListDef acc
advanced.distribute_add advanced.distribute_clone advanced.distribute_concat
advanced.distribute_map advanced.distribute_split argsort argwhere assign broadcast_like
broadcast_to_compatible_with cast categorical_ordinal_encode clamp clear_default_session clip
clip_by_scalar clip_by_value
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


def test_the_table_has_every_operation_that_is_offered() -> None:
    """So that an operation that is added is tested too."""
    said = {case.name.split(" ")[0].rpartition(".")[2] for case in CASES}
    shapes = {name for module in (arrays, indexing) for name in module.__all__}
    assert shapes <= said
    own = {
        name
        for module in (flow.math, flow.nn)
        for name, value in vars(module).items()
        if callable(value)
        and getattr(value, "__module__", "") in (flow.math.__name__, flow.nn.__name__)
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
