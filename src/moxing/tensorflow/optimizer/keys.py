"""The names of the built-in optimizers and wrappers, as constants."""

from __future__ import annotations


class OptimizerKeys:
    """Names that `get_optimizer_fn` knows."""

    ADADELTA = "adadelta"
    ADAGRAD = "adagrad"
    ADAM = "adam"
    FTRL = "ftrl"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"
    SGD = "sgd"


class OptimizerWrapperKeys:
    """Names that `get_optimizer_wrapper_fn` knows."""

    BATCH_GRADIENTS = "batch_gradients"
    DGC = "dgc"
    EASGD = "easgd"
    LARS = "lars"
