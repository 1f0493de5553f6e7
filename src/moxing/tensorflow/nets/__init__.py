"""The model zoo: image classifiers by name, with slim's variable names."""

from moxing.tensorflow.nets.keys import NetworkKeys
from moxing.tensorflow.nets.nets_factory import ModelMeta, get_model_fn, get_model_meta
from moxing.tensorflow.nets.preprocess import default_preprocess_fn

__all__ = ["ModelMeta", "NetworkKeys", "default_preprocess_fn", "get_model_fn", "get_model_meta"]
