"""The flow dialect: OneFlow's early job API on TensorFlow's graph engine.

Under plain Python, `import moxing.flow as flow`; `mox run` gives it to `import oneflow as flow`.
"""

from __future__ import annotations

from moxing import tf_version

tf_version.check()

import os  # noqa: E402
import sys as _sys  # noqa: E402

from moxing import native_noise  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
with native_noise.dropped():
    import tensorflow.compat.v1 as _tf

from moxing.flow import absent as _absent  # noqa: E402
from moxing.flow import advanced as advanced  # noqa: E402
from moxing.flow import data as data  # noqa: E402
from moxing.flow import deprecated as deprecated  # noqa: E402
from moxing.flow import distribute as distribute  # noqa: E402
from moxing.flow import experimental as experimental  # noqa: E402
from moxing.flow import image as image  # noqa: E402
from moxing.flow import keras as keras  # noqa: E402
from moxing.flow import layers as layers  # noqa: E402
from moxing.flow import linalg as linalg  # noqa: E402
from moxing.flow import losses as losses  # noqa: E402
from moxing.flow import math as math  # noqa: E402
from moxing.flow import nn as nn  # noqa: E402
from moxing.flow import placement as placement  # noqa: E402
from moxing.flow import random as random  # noqa: E402
from moxing.flow import regularizers as regularizers  # noqa: E402
from moxing.flow import scope as scope  # noqa: E402
from moxing.flow import train as train  # noqa: E402
from moxing.flow import unittest as unittest  # noqa: E402
from moxing.flow.config import FunctionConfig as FunctionConfig  # noqa: E402
from moxing.flow.config import config as config  # noqa: E402
from moxing.flow.config import env as env  # noqa: E402
from moxing.flow.deprecated import variable_scope as name_scope  # noqa: E402, F401
from moxing.flow.functions import current_global_function_desc as current_global_function_desc  # noqa: E402,E501
from moxing.flow.functions import function as function  # noqa: E402
from moxing.flow.functions import global_function as global_function  # noqa: E402
from moxing.flow.math import add_n as add_n  # noqa: E402
from moxing.flow.older import Box as Box  # noqa: E402
from moxing.flow.older import ConfigProtoBuilder as ConfigProtoBuilder  # noqa: E402
from moxing.flow.older import Session as Session  # noqa: E402
from moxing.flow.older import add_job as add_job  # noqa: E402
from moxing.flow.older import get_cur_job_conf_builder as get_cur_job_conf_builder  # noqa: E402
from moxing.flow.older import init as init  # noqa: E402
from moxing.flow.older import inter_job_reuse_mem_strategy as inter_job_reuse_mem_strategy  # noqa: E402
from moxing.flow.older import job_mem_sharing_strategy as job_mem_sharing_strategy  # noqa: E402
from moxing.flow.older import reset_default_job_set as reset_default_job_set  # noqa: E402
from moxing.flow.older import sync_default_session as sync_default_session  # noqa: E402
from moxing.flow.operations import numbering as _numbering  # noqa: E402
from moxing.flow.operations.accumulation import *  # noqa: E402, F403
from moxing.flow.operations.arrays import *  # noqa: E402, F403
from moxing.flow.operations.arrays import clip_by_value as clamp  # noqa: E402, F401
from moxing.flow.operations.arrays import clip_by_value as clip  # noqa: E402, F401
from moxing.flow.operations.arrays import clip_by_value as clip_by_scalar  # noqa: E402, F401
from moxing.flow.operations.indexing import *  # noqa: E402, F403
from moxing.flow.operations.lists import *  # noqa: E402, F403
from moxing.flow.operations.pictures import *  # noqa: E402, F403
from moxing.flow.operations.watching import watch as watch  # noqa: E402
from moxing.flow.operations.watching import watch_diff as watch_diff  # noqa: E402
from moxing.flow.operations.watching import watch_scope as watch_scope  # noqa: E402
from moxing.flow.placement import device_prior_placement as device_prior_placement  # noqa: E402
from moxing.flow.placement import fixed_placement as fixed_placement  # noqa: E402
from moxing.flow.python.framework.dtype import (  # noqa: E402
    convert_of_dtype_to_numpy_dtype as convert_of_dtype_to_numpy_dtype,
)
from moxing.flow.runtime.session import clear_default_session as clear_default_session  # noqa: E402
from moxing.flow.trace import operators as _operators  # noqa: E402, F401
from moxing.flow.trace.initializers import *  # noqa: E402, F403
from moxing.flow.trace.inputs import FixedTensorDef as FixedTensorDef  # noqa: E402
from moxing.flow.trace.inputs import MirroredTensorDef as MirroredTensorDef  # noqa: E402
from moxing.flow.trace.inputs import MirroredTensorListDef as MirroredTensorListDef  # noqa: E402
from moxing.flow.trace.inputs import input_blob_def as input_blob_def  # noqa: E402
from moxing.flow.trace.variables import get_variable as get_variable  # noqa: E402
from moxing.flow.user_ops import consistent_user_op_builder as consistent_user_op_builder  # noqa: E402
from moxing.flow.user_ops import user_op_builder as user_op_builder  # noqa: E402

_numbering.apply(
    *(_sys.modules[__name__], advanced, data, experimental, image, keras.activations, layers),
    *(linalg, math, nn, random),
)
function_config = FunctionConfig
__getattr__, __dir__ = _absent.of("flow", globals(), _absent.FLOW)

float, float32, double, float64 = _tf.float32, _tf.float32, _tf.float64, _tf.float64
half, float16 = _tf.float16, _tf.float16
char, int8, uint8, int32, int64 = _tf.int8, _tf.int8, _tf.uint8, _tf.int32, _tf.int64
dtypes = [char, float, float32, double, float64, float16, int8, int32, int64, uint8]
