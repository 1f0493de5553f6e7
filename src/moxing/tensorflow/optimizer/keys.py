"""The names of the built-in optimizers and wrappers, as constants."""

from __future__ import annotations


class OptimizerKeys:
    """The names for `get_optimizer_fn`."""

    ADADELTA = "adadelta"
    ADAGRAD = "adagrad"
    ADAM = "adam"
    FTRL = "ftrl"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"
    SGD = "sgd"


class OptimizerWrapperKeys:
    """The names for `get_optimizer_wrapper_fn`."""

    BATCH_GRADIENTS = "batch_gradients"
    DGC = "dgc"
    EASGD = "easgd"
    LARS = "lars"
